package types

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/cockroachdb/apd/v3"
)

// jsonbVersion is the first byte of a binary jsonb.
const jsonbVersion = 1

// AppendBinary appends the binary wire form of d, which must not be NULL:
// PostgreSQL's send function.
func AppendBinary(dst []byte, t *T, d Datum) []byte {
	be := binary.BigEndian
	switch d.fam {
	case BoolFamily:
		return append(dst, byte(d.n))
	case IntFamily:
		switch t.Len() {
		case 2:
			return be.AppendUint16(dst, uint16(d.n))
		case 6: // tid
			return be.AppendUint16(be.AppendUint32(dst, uint32(d.n>>16)), uint16(d.n))
		case 8:
			if t.Oid == Xid8.Oid || t.Oid == PgLSN.Oid {
				return be.AppendUint64(dst, d.Uint64())
			}
			return be.AppendUint64(dst, uint64(d.n))
		}
		return be.AppendUint32(dst, uint32(d.n))
	case FloatFamily:
		if t.Oid == Float4.Oid {
			return be.AppendUint32(dst, math.Float32bits(float32(d.Float())))
		}
		return be.AppendUint64(dst, uint64(d.n))
	case DecimalFamily:
		return appendDecimalBinary(dst, d)
	case StringFamily:
		if t.Oid == Char.Oid && d.s == "" {
			return append(dst, 0)
		}
		return append(dst, d.s...)
	case BytesFamily, UUIDFamily:
		return append(dst, d.s...)
	case JSONFamily:
		if t.Oid == JSONB.Oid {
			dst = append(dst, jsonbVersion)
		}
		return append(dst, d.s...)
	case DateFamily:
		return be.AppendUint32(dst, uint32(d.n))
	case TimeFamily, TimestampFamily, TimestampTZFamily:
		return be.AppendUint64(dst, uint64(d.n))
	case TimeTZFamily:
		dst = be.AppendUint64(dst, uint64(d.n))
		return be.AppendUint32(dst, uint32(d.m))
	case IntervalFamily:
		v := d.Interval()
		dst = be.AppendUint64(dst, uint64(v.Micros))
		dst = be.AppendUint32(dst, uint32(v.Days))
		return be.AppendUint32(dst, uint32(v.Months))
	case ArrayFamily:
		return appendArrayBinary(dst, t, d)
	case RecordFamily:
		return appendRecordBinary(dst, t, d)
	case EnumFamily:
		return appendEnum(dst, t, d, nil)
	case InetFamily:
		return appendInetBinary(dst, t, d.s)
	case MACFamily:
		return append(dst, d.s...)
	case BitFamily:
		return append(be.AppendUint32(dst, uint32(d.n)), d.s...)
	case RangeFamily:
		return appendRangeBinary(dst, t, d.Range())
	case MultirangeFamily:
		return appendMultirangeBinary(dst, t, d)
	case TSVectorFamily, TSQueryFamily:
		return appendTextSearchBinary(dst, d)
	case JSONPathFamily:
		return append(append(dst, jsonpathVersion), d.s...)
	case OpaqueFamily:
		return appendOpaqueBinary(dst, t, d)
	}
	return dst
}

// Signs of a binary numeric.
const (
	numericPos    = 0x0000
	numericNeg    = 0x4000
	numericNaN    = 0xc000
	numericPosInf = 0xd000
	numericNegInf = 0xf000
	// numericInfScale is the scale PostgreSQL sends with an infinity.
	numericInfScale = 0x20
)

// appendDecimalBinary writes the digits in base 10000: their number, the
// weight of the first, sign, display scale, digits.
func appendDecimalBinary(dst []byte, d Datum) []byte {
	switch d.k {
	case decNaN:
		return appendNumericHeader(dst, 0, 0, numericNaN, 0)
	case decPosInf:
		return appendNumericHeader(dst, 0, 0, numericPosInf, numericInfScale)
	case decNegInf:
		return appendNumericHeader(dst, 0, 0, numericNegInf, numericInfScale)
	}
	var buf [24]byte
	digits := buf[:0]
	if d.k == decSmall {
		digits = strconv.AppendUint(digits, absUint64(d.n), 10)
	} else {
		var x apd.BigInt
		digits = x.SetBytes([]byte(d.s)).Append(digits, 10)
	}
	end := len(digits)
	for end > 0 && digits[end-1] == '0' {
		end-- // trailing zeros are not sent
	}
	scale := int(d.m) - (len(digits) - end)
	digits = digits[:end]
	if end == 0 {
		return appendNumericHeader(dst, 0, 0, numericPos, int(d.m))
	}
	sign := numericPos
	if d.DecimalSign() < 0 {
		sign = numericNeg
	}
	// Group by four from the decimal point: pad the last group on its right,
	// the first on its left.
	right := int(floorMod(-int64(scale), 4))
	if scale < 0 {
		right = int(floorMod(int64(-scale), 4))
	}
	total := len(digits) + right
	groups := (total + 3) / 4
	weight := groups - 1 - int(floorDiv(int64(scale+right), 4))
	dst = appendNumericHeader(dst, groups, weight, sign, int(d.m))
	pos := total - groups*4 // ≤ 0: leading padding
	for range groups {
		g := 0
		for j := pos; j < pos+4; j++ {
			g *= 10
			if j >= 0 && j < len(digits) {
				g += int(digits[j] - '0')
			}
		}
		pos += 4
		dst = binary.BigEndian.AppendUint16(dst, uint16(g))
	}
	return dst
}

func appendNumericHeader(dst []byte, groups, weight, sign, scale int) []byte {
	be := binary.BigEndian
	dst = be.AppendUint16(dst, uint16(groups))
	dst = be.AppendUint16(dst, uint16(weight))
	dst = be.AppendUint16(dst, uint16(sign))
	return be.AppendUint16(dst, uint16(scale))
}

func appendArrayBinary(dst []byte, t *T, d Datum) []byte {
	be := binary.BigEndian
	elem := t.Elem
	if elem == nil {
		elem = Text
	}
	a := d.Array()
	dims := a.Dims
	if isVector(t) && len(dims) == 0 {
		dims = []ArrayDim{{}} // a vector always has its one dimension
	}
	nulls := uint32(0)
	for _, e := range a.Elems {
		if e.IsNull() {
			nulls = 1
		}
	}
	dst = be.AppendUint32(dst, uint32(len(dims)))
	dst = be.AppendUint32(dst, nulls)
	dst = be.AppendUint32(dst, elem.Shown().Oid)
	for _, dim := range dims {
		dst = be.AppendUint32(dst, uint32(dim.Len))
		dst = be.AppendUint32(dst, uint32(dim.Lower))
	}
	for _, e := range a.Elems {
		dst = appendSized(dst, elem, e)
	}
	return dst
}

// appendSized appends a length and the binary form of d, or -1 for NULL.
func appendSized(dst []byte, t *T, d Datum) []byte {
	if d.IsNull() {
		return append(dst, 0xff, 0xff, 0xff, 0xff)
	}
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = AppendBinary(dst, t, d)
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

func appendRecordBinary(dst []byte, t *T, d Datum) []byte {
	fields := typedFields(t, d)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(fields)))
	for _, f := range fields {
		dst = binary.BigEndian.AppendUint32(dst, f.Type.Shown().Oid)
		dst = appendSized(dst, f.Type, f.Datum)
	}
	return dst
}
