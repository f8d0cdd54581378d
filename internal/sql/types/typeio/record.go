package typeio

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func appendRecord(dst []byte, t *types.T, d types.Datum, fc *types.FormatContext) []byte {
	dst = append(dst, '(')
	for i, f := range types.RecordFields(t, d, fc) {
		if i > 0 {
			dst = append(dst, ',')
		}
		if !f.IsNull() {
			dst = appendRecordItem(dst, f, fc)
		}
	}
	return append(dst, ')')
}

func appendRecordItem(dst []byte, f types.Field, fc *types.FormatContext) []byte {
	return appendQuoted(dst, f.Type, f.Datum, `"\(),`, fc)
}

// recordReader reads the text form of a record.
type recordReader struct{ lit, s string }

func (r *recordReader) err(detail string) error {
	return pgerr.New(pgerr.InvalidTextRepresentation, "malformed record literal: \"%s\"", r.lit).WithDetail("%s", detail)
}

// item reads the text of a field, up to what ends it; null is set for an
// entirely empty one.
func (r *recordReader) item() (text string, null bool, err error) {
	if r.s == "" {
		return "", false, r.err("Unexpected end of input.")
	}
	if r.s[0] == ',' || r.s[0] == ')' {
		return "", true, nil
	}
	text, rest, ok := readQuoted(r.s, ",)")
	if !ok {
		return "", false, r.err("Unexpected end of input.")
	}
	r.s = rest
	return text, false, nil
}

// parseRecord reads a value of a composite type.
func parseRecord(t *types.T, s string, fc *types.FormatContext) (types.Datum, error) {
	if t.Def == nil || t.Def.Kind != types.DefComposite {
		return types.Null, pgerr.Unsupported("input of anonymous composite types is not implemented")
	}
	r := recordReader{lit: s, s: strings.TrimLeft(s, " \t\n\v\f\r")}
	if !strings.HasPrefix(r.s, "(") {
		return types.Null, r.err("Missing left parenthesis.")
	}
	r.s = r.s[1:]
	defs := t.Def.Fields
	ts, ds := make([]*types.T, len(defs)), make([]types.Datum, len(defs))
	for i, f := range defs {
		ts[i] = f.Type
		if i > 0 {
			if !strings.HasPrefix(r.s, ",") {
				return types.Null, r.err("Too few columns.")
			}
			r.s = r.s[1:]
		}
		text, null, err := r.item()
		if err != nil {
			return types.Null, err
		}
		if !null {
			if ds[i], err = ParseText(f.Type, text, fc); err != nil {
				return types.Null, err
			}
		}
		if err := types.CheckField(fc, f.Type, ds[i]); err != nil {
			return types.Null, err
		}
	}
	if len(defs) == 0 && strings.HasPrefix(r.s, ")") {
		return types.NewRecord(ts, ds), nil
	}
	if !strings.HasPrefix(r.s, ")") {
		return types.Null, r.err("Too many columns.")
	}
	if strings.Trim(r.s[1:], " \t\n\v\f\r") != "" {
		return types.Null, r.err("Junk after right parenthesis.")
	}
	return types.NewRecord(ts, ds), nil
}

// record reads the binary form of a composite value.
func (m *message) record(t *types.T) (types.Datum, error) {
	if t.Def == nil || t.Def.Kind != types.DefComposite {
		return types.Null, pgerr.Unsupported("input of anonymous composite types is not implemented")
	}
	n := m.int32()
	if m.err != nil {
		return types.Null, m.err
	}
	defs := t.Def.Fields
	if int(n) != len(defs) {
		return types.Null, pgerr.New(pgerr.DatatypeMismatch, "wrong number of columns: %d, expected %d", n, len(defs))
	}
	ts, ds := make([]*types.T, len(defs)), make([]types.Datum, len(defs))
	for i, f := range defs {
		ts[i] = f.Type
		if oid, want := m.uint32(), f.Type.Shown(); oid != want.Oid && m.err == nil {
			return types.Null, pgerr.New(pgerr.DatatypeMismatch,
				"binary data has type %d instead of expected %d (%s) in record column %d", oid, want.Oid, want.SQLName, i+1)
		}
		size := m.int32()
		if size == -1 {
			continue
		}
		d, whole, err := m.sized(f.Type, size)
		if err != nil {
			return types.Null, err
		}
		if !whole {
			return types.Null, errBinary("improper binary format in record column %d", i+1)
		}
		ds[i] = d
	}
	return types.NewRecord(ts, ds), m.err
}
