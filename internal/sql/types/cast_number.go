package types

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

func addNumericCasts(add castAdder) {
	const i, a = CastImplicit, CastAssignment
	add(Int2, i, 'f', nil, Int4, Int8)
	add(Int4, i, 'f', nil, Int8)
	add(Int4, a, 'f', castInt, Int2)
	add(Int8, a, 'f', castInt, Int2, Int4)
	for _, t := range []*T{Int2, Int4, Int8} {
		add(t, i, 'f', castIntFloat, Float4, Float8)
		add(t, i, 'f', castIntDecimal, Numeric)
	}
	for _, t := range []*T{Float4, Float8} {
		add(t, a, 'f', castFloatInt, Int2, Int4, Int8)
	}
	add(Float4, a, 'f', castFloat4Decimal, Numeric)
	add(Float8, a, 'f', castFloat8Decimal, Numeric)
	add(Float4, i, 'f', nil, Float8)
	add(Float8, a, 'f', castFloat8Float4, Float4)
	add(Numeric, a, 'f', castDecimal, Int2, Int4, Int8)
	add(Numeric, i, 'f', castDecimal, Float4, Float8)
}

func addOidCasts(add castAdder) {
	const i, a = CastImplicit, CastAssignment
	oids := []*T{Oid, Regclass, Regtype, Regproc, Regnamespace, Regconfig, Regprocedure, Regoper, Regoperator, Regrole, Regcollation, Regdictionary}
	for _, t := range oids {
		add(Int2, i, 'f', castIntOid, t)
		add(Int4, i, 'b', castIntOid, t)
		add(Int8, i, 'f', castInt8Oid, t)
		add(t, a, 'b', castOidInt, Int4)
		add(t, a, 'f', nil, Int8)
		if t != Oid {
			add(t, i, 'b', nil, Oid)
			add(Oid, i, 'b', nil, t)
		}
	}
	add(Regproc, i, 'b', nil, Regprocedure)
	add(Regprocedure, i, 'b', nil, Regproc)
	add(Regoper, i, 'b', nil, Regoperator)
	add(Regoperator, i, 'b', nil, Regoper)
}

func errIntRange(to *T) error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "%s out of range", to.SQLName)
}

// CheckInt returns n as a value of an integer type, or 22003.
func CheckInt(n int64, to *T) (Datum, error) {
	if lo, hi := intBounds(to); n < lo || n > hi {
		return Null, errIntRange(to)
	}
	return NewInt(n), nil
}

func castInt(_ *FormatContext, d Datum, to *T) (Datum, error) { return CheckInt(d.n, to) }

func castIntFloat(_ *FormatContext, d Datum, to *T) (Datum, error) {
	if to.Oid == Float4.Oid {
		return NewFloat(float64(float32(d.n))), nil
	}
	return NewFloat(float64(d.n)), nil
}

func castIntDecimal(_ *FormatContext, d Datum, _ *T) (Datum, error) {
	return NewDecimalInt(d.n, 0), nil
}

// castFloatInt rounds half to even.
func castFloatInt(_ *FormatContext, d Datum, to *T) (Datum, error) {
	f := math.RoundToEven(d.Float())
	if math.IsNaN(f) || f < -1<<63 || f >= 1<<63 {
		return Null, errIntRange(to)
	}
	return CheckInt(int64(f), to)
}

func castFloat4Decimal(_ *FormatContext, d Datum, _ *T) (Datum, error) {
	return DecimalFromFloat(d.Float(), true), nil
}

func castFloat8Decimal(_ *FormatContext, d Datum, _ *T) (Datum, error) {
	return DecimalFromFloat(d.Float(), false), nil
}

func castFloat8Float4(_ *FormatContext, d Datum, _ *T) (Datum, error) {
	f := d.Float()
	g := float64(float32(f))
	switch {
	case math.IsInf(g, 0) && !math.IsInf(f, 0):
		return Null, pgerr.New(pgerr.NumericValueOutOfRange, "value out of range: overflow")
	case g == 0 && f != 0:
		return Null, pgerr.New(pgerr.NumericValueOutOfRange, "value out of range: underflow")
	}
	return NewFloat(g), nil
}

// maxExactScale is below the scale at which an int64 coefficient can underflow
// a float64.
const maxExactScale = 300

// castDecimal converts a numeric to an integer or float.
func castDecimal(_ *FormatContext, d Datum, to *T) (Datum, error) {
	if to.Family == FloatFamily {
		switch d.k {
		case decSmall:
			if to.Oid == Float8.Oid && d.m < maxExactScale {
				return NewFloat(DecimalToFloat(d)), nil
			}
		case decNaN, decPosInf, decNegInf:
			return NewFloat(DecimalToFloat(d)), nil
		}
		return parseFloat(to, string(appendDecimal(nil, d)))
	}
	switch d.k {
	case decNaN:
		return Null, pgerr.New(pgerr.FeatureNotSupported, "cannot convert NaN to %s", to.SQLName)
	case decPosInf, decNegInf:
		return Null, pgerr.New(pgerr.FeatureNotSupported, "cannot convert infinity to %s", to.SQLName)
	}
	r := RoundDecimal(d, 0)
	if r.k != decSmall {
		if to.Oid == Int8.Oid && isMinInt64(r) {
			return NewInt(math.MinInt64), nil
		}
		return Null, errIntRange(to)
	}
	return CheckInt(r.n, to)
}

// isMinInt64 reports whether a long decimal of scale 0 is -2^63, the one
// integer that has no short form.
func isMinInt64(d Datum) bool {
	return d.h == 1 && d.m == 0 && d.s == "\x80\x00\x00\x00\x00\x00\x00\x00"
}

// castIntOid reinterprets an integer as an oid: -1 is 4294967295.
func castIntOid(_ *FormatContext, d Datum, _ *T) (Datum, error) {
	return NewInt(int64(uint32(d.n))), nil
}

func castOidInt(_ *FormatContext, d Datum, _ *T) (Datum, error) {
	return NewInt(int64(int32(uint32(d.n)))), nil
}

func castInt8Oid(_ *FormatContext, d Datum, _ *T) (Datum, error) {
	if d.n < 0 || d.n > math.MaxUint32 {
		return Null, pgerr.New(pgerr.NumericValueOutOfRange, "OID out of range")
	}
	return d, nil
}
