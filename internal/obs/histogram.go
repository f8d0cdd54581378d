package obs

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// A Histogram's buckets are as wide as an eighth of the power of two that they begin at, so that what is read from it is
// less than 13 % off. Durations below minTracked are in the first bucket, those above maxTracked in the last one.
const (
	minTrackedBits = 10 // about a microsecond
	maxTrackedBits = 40 // about 18 minutes
	subBits        = 3
	// Buckets is the number of buckets of a Histogram.
	Buckets = (maxTrackedBits-minTrackedBits)<<subBits + 1
)

// Histogram counts durations. It is safe for concurrent use, and takes no lock. The zero value is empty.
type Histogram struct{ counts [Buckets]atomic.Uint64 }

// bucketOf returns the bucket of a duration.
func bucketOf(d time.Duration) int {
	if d < 1<<minTrackedBits {
		return 0
	}
	n := uint64(d)
	top := bits.Len64(n) - 1
	if top >= maxTrackedBits {
		return Buckets - 1
	}
	return (top-minTrackedBits)<<subBits + int(n>>(top-subBits)&(1<<subBits-1))
}

// BucketEnd returns the first duration that is beyond a bucket; of the last one, where it begins.
func BucketEnd(i int) time.Duration {
	if i >= Buckets-1 {
		return 1 << maxTrackedBits
	}
	top := i>>subBits + minTrackedBits
	return 1<<top + time.Duration(i&(1<<subBits-1)+1)<<(top-subBits)
}

// Record counts a duration.
func (h *Histogram) Record(d time.Duration) { h.counts[bucketOf(d)].Add(1) }

// AddTo adds the counts to c.
func (h *Histogram) AddTo(c *Counts) {
	for i := range h.counts {
		if n := h.counts[i].Load(); n > 0 {
			c[i] += n
		}
	}
}

// Counts are those of a Histogram at a time, or the sum of several.
type Counts [Buckets]uint64

// Add adds those of another.
func (c *Counts) Add(o *Counts) {
	for i := range o {
		c[i] += o[i]
	}
}

// Since returns what has come since an earlier state of the same counts. What has become less begins anew.
func (c *Counts) Since(before *Counts) Counts {
	var out Counts
	for i := range c {
		out[i] = c[i]
		if before[i] <= c[i] {
			out[i] -= before[i]
		}
	}
	return out
}

// Total returns how many there are.
func (c *Counts) Total() (n uint64) {
	for _, v := range c {
		n += v
	}
	return n
}

// Quantile returns the duration below which a share of all lies, from 0 to 1; 0 if there are none. It is interpolated
// within its bucket.
func (c *Counts) Quantile(q float64) time.Duration {
	total := c.Total()
	if total == 0 {
		return 0
	}
	rank := q * float64(total)
	seen := uint64(0)
	for i, n := range c {
		if n == 0 {
			continue
		}
		if float64(seen+n) >= rank {
			begin := time.Duration(0)
			if i > 0 {
				begin = BucketEnd(i - 1)
			}
			share := max(rank-float64(seen), 0) / float64(n)
			return begin + time.Duration(share*float64(BucketEnd(i)-begin))
		}
		seen += n
	}
	return BucketEnd(Buckets - 1)
}

// Sparse returns the counts that are not zero, as pairs of bucket and count: how they travel.
func (c *Counts) Sparse() []uint64 {
	var out []uint64
	for i, n := range c {
		if n > 0 {
			out = append(out, uint64(i), n)
		}
	}
	return out
}

// FromSparse is the reverse of Sparse. Buckets that there are not are left out.
func FromSparse(pairs []uint64) (c Counts) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] < Buckets {
			c[pairs[i]] += pairs[i+1]
		}
	}
	return c
}
