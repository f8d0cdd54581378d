package typeio

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// BinaryText returns a datum whose binary form is that of d with all its text converted by
// encode. 0A000 for text in types where that is not possible.
func BinaryText(t *types.T, d types.Datum, encode func(string) (string, error)) (types.Datum, error) {
	if d.IsNull() {
		return d, nil
	}
	switch t.Family {
	case types.StringFamily:
		if t.Oid == types.Char.Oid {
			return d, nil
		}
		s, err := encode(d.Str())
		return types.NewString(s), err
	case types.JSONFamily:
		s, err := encode(d.Str())
		return types.NewJSON(s), err
	case types.ArrayFamily:
		return arrayText(t, d, encode)
	case types.RecordFamily:
		return recordText(t, d, encode)
	case types.EnumFamily, types.RangeFamily, types.MultirangeFamily, types.TSVectorFamily, types.TSQueryFamily, types.JSONPathFamily, types.OpaqueFamily:
		for _, b := range AppendBinary(nil, t, d) {
			if b >= 0x80 {
				return d, pgerr.Unsupported("the binary form of %s is supported with the client encoding UTF8 only", t.SQLName).
					WithHint("Ask for the text form.")
			}
		}
	}
	return d, nil
}

func arrayText(t *types.T, d types.Datum, encode func(string) (string, error)) (types.Datum, error) {
	elem := t.Elem
	if elem == nil {
		elem = types.Text
	}
	a := d.Array()
	for i := range a.Elems {
		var err error
		if a.Elems[i], err = BinaryText(elem, a.Elems[i], encode); err != nil {
			return d, err
		}
	}
	return types.NewArrayDims(a.Dims, a.Elems), nil
}

func recordText(t *types.T, d types.Datum, encode func(string) (string, error)) (types.Datum, error) {
	fields := types.TypedFields(t, d)
	ts, vals := make([]*types.T, len(fields)), make([]types.Datum, len(fields))
	for i, f := range fields {
		var err error
		if vals[i], err = BinaryText(f.Type, f.Datum, encode); err != nil {
			return d, err
		}
		ts[i] = f.Type
	}
	return types.NewRecord(ts, vals), nil
}
