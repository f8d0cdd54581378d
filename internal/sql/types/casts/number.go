package casts

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

func addNumericCasts(add castAdder) {
	const i, a = types.CastImplicit, types.CastAssignment
	add(types.Int2, i, 'f', nil, types.Int4, types.Int8)
	add(types.Int4, i, 'f', nil, types.Int8)
	add(types.Int4, a, 'f', castInt, types.Int2)
	add(types.Int8, a, 'f', castInt, types.Int2, types.Int4)
	for _, t := range []*types.T{types.Int2, types.Int4, types.Int8} {
		add(t, i, 'f', castIntFloat, types.Float4, types.Float8)
		add(t, i, 'f', castIntDecimal, types.Numeric)
	}
	for _, t := range []*types.T{types.Float4, types.Float8} {
		add(t, a, 'f', castFloatInt, types.Int2, types.Int4, types.Int8)
	}
	add(types.Float4, a, 'f', castFloat4Decimal, types.Numeric)
	add(types.Float8, a, 'f', castFloat8Decimal, types.Numeric)
	add(types.Float4, i, 'f', nil, types.Float8)
	add(types.Float8, a, 'f', castFloat8Float4, types.Float4)
	add(types.Numeric, a, 'f', castDecimal, types.Int2, types.Int4, types.Int8)
	add(types.Numeric, i, 'f', castDecimal, types.Float4, types.Float8)
}

func addOidCasts(add castAdder) {
	const i, a = types.CastImplicit, types.CastAssignment
	oids := []*types.T{types.Oid, types.Regclass, types.Regtype, types.Regproc, types.Regnamespace, types.Regconfig, types.Regprocedure, types.Regoper, types.Regoperator, types.Regrole, types.Regcollation, types.Regdictionary}
	for _, t := range oids {
		add(types.Int2, i, 'f', castIntOid, t)
		add(types.Int4, i, 'b', castIntOid, t)
		add(types.Int8, i, 'f', castInt8Oid, t)
		add(t, a, 'b', castOidInt, types.Int4)
		add(t, a, 'f', nil, types.Int8)
		if t != types.Oid {
			add(t, i, 'b', nil, types.Oid)
			add(types.Oid, i, 'b', nil, t)
		}
	}
	add(types.Regproc, i, 'b', nil, types.Regprocedure)
	add(types.Regprocedure, i, 'b', nil, types.Regproc)
	add(types.Regoper, i, 'b', nil, types.Regoperator)
	add(types.Regoperator, i, 'b', nil, types.Regoper)
}

func errIntRange(to *types.T) error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "%s out of range", to.SQLName)
}

// CheckInt returns n as a value of an integer type, or 22003.
func CheckInt(n int64, to *types.T) (types.Datum, error) {
	if lo, hi := typeio.IntBounds(to); n < lo || n > hi {
		return types.Null, errIntRange(to)
	}
	return types.NewInt(n), nil
}

func castInt(_ *types.FormatContext, d types.Datum, to *types.T) (types.Datum, error) {
	return CheckInt(d.Int(), to)
}

func castIntFloat(_ *types.FormatContext, d types.Datum, to *types.T) (types.Datum, error) {
	if to.Oid == types.Float4.Oid {
		return types.NewFloat(float64(float32(d.Int()))), nil
	}
	return types.NewFloat(float64(d.Int())), nil
}

func castIntDecimal(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	return types.NewDecimalInt(d.Int(), 0), nil
}

// castFloatInt rounds half to even.
func castFloatInt(_ *types.FormatContext, d types.Datum, to *types.T) (types.Datum, error) {
	f := math.RoundToEven(d.Float())
	if math.IsNaN(f) || f < -1<<63 || f >= 1<<63 {
		return types.Null, errIntRange(to)
	}
	return CheckInt(int64(f), to)
}

func castFloat4Decimal(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	return types.DecimalFromFloat(d.Float(), true), nil
}

func castFloat8Decimal(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	return types.DecimalFromFloat(d.Float(), false), nil
}

func castFloat8Float4(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	f := d.Float()
	g := float64(float32(f))
	switch {
	case math.IsInf(g, 0) && !math.IsInf(f, 0):
		return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, "value out of range: overflow")
	case g == 0 && f != 0:
		return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, "value out of range: underflow")
	}
	return types.NewFloat(g), nil
}

// maxExactScale is below the scale at which an int64 coefficient can underflow
// a float64.
const maxExactScale = 300

// castDecimal converts a numeric to an integer or float.
func castDecimal(_ *types.FormatContext, d types.Datum, to *types.T) (types.Datum, error) {
	if to.Family == types.FloatFamily {
		_, scale, small := d.SmallDecimal()
		if d.IsNaN() || d.IsInf() || small && to.Oid == types.Float8.Oid && scale < maxExactScale {
			return types.NewFloat(types.DecimalToFloat(d)), nil
		}
		return typeio.ParseFloat(to, string(types.AppendDecimal(nil, d)))
	}
	switch {
	case d.IsNaN():
		return types.Null, pgerr.New(pgerr.FeatureNotSupported, "cannot convert NaN to %s", to.SQLName)
	case d.IsInf():
		return types.Null, pgerr.New(pgerr.FeatureNotSupported, "cannot convert infinity to %s", to.SQLName)
	}
	r := types.RoundDecimal(d, 0)
	n, _, small := r.SmallDecimal()
	if !small {
		if to.Oid == types.Int8.Oid && types.IsMinInt64(r) {
			return types.NewInt(math.MinInt64), nil
		}
		return types.Null, errIntRange(to)
	}
	return CheckInt(n, to)
}

// castIntOid reinterprets an integer as an oid: -1 is 4294967295.
func castIntOid(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	return types.NewInt(int64(uint32(d.Int()))), nil
}

func castOidInt(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	return types.NewInt(int64(int32(uint32(d.Int())))), nil
}

func castInt8Oid(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	if d.Int() < 0 || d.Int() > math.MaxUint32 {
		return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, "OID out of range")
	}
	return d, nil
}
