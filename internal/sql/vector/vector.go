package vector

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/types"
)

// Kind says how a vector holds its values.
type Kind uint8

// The kinds.
const (
	Datums   Kind = iota // datums, of any family
	Ints                 // what a datum keeps in an int64: integers, booleans, dates, timestamps
	Floats               // float4 and float8
	Decimals             // numerics of one scale whose coefficients fit an int64
	Strings              // text and bytea
)

// KindOf returns how a vector of a family begins.
func KindOf(f types.Family) Kind {
	switch f {
	case types.BoolFamily, types.IntFamily, types.DateFamily, types.TimeFamily, types.TimestampFamily, types.TimestampTZFamily:
		return Ints
	case types.FloatFamily:
		return Floats
	case types.DecimalFamily:
		return Decimals
	case types.StringFamily, types.BytesFamily:
		return Strings
	}
	return Datums
}

// noScale is the scale of a vector of decimals without values.
const noScale = -1

// Vector is one column of a batch. What it holds at the position of a NULL is undefined.
type Vector struct {
	Kind    Kind
	Family  types.Family // of the values
	Nulls   Bitmap
	Ints    []int64 // Ints, and the coefficients of Decimals
	Floats  []float64
	Strings []string
	Datums  []types.Datum
	Scale   int32 // of Decimals; noScale before the first value
}

// Reset prepares v for values of a family at n positions, all of them not NULL and undefined.
func (v *Vector) Reset(f types.Family, n int) { v.ResetTo(KindOf(f), f, n) }

// ResetTo is Reset for a kind other than the usual one of the family.
func (v *Vector) ResetTo(k Kind, f types.Family, n int) {
	v.Kind, v.Family, v.Scale = k, f, noScale
	v.Nulls.Reset(n)
	v.Ints, v.Floats, v.Strings, v.Datums = v.Ints[:0], v.Floats[:0], v.Strings[:0], v.Datums[:0]
	switch k {
	case Ints, Decimals:
		v.Ints = sized(v.Ints, n)
	case Floats:
		v.Floats = sized(v.Floats, n)
	case Strings:
		v.Strings = sized(v.Strings, n)
	default:
		v.Datums = sized(v.Datums, n)
	}
}

func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// Len returns the number of positions.
func (v *Vector) Len() int {
	return max(len(v.Ints), len(v.Floats), len(v.Strings), len(v.Datums))
}

// Datum returns the value at i.
func (v *Vector) Datum(i uint16) types.Datum {
	if v.Nulls.Has(i) {
		return types.Null
	}
	switch v.Kind {
	case Ints:
		return types.NewOf(v.Family, v.Ints[i])
	case Floats:
		return types.NewFloat(v.Floats[i])
	case Decimals:
		return types.NewDecimalInt(v.Ints[i], v.Scale)
	case Strings:
		return types.NewStringOf(v.Family, v.Strings[i])
	}
	return v.Datums[i]
}

// Set puts d at i. Other values of v that were set stay as they are.
func (v *Vector) Set(i uint16, d types.Datum) {
	if d.IsNull() {
		v.Nulls.Add(i)
		return
	}
	switch v.Kind {
	case Ints:
		v.Ints[i] = d.Int()
	case Floats:
		v.Floats[i] = d.Float()
	case Decimals:
		v.setDecimal(i, d)
	case Strings:
		v.Strings[i] = d.Str()
	default:
		v.Datums[i] = d
	}
}

func (v *Vector) setDecimal(i uint16, d types.Datum) {
	coeff, scale, ok := d.SmallDecimal()
	if ok && v.SetDecimal(i, coeff, scale) {
		return
	}
	v.Generalize()
	v.Datums[i] = d
}

// SetDecimal puts coeff × 10^-scale at i of a vector of decimals, and reports whether it fits there.
func (v *Vector) SetDecimal(i uint16, coeff int64, scale int32) bool {
	if v.Scale == noScale {
		v.Scale = scale
	}
	if scale != v.Scale || coeff == math.MinInt64 {
		return false
	}
	v.Ints[i] = coeff
	return true
}

// Generalize turns v into a vector of datums.
func (v *Vector) Generalize() {
	if v.Kind == Datums {
		return
	}
	n := v.Len()
	v.Datums = sized(v.Datums, n)
	for i := range n {
		v.Datums[i] = types.Null
		if v.Kind != Decimals || v.Scale != noScale {
			v.Datums[i] = v.Datum(uint16(i))
		}
	}
	v.Kind, v.Ints, v.Floats, v.Strings = Datums, v.Ints[:0], v.Floats[:0], v.Strings[:0]
}
