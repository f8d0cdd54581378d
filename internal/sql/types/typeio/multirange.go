package typeio

import (
	"encoding/binary"
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func appendMultirange(dst []byte, t *types.T, d types.Datum, fc *types.FormatContext) []byte {
	dst = append(dst, '{')
	for i, r := range d.Multirange(fc) {
		if fc.Stopped(1) {
			return dst
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendRange(dst, t.Sub, r, fc)
	}
	return append(dst, '}')
}

func parseMultirange(t *types.T, s string, fc *types.FormatContext) (types.Datum, error) {
	fail := func(detail string) (types.Datum, error) {
		return types.Null, pgerr.New(pgerr.InvalidTextRepresentation, "malformed multirange literal: \"%s\"", s).WithDetail("%s", detail)
	}
	r := rangeReader{lit: s, s: s}
	r.skip()
	if !strings.HasPrefix(r.s, "{") {
		return fail("Missing left brace.")
	}
	r.s = r.s[1:]
	r.skip()
	var rs []types.Range
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
		if err := fc.CountSteps(1); err != nil {
			return types.Null, err
		}
		x, err := r.read()
		if err != nil {
			return types.Null, err
		}
		v, err := x.value(t.Sub, fc)
		if err != nil {
			return types.Null, err
		}
		rs = append(rs, v)
	}
	r.s = r.s[1:]
	if r.skip(); r.s != "" {
		return fail("Junk after closing right brace.")
	}
	return types.NewMultirange(rs, fc), fc.CountSteps(0)
}

func appendMultirangeBinary(dst []byte, t *types.T, d types.Datum, fc *types.FormatContext) []byte {
	rs := d.Multirange(fc)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(rs)))
	for _, r := range rs {
		if fc.Stopped(1) {
			return dst
		}
		dst = appendSized(dst, t.Sub, types.RangeDatum(r), fc)
	}
	return dst
}

func (m *message) multirange(t *types.T) (types.Datum, error) {
	n := m.int32()
	if n < 0 || int64(n)*4 > int64(len(m.b)) {
		m.take(len(m.b) + 1) // sets the error
	}
	if m.err != nil {
		return types.Null, m.err
	}
	rs := make([]types.Range, 0, n)
	for range n {
		if err := m.fc.CountSteps(1); err != nil {
			return types.Null, err
		}
		d, whole, err := m.sized(t.Sub, m.int32())
		if err != nil {
			return types.Null, err
		}
		if !whole {
			return types.Null, errBinary("improper binary format in multirange element")
		}
		rs = append(rs, d.Range())
	}
	return types.NewMultirange(rs, m.fc), m.fc.CountSteps(0)
}
