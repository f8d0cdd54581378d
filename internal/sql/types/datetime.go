package types

import (
	"math"
	"time"
)

// Infinite and extreme values of date and timestamp. A timestamp runs from
// 4714-11-24 BC to 294276-12-31, a date to 5874897-12-31.
const (
	DateInf         int64 = math.MaxInt32
	DateNegInf      int64 = math.MinInt32
	TimestampInf    int64 = math.MaxInt64
	TimestampNegInf int64 = math.MinInt64

	MinDate      int64 = -2451545                 // 4714-11-24 BC
	EndDate      int64 = 2147483494 - 2451545     // 5874898-01-01
	MinTimestamp       = MinDate * MicrosPerDay   // 4714-11-24 BC
	EndTimestamp       = 106751983 * MicrosPerDay // 294277-01-01
)

// EpochDiffDays and EpochDiffMicros go from 1970-01-01 to 2000-01-01.
const (
	EpochDiffDays         = 10957
	EpochDiffMicros int64 = EpochDiffDays * MicrosPerDay
)

// ValidTimestamp reports whether a finite timestamp lies in PostgreSQL's range.
func ValidTimestamp(micros int64) bool { return micros >= MinTimestamp && micros < EndTimestamp }

// ValidDate reports whether a finite date lies in PostgreSQL's range.
func ValidDate(days int64) bool { return days >= MinDate && days < EndDate }

// MicrosFromTime converts a Go time to a timestamptz value.
func MicrosFromTime(t time.Time) int64 { return t.UnixMicro() - EpochDiffMicros }

// TimeFromMicros converts a finite timestamptz value to a Go time in UTC.
func TimeFromMicros(micros int64) time.Time {
	sec := FloorDiv(micros, MicrosPerSec)
	return time.Unix(sec+EpochDiffDays*86400, (micros-sec*MicrosPerSec)*1000).UTC()
}
