package types

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/lichendb/lichen/internal/sql/hstore"
)

// MaxEncodedDepth bounds how deep arrays and records nest in an encoded datum.
const MaxEncodedDepth = 64

var errEncoded = errors.New("malformed encoded datum")

// AppendEncoded appends a self-describing form of d, NULL included: the family,
// then the value. Array elements and record fields are kept so, and rows may
// store values so; DecodeEncoded reads it back. The format is stable.
func AppendEncoded(dst []byte, d Datum) []byte {
	dst = append(dst, byte(d.fam))
	switch d.fam {
	case NullFamily, VoidFamily, AnyFamily:
	case BoolFamily:
		dst = append(dst, byte(d.n))
	case IntFamily, DateFamily, TimeFamily, TimestampFamily, TimestampTZFamily:
		dst = appendVarint(dst, d.n)
	case FloatFamily:
		dst = binary.BigEndian.AppendUint64(dst, uint64(d.n))
	case DecimalFamily:
		dst = appendEncodedDecimal(dst, d)
	case TimeTZFamily:
		dst = appendVarint(dst, d.n)
		dst = appendVarint(dst, int64(d.m))
	case IntervalFamily:
		v := d.Interval()
		dst = appendVarint(dst, int64(v.Months))
		dst = appendVarint(dst, int64(v.Days))
		dst = appendVarint(dst, v.Micros)
	case BitFamily:
		dst = appendUvarint(dst, uint64(d.n))
		dst = append(dst, d.s...)
	default:
		dst = appendUvarint(dst, uint64(len(d.s)))
		dst = append(dst, d.s...)
	}
	return dst
}

func appendEncodedDecimal(dst []byte, d Datum) []byte {
	k := d.k << 1
	if d.h == 1 {
		k |= 1
	}
	dst = append(dst, k)
	switch d.k {
	case decSmall:
		dst = appendUvarint(dst, uint64(d.m))
		dst = appendVarint(dst, d.n)
	case decBig:
		dst = appendUvarint(dst, uint64(d.m))
		dst = appendUvarint(dst, uint64(len(d.s)))
		dst = append(dst, d.s...)
	}
	return dst
}

// DecodeEncoded reads one datum that AppendEncoded wrote and returns what
// follows it. The datum shares memory with s. Anything malformed is an error.
func DecodeEncoded(s string) (d Datum, rest string, err error) {
	r := reader{s: s}
	d = r.datum(0)
	r.check(d, 0)
	return d, r.s, r.err
}

// reader decodes; after the first error it yields zeros.
type reader struct {
	s   string
	err error
}

func (r *reader) fail() {
	r.err = errEncoded
	r.s = ""
}

func (r *reader) byte() byte {
	if len(r.s) == 0 {
		r.fail()
		return 0
	}
	b := r.s[0]
	r.s = r.s[1:]
	return b
}

func (r *reader) take(n uint64) string {
	if n > uint64(len(r.s)) {
		r.fail()
		return ""
	}
	t := r.s[:n]
	r.s = r.s[n:]
	return t
}

func (r *reader) uvarint() uint64 {
	var x uint64
	for shift := uint(0); shift < 64; shift += 7 {
		b := r.byte()
		x |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return x
		}
	}
	r.fail()
	return 0
}

func (r *reader) varint() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (r *reader) int32() int32 {
	v := r.varint()
	if v != int64(int32(v)) {
		r.fail()
		return 0
	}
	return int32(v)
}

func (r *reader) datum(depth int) Datum {
	f := Family(r.byte())
	switch f {
	case NullFamily, VoidFamily, AnyFamily:
		return Datum{fam: f}
	case BoolFamily:
		return NewBool(r.byte() != 0)
	case IntFamily, DateFamily, TimeFamily, TimestampFamily, TimestampTZFamily:
		return Datum{fam: f, n: r.varint()}
	case FloatFamily:
		if b := r.take(8); len(b) == 8 {
			return Datum{fam: f, n: int64(beUint64(b))}
		}
		return Null
	case DecimalFamily:
		return r.decimal()
	case TimeTZFamily:
		n := r.varint()
		return NewTimeTZ(n, r.int32())
	case IntervalFamily:
		months, days := r.int32(), r.int32()
		return NewInterval(IntervalValue{Months: months, Days: days, Micros: r.varint()})
	case StringFamily, BytesFamily, UUIDFamily, JSONFamily, ArrayFamily, RecordFamily, EnumFamily, InetFamily, MACFamily,
		RangeFamily, MultirangeFamily, TSVectorFamily, TSQueryFamily, JSONPathFamily, OpaqueFamily, GeometryFamily,
		CitextFamily, HstoreFamily, LabelFamily:
		return Datum{fam: f, s: r.take(r.uvarint())}
	case BitFamily:
		n := r.uvarint()
		if n > MaxBits {
			r.fail()
			return Null
		}
		return Datum{fam: f, n: int64(n), s: r.take((n + 7) / 8)}
	}
	r.fail()
	return Null
}

func (r *reader) decimal() Datum {
	b := r.byte()
	d := Datum{fam: DecimalFamily, k: b >> 1, h: int16(b & 1)}
	switch d.k {
	case decSmall, decBig:
		scale := r.uvarint()
		if scale > math.MaxInt32 {
			r.fail()
			return Null
		}
		d.m = int32(scale)
		if d.k == decSmall {
			return NewDecimalInt(r.varint(), d.m)
		}
		if d.s = r.take(r.uvarint()); d.s == "" {
			r.fail()
			return Null
		}
	case decNaN, decPosInf, decNegInf:
	default:
		r.fail()
		return Null
	}
	return d
}

func (r *reader) dims() []ArrayDim {
	n := int(r.byte())
	if n == 0 {
		return nil
	}
	if n > MaxArrayDims {
		r.fail()
		return nil
	}
	dims := make([]ArrayDim, n)
	total := uint64(1)
	for i := range dims {
		l := r.uvarint()
		total *= l
		if l == 0 || l > MaxArrayElems || total > uint64(len(r.s)) {
			r.fail() // every element takes a byte at least
			return nil
		}
		dims[i] = ArrayDim{Len: int32(l), Lower: r.int32()}
	}
	return dims
}

func (r *reader) record(depth int) []Field {
	n := r.uvarint()
	if n > uint64(len(r.s)) {
		r.fail()
		return nil
	}
	fields := make([]Field, n)
	for i := range fields {
		oid := r.uvarint()
		t, ok := ByOid(uint32(oid))
		unknown := uint32(0)
		if !ok {
			t, unknown = Unknown, uint32(oid)
		}
		fields[i] = Field{Type: t, unknownOid: unknown, Datum: r.datum(depth + 1)}
	}
	return fields
}

// check validates what datum takes on trust: the payloads of arrays, records
// and uuids.
func (r *reader) check(d Datum, depth int) {
	if r.err != nil {
		return
	}
	if depth > MaxEncodedDepth {
		r.fail()
		return
	}
	in := reader{s: d.s}
	switch d.fam {
	case UUIDFamily:
		if len(d.s) != 16 {
			r.fail()
		}
		return
	case ArrayFamily:
		for i := dimsCount(in.dims()); i > 0 && in.err == nil; i-- {
			in.check(in.datum(depth+1), depth+1)
		}
	case RecordFamily:
		for _, f := range in.record(depth) {
			in.check(f.Datum, depth+1)
		}
	case InetFamily:
		if !validInet(d.s) {
			r.fail()
		}
		return
	case MACFamily:
		if len(d.s) != 6 && len(d.s) != 8 {
			r.fail()
		}
		return
	case GeometryFamily:
		if !validGeometry(d.s) {
			r.fail()
		}
		return
	case HstoreFamily:
		if !hstore.Valid(d.s) {
			r.fail()
		}
		return
	case BitFamily:
		if n := d.n % 8; n != 0 && d.s[len(d.s)-1]<<n != 0 {
			r.fail()
		}
		return
	case RangeFamily:
		in.rangeBounds(depth)
	case MultirangeFamily:
		for n := in.uvarint(); n > 0 && in.err == nil; n-- {
			in.rangeBounds(depth)
		}
	default:
		return
	}
	if in.err != nil || in.s != "" {
		r.fail()
	}
}

func appendUvarint(dst []byte, x uint64) []byte { return binary.AppendUvarint(dst, x) }
func appendVarint(dst []byte, x int64) []byte   { return binary.AppendVarint(dst, x) }

func beUint64(b string) uint64 {
	return uint64(b[0])<<56 | uint64(b[1])<<48 | uint64(b[2])<<40 | uint64(b[3])<<32 |
		uint64(b[4])<<24 | uint64(b[5])<<16 | uint64(b[6])<<8 | uint64(b[7])
}
