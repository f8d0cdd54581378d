package routine

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// convert makes a value of one type one of another, as an assignment does: by a cast, or through text. What
// belongs to a domain is checked.
func convert(fc *types.FormatContext, d types.Datum, from, to *types.T) (types.Datum, error) {
	var err error
	base := to.BaseType()
	if !d.IsNull() {
		if d, err = convertValue(fc, d, from.BaseType(), base); err != nil {
			return types.Null, err
		}
	}
	if domain := domainOf(to); domain != nil && fc != nil && fc.CheckDomain != nil {
		return d, fc.CheckDomain(domain, d)
	}
	return d, nil
}

// domainOf returns the domain that values of t belong to, nil for none.
func domainOf(t *types.T) *types.T {
	if t.OfDomain() {
		return t
	}
	return t.Domain()
}

func convertValue(fc *types.FormatContext, d types.Datum, from, to *types.T) (types.Datum, error) {
	switch {
	case from.Oid == to.Oid && (to.Typmod < 0 || to.Typmod == from.Typmod):
		return d, nil
	case to.Family == types.RecordFamily && from.Family == types.RecordFamily:
		return convertRow(fc, d, from, to)
	case from.Oid == types.Unknown.Oid:
		return typeio.ParseText(to, d.Str(), fc)
	}
	if from.Oid != to.Oid {
		c, ok := casts.Find(from, to)
		var err error
		switch {
		case !ok || c.Context == types.CastExplicit:
			if d, err = typeio.ParseText(to, string(typeio.AppendText(nil, from, d, fc)), fc); err != nil {
				return types.Null, err
			}
		case c.Fn != nil:
			if d, err = c.Fn(fc, d, to); err != nil {
				return types.Null, err
			}
		}
	}
	return types.ApplyTypmod(d, to, false, fc)
}

// convertRow converts a row field by field.
func convertRow(fc *types.FormatContext, d types.Datum, from, to *types.T) (types.Datum, error) {
	want := to.Fields()
	if want == nil {
		return d, nil
	}
	fields := types.RecordFields(from, d, fc)
	if len(want) != len(fields) {
		return types.Null, pgerr.New(pgerr.DatatypeMismatch, "cannot cast type %s to %s", from.SQLName, to.SQLName)
	}
	ts, ds := make([]*types.T, len(want)), make([]types.Datum, len(want))
	for i := range want {
		var err error
		ts[i] = want[i].Type
		if ds[i], err = convert(fc, fields[i].Datum, fields[i].Type, ts[i]); err != nil {
			return types.Null, err
		}
	}
	return types.NewRecord(ts, ds), nil
}

// makeRow makes a row of the type to of values of other types.
func makeRow(fc *types.FormatContext, vals []types.Datum, from []*types.T, to *types.T) (types.Datum, error) {
	want := to.Fields()
	ts, ds := make([]*types.T, len(vals)), make([]types.Datum, len(vals))
	for i := range vals {
		ts[i], ds[i] = from[i], vals[i]
		if i < len(want) {
			var err error
			ts[i] = want[i].Type
			if ds[i], err = convert(fc, vals[i], from[i], ts[i]); err != nil {
				return types.Null, err
			}
		}
	}
	return types.NewRecord(ts, ds), nil
}
