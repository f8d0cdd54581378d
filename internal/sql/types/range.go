package types

import (
	"cmp"

	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Flags of an encoded range, which are also those of the binary form.
const (
	RangeEmpty    = 0x01
	RangeLowerInc = 0x02
	RangeUpperInc = 0x04
	RangeLowerInf = 0x08
	RangeUpperInf = 0x10
)

// Bound is an end of a range; Inf says that there is none.
type Bound struct {
	D         Datum
	Inf, Incl bool
}

// Range is a decoded range. Discrete ranges are in their canonical form [a,b).
type Range struct {
	Empty        bool
	Lower, Upper Bound
}

// EmptyRange is the range that holds nothing.
var EmptyRange = Range{Empty: true}

// Range decodes a range.
func (d Datum) Range() Range {
	r := reader{s: d.s}
	v := r.rangeBounds(0)
	must.True(r.err == nil, "types: range payload: %v", r.err)
	return v
}

// rangeBounds reads an encoded range.
func (r *reader) rangeBounds(depth int) Range {
	flags := r.byte()
	if flags&RangeEmpty != 0 {
		if flags != RangeEmpty {
			r.fail()
		}
		return EmptyRange
	}
	v := Range{
		Lower: Bound{Inf: flags&RangeLowerInf != 0, Incl: flags&RangeLowerInc != 0},
		Upper: Bound{Inf: flags&RangeUpperInf != 0, Incl: flags&RangeUpperInc != 0},
	}
	if flags > 0x1f || v.Lower.Inf && v.Lower.Incl || v.Upper.Inf && v.Upper.Incl {
		r.fail()
	}
	for _, b := range []*Bound{&v.Lower, &v.Upper} {
		if b.Inf || r.err != nil {
			continue
		}
		b.D = r.datum(depth + 1)
		r.check(b.D, depth+1)
		if b.D.IsNull() {
			r.fail()
		}
	}
	return v
}

func appendEncodedRange(dst []byte, v Range) []byte {
	dst = append(dst, v.Flags())
	if v.Empty {
		return dst
	}
	if !v.Lower.Inf {
		dst = AppendEncoded(dst, v.Lower.D)
	}
	if !v.Upper.Inf {
		dst = AppendEncoded(dst, v.Upper.D)
	}
	return dst
}

// Flags returns the first byte of the encoded and of the binary form.
func (v Range) Flags() byte {
	if v.Empty {
		return RangeEmpty
	}
	var f byte
	set := func(yes bool, bit byte) {
		if yes {
			f |= bit
		}
	}
	set(v.Lower.Incl, RangeLowerInc)
	set(v.Upper.Incl, RangeUpperInc)
	set(v.Lower.Inf, RangeLowerInf)
	set(v.Upper.Inf, RangeUpperInf)
	return f
}

// encodeRange makes a datum of a canonical range.
func encodeRange(v Range) Datum {
	return Datum{fam: RangeFamily, s: string(appendEncodedRange(nil, v))}
}

// RangeDatum makes a datum of a range that came of Canonical or of another datum.
func RangeDatum(v Range) Datum { return encodeRange(v) }

// Canonical checks the order of the bounds of a range of type t and brings it to
// the form that equal ranges share.
func Canonical(t *T, v Range) (Range, error) {
	if v.Empty {
		return EmptyRange, nil
	}
	v.Lower.Incl = v.Lower.Incl && !v.Lower.Inf
	v.Upper.Incl = v.Upper.Incl && !v.Upper.Inf
	if !v.Lower.Inf && !v.Upper.Inf {
		c := Compare(v.Lower.D, v.Upper.D)
		if c > 0 {
			return v, pgerr.New(pgerr.DataException, "range lower bound must be less than or equal to range upper bound")
		}
		if c == 0 && !(v.Lower.Incl && v.Upper.Incl) {
			return EmptyRange, nil
		}
	}
	if f := t.Sub.Family; f != IntFamily && f != DateFamily || t.Def != nil {
		return v, nil // no function makes the ranges of user-defined types canonical
	}
	if !v.Lower.Inf && !v.Lower.Incl && !v.Lower.D.IsInf() {
		if err := step(t.Sub, &v.Lower); err != nil {
			return v, err
		}
		v.Lower.Incl = !v.Lower.Inf
	}
	if !v.Upper.Inf && v.Upper.Incl {
		if err := step(t.Sub, &v.Upper); err != nil {
			return v, err
		}
		v.Upper.Incl = v.Upper.Incl && v.Upper.D.IsInf()
	}
	if !v.Lower.Inf && !v.Upper.Inf && Compare(v.Lower.D, v.Upper.D) == 0 && !(v.Lower.Incl && v.Upper.Incl) {
		return EmptyRange, nil
	}
	return v, nil
}

// step moves a discrete bound to the next value; infinite dates stay.
func step(t *T, b *Bound) error {
	if t.Family == DateFamily {
		if b.D.IsInf() {
			return nil
		}
		if !ValidDate(b.D.n + 1) {
			return pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range")
		}
		b.D.n++
		b.Incl = false
		return nil
	}
	limit := int64(1<<31 - 1)
	if t.Len() == 8 {
		limit = 1<<63 - 1
	}
	if b.D.n == limit {
		return pgerr.New(pgerr.NumericValueOutOfRange, "%s out of range", t.SQLName)
	}
	b.D.n++
	b.Incl = false
	return nil
}

// NewRange makes a range of type t.
func NewRange(t *T, v Range) (Datum, error) {
	v, err := Canonical(t, v)
	if err != nil {
		return Null, err
	}
	return encodeRange(v), nil
}

// CompareLower orders lower bounds: without one first, then by value, inclusive
// before exclusive.
func CompareLower(a, b Bound) int {
	if a.Inf || b.Inf {
		return cmp.Compare(boolByte(b.Inf), boolByte(a.Inf))
	}
	if c := Compare(a.D, b.D); c != 0 {
		return c
	}
	return cmp.Compare(boolByte(b.Incl), boolByte(a.Incl))
}

// CompareUpper orders upper bounds: exclusive before inclusive, without one last.
func CompareUpper(a, b Bound) int {
	if a.Inf || b.Inf {
		return cmp.Compare(boolByte(a.Inf), boolByte(b.Inf))
	}
	if c := Compare(a.D, b.D); c != 0 {
		return c
	}
	return cmp.Compare(boolByte(a.Incl), boolByte(b.Incl))
}

// CompareLowerUpper orders a lower bound against an upper one: below zero or
// zero when they have a value in common.
func CompareLowerUpper(lo, up Bound) int {
	if lo.Inf || up.Inf {
		return -1
	}
	if c := Compare(lo.D, up.D); c != 0 {
		return c
	}
	if lo.Incl && up.Incl {
		return 0
	}
	return 1
}

// CompareRanges orders ranges: empty ones first, then by lower and upper bound.
func CompareRanges(a, b Range) int {
	if a.Empty || b.Empty {
		return cmp.Compare(boolByte(b.Empty), boolByte(a.Empty))
	}
	if c := CompareLower(a.Lower, b.Lower); c != 0 {
		return c
	}
	return CompareUpper(a.Upper, b.Upper)
}

func appendRangeKey(dst []byte, v Range, fc *FormatContext) []byte {
	dst = append(dst, v.Flags())
	if v.Empty {
		return dst
	}
	if !v.Lower.Inf {
		dst = AppendHashKey(dst, v.Lower.D, fc)
	}
	if !v.Upper.Inf {
		dst = AppendHashKey(dst, v.Upper.D, fc)
	}
	return dst
}
