package rowcodec

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/cockroachdb/apd/v3"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// First bytes of ordered values. Every value's first byte lies strictly between
// the two NULL markers, also when inverted for a descending column.
const (
	nullFirstMark = 0x01
	nullLastMark  = 0xFE

	decNegInfMark = 0x30
	decNegMark    = 0x31
	decZeroMark   = 0x32
	decPosMark    = 0x33
	decInfMark    = 0x34
	decNaNMark    = 0x35
	bytesMark     = 0x40
	floatMark     = 0x50
	uuidMark      = 0x58
	arrayMark     = 0x60

	// Integers: 0x80+8-n for n bytes of a negative number, intZero+v for
	// 0 ≤ v ≤ intSmallMax, intBig+n for n bytes of a larger one.
	intNeg      = 0x88
	intZero     = 0x88
	intSmallMax = 0xE0 - intZero - 1
	intBig      = 0xE0
)

// Bytes are escaped so that a terminator sorts below any continuation.
const (
	escByte  = 0x00
	escTerm  = 0x01 // escByte escTerm: end
	escZero  = 0xFF // escByte escZero: a zero byte
	elemsEnd = 0x01 // end of an array's elements, below every element
)

// appendOrdered appends d, not NULL, so that bytes.Compare orders as the type's
// btree operator class does. The form is self-delimiting, but for that of an array or a multirange of
// more than MaxKeySize bytes: it ends there, and orders against all keys as the whole does.
func appendOrdered(dst []byte, t *types.T, d types.Datum) []byte {
	switch d.Family() {
	case types.BoolFamily, types.IntFamily, types.DateFamily, types.TimeFamily,
		types.TimestampFamily, types.TimestampTZFamily:
		return appendInt(dst, d.Int())
	case types.StringFamily:
		s := d.Str()
		if t.Oid == types.Bpchar.Oid {
			s = strings.TrimRight(s, " ") // trailing blanks do not count
		}
		return appendBytes(dst, s)
	case types.BytesFamily:
		return appendBytes(dst, d.Str())
	case types.UUIDFamily:
		return append(append(dst, uuidMark), d.Str()...)
	case types.FloatFamily:
		return appendFloat(dst, d.Float())
	case types.DecimalFamily:
		return appendDecimal(dst, d)
	case types.TimeTZFamily:
		micros, west := d.TimeTZ()
		return appendInt(appendInt(dst, micros+int64(west)*types.MicrosPerSec), int64(west))
	case types.IntervalFamily:
		return appendInterval(dst, d.Interval())
	case types.ArrayFamily:
		return appendArray(dst, t, d)
	case types.EnumFamily, types.MACFamily, types.LabelFamily:
		return appendBytes(dst, d.Str())
	case types.CitextFamily:
		return appendBytes(dst, types.FoldCitext(d.Str()))
	default:
		return appendBytes(dst, string(appendComposed(nil, t, d)))
	}
}

func appendInt(dst []byte, v int64) []byte {
	if v >= 0 && v <= intSmallMax {
		return append(dst, intZero+byte(v))
	}
	if v > 0 {
		n := byteLen(uint64(v))
		return appendBigEndian(append(dst, intBig+byte(n)), uint64(v), n)
	}
	n := byteLen(^uint64(v) | 1)
	return appendBigEndian(append(dst, intNeg-byte(n)), uint64(v), n)
}

// byteLen returns how many bytes u, not 0, needs.
func byteLen(u uint64) int {
	n := 1
	for u >>= 8; u != 0; u >>= 8 {
		n++
	}
	return n
}

// appendBigEndian appends the n low bytes of u.
func appendBigEndian(dst []byte, u uint64, n int) []byte {
	for i := n - 1; i >= 0; i-- {
		dst = append(dst, byte(u>>(8*i)))
	}
	return dst
}

func appendBytes(dst []byte, s string) []byte {
	dst = append(dst, bytesMark)
	for {
		i := strings.IndexByte(s, escByte)
		if i < 0 {
			break
		}
		dst = append(append(dst, s[:i]...), escByte, escZero)
		s = s[i+1:]
	}
	return append(append(dst, s...), escByte, escTerm)
}

// appendFloat orders NaN above everything and -0 equal to 0, as PostgreSQL does.
func appendFloat(dst []byte, f float64) []byte {
	u := math.Float64bits(f)
	switch {
	case f != f:
		u = math.MaxUint64
	case f == 0:
		u = 1 << 63
	case u>>63 != 0:
		u = ^u
	default:
		u |= 1 << 63
	}
	return binary.BigEndian.AppendUint64(append(dst, floatMark), u)
}

// appendInterval orders by total length, a month being 30 days and a day 24 hours.
func appendInterval(dst []byte, v types.IntervalValue) []byte {
	days := int64(v.Months)*30 + int64(v.Days)
	rest := v.Micros % types.MicrosPerDay
	days += v.Micros / types.MicrosPerDay
	if rest < 0 {
		rest += types.MicrosPerDay
		days--
	}
	return appendInt(appendInt(dst, days), rest)
}

// appendDecimal appends sign, decimal exponent and digits, without the scale.
func appendDecimal(dst []byte, d types.Datum) []byte {
	switch {
	case d.IsNaN():
		return append(dst, decNaNMark)
	case d.InfSign() > 0:
		return append(dst, decInfMark)
	case d.InfSign() < 0:
		return append(dst, decNegInfMark)
	case d.DecimalSign() == 0:
		return append(dst, decZeroMark)
	}
	var buf [24]byte
	digits := decimalDigits(buf[:0], d)
	exp := int64(len(digits)) - int64(d.DecimalScale())
	for len(digits) > 0 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	if d.DecimalSign() > 0 {
		return appendDigits(appendInt(append(dst, decPosMark), exp), digits)
	}
	dst = append(dst, decNegMark)
	start := len(dst)
	dst = appendDigits(appendInt(dst, exp), digits)
	invert(dst[start:])
	return dst
}

// decimalDigits appends the digits of the coefficient's magnitude.
func decimalDigits(buf []byte, d types.Datum) []byte {
	if n, _, ok := d.SmallDecimal(); ok {
		u := uint64(n)
		if n < 0 {
			u = -u
		}
		return appendUint(buf, u)
	}
	var x apd.Decimal
	d.Decimal(&x)
	x.Coeff.Abs(&x.Coeff)
	return x.Coeff.Append(buf, 10)
}

func appendUint(buf []byte, u uint64) []byte {
	var tmp [20]byte
	i := len(tmp)
	for {
		i--
		tmp[i] = '0' + byte(u%10)
		if u /= 10; u == 0 {
			return append(buf, tmp[i:]...)
		}
	}
}

// appendDigits packs two digits into a byte 1..100 and ends with 0.
func appendDigits(dst, digits []byte) []byte {
	for i := 0; i < len(digits); i += 2 {
		v := (digits[i] - '0') * 10
		if i+1 < len(digits) {
			v += digits[i+1] - '0'
		}
		dst = append(dst, v+1)
	}
	return append(dst, 0)
}

// appendArray orders by elements (NULL is the largest), then by length, then by
// dimensions.
func appendArray(dst []byte, t *types.T, d types.Datum) []byte {
	dst = append(dst, arrayMark)
	elem := t.Elem
	if elem == nil {
		elem = types.Unknown
	}
	start := len(dst)
	for _, e := range d.ArrayElems() {
		if len(dst)-start > MaxKeySize {
			return dst
		}
		if e.IsNull() {
			dst = append(dst, nullLastMark)
			continue
		}
		dst = appendOrdered(dst, elem, e)
	}
	dst = append(dst, elemsEnd)
	dims := d.ArrayDims()
	dst = append(dst, byte(len(dims)))
	for _, dim := range dims {
		dst = appendInt(appendInt(dst, int64(dim.Len)), int64(dim.Lower))
	}
	return dst
}

func invert(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}

// CheckOrderable returns an error when values of type t cannot be a key of an
// index or be hashed and compared in their key form.
func CheckOrderable(t *types.T) error {
	e := t
	for e.Elem != nil {
		e = e.Elem
	}
	switch e.Family {
	case types.BoolFamily, types.IntFamily, types.DateFamily, types.TimeFamily, types.TimestampFamily,
		types.TimestampTZFamily, types.StringFamily, types.BytesFamily, types.UUIDFamily, types.FloatFamily,
		types.DecimalFamily, types.TimeTZFamily, types.IntervalFamily, types.EnumFamily, types.MACFamily,
		types.InetFamily, types.BitFamily, types.RangeFamily, types.MultirangeFamily, types.CitextFamily, types.HstoreFamily, types.LabelFamily:
		return nil
	case types.JSONFamily:
		if e.Oid == types.JSONB.Oid {
			return nil
		}
	case types.RecordFamily:
		for _, f := range e.Fields() {
			if err := CheckOrderable(f.Type); err != nil {
				return err
			}
		}
		if e.Fields() != nil {
			return nil
		}
	}
	return pgerr.Unsupported("an index on a column of type %s is not supported", t.SQLName)
}

// exact tells how a value comes back from its ordered form.
type exact uint8

const (
	never      exact = iota // only from the row's value
	always                  // from the key
	unlessNeg               // from the key, unless it is a float's minus zero
	unlessPad               // from the key, unless it is a blank-padded string
	unlessCase              // from the key, unless it is a citext with letters in upper case
)

func exactness(t *types.T) exact {
	switch t.Family {
	case types.BoolFamily, types.IntFamily, types.DateFamily, types.TimeFamily, types.TimestampFamily,
		types.TimestampTZFamily, types.BytesFamily, types.UUIDFamily, types.TimeTZFamily, types.EnumFamily, types.LabelFamily:
		return always
	case types.StringFamily:
		if t.Oid == types.Bpchar.Oid {
			return unlessPad
		}
		return always
	case types.FloatFamily:
		return unlessNeg
	case types.CitextFamily:
		return unlessCase
	}
	return never
}

// lossy reports whether the ordered form of d does not give d back.
func (e exact) lossy(d types.Datum) bool {
	if d.IsNull() {
		return false
	}
	switch e {
	case always:
		return false
	case unlessNeg:
		return d.Float() == 0 && math.Signbit(d.Float())
	case unlessPad:
		return strings.HasSuffix(d.Str(), " ")
	case unlessCase:
		return types.FoldCitext(d.Str()) != d.Str()
	}
	return true
}

// AppendOrdered appends a value, not NULL, as an ascending key column of type t.
func AppendOrdered(dst []byte, t *types.T, d types.Datum) []byte { return appendOrdered(dst, t, d) }

// BytesEndSize is how many bytes end a value of type bytea in a key.
const BytesEndSize = 2

// AfterBytes returns what follows a value of type bytea at the beginning of key, nil
// if there is none.
func AfterBytes(key []byte) []byte {
	if len(key) == 0 || key[0] != bytesMark {
		return nil
	}
	for i := 1; i+1 < len(key); i++ {
		if key[i] != escByte {
			continue
		}
		if key[i+1] == escTerm {
			return key[i+BytesEndSize:]
		}
		i++
	}
	return nil
}
