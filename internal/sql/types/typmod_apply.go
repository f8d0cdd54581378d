package types

import (
	"strings"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// ApplyTypmod fits d, a value of t's type, to t's modifier. What does not fit
// a varchar or char is an error unless it is blank; an explicit cast cuts it
// silently. Numbers, times and intervals are rounded. fc may be nil.
func ApplyTypmod(d Datum, t *T, explicit bool, fc *FormatContext) (Datum, error) {
	if t.Typmod < 0 || d.fam == NullFamily {
		return d, nil
	}
	switch t.Oid {
	case Varchar.Oid:
		return fitChars(d, t, explicit)
	case Bpchar.Oid:
		f, err := fitChars(d, t, explicit)
		if err != nil {
			return Null, err
		}
		return padChars(f, int(t.Typmod-varHeader)), nil
	case Numeric.Oid:
		p, s, ok := NumericTypmod(t.Typmod)
		if !ok {
			return d, nil
		}
		return fitNumeric(d, p, s)
	case Time.Oid, TimeTZ.Oid, Timestamp.Oid, TimestampTZ.Oid:
		if d.InfSign() == 0 {
			d.n = roundMicros(d.n, int(t.Typmod))
		}
		return d, nil
	case Bit.Oid, Varbit.Oid:
		return fitBits(d, t, explicit)
	case Interval.Oid:
		return NewInterval(fitInterval(d.Interval(), t.Typmod)), nil
	}
	if t.Family == ArrayFamily && t.Elem != nil {
		elem := t.Elem.WithTypmod(t.Typmod)
		return MapArray(d, fc, func(e Datum) (Datum, error) { return ApplyTypmod(e, elem, explicit, fc) })
	}
	return d, nil
}

// MapArray applies f to every element that is not NULL. It returns f's error, or fc's once the
// statement is cancelled; fc may be nil.
func MapArray(d Datum, fc *FormatContext, f func(Datum) (Datum, error)) (Datum, error) {
	a := d.DecodeArray(fc)
	for i, e := range a.Elems {
		if err := fc.CountSteps(1); err != nil {
			return Null, err
		}
		if e.IsNull() {
			continue
		}
		var err error
		if a.Elems[i], err = f(e); err != nil {
			return Null, err
		}
	}
	return EncodeArray(a.Dims, a.Elems, fc), fc.CountSteps(0)
}

func fitChars(d Datum, t *T, explicit bool) (Datum, error) {
	limit := int(t.Typmod - varHeader)
	if limit < 0 || len(d.s) <= limit {
		return d, nil
	}
	end, n := 0, 0
	for end < len(d.s) && n < limit {
		_, size := utf8.DecodeRuneInString(d.s[end:])
		end += size
		n++
	}
	if end == len(d.s) {
		return d, nil
	}
	if !explicit && strings.Trim(d.s[end:], " ") != "" {
		return Null, pgerr.New(pgerr.StringDataRightTruncation,
			"value too long for type %s(%d)", t.SQLName, limit)
	}
	return NewString(d.s[:end]), nil
}

func padChars(d Datum, width int) Datum {
	if n := utf8.RuneCountInString(d.s); n < width {
		return NewString(d.s + strings.Repeat(" ", width-n))
	}
	return d
}

// roundMicros rounds to a number of fractional digits of a second, half away
// from zero.
func roundMicros(micros int64, precision int) int64 {
	if precision >= maxTimePrecision {
		return micros
	}
	unit := pow10[maxTimePrecision-precision]
	if micros >= 0 {
		return (micros + unit/2) / unit * unit
	}
	return -((-micros + unit/2) / unit * unit)
}

// fitInterval drops the fields the modifier does not keep and rounds.
func fitInterval(v IntervalValue, mod int32) IntervalValue {
	r, precision := IntervalTypmodParts(mod)
	switch r {
	case RangeYear:
		return IntervalValue{Months: v.Months / 12 * 12}
	case RangeMonth, RangeYear | RangeMonth:
		return IntervalValue{Months: v.Months}
	case RangeDay:
		v.Micros = 0
	case RangeHour, RangeDay | RangeHour:
		v.Micros = v.Micros / MicrosPerHour * MicrosPerHour
	case RangeMinute, RangeHour | RangeMinute, RangeDay | RangeHour | RangeMinute:
		v.Micros = v.Micros / MicrosPerMin * MicrosPerMin
	}
	if precision >= 0 {
		v.Micros = roundMicros(v.Micros, precision)
	}
	return v
}
