package types

import (
	"encoding/binary"
	"math"

	"github.com/cockroachdb/apd/v3"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// maxZoneOffset bounds the zone of a timetz, in seconds.
const maxZoneOffset = 16 * 3600

// ParseBinary reads the binary wire form of a value of type t, PostgreSQL's
// receive function, and applies t's modifier as an assignment does. b is not
// kept.
func ParseBinary(t *T, b []byte) (Datum, error) { return ParseBinaryText(t, b, nil) }

// ParseBinaryText is ParseBinary of a form whose text is in another encoding, from which
// decode converts it.
func ParseBinaryText(t *T, b []byte, decode func(string) (string, error)) (Datum, error) {
	m := message{b: b, decode: decode}
	d, err := m.value(t)
	if err == nil {
		err = m.err
	}
	if err != nil {
		return Null, err
	}
	if len(m.b) != 0 {
		return Null, pgerr.New(pgerr.InvalidBinaryRepresentation, "incorrect binary data format")
	}
	return ApplyTypmod(d, t, false)
}

// message reads a binary value; once it runs out it yields zeros and has err.
type message struct {
	b     []byte
	err   error
	depth int
	// decode converts text; nil: it is UTF8.
	decode func(string) (string, error)
}

func (m *message) take(n int) []byte {
	if n < 0 || n > len(m.b) {
		m.b = nil
		m.err = pgerr.New(pgerr.ProtocolViolation, "insufficient data left in message")
		return nil
	}
	b := m.b[:n]
	m.b = m.b[n:]
	return b
}

func (m *message) uint16() uint16 {
	if b := m.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (m *message) uint32() uint32 {
	if b := m.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (m *message) int32() int32 { return int32(m.uint32()) }

func (m *message) int64() int64 {
	if b := m.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// rest takes everything left.
func (m *message) rest() string { return string(m.take(len(m.b))) }

// restText is rest of text.
func (m *message) restText() string {
	s := m.rest()
	if m.decode == nil || m.err != nil {
		return s
	}
	s, m.err = m.decode(s)
	return s
}

func errBinary(format string, args ...any) *pgerr.Error {
	return pgerr.New(pgerr.InvalidBinaryRepresentation, format, args...)
}

func (m *message) value(t *T) (Datum, error) {
	switch t.Family {
	case BoolFamily:
		b := m.take(1)
		return NewBool(len(b) == 1 && b[0] != 0), nil
	case IntFamily:
		switch t.Len() {
		case 2:
			return NewInt(int64(int16(m.uint16()))), nil
		case 6: // tid
			block := m.uint32()
			return NewTID(block, m.uint16()), nil
		case 8:
			if t.Oid == Xid8.Oid || t.Oid == PgLSN.Oid {
				return NewUint64(uint64(m.int64())), nil
			}
			return NewInt(m.int64()), nil
		}
		if t.Oid == Int4.Oid {
			return NewInt(int64(m.int32())), nil
		}
		return NewInt(int64(m.uint32())), nil
	case FloatFamily:
		if t.Oid == Float4.Oid {
			return NewFloat(float64(math.Float32frombits(m.uint32()))), nil
		}
		return NewFloat(math.Float64frombits(uint64(m.int64()))), nil
	case DecimalFamily:
		return m.decimal()
	case StringFamily:
		return m.text(t)
	case BytesFamily:
		return NewBytes(m.rest()), nil
	case UUIDFamily:
		return NewUUID(string(m.take(16))), nil
	case JSONFamily:
		return m.json(t)
	case ArrayFamily:
		return m.array(t)
	case VoidFamily:
		m.rest()
		return VoidDatum, nil
	case RecordFamily:
		return m.record(t)
	case EnumFamily:
		return parseEnum(t, m.restText())
	case InetFamily:
		return m.inet(t)
	case MACFamily:
		return Datum{fam: MACFamily, s: string(m.take(int(t.Len())))}, nil
	case BitFamily:
		return m.bits()
	case RangeFamily:
		return m.rangeValue(t)
	case MultirangeFamily:
		return m.multirange(t)
	case TSVectorFamily, TSQueryFamily:
		return m.textSearch(t)
	case JSONPathFamily:
		if v := m.take(1); len(v) == 1 && v[0] != jsonpathVersion {
			return Null, errBinary("unsupported jsonpath version number: %d", v[0])
		}
		return parseJSONPath(m.restText())
	case OpaqueFamily:
		return m.opaque(t)
	case NullFamily, AnyFamily:
		return Null, pgerr.Unsupported("cannot accept a value of type %s", t.SQLName)
	}
	return m.dateTime(t)
}

func (m *message) text(t *T) (Datum, error) {
	if t.Oid == Char.Oid {
		b := m.take(1)
		if len(b) == 0 || b[0] == 0 {
			return NewString(""), nil
		}
		return NewString(string(b)), nil
	}
	s := m.restText()
	if m.err != nil {
		return Null, m.err
	}
	if err := VerifyUTF8(s); err != nil {
		return Null, err
	}
	if t.Oid == Name.Oid && len(s) > MaxNameLength {
		return Null, pgerr.New(pgerr.NameTooLong, "identifier too long").
			WithDetail("Identifier must be less than %d characters.", MaxNameLength+1)
	}
	return NewString(s), nil
}

func (m *message) json(t *T) (Datum, error) {
	if t.Oid == JSONB.Oid {
		if v := m.take(1); len(v) == 1 && v[0] != jsonbVersion {
			return Null, errBinary("unsupported jsonb version number %d", v[0])
		}
		if m.err != nil {
			return Null, m.err
		}
	}
	s := m.restText()
	if m.err != nil {
		return Null, m.err
	}
	return parseJSONText(t, s, nil)
}

func (m *message) dateTime(t *T) (Datum, error) {
	outOfRange := func() (Datum, error) {
		return Null, pgerr.New(pgerr.DatetimeFieldOverflow, "%s out of range", dateRangeNames[t.Family])
	}
	switch t.Family {
	case DateFamily:
		d := NewDate(int64(m.int32()))
		if !d.IsInf() && !ValidDate(d.n) {
			return outOfRange()
		}
		return d, nil
	case TimeFamily:
		d := NewTime(m.int64())
		if d.n < 0 || d.n > MicrosPerDay {
			return outOfRange()
		}
		return d, nil
	case TimeTZFamily:
		d := NewTimeTZ(m.int64(), m.int32())
		if d.n < 0 || d.n > MicrosPerDay {
			return outOfRange()
		}
		if d.m <= -maxZoneOffset || d.m >= maxZoneOffset {
			return Null, pgerr.New(pgerr.InvalidTimeZoneDisplacementValue, "time zone displacement out of range")
		}
		return d, nil
	case IntervalFamily:
		micros, days := m.int64(), m.int32()
		return NewInterval(IntervalValue{Micros: micros, Days: days, Months: m.int32()}), nil
	}
	d := Datum{fam: t.Family, n: m.int64()}
	if !d.IsInf() && !ValidTimestamp(d.n) {
		return outOfRange()
	}
	return d, nil
}

// dateRangeNames are the names of date and time types in range errors.
var dateRangeNames = map[Family]string{
	DateFamily: "date", TimeFamily: "time", TimeTZFamily: "time",
	TimestampFamily: "timestamp", TimestampTZFamily: "timestamp",
}

func (m *message) decimal() (Datum, error) {
	groups := int(m.uint16())
	weight, sign, scale := int(int16(m.uint16())), m.uint16(), int(m.uint16())
	if m.err != nil {
		return Null, m.err
	}
	switch sign {
	case numericPos, numericNeg:
	case numericNaN:
		m.take(2 * groups)
		return DecimalNaN, m.err
	case numericPosInf:
		m.take(2 * groups)
		return DecimalInf, m.err
	case numericNegInf:
		m.take(2 * groups)
		return DecimalNegInf, m.err
	default:
		return Null, errBinary("invalid sign in external \"numeric\" value")
	}
	if scale > MaxDecimalScale {
		return Null, errBinary("invalid scale in external \"numeric\" value")
	}
	b := m.take(2 * groups)
	if m.err != nil {
		return Null, m.err
	}
	digits := make([]byte, 0, 4*groups+1)
	for ; len(b) > 0; b = b[2:] {
		g := binary.BigEndian.Uint16(b)
		if g > 9999 {
			return Null, errBinary("invalid digit in external \"numeric\" value")
		}
		digits = append(digits, '0'+byte(g/1000), '0'+byte(g/100%10), '0'+byte(g/10%10), '0'+byte(g%10))
	}
	return decimalFromGroups(digits, 4*(groups-1-weight), scale, sign == numericNeg)
}

// decimalFromGroups returns digits × 10^-have, cut or extended to scale
// fractional digits.
func decimalFromGroups(digits []byte, have, scale int, neg bool) (Datum, error) {
	i := 0
	for i < len(digits) && digits[i] == '0' {
		i++
	}
	if i == len(digits) {
		return NewDecimalInt(0, int32(scale)), nil
	}
	if len(digits)-i-have > MaxDecimalDigits {
		return Null, errDecimalOverflow()
	}
	if drop := have - scale; drop > 0 { // more digits than the scale shows
		if drop >= len(digits)-i {
			return NewDecimalInt(0, int32(scale)), nil
		}
		digits = digits[:len(digits)-drop]
		have = scale
	}
	var c apd.BigInt
	if _, ok := c.SetString(string(digits[i:]), 10); !ok {
		return Null, errBinary("invalid digit in external \"numeric\" value")
	}
	if have < scale {
		c.Mul(&c, pow10Big(scale-have))
	}
	return newDecimalBig(&c, neg, int32(scale)), nil
}

func (m *message) array(t *T) (Datum, error) {
	ndim, flags, elemOid := m.int32(), m.int32(), m.uint32()
	switch {
	case m.err != nil:
		return Null, m.err
	case ndim < 0:
		return Null, errBinary("invalid number of dimensions: %d", ndim)
	case ndim > MaxArrayDims:
		return Null, TooManyDims(int(ndim))
	case flags != 0 && flags != 1:
		return Null, errBinary("invalid array flags")
	case t.Elem == nil || elemOid != t.Elem.Shown().Oid:
		return Null, m.errElemType(t, elemOid)
	}
	dims, count, err := m.dims(int(ndim))
	if err != nil {
		return Null, err
	}
	if isVector(t) && (ndim != 1 || dims[0].Lower != 0) {
		return Null, errBinary("invalid %s data", t.Name)
	}
	elems := make([]Datum, count)
	for i := range elems {
		n := m.int32()
		if n == -1 {
			continue
		}
		d, whole, err := m.sized(t.Elem, n)
		if err != nil {
			return Null, err
		}
		if !whole {
			return Null, errBinary("improper binary format in array element %d", i+1)
		}
		elems[i] = d
	}
	if m.err != nil {
		return Null, m.err
	}
	return NewArrayDims(dims, elems), nil
}

// sized reads a value of n bytes; whole is false if it does not take them all.
func (m *message) sized(t *T, n int32) (d Datum, whole bool, err error) {
	if m.depth >= maxEncodedDepth {
		return Null, false, pgerr.New(pgerr.StatementTooComplex, "stack depth limit exceeded")
	}
	b := m.take(int(n))
	if m.err != nil {
		return Null, false, m.err
	}
	in := message{b: b, depth: m.depth + 1, decode: m.decode}
	if d, err = in.value(t); err == nil {
		err = in.err
	}
	return d, len(in.b) == 0, err
}

func (m *message) errElemType(t *T, oid uint32) error {
	got, want := "???", "???"
	if u, ok := ByOid(oid); ok {
		got = u.SQLName
	}
	wantOid := uint32(0)
	if t.Elem != nil {
		elem := t.Elem.Shown()
		want, wantOid = elem.SQLName, elem.Oid
	}
	return pgerr.New(pgerr.DatatypeMismatch,
		"binary data has array element type %d (%s) instead of expected %d (%s)", oid, got, wantOid, want)
}

// dims reads the dimensions of an array. No array has more elements than a
// quarter of the bytes left: each has a length.
func (m *message) dims(n int) ([]ArrayDim, int, error) {
	dims := make([]ArrayDim, n)
	count := int64(1)
	for i := range dims {
		dims[i] = ArrayDim{Len: m.int32(), Lower: m.int32()}
		l := int64(dims[i].Len)
		if m.err == nil && l < 0 {
			return nil, 0, errBinary("invalid array dimension: %d", l)
		}
		if _, ok := addInt64(int64(dims[i].Lower), l); !ok || int64(dims[i].Lower)+l > math.MaxInt32 {
			return nil, 0, pgerr.New(pgerr.ProgramLimitExceeded, "array lower bound is too large: %d", dims[i].Lower)
		}
		if count *= l; count > MaxArrayElems {
			return nil, 0, pgerr.New(pgerr.ProgramLimitExceeded,
				"array size exceeds the maximum allowed (%d)", MaxArrayElems)
		}
	}
	if n == 0 {
		count = 0
	}
	if m.err == nil && count*4 > int64(len(m.b)) {
		m.take(int(count * 4)) // sets the error
	}
	return dims, int(count), m.err
}
