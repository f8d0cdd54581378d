package typeio

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/cockroachdb/apd/v3"

	"github.com/lichendb/lichen/internal/sql/hstore"
	"github.com/lichendb/lichen/internal/sql/types"
)

// jsonbVersion is the first byte of a binary jsonb.
const jsonbVersion = 1

// AppendBinary appends the binary wire form of d, which must not be NULL:
// PostgreSQL's send function. Once fc.Step fails it is cut short; fc may be nil.
func AppendBinary(dst []byte, t *types.T, d types.Datum, fc *types.FormatContext) []byte {
	be := binary.BigEndian
	switch d.Family() {
	case types.BoolFamily:
		return append(dst, byte(d.Int()))
	case types.IntFamily:
		switch t.Len() {
		case 2:
			return be.AppendUint16(dst, uint16(d.Int()))
		case 6: // tid
			return be.AppendUint16(be.AppendUint32(dst, uint32(d.Int()>>16)), uint16(d.Int()))
		case 8:
			if t.Oid == types.Xid8.Oid || t.Oid == types.PgLSN.Oid {
				return be.AppendUint64(dst, d.Uint64())
			}
			return be.AppendUint64(dst, uint64(d.Int()))
		}
		return be.AppendUint32(dst, uint32(d.Int()))
	case types.FloatFamily:
		if t.Oid == types.Float4.Oid {
			return be.AppendUint32(dst, math.Float32bits(float32(d.Float())))
		}
		return be.AppendUint64(dst, uint64(d.Int()))
	case types.DecimalFamily:
		return appendDecimalBinary(dst, d)
	case types.StringFamily:
		if t.Oid == types.Char.Oid && d.Str() == "" {
			return append(dst, 0)
		}
		return append(dst, d.Str()...)
	case types.BytesFamily, types.UUIDFamily:
		return append(dst, d.Str()...)
	case types.JSONFamily:
		if t.Oid == types.JSONB.Oid {
			dst = append(dst, jsonbVersion)
		}
		return append(dst, d.Str()...)
	case types.DateFamily:
		return be.AppendUint32(dst, uint32(d.Int()))
	case types.TimeFamily, types.TimestampFamily, types.TimestampTZFamily:
		return be.AppendUint64(dst, uint64(d.Int()))
	case types.TimeTZFamily:
		micros, west := d.TimeTZ()
		return be.AppendUint32(be.AppendUint64(dst, uint64(micros)), uint32(west))
	case types.IntervalFamily:
		v := d.Interval()
		dst = be.AppendUint64(dst, uint64(v.Micros))
		dst = be.AppendUint32(dst, uint32(v.Days))
		return be.AppendUint32(dst, uint32(v.Months))
	case types.ArrayFamily:
		return appendArrayBinary(dst, t, d, fc)
	case types.RecordFamily:
		return appendRecordBinary(dst, t, d, fc)
	case types.EnumFamily:
		return appendEnum(dst, t, d, nil)
	case types.InetFamily:
		return appendInetBinary(dst, t, d.Str())
	case types.MACFamily:
		return append(dst, d.Str()...)
	case types.BitFamily:
		return append(be.AppendUint32(dst, uint32(d.Int())), d.Str()...)
	case types.RangeFamily:
		return appendRangeBinary(dst, t, d.Range(), fc)
	case types.MultirangeFamily:
		return appendMultirangeBinary(dst, t, d, fc)
	case types.TSVectorFamily, types.TSQueryFamily:
		return appendTextSearchBinary(dst, d, fc)
	case types.CitextFamily:
		return append(dst, d.Str()...)
	case types.HstoreFamily:
		return hstore.AppendBinary(dst, d.Str())
	case types.LabelFamily:
		return append(append(dst, labelsVersion), d.Str()...)
	case types.JSONPathFamily:
		return append(append(dst, jsonpathVersion), d.Str()...)
	case types.OpaqueFamily:
		return appendOpaqueBinary(dst, t, d)
	case types.GeometryFamily:
		return appendGeometryBinary(dst, t, d)
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
func appendDecimalBinary(dst []byte, d types.Datum) []byte {
	switch {
	case d.IsNaN():
		return appendNumericHeader(dst, 0, 0, numericNaN, 0)
	case d.InfSign() > 0:
		return appendNumericHeader(dst, 0, 0, numericPosInf, numericInfScale)
	case d.InfSign() < 0:
		return appendNumericHeader(dst, 0, 0, numericNegInf, numericInfScale)
	}
	var buf [24]byte
	digits := buf[:0]
	coeff, display, small := d.SmallDecimal()
	if small {
		digits = strconv.AppendUint(digits, types.AbsUint64(coeff), 10)
	} else {
		var x apd.Decimal
		digits = d.Decimal(&x).Coeff.Append(digits, 10)
	}
	end := len(digits)
	for end > 0 && digits[end-1] == '0' {
		end-- // trailing zeros are not sent
	}
	scale := int(display) - (len(digits) - end)
	digits = digits[:end]
	if end == 0 {
		return appendNumericHeader(dst, 0, 0, numericPos, int(display))
	}
	sign := numericPos
	if d.DecimalSign() < 0 {
		sign = numericNeg
	}
	// Group by four from the decimal point: pad the last group on its right,
	// the first on its left.
	right := int(types.FloorMod(-int64(scale), 4))
	if scale < 0 {
		right = int(types.FloorMod(int64(-scale), 4))
	}
	total := len(digits) + right
	groups := (total + 3) / 4
	weight := groups - 1 - int(types.FloorDiv(int64(scale+right), 4))
	dst = appendNumericHeader(dst, groups, weight, sign, int(display))
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

func appendArrayBinary(dst []byte, t *types.T, d types.Datum, fc *types.FormatContext) []byte {
	be := binary.BigEndian
	elem := t.Elem
	if elem == nil {
		elem = types.Text
	}
	dims := d.ArrayDims()
	if types.IsVector(t) && len(dims) == 0 {
		dims = []types.ArrayDim{{}} // a vector always has its one dimension
	}
	dst = be.AppendUint32(dst, uint32(len(dims)))
	nulls := len(dst)
	dst = be.AppendUint32(dst, 0)
	dst = be.AppendUint32(dst, elem.Shown().Oid)
	for _, dim := range dims {
		dst = be.AppendUint32(dst, uint32(dim.Len))
		dst = be.AppendUint32(dst, uint32(dim.Lower))
	}
	for _, e := range d.ArrayElems() {
		if fc.Stopped(1) {
			return dst
		}
		if e.IsNull() {
			be.PutUint32(dst[nulls:], 1)
		}
		dst = appendSized(dst, elem, e, fc)
	}
	return dst
}

// appendSized appends a length and the binary form of d, or -1 for NULL.
func appendSized(dst []byte, t *types.T, d types.Datum, fc *types.FormatContext) []byte {
	if d.IsNull() {
		return append(dst, 0xff, 0xff, 0xff, 0xff)
	}
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = AppendBinary(dst, t, d, fc)
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

func appendRecordBinary(dst []byte, t *types.T, d types.Datum, fc *types.FormatContext) []byte {
	fields := types.TypedFields(t, d)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(fields)))
	for _, f := range fields {
		dst = binary.BigEndian.AppendUint32(dst, f.Type.Shown().Oid)
		dst = appendSized(dst, f.Type, f.Datum, fc)
	}
	return dst
}
