package typeio

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func appendRange(dst []byte, t *types.T, v types.Range, fc *types.FormatContext) []byte {
	if v.Empty {
		return append(dst, "empty"...)
	}
	open, end := byte('('), byte(')')
	if v.Lower.Incl {
		open = '['
	}
	if v.Upper.Incl {
		end = ']'
	}
	dst = append(dst, open)
	if !v.Lower.Inf {
		dst = appendRangeBound(dst, t.Sub, v.Lower.D, fc)
	}
	dst = append(dst, ',')
	if !v.Upper.Inf {
		dst = appendRangeBound(dst, t.Sub, v.Upper.D, fc)
	}
	return append(dst, end)
}

func appendRangeBound(dst []byte, t *types.T, d types.Datum, fc *types.FormatContext) []byte {
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
func (x rangeText) value(t *types.T, fc *types.FormatContext) (v types.Range, err error) {
	if x.empty {
		return types.EmptyRange, nil
	}
	v.Lower = types.Bound{Inf: x.lowerInf, Incl: x.lowerIncl}
	v.Upper = types.Bound{Inf: x.upperInf, Incl: x.upperIncl}
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
	return types.Canonical(t, v)
}

func parseRange(t *types.T, s string, fc *types.FormatContext) (types.Datum, error) {
	r := rangeReader{lit: s, s: s}
	x, err := r.read()
	if err != nil {
		return types.Null, err
	}
	if r.s != "" {
		if x.empty {
			return types.Null, r.err("Junk after \"empty\" key word.")
		}
		return types.Null, r.err("Junk after right parenthesis or bracket.")
	}
	v, err := x.value(t, fc)
	if err != nil {
		return types.Null, err
	}
	return types.RangeDatum(v), nil
}

func appendRangeBinary(dst []byte, t *types.T, v types.Range, fc *types.FormatContext) []byte {
	dst = append(dst, v.Flags())
	if v.Empty {
		return dst
	}
	if !v.Lower.Inf {
		dst = appendSized(dst, t.Sub, v.Lower.D, fc)
	}
	if !v.Upper.Inf {
		dst = appendSized(dst, t.Sub, v.Upper.D, fc)
	}
	return dst
}

func (m *message) rangeValue(t *types.T) (types.Datum, error) {
	b := m.take(1)
	if m.err != nil {
		return types.Null, m.err
	}
	flags := b[0] & 0x1f
	v := types.Range{
		Empty: flags&types.RangeEmpty != 0,
		Lower: types.Bound{Inf: flags&types.RangeLowerInf != 0, Incl: flags&types.RangeLowerInc != 0},
		Upper: types.Bound{Inf: flags&types.RangeUpperInf != 0, Incl: flags&types.RangeUpperInc != 0},
	}
	if v.Empty {
		return types.RangeDatum(types.EmptyRange), nil
	}
	for _, e := range []*types.Bound{&v.Lower, &v.Upper} {
		if e.Inf {
			continue
		}
		d, whole, err := m.sized(t.Sub, m.int32())
		if err != nil {
			return types.Null, err
		}
		if !whole {
			return types.Null, errBinary("improper binary format in range bound")
		}
		e.D = d
	}
	return types.NewRange(t, v)
}
