package types

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/sql/pgerr"
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

func appendMultirange(dst []byte, t *T, d Datum, fc *FormatContext) []byte {
	dst = append(dst, '{')
	for i, r := range d.Multirange() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendRange(dst, t.Sub, r, fc)
	}
	return append(dst, '}')
}

func parseMultirange(t *T, s string, fc *FormatContext) (Datum, error) {
	fail := func(detail string) (Datum, error) {
		return Null, pgerr.New(pgerr.InvalidTextRepresentation, "malformed multirange literal: \"%s\"", s).WithDetail("%s", detail)
	}
	r := rangeReader{lit: s, s: s}
	r.skip()
	if !strings.HasPrefix(r.s, "{") {
		return fail("Missing left brace.")
	}
	r.s = r.s[1:]
	r.skip()
	var rs []Range
	for !strings.HasPrefix(r.s, "}") {
		if r.s == "" {
			return fail("Unexpected end of input.")
		}
		if len(rs) > 0 {
			if !strings.HasPrefix(r.s, ",") {
				return fail("Expected comma or end of multirange.")
			}
			r.s = r.s[1:]
		}
		r.skip()
		if r.s == "" || r.s[0] != '(' && r.s[0] != '[' && r.s[0]|0x20 != 'e' {
			return fail("Expected range start.")
		}
		x, err := r.read()
		if err != nil {
			return Null, err
		}
		v, err := x.value(t.Sub, fc)
		if err != nil {
			return Null, err
		}
		rs = append(rs, v)
	}
	r.s = r.s[1:]
	if r.skip(); r.s != "" {
		return fail("Junk after closing right brace.")
	}
	return NewMultirange(rs), nil
}

func appendMultirangeBinary(dst []byte, t *T, d Datum) []byte {
	rs := d.Multirange()
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(rs)))
	for _, r := range rs {
		dst = appendSized(dst, t.Sub, encodeRange(r))
	}
	return dst
}

func (m *message) multirange(t *T) (Datum, error) {
	n := m.int32()
	if n < 0 || int64(n)*4 > int64(len(m.b)) {
		m.take(len(m.b) + 1) // sets the error
	}
	if m.err != nil {
		return Null, m.err
	}
	rs := make([]Range, 0, n)
	for range n {
		d, whole, err := m.sized(t.Sub, m.int32())
		if err != nil {
			return Null, err
		}
		if !whole {
			return Null, errBinary("improper binary format in multirange element")
		}
		rs = append(rs, d.Range())
	}
	return NewMultirange(rs), nil
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

func addRangeCasts(add castAdder) {
	for _, m := range []*T{Int4Multirange, Int8Multirange, NumMultirange, TSMultirange, TSTZMultirange, DateMultirange} {
		add(m.Sub, CastExplicit, 'f', castToMultirange, m)
	}
}

func castToMultirange(_ *FormatContext, d Datum, _ *T) (Datum, error) {
	return NewMultirange([]Range{d.Range()}), nil
}
