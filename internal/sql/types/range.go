package types

import (
	"cmp"
	"strings"

	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Flags of an encoded range, which are also those of the binary form.
const (
	rangeEmpty    = 0x01
	rangeLowerInc = 0x02
	rangeUpperInc = 0x04
	rangeLowerInf = 0x08
	rangeUpperInf = 0x10
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
	if flags&rangeEmpty != 0 {
		if flags != rangeEmpty {
			r.fail()
		}
		return EmptyRange
	}
	v := Range{
		Lower: Bound{Inf: flags&rangeLowerInf != 0, Incl: flags&rangeLowerInc != 0},
		Upper: Bound{Inf: flags&rangeUpperInf != 0, Incl: flags&rangeUpperInc != 0},
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
	dst = append(dst, v.flags())
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

func (v Range) flags() byte {
	if v.Empty {
		return rangeEmpty
	}
	var f byte
	set := func(yes bool, bit byte) {
		if yes {
			f |= bit
		}
	}
	set(v.Lower.Incl, rangeLowerInc)
	set(v.Upper.Incl, rangeUpperInc)
	set(v.Lower.Inf, rangeLowerInf)
	set(v.Upper.Inf, rangeUpperInf)
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

func appendRangeKey(dst []byte, v Range) []byte {
	dst = append(dst, v.flags())
	if v.Empty {
		return dst
	}
	if !v.Lower.Inf {
		dst = AppendHashKey(dst, v.Lower.D)
	}
	if !v.Upper.Inf {
		dst = AppendHashKey(dst, v.Upper.D)
	}
	return dst
}

func appendRange(dst []byte, t *T, v Range, fc *FormatContext) []byte {
	if v.Empty {
		return append(dst, "empty"...)
	}
	dst = append(dst, "(["[boolByte(v.Lower.Incl)])
	if !v.Lower.Inf {
		dst = appendRangeBound(dst, t.Sub, v.Lower.D, fc)
	}
	dst = append(dst, ',')
	if !v.Upper.Inf {
		dst = appendRangeBound(dst, t.Sub, v.Upper.D, fc)
	}
	return append(dst, ")]"[boolByte(v.Upper.Incl)])
}

func appendRangeBound(dst []byte, t *T, d Datum, fc *FormatContext) []byte {
	return appendQuoted(dst, t, d, `"\()[],`, fc)
}

// rangeReader reads the text of a range.
type rangeReader struct{ lit, s string }

func (r *rangeReader) err(detail string) error {
	return pgerr.New(pgerr.InvalidTextRepresentation, "malformed range literal: \"%s\"", r.lit).WithDetail("%s", detail)
}

func (r *rangeReader) skip() { r.s = strings.TrimLeft(r.s, " \t\n\v\f\r") }

// bound reads the text of a bound, up to what ends it; inf is set when there is
// nothing.
func (r *rangeReader) bound() (text string, inf bool, err error) {
	if r.s != "" && strings.IndexByte(",)]", r.s[0]) >= 0 {
		return "", true, nil
	}
	text, rest, ok := readQuoted(r.s, ",)]")
	if !ok {
		return "", false, r.err("Unexpected end of input.")
	}
	r.s = rest
	return text, false, nil
}

// rangeText is a range as written.
type rangeText struct {
	empty                bool
	lower, upper         string
	lowerInf, upperInf   bool
	lowerIncl, upperIncl bool
}

// read reads one range and leaves what follows.
func (r *rangeReader) read() (t rangeText, err error) {
	r.skip()
	if len(r.s) >= 5 && strings.EqualFold(r.s[:5], "empty") {
		r.s = r.s[5:]
		r.skip()
		t.empty = true
		return t, nil
	}
	if r.s == "" || r.s[0] != '(' && r.s[0] != '[' {
		return t, r.err("Missing left parenthesis or bracket.")
	}
	t.lowerIncl = r.s[0] == '['
	r.s = r.s[1:]
	if t.lower, t.lowerInf, err = r.bound(); err != nil {
		return t, err
	}
	if !strings.HasPrefix(r.s, ",") {
		return t, r.err("Missing comma after lower bound.")
	}
	r.s = r.s[1:]
	if t.upper, t.upperInf, err = r.bound(); err != nil {
		return t, err
	}
	switch {
	case strings.HasPrefix(r.s, "]"):
		t.upperIncl = true
	case strings.HasPrefix(r.s, ")"):
	default:
		return t, r.err("Too many commas.")
	}
	r.s = r.s[1:]
	r.skip()
	return t, nil
}

// value reads the bounds of a range of type t.
func (x rangeText) value(t *T, fc *FormatContext) (v Range, err error) {
	if x.empty {
		return EmptyRange, nil
	}
	v.Lower = Bound{Inf: x.lowerInf, Incl: x.lowerIncl}
	v.Upper = Bound{Inf: x.upperInf, Incl: x.upperIncl}
	if !x.lowerInf {
		if v.Lower.D, err = ParseText(t.Sub, x.lower, fc); err != nil {
			return v, err
		}
	}
	if !x.upperInf {
		if v.Upper.D, err = ParseText(t.Sub, x.upper, fc); err != nil {
			return v, err
		}
	}
	return Canonical(t, v)
}

func parseRange(t *T, s string, fc *FormatContext) (Datum, error) {
	r := rangeReader{lit: s, s: s}
	x, err := r.read()
	if err != nil {
		return Null, err
	}
	if r.s != "" {
		if x.empty {
			return Null, r.err("Junk after \"empty\" key word.")
		}
		return Null, r.err("Junk after right parenthesis or bracket.")
	}
	v, err := x.value(t, fc)
	if err != nil {
		return Null, err
	}
	return encodeRange(v), nil
}

func appendRangeBinary(dst []byte, t *T, v Range) []byte {
	dst = append(dst, v.flags())
	if v.Empty {
		return dst
	}
	if !v.Lower.Inf {
		dst = appendSized(dst, t.Sub, v.Lower.D)
	}
	if !v.Upper.Inf {
		dst = appendSized(dst, t.Sub, v.Upper.D)
	}
	return dst
}

func (m *message) rangeValue(t *T) (Datum, error) {
	b := m.take(1)
	if m.err != nil {
		return Null, m.err
	}
	flags := b[0] & 0x1f
	v := Range{
		Empty: flags&rangeEmpty != 0,
		Lower: Bound{Inf: flags&rangeLowerInf != 0, Incl: flags&rangeLowerInc != 0},
		Upper: Bound{Inf: flags&rangeUpperInf != 0, Incl: flags&rangeUpperInc != 0},
	}
	if v.Empty {
		return encodeRange(EmptyRange), nil
	}
	for _, e := range []*Bound{&v.Lower, &v.Upper} {
		if e.Inf {
			continue
		}
		d, whole, err := m.sized(t.Sub, m.int32())
		if err != nil {
			return Null, err
		}
		if !whole {
			return Null, errBinary("improper binary format in range bound")
		}
		e.D = d
	}
	return NewRange(t, v)
}
