package casts

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// recordCast returns the cast of a record to a composite type, and of a
// composite value to an anonymous record.
func recordCast(from, to *types.T) (Cast, bool) {
	if from.Family != types.RecordFamily || to.Family != types.RecordFamily {
		return Cast{}, false
	}
	if to.Def == nil || to.Def.Kind == types.DefRow {
		return Cast{Context: types.CastImplicit, Method: 'b'}, true
	}
	defs := from.Fields()
	ctx := types.CastExplicit
	if from.Oid == types.Record.Oid {
		ctx = types.CastImplicit
	}
	if defs != nil && len(defs) != len(to.Def.Fields) {
		return Cast{}, false
	}
	return Cast{Context: ctx, Method: 'f', Fn: func(fc *types.FormatContext, d types.Datum, to *types.T) (types.Datum, error) {
		return convertRecord(fc, from, d, to)
	}}, true
}

// convertRecord converts the fields of a record to those of a composite type.
func convertRecord(fc *types.FormatContext, from *types.T, d types.Datum, to *types.T) (types.Datum, error) {
	fields := types.RecordFields(from, d, fc)
	defs := to.Def.Fields
	if len(fields) != len(defs) {
		return types.Null, pgerr.New(pgerr.CannotCoerce, "cannot cast type %s to %s", from.SQLName, to.SQLName).
			WithDetail("Input has too %s columns.", map[bool]string{true: "few", false: "many"}[len(fields) < len(defs)])
	}
	ts, ds := make([]*types.T, len(defs)), make([]types.Datum, len(defs))
	for i, f := range fields {
		ts[i] = defs[i].Type
		if !f.IsNull() {
			v, err := convertField(fc, f, ts[i])
			if err != nil {
				return types.Null, err
			}
			ds[i] = v
		}
		if err := types.CheckField(fc, ts[i], ds[i]); err != nil {
			return types.Null, err
		}
	}
	return types.NewRecord(ts, ds), nil
}

func convertField(fc *types.FormatContext, f types.Field, to *types.T) (d types.Datum, err error) {
	d = f.Datum
	if !f.Type.Is(to) {
		c, ok := Find(f.Type, to)
		if !ok {
			return types.Null, pgerr.New(pgerr.CannotCoerce, "cannot cast type %s to %s", f.Type.SQLName, to.SQLName)
		}
		if c.Fn != nil {
			if d, err = c.Fn(fc, d, to); err != nil {
				return types.Null, err
			}
		}
	}
	return types.ApplyTypmod(d, to, false, fc)
}
