package typeio

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Converter converts text from one encoding to another and counts its pieces as steps of fc.
type Converter func(s string, fc *types.FormatContext) (string, error)

// BinaryText returns a datum whose binary form is that of d with all its text converted by
// encode. 0A000 for text in types where that is not possible, and fc's error once the statement is
// cancelled; fc may be nil.
func BinaryText(t *types.T, d types.Datum, encode Converter, fc *types.FormatContext) (types.Datum, error) {
	if d.IsNull() {
		return d, nil
	}
	switch t.Family {
	case types.StringFamily:
		if t.Oid == types.Char.Oid {
			return d, nil
		}
		s, err := encode(d.Str(), fc)
		return types.NewString(s), err
	case types.CitextFamily:
		s, err := encode(d.Str(), fc)
		return types.NewCitext(s), err
	case types.JSONFamily:
		s, err := encode(d.Str(), fc)
		return types.NewJSON(s), err
	case types.ArrayFamily:
		return arrayText(t, d, encode, fc)
	case types.RecordFamily:
		return recordText(t, d, encode, fc)
	case types.EnumFamily, types.RangeFamily, types.MultirangeFamily, types.TSVectorFamily, types.TSQueryFamily, types.JSONPathFamily, types.OpaqueFamily, types.HstoreFamily, types.LabelFamily:
		for _, b := range AppendBinary(nil, t, d, fc) {
			if b >= 0x80 {
				return d, pgerr.Unsupported("the binary form of %s is supported with the client encoding UTF8 only", t.SQLName).
					WithHint("Ask for the text form.")
			}
		}
	}
	return d, nil
}

func arrayText(t *types.T, d types.Datum, encode Converter, fc *types.FormatContext) (types.Datum, error) {
	elem := t.Elem
	if elem == nil {
		elem = types.Text
	}
	return types.MapArray(d, fc, func(e types.Datum) (types.Datum, error) { return BinaryText(elem, e, encode, fc) })
}

func recordText(t *types.T, d types.Datum, encode Converter, fc *types.FormatContext) (types.Datum, error) {
	fields := types.TypedFields(t, d)
	ts, vals := make([]*types.T, len(fields)), make([]types.Datum, len(fields))
	for i, f := range fields {
		var err error
		if vals[i], err = BinaryText(f.Type, f.Datum, encode, fc); err != nil {
			return d, err
		}
		ts[i] = f.Type
	}
	return types.NewRecord(ts, vals), nil
}
