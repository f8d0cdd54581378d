package types

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/sql/hstore"
)

// Compare orders two datums of one family, as the btree operator class of
// their type does: a float NaN is above every number, text and bytea are
// bytewise. NULL sorts after everything and equals itself. Datums of different
// families order by family.
func Compare(a, b Datum) int { return CompareSteps(a, b, nil) }

// CompareSteps is Compare that counts its steps with fc, and ends when fc.Step says so.
func CompareSteps(a, b Datum, fc *FormatContext) int {
	if a.fam != b.fam {
		switch {
		case a.fam == NullFamily:
			return 1
		case b.fam == NullFamily:
			return -1
		}
		return cmp.Compare(a.fam, b.fam)
	}
	switch a.fam {
	case BoolFamily, IntFamily, DateFamily, TimeFamily, TimestampFamily, TimestampTZFamily:
		return cmp.Compare(a.n, b.n)
	case FloatFamily:
		return CompareFloats(a.Float(), b.Float())
	case DecimalFamily:
		return compareDecimals(a, b)
	case StringFamily, BytesFamily, UUIDFamily:
		return CompareStrings(a.s, b.s, fc)
	case TimeTZFamily:
		return compareTimeTZ(a, b)
	case IntervalFamily:
		return CompareIntervals(a.Interval(), b.Interval())
	case JSONFamily:
		if a.s == b.s {
			return 0
		}
		return CompareJSON(a.JSONB(fc), b.JSONB(fc), fc)
	case ArrayFamily:
		return compareArrays(nil, a, b, fc)
	case RecordFamily:
		return compareRecords(a, b, fc)
	case EnumFamily, MACFamily, TSVectorFamily, TSQueryFamily, JSONPathFamily, OpaqueFamily, GeometryFamily, LabelFamily:
		return CompareStrings(a.s, b.s, fc)
	case CitextFamily:
		return compareCitext(a.s, b.s, fc)
	case HstoreFamily:
		return hstore.Compare(a.s, b.s)
	case BitFamily:
		return cmp.Or(CompareStrings(a.s, b.s, fc), cmp.Compare(a.n, b.n))
	case InetFamily:
		return compareInet(a.s, b.s)
	case RangeFamily:
		return CompareRanges(a.Range(), b.Range())
	case MultirangeFamily:
		return compareMultiranges(a, b, fc)
	}
	return 0
}

// CompareTyped is Compare for values of type t: it knows that trailing blanks
// of character(n) do not count. It is cut short as fc.Step says; fc may be nil.
func CompareTyped(t *T, a, b Datum, fc *FormatContext) int {
	switch {
	case t.Oid == Bpchar.Oid && a.fam == StringFamily && b.fam == StringFamily:
		return ComparePadded(a.s, b.s, fc)
	case t.Elem != nil && a.fam == ArrayFamily && b.fam == ArrayFamily:
		return compareArrays(t.Elem, a, b, fc)
	}
	return CompareSteps(a, b, fc)
}

// HasOrder reports whether values of t have an order, a btree operator class in PostgreSQL.
func HasOrder(t *T) bool {
	for t.Elem != nil {
		t = t.Elem
	}
	if fields := t.namedFields(); len(fields) > 0 {
		return !slices.ContainsFunc(fields, func(f FieldDef) bool { return !HasOrder(f.Type) })
	}
	return HasEquality(t) && t.Oid != Xid.Oid && t.Oid != CID.Oid && t.Oid != ACLItem.Oid
}

// HasEquality reports whether values of t can be told apart, in PostgreSQL by an operator class. Those
// of a composite type can if those of all its fields can; of a record, as PostgreSQL assumes.
func HasEquality(t *T) bool {
	for t.Elem != nil {
		t = t.Elem
	}
	switch t.Family {
	case RecordFamily:
		return !slices.ContainsFunc(t.namedFields(), func(f FieldDef) bool { return !HasEquality(f.Type) })
	case JSONFamily:
		return t.Oid == JSONB.Oid
	case OpaqueFamily:
		return t.Oid == ACLItem.Oid
	case JSONPathFamily, GeometryFamily:
		return false
	}
	return true
}

// namedFields returns the fields of a composite type, nil for a record without one.
func (t *T) namedFields() []FieldDef {
	if t.Def == nil || t.Def.Kind != DefComposite {
		return nil
	}
	return t.Def.Fields
}

// CompareFloats orders floats with NaN equal to itself and above the rest.
func CompareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	}
	return -cmp.Compare(boolByte(!math.IsNaN(a)), boolByte(!math.IsNaN(b)))
}

// compareTimeTZ orders by instant, then by zone, east first.
func compareTimeTZ(a, b Datum) int {
	if c := cmp.Compare(TimeTZInstant(a), TimeTZInstant(b)); c != 0 {
		return c
	}
	return cmp.Compare(a.m, b.m)
}

// TimeTZInstant returns the microseconds since midnight UTC that a timetz stands for.
func TimeTZInstant(d Datum) int64 { return d.n + int64(d.m)*MicrosPerSec }

// CompareIntervals orders intervals with months of 30 days of 24 hours.
func CompareIntervals(a, b IntervalValue) int {
	ah, al := intervalSpan(a)
	bh, bl := intervalSpan(b)
	if c := cmp.Compare(ah, bh); c != 0 {
		return c
	}
	return cmp.Compare(al, bl)
}

// intervalSpan returns the length of v in microseconds as a 128-bit integer:
// 2^31 months of 30 days exceed an int64.
func intervalSpan(v IntervalValue) (hi int64, lo uint64) {
	days := int64(v.Months)*30 + int64(v.Days)
	h, l := bits.Mul64(uint64(AbsInt64(days)), uint64(MicrosPerDay))
	if days < 0 {
		var borrow uint64
		l, borrow = bits.Sub64(0, l, 0)
		h, _ = bits.Sub64(0, h, borrow)
	}
	l, carry := bits.Add64(l, uint64(v.Micros), 0)
	h += uint64(v.Micros>>63) + carry
	return int64(h), l
}

// compareArrays orders by elements, then length, then shape, as PostgreSQL
// does. elem may be nil.
func compareArrays(elem *T, a, b Datum, fc *FormatContext) int {
	x, y := reader{s: a.s}, reader{s: b.s}
	xDims, yDims := x.dims(), y.dims()
	m, n := dimsCount(xDims), dimsCount(yDims)
	for range min(m, n) {
		if fc.Stopped(1) {
			return 0
		}
		if c := compareElems(elem, x.datum(0), y.datum(0), fc); c != 0 {
			return c
		}
	}
	must.True(x.err == nil && y.err == nil, "types: array payload: %v, %v", x.err, y.err)
	return cmp.Or(cmp.Compare(m, n), compareDims(xDims, yDims))
}

func compareElems(elem *T, a, b Datum, fc *FormatContext) int {
	if elem != nil {
		return CompareTyped(elem, a, b, fc)
	}
	return CompareSteps(a, b, fc)
}

// compareDims orders by the number of dimensions, then their lengths, then their lower bounds.
func compareDims(x, y []ArrayDim) int {
	return cmp.Or(
		cmp.Compare(len(x), len(y)),
		slices.CompareFunc(x, y, func(a, b ArrayDim) int { return cmp.Compare(a.Len, b.Len) }),
		slices.CompareFunc(x, y, func(a, b ArrayDim) int { return cmp.Compare(a.Lower, b.Lower) }))
}

func compareRecords(a, b Datum, fc *FormatContext) int {
	x, y := a.Record(), b.Record()
	for i := range min(len(x), len(y)) {
		if c := CompareTyped(x[i].Type, x[i].Datum, y[i].Datum, fc); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(x), len(y))
}

// CompareStrings orders strings by their bytes. It is cut short as fc.Step says; fc may be nil.
func CompareStrings(a, b string, fc *FormatContext) int {
	for len(a) > StepBytes && len(b) > StepBytes {
		if c := strings.Compare(a[:StepBytes], b[:StepBytes]); c != 0 || fc.Stopped(StepBytes) {
			return c
		}
		a, b = a[StepBytes:], b[StepBytes:]
	}
	return strings.Compare(a, b)
}

// ComparePadded is CompareStrings without blanks at the ends.
func ComparePadded(a, b string, fc *FormatContext) int {
	return CompareStrings(TrimBlanks(a, fc), TrimBlanks(b, fc), fc)
}

// TrimBlanks returns s without blanks at its end, or with some of them once fc.Step fails; fc may be
// nil.
func TrimBlanks(s string, fc *FormatContext) string {
	for len(s) > StepBytes {
		last := len(s) - StepBytes
		end := last + len(strings.TrimRight(s[last:], " "))
		if s = s[:end]; end > last || fc.Stopped(StepBytes) {
			return s
		}
	}
	return strings.TrimRight(s, " ")
}

// AppendHashKey appends bytes that are equal for two datums of a family exactly
// when Compare says they are equal. Keys of several datums may be concatenated. Once fc.Step
// fails the key is cut short; fc may be nil.
func AppendHashKey(dst []byte, d Datum, fc *FormatContext) []byte {
	dst = append(dst, byte(d.fam))
	switch d.fam {
	case BoolFamily:
		return append(dst, byte(d.n))
	case IntFamily, DateFamily, TimeFamily, TimestampFamily, TimestampTZFamily:
		return appendKey64(dst, uint64(d.n))
	case FloatFamily:
		return appendKey64(dst, floatKey(d.Float()))
	case DecimalFamily:
		return appendDecimalKey(dst, d)
	case StringFamily, BytesFamily, UUIDFamily:
		return appendStringKey(dst, d.s, fc)
	case TimeTZFamily:
		dst = appendKey64(dst, uint64(TimeTZInstant(d)))
		return appendKey64(dst, uint64(d.m))
	case IntervalFamily:
		hi, lo := intervalSpan(d.Interval())
		return appendKey64(appendKey64(dst, uint64(hi)), lo)
	case JSONFamily:
		return appendJSONKey(dst, d.JSONB(fc), fc)
	case ArrayFamily:
		return appendArrayKey(dst, nil, d, fc)
	case RecordFamily:
		fields := d.Record()
		dst = appendUvarint(dst, uint64(len(fields)))
		for _, f := range fields {
			dst = AppendHashKeyTyped(dst, f.Type, f.Datum, fc)
		}
	case EnumFamily, MACFamily, TSVectorFamily, TSQueryFamily, JSONPathFamily, InetFamily, OpaqueFamily, GeometryFamily, HstoreFamily, LabelFamily:
		return appendStringKey(dst, d.s, fc)
	case CitextFamily:
		return appendStringKey(dst, FoldCitext(d.s), fc)
	case BitFamily:
		return appendStringKey(appendKey64(dst, uint64(d.n)), d.s, fc)
	case RangeFamily:
		return appendRangeKey(dst, d.Range(), fc)
	case MultirangeFamily:
		rs := d.Multirange(fc)
		dst = appendUvarint(dst, uint64(len(rs)))
		for _, r := range rs {
			if fc.Stopped(1) {
				return dst
			}
			dst = appendRangeKey(dst, r, fc)
		}
	}
	return dst
}

// AppendHashKeyTyped is AppendHashKey for values of type t; see CompareTyped.
func AppendHashKeyTyped(dst []byte, t *T, d Datum, fc *FormatContext) []byte {
	switch {
	case t.Oid == Bpchar.Oid && d.fam == StringFamily:
		dst = append(dst, byte(d.fam))
		return appendStringKey(dst, TrimBlanks(d.s, fc), fc)
	case t.Elem != nil && d.fam == ArrayFamily:
		dst = append(dst, byte(d.fam))
		return appendArrayKey(dst, t.Elem, d, fc)
	}
	return AppendHashKey(dst, d, fc)
}

func appendArrayKey(dst []byte, elem *T, d Datum, fc *FormatContext) []byte {
	dims := d.ArrayDims()
	dst = append(dst, byte(len(dims)))
	for _, dim := range dims {
		dst = appendUvarint(dst, uint64(dim.Len))
		dst = appendVarint(dst, int64(dim.Lower))
	}
	for _, e := range d.ArrayElems() {
		switch {
		case fc.Stopped(1):
			return dst
		case elem != nil:
			dst = AppendHashKeyTyped(dst, elem, e, fc)
		default:
			dst = AppendHashKey(dst, e, fc)
		}
	}
	return dst
}

func appendKey64(dst []byte, n uint64) []byte {
	return append(dst, byte(n>>56), byte(n>>48), byte(n>>40), byte(n>>32),
		byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

func appendStringKey(dst []byte, s string, fc *FormatContext) []byte {
	dst = appendUvarint(dst, uint64(len(s)))
	if len(s) > StepBytes && fc.Stopped(len(s)) {
		return dst
	}
	return append(dst, s...)
}

func floatKey(f float64) uint64 {
	switch {
	case f == 0:
		return 0 // -0 too
	case math.IsNaN(f):
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(f)
}

func appendDecimalKey(dst []byte, d Datum) []byte {
	if d.k <= decBig {
		d = reduceDecimal(d)
	}
	return appendEncodedKey(dst, d)
}

// appendEncodedKey is appendEncodedDecimal with a signed scale.
func appendEncodedKey(dst []byte, d Datum) []byte {
	dst = append(dst, d.k<<1|uint8(d.h))
	switch d.k {
	case decSmall:
		dst = appendVarint(dst, int64(d.m))
		dst = appendVarint(dst, d.n)
	case decBig:
		dst = appendVarint(dst, int64(d.m))
		dst = appendStringKey(dst, d.s, nil)
	}
	return dst
}
