package types

import "strings"

// Limits are what information_schema shows of a type with a modifier: -1 stands for
// what the type does not have.
type Limits struct {
	CharLength, OctetLength, Precision, Radix, Scale, TimePrecision int64
	// IntervalFields are those that an interval is declared with, "" if none are.
	IntervalFields string
}

// maxEncodedLength is how many bytes a character takes at most.
const maxEncodedLength = 4

// LimitsOf returns the limits of the predeclared type with the given oid and modifier.
func LimitsOf(oid uint32, typmod int32) Limits {
	l := Limits{CharLength: -1, OctetLength: -1, Precision: -1, Radix: -1, Scale: -1, TimePrecision: -1}
	switch oid {
	case Bit.Oid, Varbit.Oid:
		l.CharLength = int64(typmod)
	case Text.Oid, Bpchar.Oid, Varchar.Oid:
		l.limitString(oid, typmod)
	case Date.Oid:
		l.TimePrecision = 0
	case Time.Oid, TimeTZ.Oid, Timestamp.Oid, TimestampTZ.Oid:
		if l.TimePrecision = maxTimePrecision; typmod >= 0 {
			l.TimePrecision = int64(typmod)
		}
	case Interval.Oid:
		l.limitInterval(typmod)
	default:
		l.limitNumber(oid, typmod)
	}
	return l
}

func (l *Limits) limitString(oid uint32, typmod int32) {
	switch {
	case typmod < 0:
		l.OctetLength = 1 << 30
	case oid != Text.Oid:
		l.CharLength = int64(typmod) - varHeader
		l.OctetLength = l.CharLength * maxEncodedLength
	}
}

func (l *Limits) limitInterval(typmod int32) {
	l.TimePrecision = maxTimePrecision
	if p := int64(typmod & 0xffff); typmod >= 0 && p != intervalFullPrecision {
		l.TimePrecision = p
	}
	if _, fields, ok := strings.Cut(FormatType(Interval.WithTypmod(typmod)), " "); ok {
		l.IntervalFields = strings.ToUpper(fields)
	}
}

func (l *Limits) limitNumber(oid uint32, typmod int32) {
	bits := map[uint32]int64{Int2.Oid: 16, Int4.Oid: 32, Int8.Oid: 64, Float4.Oid: 24, Float8.Oid: 53}[oid]
	switch {
	case oid == Numeric.Oid:
		l.Radix = 10
		if typmod >= 0 {
			mod := typmod - varHeader
			l.Precision, l.Scale = int64(mod>>16&0xffff), int64(mod&0xffff)
		}
	case bits > 0:
		l.Precision, l.Radix = bits, 2
		if oid != Float4.Oid && oid != Float8.Oid {
			l.Scale = 0
		}
	}
}
