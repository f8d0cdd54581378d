package types

import (
	"cmp"
	"slices"

	"github.com/lichendb/lichen/internal/must"
)

// Multirange decodes a multirange: ranges in order, neither empty nor touching.
func (d Datum) Multirange() []Range {
	r := reader{s: d.s}
	n := r.uvarint()
	var out []Range
	for ; n > 0 && r.err == nil; n-- {
		out = append(out, r.rangeBounds(0))
	}
	must.True(r.err == nil, "types: multirange payload: %v", r.err)
	return out
}

// NewMultirange makes a multirange of ranges in their canonical form: it orders
// them and joins those that overlap or touch.
func NewMultirange(rs []Range) Datum {
	b := appendUvarint(nil, 0)
	if rs = MergeRanges(rs); len(rs) > 0 {
		b = appendUvarint(nil, uint64(len(rs)))
	}
	for _, r := range rs {
		b = appendEncodedRange(b, r)
	}
	return Datum{fam: MultirangeFamily, s: string(b)}
}

// MergeRanges orders ranges, drops empty ones and joins what overlaps or touches.
func MergeRanges(rs []Range) []Range {
	rs = slices.DeleteFunc(slices.Clone(rs), func(r Range) bool { return r.Empty })
	slices.SortFunc(rs, CompareRanges)
	var out []Range
	for _, r := range rs {
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

func compareMultiranges(a, b Datum) int {
	x, y := a.Multirange(), b.Multirange()
	for i := range min(len(x), len(y)) {
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
