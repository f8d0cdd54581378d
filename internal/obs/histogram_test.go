package obs_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/obs"
)

// TestHistogram compares quantiles with those of the durations themselves.
func TestHistogram(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var h obs.Histogram
	var all []time.Duration
	for range 10_000 {
		d := time.Duration(rnd.ExpFloat64() * float64(5*time.Millisecond))
		all = append(all, d)
		h.Record(d)
	}
	slices.Sort(all)
	var c obs.Counts
	h.AddTo(&c)
	if c.Total() != uint64(len(all)) {
		t.Errorf("%d of %d are counted", c.Total(), len(all))
	}
	for _, q := range []float64{0.1, 0.5, 0.9, 0.99, 0.999} {
		want, got := all[int(q*float64(len(all)))], c.Quantile(q)
		if off := float64(got-want) / float64(want); off > 0.13 || off < -0.13 {
			t.Errorf("quantile %v: %v, want about %v", q, got, want)
		}
	}
	if back := obs.FromSparse(c.Sparse()); back != c {
		t.Error("the counts changed on the way")
	}
}

// TestHistogramEdges: every duration has a bucket that holds it, none and the longest included.
func TestHistogramEdges(t *testing.T) {
	for _, d := range []time.Duration{-1, 0, 1, 1023, 1024, 1025, time.Millisecond, time.Second, 18 * time.Minute, 19 * time.Minute, 1 << 62} {
		var h obs.Histogram
		h.Record(d)
		var c obs.Counts
		h.AddTo(&c)
		i := int(c.Sparse()[0])
		if d >= obs.BucketEnd(i) && i != obs.Buckets-1 || i > 0 && d < obs.BucketEnd(i-1) {
			t.Errorf("%v is in bucket %d, which ends at %v", d, i, obs.BucketEnd(i))
		}
	}
	var none obs.Counts
	if none.Quantile(0.5) != 0 {
		t.Error("there is a median of nothing")
	}
	var before, after obs.Counts
	before[3], after[3], after[4] = 5, 7, 1
	if d := after.Since(&before); d[3] != 2 || d[4] != 1 || d.Total() != 3 {
		t.Errorf("since: %v", d.Sparse())
	}
	if c := obs.FromSparse([]uint64{1 << 40, 5, 3}); c.Total() != 0 {
		t.Error("a bucket that there is not was counted")
	}
}
