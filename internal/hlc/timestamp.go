package hlc

import (
	"cmp"
	"fmt"
	"math"
	"time"
)

// Timestamp is a hybrid logical time: a physical part in nanoseconds since the
// Unix epoch and a counter that orders events within one nanosecond (Kulkarni
// et al., "Logical Physical Clocks", 2014). The zero value is before every
// timestamp a clock can return and means "none".
type Timestamp struct {
	WallTime int64  // nanoseconds since 1970-01-01 UTC
	Logical  uint32 // order within WallTime
}

// MaxTimestamp is after every timestamp a clock can return.
var MaxTimestamp = Timestamp{WallTime: math.MaxInt64, Logical: math.MaxUint32}

// IsEmpty reports whether t is the zero timestamp.
func (t Timestamp) IsEmpty() bool { return t == Timestamp{} }

// Compare returns -1, 0 or +1 as t is before, equal to or after u.
func (t Timestamp) Compare(u Timestamp) int {
	if c := cmp.Compare(t.WallTime, u.WallTime); c != 0 {
		return c
	}
	return cmp.Compare(t.Logical, u.Logical)
}

// Less reports whether t is before u.
func (t Timestamp) Less(u Timestamp) bool {
	return t.WallTime < u.WallTime || (t.WallTime == u.WallTime && t.Logical < u.Logical)
}

// LessEq reports whether t is not after u.
func (t Timestamp) LessEq(u Timestamp) bool { return !u.Less(t) }

// Next returns the smallest timestamp after t.
func (t Timestamp) Next() Timestamp {
	if t.Logical == math.MaxUint32 {
		return Timestamp{WallTime: t.WallTime + 1}
	}
	return Timestamp{WallTime: t.WallTime, Logical: t.Logical + 1}
}

// Prev returns the largest timestamp before t; t must not be empty.
func (t Timestamp) Prev() Timestamp {
	if t.Logical > 0 {
		return Timestamp{WallTime: t.WallTime, Logical: t.Logical - 1}
	}
	return Timestamp{WallTime: t.WallTime - 1, Logical: math.MaxUint32}
}

// Max returns the later of t and u.
func (t Timestamp) Max(u Timestamp) Timestamp {
	if t.Less(u) {
		return u
	}
	return t
}

// Min returns the earlier of t and u.
func (t Timestamp) Min(u Timestamp) Timestamp {
	if u.Less(t) {
		return u
	}
	return t
}

// Date prints the wall time for people: a date and a time of day in UTC, to the
// microsecond.
func (t Timestamp) Date() string {
	return time.Unix(0, t.WallTime).UTC().Format("2006-01-02 15:04:05.000000+00")
}

// String prints seconds with nine decimals, a comma and the logical part.
func (t Timestamp) String() string {
	return fmt.Sprintf("%d.%09d,%d", t.WallTime/1e9, t.WallTime%1e9, t.Logical)
}
