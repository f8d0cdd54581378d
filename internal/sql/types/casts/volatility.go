package casts

import "github.com/lichendb/lichen/internal/sql/types"

// Immutable reports whether a cast always makes the same of a value. Others depend on settings
// such as DateStyle and TimeZone, or on the catalog: nothing that is stored may rest on them.
func Immutable(from, to *types.T) bool {
	switch {
	case from.Oid == to.Oid || from.Oid == types.Unknown.Oid: // a literal has been read
		return true
	case isArrayType(from) && isArrayType(to):
		return Immutable(from.Elem, to.Elem)
	case from.Family == types.RecordFamily && to.Family == types.RecordFamily:
		return immutableFields(from.Fields(), to.Fields())
	}
	c, ok := Find(from, to)
	switch {
	case !ok || c.Method == 'b':
		return true
	case c.Method == 'i':
		return !stableText(from) && !stableText(to) && to.Family != types.TimeFamily && to.Family != types.TimeTZFamily
	}
	return !stableFunctions[castKey{from.Oid, to.Oid}]
}

func immutableFields(from, to []types.FieldDef) bool {
	for i := range min(len(from), len(to)) {
		if !Immutable(from[i].Type, to[i].Type) {
			return false
		}
	}
	return true
}

// stableText reports whether the text of a value depends on settings or on the catalog.
func stableText(t *types.T) bool {
	switch t.Family {
	case types.DateFamily, types.TimestampFamily, types.TimestampTZFamily, types.IntervalFamily,
		types.RecordFamily, types.EnumFamily, types.RangeFamily, types.MultirangeFamily:
		return true
	case types.ArrayFamily:
		return !types.IsVector(t)
	}
	return t.IsReg() || t.Oid == types.Money.Oid
}

// stableFunctions are the casts by functions that read settings or the catalog.
var stableFunctions = func() map[castKey]bool {
	list := map[castKey]bool{}
	add := func(from *types.T, to ...*types.T) {
		for _, t := range to {
			list[castKey{from.Oid, t.Oid}] = true
		}
	}
	add(types.Date, types.TimestampTZ)
	add(types.Timestamp, types.TimestampTZ)
	add(types.TimestampTZ, types.Date, types.Timestamp, types.Time, types.TimeTZ)
	add(types.Time, types.TimeTZ)
	add(types.Money, types.Numeric)
	for _, t := range []*types.T{types.Int4, types.Int8, types.Numeric} {
		add(t, types.Money)
	}
	add(types.Text, types.Regclass)
	add(types.Varchar, types.Regclass)
	return list
}()
