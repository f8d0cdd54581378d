package types

import (
	"cmp"
	"slices"

	"github.com/lichendb/lichen/internal/must"
)

// Multirange decodes a multirange: ranges in order, neither empty nor touching. Once fc.Step
// fails some are left out; fc may be nil.
func (d Datum) Multirange(fc *FormatContext) []Range {
	r := reader{s: d.s}
	n := r.uvarint()
	var out []Range
	for ; n > 0 && r.err == nil && !fc.Stopped(1); n-- {
		out = append(out, r.rangeBounds(0))
	}
	must.True(r.err == nil, "types: multirange payload: %v", r.err)
	return out
}

// NewMultirange makes a multirange of ranges in their canonical form: it orders
// them and joins those that overlap or touch. Once fc.Step fails it returns an empty one; fc may
// be nil.
func NewMultirange(rs []Range, fc *FormatContext) Datum {
	rs = MergeRanges(rs, fc)
	b := appendUvarint(nil, uint64(len(rs)))
	for _, r := range rs {
		if fc.Stopped(1) {
			return NewMultirange(nil, nil)
		}
		b = appendEncodedRange(b, r)
	}
	return Datum{fam: MultirangeFamily, s: string(b)}
}

// MergeRanges orders ranges, drops empty ones and joins what overlaps or touches. Once fc.Step
// fails the result is cut short; fc may be nil.
func MergeRanges(rs []Range, fc *FormatContext) []Range {
	rs = slices.DeleteFunc(slices.Clone(rs), func(r Range) bool { return r.Empty })
	slices.SortFunc(rs, func(a, b Range) int {
		if fc.Stopped(1) {
			return 0
		}
		return CompareRanges(a, b)
	})
	var out []Range
	for _, r := range rs {
		if fc.Stopped(1) {
			return nil
		}
		if n := len(out); n > 0 && (CompareLowerUpper(r.Lower, out[n-1].Upper) <= 0 || BoundsAdjacent(out[n-1].Upper, r.Lower)) {
			if CompareUpper(r.Upper, out[n-1].Upper) > 0 {
				out[n-1].Upper = r.Upper
			}
			continue
		}
		out = append(out, r)
	}
	return out
}

// BoundsAdjacent reports whether an upper and a lower bound meet without a gap
// or an overlap.
func BoundsAdjacent(up, lo Bound) bool {
	if up.Inf || lo.Inf {
		return false
	}
	return Compare(up.D, lo.D) == 0 && up.Incl != lo.Incl
}

func compareMultiranges(a, b Datum, fc *FormatContext) int {
	x, y := a.Multirange(fc), b.Multirange(fc)
	for i := range min(len(x), len(y)) {
		if fc.Stopped(1) {
			return 0
		}
		if c := CompareRanges(x[i], y[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(x), len(y))
}

// MultirangeOf returns the multirange type of a range type.
func MultirangeOf(t *T) (*T, bool) {
	if t.Def != nil && t.Def.Kind == DefRange {
		m := t.Def.Multirange
		return NewUserType(m.Oid, m.Name, m.SQLName, &Def{Kind: DefMultirange, ArrayOid: m.ArrayOid, Base: t}), true
	}
	for _, m := range []*T{Int4Multirange, Int8Multirange, NumMultirange, TSMultirange, TSTZMultirange, DateMultirange} {
		if m.Sub.Oid == t.Oid {
			return m, true
		}
	}
	return nil, false
}
