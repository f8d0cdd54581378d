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
// values of r's type have now, NULL for new ones. It does not look into ranges.
func (r *Reshape) Apply(t *T, d Datum) Datum {
	switch {
	case d.IsNull():
		return d
	case t.IsDomain():
		return r.Apply(t.BaseType(), d)
	case t.Oid == r.Oid:
		return r.record(d)
	case t.Family == ArrayFamily:
		a := d.Array()
		for i := range a.Elems {
			a.Elems[i] = r.Apply(t.Elem, a.Elems[i])
		}
		return NewArrayDims(a.Dims, a.Elems)
	case t.Family == RecordFamily:
		return r.inFields(t, d)
	}
	return d
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
func (r *Reshape) inFields(t *T, d Datum) Datum {
	fields := TypedFields(t, d)
	ts, ds := make([]*T, len(fields)), make([]Datum, len(fields))
	for i, f := range fields {
		ts[i], ds[i] = f.Type, r.Apply(f.Type, f.Datum)
	}
	return NewRecord(ts, ds)
}
