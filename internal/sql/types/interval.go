package types

import "encoding/binary"

// Units of time, in microseconds.
const (
	MicrosPerSec  int64 = 1_000_000
	MicrosPerMin        = 60 * MicrosPerSec
	MicrosPerHour       = 60 * MicrosPerMin
	MicrosPerDay        = 24 * MicrosPerHour
)

// IntervalValue is an interval: months, days and time are kept apart because
// a month has no fixed number of days, nor a day of hours.
type IntervalValue struct {
	Months int32
	Days   int32
	Micros int64
}

// Forms of an interval datum (Datum.k).
const (
	ivShort uint8 = iota // days in h
	ivLong               // days in s, four bytes, big endian
)

// NewInterval returns an interval; it allocates only when the days exceed an
// int16.
func NewInterval(v IntervalValue) Datum {
	d := Datum{fam: IntervalFamily, m: v.Months, n: v.Micros}
	if v.Days == int32(int16(v.Days)) {
		d.h = int16(v.Days)
		return d
	}
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(v.Days))
	d.k, d.s = ivLong, string(b[:])
	return d
}

// Interval returns an interval's value.
func (d Datum) Interval() IntervalValue {
	v := IntervalValue{Months: d.m, Days: int32(d.h), Micros: d.n}
	if d.k == ivLong {
		s := d.s
		v.Days = int32(uint32(s[0])<<24 | uint32(s[1])<<16 | uint32(s[2])<<8 | uint32(s[3]))
	}
	return v
}

// NewTimeTZ returns a time of day (microseconds since midnight) in a zone given
// in seconds west of UTC.
func NewTimeTZ(micros int64, west int32) Datum {
	return Datum{fam: TimeTZFamily, n: micros, m: west}
}

// TimeTZ returns the parts of a timetz; see NewTimeTZ.
func (d Datum) TimeTZ() (micros int64, west int32) { return d.n, d.m }
