package jsonfuncs

import (
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/arrayfuncs"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// jsonWriter prints SQL values as JSON.
type jsonWriter struct {
	fc    *types.FormatContext
	lines bool // line feeds between the outermost elements
}

// Append appends a value of type t as JSON text.
func Append(dst []byte, t *types.T, d types.Datum, fc *types.FormatContext) []byte {
	w := jsonWriter{fc: fc}
	return w.value(dst, t, d)
}

func (w *jsonWriter) comma(dst []byte, i int, lines bool) []byte {
	if i > 0 {
		dst = append(dst, ',')
		if lines {
			dst = append(dst, "\n "...)
		}
	}
	return dst
}

func (w *jsonWriter) value(dst []byte, t *types.T, d types.Datum) []byte {
	if w.fc.Stopped(1) {
		return dst
	}
	lines := w.lines
	w.lines = false
	if d.IsNull() {
		return append(dst, "null"...)
	}
	switch d.Family() {
	case types.BoolFamily:
		return strconv.AppendBool(dst, d.Bool())
	case types.JSONFamily:
		return append(dst, d.Str()...)
	case types.ArrayFamily:
		a := d.DecodeArray(w.fc)
		dst, _ = w.array(dst, arrayfuncs.ElemType(t), a.Dims, a.Elems, lines)
		return dst
	case types.RecordFamily:
		return w.record(dst, t, d, lines)
	case types.HstoreFamily:
		return casts.AppendHstoreJSON(dst, d, w.fc)
	}
	return w.scalar(dst, t, d)
}

func (w *jsonWriter) record(dst []byte, t *types.T, d types.Datum, lines bool) []byte {
	fields := types.RecordFields(t, d, w.fc)
	defs := t.Fields()
	dst = append(dst, '{')
	for i, f := range fields {
		dst = w.comma(dst, i, lines)
		name := "f" + strconv.Itoa(i+1)
		if len(defs) == len(fields) {
			name = defs[i].Name
		}
		dst = append(types.AppendJSONString(dst, name, w.fc), ':')
		dst = w.value(dst, f.Type, f.Datum)
	}
	return append(dst, '}')
}

func (w *jsonWriter) scalar(dst []byte, t *types.T, d types.Datum) []byte {
	s := typeio.FormatDatum(t, d, w.fc)
	switch d.Family() {
	case types.IntFamily, types.FloatFamily, types.DecimalFamily:
		number := d.Family() != types.IntFamily || t.IsInteger()
		if c := s[len(s)-1]; number && c >= '0' && c <= '9' {
			return append(dst, s...)
		}
	case types.TimestampFamily, types.TimestampTZFamily:
		s = strings.Replace(s, " ", "T", 1)
		bc := strings.HasSuffix(s, " BC")
		s = strings.TrimSuffix(s, " BC")
		if i := len(s) - 3; t.Is(types.TimestampTZ) && i > 0 && (s[i] == '+' || s[i] == '-') {
			s += ":00"
		}
		if bc {
			s += " BC"
		}
	}
	return types.AppendJSONString(dst, s, w.fc)
}

// array prints the elements of an array's first dimension and returns the
// elements that are left.
func (w *jsonWriter) array(dst []byte, t *types.T, dims []types.ArrayDim, elems []types.Datum, lines bool) ([]byte, []types.Datum) {
	dst = append(dst, '[')
	n := 0
	if len(dims) > 0 {
		n = int(dims[0].Len)
	}
	for i := range n {
		dst = w.comma(dst, i, lines)
		if len(dims) > 1 {
			dst, elems = w.array(dst, t, dims[1:], elems, false)
			continue
		}
		dst = w.value(dst, t, elems[0])
		elems = elems[1:]
	}
	return append(dst, ']'), elems
}
