package types

import "github.com/lichendb/lichen/internal/sql/pgerr"

// recordCast returns the cast of a record to a composite type, and of a
// composite value to an anonymous record.
func recordCast(from, to *T) (Cast, bool) {
	if from.Family != RecordFamily || to.Family != RecordFamily {
		return Cast{}, false
	}
	if to.Def == nil || to.Def.Kind == DefRow {
		return Cast{Context: CastImplicit, Method: 'b'}, true
	}
	defs := from.Fields()
	ctx := CastExplicit
	if from.Oid == Record.Oid {
		ctx = CastImplicit
	}
	if defs != nil && len(defs) != len(to.Def.Fields) {
		return Cast{}, false
	}
	return Cast{Context: ctx, Method: 'f', Fn: func(fc *FormatContext, d Datum, to *T) (Datum, error) {
		return convertRecord(fc, from, d, to)
	}}, true
}

// convertRecord converts the fields of a record to those of a composite type.
func convertRecord(fc *FormatContext, from *T, d Datum, to *T) (Datum, error) {
	fields := RecordFields(from, d, fc)
	defs := to.Def.Fields
	if len(fields) != len(defs) {
		return Null, pgerr.New(pgerr.CannotCoerce, "cannot cast type %s to %s", from.SQLName, to.SQLName).
			WithDetail("Input has too %s columns.", map[bool]string{true: "few", false: "many"}[len(fields) < len(defs)])
	}
	ts, ds := make([]*T, len(defs)), make([]Datum, len(defs))
	for i, f := range fields {
		ts[i] = defs[i].Type
		if !f.IsNull() {
			v, err := convertField(fc, f, ts[i])
			if err != nil {
				return Null, err
			}
			ds[i] = v
		}
		if err := CheckField(fc, ts[i], ds[i]); err != nil {
			return Null, err
		}
	}
	return NewRecord(ts, ds), nil
}

func convertField(fc *FormatContext, f Field, to *T) (d Datum, err error) {
	d = f.Datum
	if !f.Type.Is(to) {
		c, ok := FindCast(f.Type, to)
		if !ok {
			return Null, pgerr.New(pgerr.CannotCoerce, "cannot cast type %s to %s", f.Type.SQLName, to.SQLName)
		}
		if c.Fn != nil {
			if d, err = c.Fn(fc, d, to); err != nil {
				return Null, err
			}
		}
	}
	return ApplyTypmod(d, to, false)
}
