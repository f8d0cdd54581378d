package encoding

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Interval is the three parts PostgreSQL keeps of an interval.
type Interval struct {
	Months, Days int32
	Micros       int64
}

const (
	microsPerDay = 24 * 60 * 60 * 1000 * 1000
	daysPerMonth = 30
	// IntervalOrderLen is the length of what AppendIntervalOrder appends.
	IntervalOrderLen = 16
)

// AppendIntervalOrder appends 16 bytes that order intervals as PostgreSQL
// compares them, a month being 30 days and a day 24 hours: two intervals that
// compare equal, such as 1 month and 30 days, have the same bytes.
func AppendIntervalOrder(dst []byte, v Interval) []byte {
	hi, lo := intervalMicros(v)
	dst = binary.BigEndian.AppendUint64(dst, uint64(hi)^1<<63)
	return binary.BigEndian.AppendUint64(dst, lo)
}

// AppendIntervalOrderDesc is AppendIntervalOrder with the order reversed.
func AppendIntervalOrderDesc(dst []byte, v Interval) []byte {
	return invertFrom(AppendIntervalOrder(dst, v), len(dst))
}

// intervalMicros is the length of v in microseconds, which needs more than 64
// bits.
func intervalMicros(v Interval) (hi int64, lo uint64) {
	days := int64(v.Months)*daysPerMonth + int64(v.Days)
	h, l := bits.Mul64(uint64(abs(days)), microsPerDay)
	if days < 0 {
		var borrow uint64
		l, borrow = bits.Sub64(0, l, 0)
		h, _ = bits.Sub64(0, h, borrow)
	}
	l, carry := bits.Add64(l, uint64(v.Micros), 0)
	h, _ = bits.Add64(h, uint64(v.Micros>>63), carry)
	return int64(h), l
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}

// AppendInterval appends the order of v and then its exact parts, so that it
// can be read back. Intervals that compare equal lie next to each other but are
// different keys.
func AppendInterval(dst []byte, v Interval) []byte {
	dst = AppendIntervalOrder(dst, v)
	dst = AppendVarintOrdered(dst, int64(v.Months))
	return AppendVarintOrdered(dst, int64(v.Days))
}

// AppendIntervalDesc is AppendInterval with the order reversed.
func AppendIntervalDesc(dst []byte, v Interval) []byte {
	return invertFrom(AppendInterval(dst, v), len(dst))
}

// DecodeInterval reads what AppendInterval wrote.
func DecodeInterval(b []byte) (v Interval, rest []byte, err error) { return decodeInterval(b, 0) }

// DecodeIntervalDesc reads what AppendIntervalDesc wrote.
func DecodeIntervalDesc(b []byte) (v Interval, rest []byte, err error) {
	return decodeInterval(b, 0xff)
}

func decodeInterval(b []byte, mask byte) (v Interval, rest []byte, err error) {
	if len(b) < IntervalOrderLen {
		return v, nil, ErrTruncated
	}
	hi := int64(bigEndian(b[:8], mask) ^ 1<<63)
	lo := bigEndian(b[8:16], mask)
	months, rest, err := decodeVarint(b[IntervalOrderLen:], mask)
	if err != nil {
		return v, nil, err
	}
	days, rest, err := decodeVarint(rest, mask)
	if err != nil {
		return v, nil, err
	}
	if months != int64(int32(months)) || days != int64(int32(days)) {
		return v, nil, ErrMalformed
	}
	v = Interval{Months: int32(months), Days: int32(days)}
	// The microseconds are what the order holds beyond the other two parts.
	dhi, dlo := intervalMicros(v)
	l, borrow := bits.Sub64(lo, dlo, 0)
	h, _ := bits.Sub64(uint64(hi), uint64(dhi), borrow)
	if (h == 0 && l <= math.MaxInt64) || (h == math.MaxUint64 && l > math.MaxInt64) {
		v.Micros = int64(l)
		return v, rest, nil
	}
	return Interval{}, nil, ErrMalformed
}
