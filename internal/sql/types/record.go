package types

// TypedFields decodes a record of type t; fields that t names have their type
// there.
func TypedFields(t *T, d Datum) []Field {
	fields := d.Record()
	if defs := t.Fields(); len(defs) == len(fields) {
		for i := range fields {
			fields[i].Type = defs[i].Type
		}
	}
	return fields
}

// RecordFields decodes a record of type t.
func RecordFields(t *T, d Datum, fc *FormatContext) []Field {
	fields := TypedFields(t, d)
	for i := range fields {
		if f := &fields[i]; f.Type.Oid == Unknown.Oid && f.unknownOid != 0 && fc != nil && fc.TypeByOid != nil {
			if u, ok := fc.TypeByOid(f.unknownOid); ok {
				f.Type = u
			}
		}
	}
	return fields
}
