package typeio

import (
	"encoding/binary"
	"math"

	"github.com/cockroachdb/apd/v3"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// MaxZoneOffset bounds the zone of a timetz, in seconds.
const MaxZoneOffset = 16 * 3600

// ParseBinary reads the binary wire form of a value of type t, PostgreSQL's
// receive function, and applies t's modifier as an assignment does. b is not
// kept; fc may be nil.
func ParseBinary(t *types.T, b []byte, fc *types.FormatContext) (types.Datum, error) {
	return ParseBinaryText(t, b, nil, fc)
}

// ParseBinaryText is ParseBinary of a form whose text is in another encoding, from which
// decode converts it.
func ParseBinaryText(t *types.T, b []byte, decode Converter, fc *types.FormatContext) (types.Datum, error) {
	m := message{b: b, decode: decode, fc: fc}
	d, err := m.value(t)
	if err == nil {
		err = m.err
	}
	if err != nil {
		return types.Null, err
	}
	if len(m.b) != 0 {
		return types.Null, pgerr.New(pgerr.InvalidBinaryRepresentation, "incorrect binary data format")
	}
	return types.ApplyTypmod(d, t, false, fc)
}

// message reads a binary value; once it runs out it yields zeros and has err.
type message struct {
	b     []byte
	err   error
	depth int
	// decode converts text; nil: it is UTF8.
	decode Converter
	fc     *types.FormatContext // counts the steps; may be nil
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
	s, m.err = m.decode(s, m.fc)
	return s
}

func errBinary(format string, args ...any) *pgerr.Error {
	return pgerr.New(pgerr.InvalidBinaryRepresentation, format, args...)
}

func (m *message) value(t *types.T) (types.Datum, error) {
	switch t.Family {
	case types.BoolFamily:
		b := m.take(1)
		return types.NewBool(len(b) == 1 && b[0] != 0), nil
	case types.IntFamily:
		return m.integer(t), nil
	case types.FloatFamily:
		if t.Oid == types.Float4.Oid {
			return types.NewFloat(float64(math.Float32frombits(m.uint32()))), nil
		}
		return types.NewFloat(m.float64()), nil
	case types.DecimalFamily:
		return m.decimal()
	case types.StringFamily:
		return m.text(t)
	case types.BytesFamily:
		return types.NewBytes(m.rest()), nil
	case types.UUIDFamily:
		return types.NewUUID(string(m.take(16))), nil
	case types.JSONFamily:
		return m.json(t)
	case types.ArrayFamily:
		return m.array(t)
	case types.VoidFamily:
		m.rest()
		return types.VoidDatum, nil
	case types.RecordFamily:
		return m.record(t)
	case types.EnumFamily:
		return types.EnumValue(t, m.restText())
	case types.InetFamily:
		return m.inet(t)
	case types.MACFamily:
		return types.NewMAC(string(m.take(int(t.Len())))), nil
	case types.BitFamily:
		return m.bits()
	case types.RangeFamily:
		return m.rangeValue(t)
	case types.MultirangeFamily:
		return m.multirange(t)
	case types.TSVectorFamily, types.TSQueryFamily:
		return m.textSearch(t)
	case types.CitextFamily:
		d, err := m.text(types.Text)
		return types.NewCitext(d.Str()), err
	case types.HstoreFamily:
		return m.hstore()
	case types.LabelFamily:
		return m.versioned(t)
	case types.JSONPathFamily:
		if v := m.take(1); len(v) == 1 && v[0] != jsonpathVersion {
			return types.Null, errBinary("unsupported jsonpath version number: %d", v[0])
		}
		return parseJSONPath(m.restText(), m.fc)
	case types.OpaqueFamily:
		return m.opaque(t)
	case types.GeometryFamily:
		return m.geometry(t)
	case types.NullFamily, types.AnyFamily:
		return types.Null, pgerr.Unsupported("cannot accept a value of type %s", t.SQLName)
	}
	return m.dateTime(t)
}

func (m *message) integer(t *types.T) types.Datum {
	switch t.Len() {
	case 2:
		return types.NewInt(int64(int16(m.uint16())))
	case 6: // tid
		block := m.uint32()
		return types.NewTID(block, m.uint16())
	case 8:
		if t.Oid == types.Xid8.Oid || t.Oid == types.PgLSN.Oid {
			return types.NewUint64(uint64(m.int64()))
		}
		return types.NewInt(m.int64())
	}
	if t.Oid == types.Int4.Oid {
		return types.NewInt(int64(m.int32()))
	}
	return types.NewInt(int64(m.uint32()))
}

func (m *message) text(t *types.T) (types.Datum, error) {
	if t.Oid == types.Char.Oid {
		b := m.take(1)
		if len(b) == 0 || b[0] == 0 {
			return types.NewString(""), nil
		}
		return types.NewString(string(b)), nil
	}
	s := m.restText()
	if m.err != nil {
		return types.Null, m.err
	}
	if err := types.VerifyUTF8(s, m.fc); err != nil {
		return types.Null, err
	}
	if t.Oid == types.Name.Oid && len(s) > types.MaxNameLength {
		return types.Null, pgerr.New(pgerr.NameTooLong, "identifier too long").
			WithDetail("Identifier must be less than %d characters.", types.MaxNameLength+1)
	}
	return types.NewString(s), nil
}

func (m *message) json(t *types.T) (types.Datum, error) {
	if t.Oid == types.JSONB.Oid {
		if v := m.take(1); len(v) == 1 && v[0] != jsonbVersion {
			return types.Null, errBinary("unsupported jsonb version number %d", v[0])
		}
		if m.err != nil {
			return types.Null, m.err
		}
	}
	s := m.restText()
	if m.err != nil {
		return types.Null, m.err
	}
	return parseJSONText(t, s, m.fc)
}

func (m *message) dateTime(t *types.T) (types.Datum, error) {
	outOfRange := func() (types.Datum, error) {
		return types.Null, pgerr.New(pgerr.DatetimeFieldOverflow, "%s out of range", dateRangeNames[t.Family])
	}
	switch t.Family {
	case types.DateFamily:
		d := types.NewDate(int64(m.int32()))
		if !d.IsInf() && !types.ValidDate(d.Int()) {
			return outOfRange()
		}
		return d, nil
	case types.TimeFamily:
		d := types.NewTime(m.int64())
		if d.Int() < 0 || d.Int() > types.MicrosPerDay {
			return outOfRange()
		}
		return d, nil
	case types.TimeTZFamily:
		d := types.NewTimeTZ(m.int64(), m.int32())
		if d.Int() < 0 || d.Int() > types.MicrosPerDay {
			return outOfRange()
		}
		if _, west := d.TimeTZ(); west <= -MaxZoneOffset || west >= MaxZoneOffset {
			return types.Null, pgerr.New(pgerr.InvalidTimeZoneDisplacementValue, "time zone displacement out of range")
		}
		return d, nil
	case types.IntervalFamily:
		micros, days := m.int64(), m.int32()
		return types.NewInterval(types.IntervalValue{Micros: micros, Days: days, Months: m.int32()}), nil
	}
	d := types.NewTimestampOf(t.Family, m.int64())
	if !d.IsInf() && !types.ValidTimestamp(d.Int()) {
		return outOfRange()
	}
	return d, nil
}

// dateRangeNames are the names of date and time types in range errors.
var dateRangeNames = map[types.Family]string{
	types.DateFamily: "date", types.TimeFamily: "time", types.TimeTZFamily: "time",
	types.TimestampFamily: "timestamp", types.TimestampTZFamily: "timestamp",
}

func (m *message) decimal() (types.Datum, error) {
	groups := int(m.uint16())
	weight, sign, scale := int(int16(m.uint16())), m.uint16(), int(m.uint16())
	if m.err != nil {
		return types.Null, m.err
	}
	switch sign {
	case numericPos, numericNeg:
	case numericNaN:
		m.take(2 * groups)
		return types.DecimalNaN, m.err
	case numericPosInf:
		m.take(2 * groups)
		return types.DecimalInf, m.err
	case numericNegInf:
		m.take(2 * groups)
		return types.DecimalNegInf, m.err
	default:
		return types.Null, errBinary("invalid sign in external \"numeric\" value")
	}
	if scale > types.MaxDecimalScale {
		return types.Null, errBinary("invalid scale in external \"numeric\" value")
	}
	b := m.take(2 * groups)
	if m.err != nil {
		return types.Null, m.err
	}
	digits := make([]byte, 0, 4*groups+1)
	for ; len(b) > 0; b = b[2:] {
		g := binary.BigEndian.Uint16(b)
		if g > 9999 {
			return types.Null, errBinary("invalid digit in external \"numeric\" value")
		}
		digits = append(digits, '0'+byte(g/1000), '0'+byte(g/100%10), '0'+byte(g/10%10), '0'+byte(g%10))
	}
	return decimalFromGroups(digits, 4*(groups-1-weight), scale, sign == numericNeg)
}

// decimalFromGroups returns digits × 10^-have, cut or extended to scale
// fractional digits.
func decimalFromGroups(digits []byte, have, scale int, neg bool) (types.Datum, error) {
	i := 0
	for i < len(digits) && digits[i] == '0' {
		i++
	}
	if i == len(digits) {
		return types.NewDecimalInt(0, int32(scale)), nil
	}
	if len(digits)-i-have > types.MaxDecimalDigits {
		return types.Null, types.NumericOverflow()
	}
	if drop := have - scale; drop > 0 { // more digits than the scale shows
		if drop >= len(digits)-i {
			return types.NewDecimalInt(0, int32(scale)), nil
		}
		digits = digits[:len(digits)-drop]
		have = scale
	}
	var c apd.BigInt
	if _, ok := c.SetString(string(digits[i:]), 10); !ok {
		return types.Null, errBinary("invalid digit in external \"numeric\" value")
	}
	if have < scale {
		c.Mul(&c, types.Pow10Big(scale-have))
	}
	return types.NewDecimalBig(&c, neg, int32(scale)), nil
}

func (m *message) array(t *types.T) (types.Datum, error) {
	ndim, flags, elemOid := m.int32(), m.int32(), m.uint32()
	switch {
	case m.err != nil:
		return types.Null, m.err
	case ndim < 0:
		return types.Null, errBinary("invalid number of dimensions: %d", ndim)
	case ndim > types.MaxArrayDims:
		return types.Null, types.TooManyDims(int(ndim))
	case flags != 0 && flags != 1:
		return types.Null, errBinary("invalid array flags")
	case t.Elem == nil || elemOid != t.Elem.Shown().Oid:
		return types.Null, m.errElemType(t, elemOid)
	}
	dims, count, err := m.dims(int(ndim))
	if err != nil {
		return types.Null, err
	}
	if types.IsVector(t) && (ndim != 1 || dims[0].Lower != 0) {
		return types.Null, errBinary("invalid %s data", t.Name)
	}
	elems := make([]types.Datum, count)
	for i := range elems {
		if err := m.fc.CountSteps(1); err != nil {
			return types.Null, err
		}
		n := m.int32()
		if n == -1 {
			continue
		}
		d, whole, err := m.sized(t.Elem, n)
		if err != nil {
			return types.Null, err
		}
		if !whole {
			return types.Null, errBinary("improper binary format in array element %d", i+1)
		}
		elems[i] = d
	}
	if m.err != nil {
		return types.Null, m.err
	}
	return types.EncodeArray(dims, elems, m.fc), m.fc.CountSteps(0)
}

// sized reads a value of n bytes; whole is false if it does not take them all.
func (m *message) sized(t *types.T, n int32) (d types.Datum, whole bool, err error) {
	if m.depth >= types.MaxEncodedDepth {
		return types.Null, false, pgerr.New(pgerr.StatementTooComplex, "stack depth limit exceeded")
	}
	b := m.take(int(n))
	if m.err != nil {
		return types.Null, false, m.err
	}
	in := message{b: b, depth: m.depth + 1, decode: m.decode, fc: m.fc}
	if d, err = in.value(t); err == nil {
		err = in.err
	}
	return d, len(in.b) == 0, err
}

func (m *message) errElemType(t *types.T, oid uint32) error {
	got, want := "???", "???"
	if u, ok := types.ByOid(oid); ok {
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
func (m *message) dims(n int) ([]types.ArrayDim, int, error) {
	dims := make([]types.ArrayDim, n)
	count := int64(1)
	for i := range dims {
		dims[i] = types.ArrayDim{Len: m.int32(), Lower: m.int32()}
		l := int64(dims[i].Len)
		if m.err == nil && l < 0 {
			return nil, 0, errBinary("invalid array dimension: %d", l)
		}
		if _, ok := types.AddInt64(int64(dims[i].Lower), l); !ok || int64(dims[i].Lower)+l > math.MaxInt32 {
			return nil, 0, pgerr.New(pgerr.ProgramLimitExceeded, "array lower bound is too large: %d", dims[i].Lower)
		}
		if count *= l; count > types.MaxArrayElems {
			return nil, 0, pgerr.New(pgerr.ProgramLimitExceeded,
				"array size exceeds the maximum allowed (%d)", types.MaxArrayElems)
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
