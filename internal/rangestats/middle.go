package rangestats

import (
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

// Middle returns a key about in the middle of a range's data, nil if there is none. That of much
// data is found by what parts of the key space take on disk, which reads no rows.
func (s *Stats) Middle(e *storage.Engine) ([]byte, error) {
	d := s.Desc()
	total, err := e.ApproximateSize(d.StartKey, d.EndKey)
	if err != nil {
		return nil, err
	}
	if total > countedBytes {
		return middle(e, d, total)
	}
	_, mid, err := CountRows(e, d.StartKey, d.EndKey, s.Size()/2) // much of it may not be on disk yet
	return mid, err
}

// sizeWithin returns what a part of a range of a size takes on disk. Of blocks that a span
// begins or ends in the estimates count all: so one that is too high, of the part, and one
// that is too low, of the range without the rest, are taken together.
func sizeWithin(e *storage.Engine, d *kvpb.RangeDescriptor, start, end []byte, disk uint64) (float64, error) {
	high, err := e.ApproximateSize(start, end)
	if err != nil {
		return 0, err
	}
	low := float64(disk)
	for _, rest := range [][2][]byte{{d.StartKey, start}, {end, d.EndKey}} {
		if string(rest[0]) >= string(rest[1]) {
			continue
		}
		n, err := e.ApproximateSize(rest[0], rest[1])
		if err != nil {
			return 0, err
		}
		low -= float64(n)
	}
	return (float64(high) + max(low, 0)) / 2, nil
}

// CountRows adds up the keys and newest values of the rows from start on, up to a limit;
// end is where it stopped, nil at the end.
func CountRows(e *storage.Engine, start, to []byte, limit int64) (n int64, end []byte, err error) {
	r := mvcc.NewReader(e)
	defer r.Close()
	s, err := r.Scanner(keys.Span{Start: start, End: to}, hlc.MaxTimestamp, false)
	if err != nil {
		return 0, nil, err
	}
	for s.Next() {
		if n >= limit {
			return n, append([]byte(nil), s.Key()...), nil
		}
		n += int64(len(s.Key()) + len(s.Value()))
	}
	return n, nil, s.Err()
}

// middle returns a key before and after which about as much of a range of a size is on
// disk; nil if there is none.
func middle(e *storage.Engine, d *kvpb.RangeDescriptor, disk uint64) ([]byte, error) {
	lo, hi := d.StartKey, d.EndKey
	for range maxBisect {
		mid := between(lo, hi)
		if mid == nil {
			break
		}
		size, err := e.ApproximateSize(d.StartKey, mid)
		if err != nil {
			return nil, err
		}
		if size < disk/2 {
			lo = mid
		} else {
			hi = mid
		}
	}
	if string(hi) == string(d.EndKey) {
		return nil, nil
	}
	return hi, nil
}

// maxBisect bounds the search for the middle of a range. Each step halves the rest of the key
// space: if keys have a common prefix, by one bit.
const maxBisect = 256

// between returns a key about in the middle of a and b, which are in order; nil if
// they are too near.
func between(a, b []byte) []byte {
	n := max(len(a), len(b)) + 1
	at := func(k []byte, i int) int {
		if i < len(k) {
			return int(k[i])
		}
		return 0
	}
	// (a + b) / 2 as fractions of base 256.
	sum := make([]int, n)
	carry := 0
	for i := n - 1; i >= 0; i-- {
		s := at(a, i) + at(b, i) + carry
		sum[i], carry = s&0xff, s>>8
	}
	mid := make([]byte, 0, n)
	rest := carry
	for i := range n {
		s := rest<<8 + sum[i]
		mid, rest = append(mid, byte(s>>1)), s&1
	}
	for len(mid) > 0 && mid[len(mid)-1] == 0 {
		mid = mid[:len(mid)-1]
	}
	if string(mid) <= string(a) || string(mid) >= string(b) || len(mid) > maxMidKey {
		return nil
	}
	return mid
}

// maxMidKey bounds the length of the keys that the search for the middle tries.
const maxMidKey = 256
