package types

import (
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// varHeader is what PostgreSQL adds to the modifiers of varlena types.
const varHeader = 4

// maxCharLength is the longest declarable varchar or char.
const maxCharLength = 10485760

// maxTimePrecision is the most fractional digits a time type keeps.
const maxTimePrecision = 6

// IntervalRange is the set of fields an interval column keeps.
type IntervalRange uint16

// The fields, as bits of a modifier, and the usual ranges.
const (
	RangeMonth  IntervalRange = 1 << 1
	RangeYear   IntervalRange = 1 << 2
	RangeDay    IntervalRange = 1 << 3
	RangeHour   IntervalRange = 1 << 10
	RangeMinute IntervalRange = 1 << 11
	RangeSecond IntervalRange = 1 << 12
	RangeFull   IntervalRange = 0x7fff
)

const intervalFullPrecision = 0xffff

var intervalRangeNames = []struct {
	r    IntervalRange
	name string
}{
	{RangeYear, "year"}, {RangeMonth, "month"}, {RangeDay, "day"},
	{RangeHour, "hour"}, {RangeMinute, "minute"}, {RangeSecond, "second"},
	{RangeYear | RangeMonth, "year to month"},
	{RangeDay | RangeHour, "day to hour"},
	{RangeDay | RangeHour | RangeMinute, "day to minute"},
	{RangeDay | RangeHour | RangeMinute | RangeSecond, "day to second"},
	{RangeHour | RangeMinute, "hour to minute"},
	{RangeHour | RangeMinute | RangeSecond, "hour to second"},
	{RangeMinute | RangeSecond, "minute to second"},
}

// IntervalRangeByName returns the range "day to second" and the like name.
func IntervalRangeByName(name string) (IntervalRange, bool) {
	for _, e := range intervalRangeNames {
		if e.name == name {
			return e.r, true
		}
	}
	return 0, false
}

func (r IntervalRange) String() string {
	for _, e := range intervalRangeNames {
		if e.r == r {
			return e.name
		}
	}
	return ""
}

// IntervalTypmod returns the modifier of an interval type; precision -1 means
// none given.
func IntervalTypmod(r IntervalRange, precision int) (int32, error) {
	if precision < 0 {
		if r == RangeFull {
			return -1, nil
		}
		return int32(r)<<16 | intervalFullPrecision, nil
	}
	return int32(r)<<16 | int32(min(precision, maxTimePrecision)), nil
}

// IntervalTypmodParts returns the fields and the precision in the modifier of interval.
func IntervalTypmodParts(mod int32) (r IntervalRange, precision int) {
	if mod < 0 {
		return RangeFull, -1
	}
	r = IntervalRange(mod>>16) & 0x7fff
	if p := int(mod & 0xffff); p != intervalFullPrecision {
		return r, p
	}
	return r, -1
}

// TypmodFor returns the modifier t gets from the arguments written in
// parentheses after its name; no arguments give -1. For interval the argument
// is the precision; see IntervalTypmod for its fields.
func TypmodFor(t *T, args []int64) (int32, error) {
	if len(args) == 0 {
		return -1, nil
	}
	if t.Elem != nil && t.Family == ArrayFamily && t.Name[0] == '_' {
		return TypmodFor(t.Elem, args)
	}
	switch t.Oid {
	case Varchar.Oid:
		return charTypmod("varchar", args)
	case Bpchar.Oid:
		return charTypmod("char", args)
	case Numeric.Oid:
		return numericTypmod(args)
	case Bit.Oid, Varbit.Oid:
		return bitTypmod(t, args)
	case Time.Oid, TimeTZ.Oid, Timestamp.Oid, TimestampTZ.Oid, Interval.Oid:
		return timeTypmod(t, args)
	}
	return 0, pgerr.New(pgerr.SyntaxError, "type modifier is not allowed for type \"%s\"", t.Name)
}

func charTypmod(name string, args []int64) (int32, error) {
	switch {
	case len(args) != 1:
		return 0, pgerr.New(pgerr.InvalidParameterValue, "invalid type modifier")
	case args[0] < 1:
		return 0, pgerr.New(pgerr.InvalidParameterValue, "length for type %s must be at least 1", name)
	case args[0] > maxCharLength:
		return 0, pgerr.New(pgerr.InvalidParameterValue, "length for type %s cannot exceed %d", name, maxCharLength)
	}
	return int32(args[0]) + varHeader, nil
}

func numericTypmod(args []int64) (int32, error) {
	if len(args) > 2 {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "invalid NUMERIC type modifier")
	}
	if args[0] < 1 || args[0] > MaxDecimalPrecision {
		return 0, pgerr.New(pgerr.InvalidParameterValue,
			"NUMERIC precision %d must be between 1 and %d", args[0], MaxDecimalPrecision)
	}
	var scale int64
	if len(args) == 2 {
		scale = args[1]
	}
	if scale < -MaxDecimalPrecision || scale > MaxDecimalPrecision {
		return 0, pgerr.New(pgerr.InvalidParameterValue,
			"NUMERIC scale %d must be between -%d and %d", scale, MaxDecimalPrecision, MaxDecimalPrecision)
	}
	return int32(args[0])<<16 | int32(scale)&0x7ff + varHeader, nil
}

// NumericTypmod splits the modifier of a numeric type.
func NumericTypmod(mod int32) (precision, scale int32, ok bool) {
	if mod < varHeader {
		return 0, 0, false
	}
	mod -= varHeader
	return mod >> 16 & 0xffff, mod&0x7ff ^ 1024 - 1024, true
}

func timeTypmod(t *T, args []int64) (int32, error) {
	if len(args) != 1 {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "invalid type modifier")
	}
	p := args[0]
	if p < 0 {
		name, zone, _ := strings.Cut(t.SQLName, " ")
		zone = strings.ToUpper(zone)
		if zone != "WITH TIME ZONE" {
			zone = ""
		} else {
			zone = " " + zone
		}
		return 0, pgerr.New(pgerr.InvalidParameterValue,
			"%s(%d)%s precision must not be negative", strings.ToUpper(name), p, zone)
	}
	p = min(p, maxTimePrecision)
	if t.Oid == Interval.Oid {
		return IntervalTypmod(RangeFull, int(p))
	}
	return int32(p), nil
}

// CharLength returns n of varchar(n) or char(n).
func (t *T) CharLength() (int, bool) {
	if (t.Oid == Varchar.Oid || t.Oid == Bpchar.Oid) && t.Typmod >= varHeader {
		return int(t.Typmod - varHeader), true
	}
	return 0, false
}

// FormatType returns what format_type prints for t: its SQL name with the
// modifier, such as "character varying(10)" or "timestamp(3) without time zone".
func FormatType(t *T) string {
	if t.Family == ArrayFamily && t.Elem != nil && t.Name[0] == '_' {
		return FormatType(t.Elem.WithTypmod(t.Typmod)) + "[]"
	}
	if t.Typmod < 0 {
		if t.Oid == Bpchar.Oid {
			return "bpchar" // "character" would mean character(1)
		}
		return t.SQLName
	}
	name := t.SQLName
	switch t.Oid {
	case Time.Oid, TimeTZ.Oid, Timestamp.Oid, TimestampTZ.Oid:
		name, _, _ = strings.Cut(name, " ")
	}
	return name + t.ModifierText()
}

// ModifierText is what stands behind the name of t in FormatType: the modifier, and what follows it.
func (t *T) ModifierText() string {
	switch t.Oid {
	case Varchar.Oid, Bpchar.Oid:
		if n, ok := t.CharLength(); ok {
			return "(" + strconv.Itoa(n) + ")"
		}
	case Numeric.Oid:
		if p, s, ok := NumericTypmod(t.Typmod); ok {
			return "(" + strconv.Itoa(int(p)) + "," + strconv.Itoa(int(s)) + ")"
		}
	case Bit.Oid, Varbit.Oid:
		if t.Typmod >= 0 {
			return "(" + strconv.Itoa(int(t.Typmod)) + ")"
		}
	case Time.Oid, TimeTZ.Oid, Timestamp.Oid, TimestampTZ.Oid:
		_, zone, _ := strings.Cut(t.SQLName, " ")
		if t.Typmod < 0 {
			return " " + zone
		}
		return "(" + strconv.Itoa(int(t.Typmod)) + ") " + zone
	case Interval.Oid:
		return intervalModifier(t.Typmod)
	}
	return ""
}

func intervalModifier(mod int32) (s string) {
	r, p := IntervalTypmodParts(mod)
	if name := r.String(); name != "" {
		s = " " + name
	}
	if p >= 0 {
		s += "(" + strconv.Itoa(p) + ")"
	}
	return s
}
