package types

// Reshape says how the fields of a composite type have changed.
type Reshape struct {
	Oid    uint32
	Fields []FieldDef // as they are now
	// From has, for each of Fields, the position that it had, -1 for a new one.
	From []int
}

// Changes reports whether values have to be changed: whether a field was added, dropped or
// moved among the n that there were.
func (r *Reshape) Changes(n int) bool {
	for i, from := range r.From {
		if from != i {
			return true
		}
	}
	return len(r.From) != n
}

// Apply returns d, a value of type t as it was before the change, with the fields that
// values of r's type have now, NULL for new ones. It does not look into ranges. It fails once
// the statement is cancelled; fc may be nil.
func (r *Reshape) Apply(t *T, d Datum, fc *FormatContext) (Datum, error) {
	switch {
	case d.IsNull():
		return d, nil
	case t.IsDomain():
		return r.Apply(t.BaseType(), d, fc)
	case t.Oid == r.Oid:
		return r.record(d), nil
	case t.Family == ArrayFamily:
		return MapArray(d, fc, func(e Datum) (Datum, error) { return r.Apply(t.Elem, e, fc) })
	case t.Family == RecordFamily:
		return r.inFields(t, d, fc)
	}
	return d, nil
}

func (r *Reshape) record(d Datum) Datum {
	old := d.Record()
	ts, ds := make([]*T, len(r.Fields)), make([]Datum, len(r.Fields))
	for i, from := range r.From {
		if ts[i] = r.Fields[i].Type; from >= 0 {
			ds[i] = old[from].Datum
		}
	}
	return NewRecord(ts, ds)
}

// inFields applies r to the fields of a record of type t.
func (r *Reshape) inFields(t *T, d Datum, fc *FormatContext) (Datum, error) {
	fields := TypedFields(t, d)
	ts, ds := make([]*T, len(fields)), make([]Datum, len(fields))
	for i, f := range fields {
		var err error
		if ds[i], err = r.Apply(f.Type, f.Datum, fc); err != nil {
			return Null, err
		}
		ts[i] = f.Type
	}
	return NewRecord(ts, ds), nil
}
