package types

import "math"

// Infinite and extreme values of date and timestamp. A timestamp runs from
// 4714-11-24 BC to 294276-12-31, a date to 5874897-12-31.
const (
	DateInf         int64 = math.MaxInt32
	DateNegInf      int64 = math.MinInt32
	TimestampInf    int64 = math.MaxInt64
	TimestampNegInf int64 = math.MinInt64

	minDate      int64 = -2451545                 // 4714-11-24 BC
	endDate      int64 = 2147483494 - 2451545     // 5874898-01-01
	minTimestamp       = minDate * MicrosPerDay   // 4714-11-24 BC
	endTimestamp       = 106751983 * MicrosPerDay // 294277-01-01
)

// epochDiffDays and epochDiffMicros go from 1970-01-01 to 2000-01-01.
const (
	epochDiffDays         = 10957
	epochDiffMicros int64 = epochDiffDays * MicrosPerDay
)
