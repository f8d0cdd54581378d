package types

import (
	"math"
	"strings"
)

// Datum is one SQL value, NULL included. It is a plain 32-byte value: numbers,
// dates and times live in n (and m), everything else in s as immutable bytes,
// so that a row decoded from storage costs no allocation per column. What the
// fields mean per family is said at the Family constants. The zero Datum is
// NULL. A Datum does not know its exact type (int4 or int8), only its family:
// plans carry the types.
type Datum struct {
	fam Family
	k   uint8 // form of a decimal or interval
	h   int16 // days of a short interval; 1 for a negative long decimal
	m   int32
	n   int64
	s   string
}

// Row is one row. Who hands it out says how long its datums stay intact.
type Row = []Datum

// Null is the NULL datum.
var Null = Datum{}

// The two booleans.
var (
	True  = Datum{fam: BoolFamily, n: 1}
	False = Datum{fam: BoolFamily}
)

// NewBool returns a boolean.
func NewBool(b bool) Datum {
	if b {
		return True
	}
	return False
}

// NewInt returns an integer of any width, an oid or a reg* value.
func NewInt(n int64) Datum { return Datum{fam: IntFamily, n: n} }

// NaN is the float that is no number, in the form that is sent: its payload is zero.
func NaN() float64 { return math.Float64frombits(0x7ff8 << 48) }

// NewFloat returns a float8; a float4 must be rounded to float32 by the caller.
func NewFloat(f float64) Datum { return Datum{fam: FloatFamily, n: int64(math.Float64bits(f))} }

// NewString returns a text value.
func NewString(s string) Datum { return Datum{fam: StringFamily, s: s} }

// NewBytes returns a bytea; b holds the bytes as an immutable string.
func NewBytes(b string) Datum { return Datum{fam: BytesFamily, s: b} }

// NewUUID returns a uuid of 16 bytes.
func NewUUID(b string) Datum { return Datum{fam: UUIDFamily, s: b} }

// NewDate returns a date from days since 2000-01-01.
func NewDate(days int64) Datum { return Datum{fam: DateFamily, n: days} }

// NewTime returns a time of day from microseconds since midnight.
func NewTime(micros int64) Datum { return Datum{fam: TimeFamily, n: micros} }

// NewTimestamp returns a timestamp from microseconds since 2000-01-01.
func NewTimestamp(micros int64) Datum { return Datum{fam: TimestampFamily, n: micros} }

// NewTimestampTZ returns a timestamptz from microseconds since 2000-01-01 UTC.
func NewTimestampTZ(micros int64) Datum { return Datum{fam: TimestampTZFamily, n: micros} }

// NewTimestampOf returns a timestamp or a timestamptz: f says which.
func NewTimestampOf(f Family, micros int64) Datum { return Datum{fam: f, n: micros} }

// NewOf returns a value of a family whose values are an int64: a boolean, an integer, a date, a
// time of day or a timestamp.
func NewOf(f Family, n int64) Datum { return Datum{fam: f, n: n} }

// NewStringOf returns a text or a bytea: f says which.
func NewStringOf(f Family, s string) Datum { return Datum{fam: f, s: s} }

// NewJSON returns a json or jsonb value from its text.
func NewJSON(s string) Datum { return Datum{fam: JSONFamily, s: s} }

// VoidDatum is what functions returning void yield.
var VoidDatum = Datum{fam: VoidFamily}

// IsNull reports whether d is NULL.
func (d Datum) IsNull() bool { return d.fam == NullFamily }

// IsTrue reports whether d is boolean true (NULL and false are not).
func (d Datum) IsTrue() bool { return d.fam == BoolFamily && d.n != 0 }

// Family returns the family of d, NullFamily for NULL.
func (d Datum) Family() Family { return d.fam }

// Bool returns a boolean's value.
func (d Datum) Bool() bool { return d.n != 0 }

// Clone returns d with memory of its own.
func (d Datum) Clone() Datum {
	d.s = strings.Clone(d.s)
	return d
}

// Int returns n: the integer, or days, or microseconds.
func (d Datum) Int() int64 { return d.n }

// Float returns a float's value.
func (d Datum) Float() float64 { return math.Float64frombits(uint64(d.n)) }

// Str returns s: the text, or the bytes, of a value kept there.
func (d Datum) Str() string { return d.s }

// In returns d with s, which is equal to d.Str(), in its place: d in other memory.
func (d Datum) In(s string) Datum {
	d.s = s
	return d
}
