package types

import "github.com/lichendb/lichen/internal/sql/pgerr"

// BinaryText returns a datum whose binary form is that of d with all its text converted by
// encode. 0A000 for text in types where that is not possible.
func BinaryText(t *T, d Datum, encode func(string) (string, error)) (Datum, error) {
	if d.IsNull() {
		return d, nil
	}
	switch t.Family {
	case StringFamily:
		if t.Oid == Char.Oid {
			return d, nil
		}
		s, err := encode(d.Str())
		return NewString(s), err
	case JSONFamily:
		s, err := encode(d.Str())
		return NewJSON(s), err
	case ArrayFamily:
		return arrayText(t, d, encode)
	case RecordFamily:
		return recordText(t, d, encode)
	case EnumFamily, RangeFamily, MultirangeFamily, TSVectorFamily, TSQueryFamily, JSONPathFamily, OpaqueFamily:
		for _, b := range AppendBinary(nil, t, d) {
			if b >= 0x80 {
				return d, pgerr.Unsupported("the binary form of %s is supported with the client encoding UTF8 only", t.SQLName).
					WithHint("Ask for the text form.")
			}
		}
	}
	return d, nil
}

func arrayText(t *T, d Datum, encode func(string) (string, error)) (Datum, error) {
	elem := t.Elem
	if elem == nil {
		elem = Text
	}
	a := d.Array()
	for i := range a.Elems {
		var err error
		if a.Elems[i], err = BinaryText(elem, a.Elems[i], encode); err != nil {
			return d, err
		}
	}
	return NewArrayDims(a.Dims, a.Elems), nil
}

func recordText(t *T, d Datum, encode func(string) (string, error)) (Datum, error) {
	fields := typedFields(t, d)
	ts, vals := make([]*T, len(fields)), make([]Datum, len(fields))
	for i, f := range fields {
		var err error
		if vals[i], err = BinaryText(f.Type, f.Datum, encode); err != nil {
			return d, err
		}
		ts[i] = f.Type
	}
	return NewRecord(ts, vals), nil
}
