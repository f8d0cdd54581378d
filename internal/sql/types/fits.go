package types

import "math"

// Fits reports whether d can be stored as a value of type t and read again: it is NULL, or
// of the type's family and width, as are the elements, fields and bounds in it, and
// DecodeEncoded takes its payload. Modifiers and domains are not looked at. Once fc.Step fails the answer
// means nothing; fc may be nil.
func (t *T) Fits(d Datum, fc *FormatContext) bool {
	if d.fam != t.Family {
		return d.fam == NullFamily
	}
	lo, hi, inside := t.Width()
	return d.n >= lo && d.n <= hi && (!inside || t.fitsPayload(d, 0, fc))
}

// Width says how Fits decides about a datum of the type's family: by its integer, between
// lo and hi, and by what is inside of it.
func (t *T) Width() (lo, hi int64, inside bool) {
	switch t.Family {
	case IntFamily:
		switch t.Oid {
		case Int2.Oid:
			return math.MinInt16, math.MaxInt16, false
		case Int4.Oid:
			return math.MinInt32, math.MaxInt32, false
		case Oid.Oid, Xid.Oid, CID.Oid:
			return 0, math.MaxUint32, false
		}
	case ArrayFamily, RecordFamily, RangeFamily, MultirangeFamily, UUIDFamily, InetFamily, MACFamily, BitFamily, GeometryFamily:
		inside = true
	}
	return math.MinInt64, math.MaxInt64, inside
}

// fitsPayload looks into a value of the type's family, the depth-th around the innermost
// one.
func (t *T) fitsPayload(d Datum, depth int, fc *FormatContext) bool {
	r := reader{s: d.s}
	switch d.fam {
	case ArrayFamily:
		for n := r.skipDims(); n > 0 && r.err == nil && !fc.Stopped(1); n-- {
			r.fits(t.Elem, depth+1, fc)
		}
	case RecordFamily:
		r.fitsFields(t, depth+1, fc)
	case RangeFamily:
		r.fitsBounds(t.Sub, depth, fc)
	case MultirangeFamily:
		for n := r.uvarint(); n > 0 && r.err == nil && !fc.Stopped(1); n-- {
			r.fitsBounds(t.Sub.Sub, depth, fc)
		}
	case GeometryFamily:
		return validGeometry(d.s) && t.BaseType().hasShape(d.s)
	default:
		r.check(d, depth)
		return r.err == nil
	}
	return r.err == nil && r.s == ""
}

// fits reads a datum, and fails if it is not one of type t.
func (r *reader) fits(t *T, depth int, fc *FormatContext) {
	d := r.datum(depth)
	if r.err != nil || d.fam == NullFamily && depth <= MaxEncodedDepth {
		return
	}
	lo, hi, inside := t.Width()
	if depth > MaxEncodedDepth || d.fam != t.Family || d.n < lo || d.n > hi || inside && !t.fitsPayload(d, depth, fc) {
		r.fail()
	}
}

// fitsFields reads the fields of a record of type t.
func (r *reader) fitsFields(t *T, depth int, fc *FormatContext) {
	if t.IsDomain() {
		t = t.BaseType()
	}
	defs := t.Fields()
	n := r.uvarint()
	if t.Def == nil || n != uint64(len(defs)) {
		r.fail()
		return
	}
	for i := range defs {
		r.uvarint() // the oid, which the type knows
		r.fits(defs[i].Type, depth, fc)
	}
}

// fitsBounds reads a range over sub.
func (r *reader) fitsBounds(sub *T, depth int, fc *FormatContext) {
	v := r.rangeBounds(depth)
	if !sub.Fits(v.Lower.D, fc) || !sub.Fits(v.Upper.D, fc) {
		r.fail()
	}
}

// skipDims passes over the dimensions of an array and returns the number of its elements.
func (r *reader) skipDims() uint64 {
	dims := int(r.byte())
	if dims == 0 {
		return 0
	}
	if dims > MaxArrayDims {
		r.fail()
	}
	total := uint64(1)
	for ; dims > 0 && r.err == nil; dims-- {
		l := r.uvarint()
		r.int32()
		if total *= l; l == 0 || l > MaxArrayElems || total > uint64(len(r.s)) {
			r.fail()
		}
	}
	return total
}
