package balance

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

// TestIdle: a cluster of many ranges to which nothing happens is scanned rarely, and at once
// when something does.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := newCluster(3)
		for i := range 3 * (idleFrom + 10) {
			s := func(n int) kvpb.StoreID { return kvpb.StoreID((i+n)%3 + 1) }
			cl.addRange(16*mib, s(0), s(1), s(2))
		}
		cl.run(10 * time.Second)
		q := cl.queues[0]
		scans := func() uint64 { return q.Stats().Scans }
		before := scans()
		cl.run(4 * time.Minute)
		if n := scans() - before; n < 2 || n > 7 {
			t.Errorf("%d scans in four minutes of idleness", n)
		}

		before = scans()
		q.Wake()
		cl.run(2 * time.Second)
		if scans() == before {
			t.Error("no scan although the queue was woken")
		}

		cl.run(time.Minute) // idle again
		cl.mu.Lock()
		hurt := cl.ranges[1]
		hurt.Desc.Replicas = hurt.Desc.Replicas[:2] // the counts show it
		cl.mu.Unlock()
		cl.run(30 * time.Second)
		cl.check(t)
	})
}

// TestTune changes options while the queue works.
func TestTune(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := newCluster(2)
		cl.addRange(16*mib, 1, 2)
		q := cl.queues[0]
		q.Tune(func(o *Options) { o.SplitQPS, o.MergeQPS, o.NoMerge = 40000, 0, true })
		if o := q.opts(); o.MergeQPS != 10000 || o.MaxChanges == 0 {
			t.Errorf("%+v", o)
		}
		r := cl.ranges[1]
		if q.mayMerge(r, time.Now().Add(time.Hour)) {
			t.Error("a merge although merges are off")
		}
		q.Tune(func(o *Options) { o.NoMerge = false })
		r.Zone.RangeMinBytes = ptr[int64](64 * mib)
		if !q.mayMerge(r, time.Now().Add(time.Hour)) {
			t.Error("no merge although merges are on")
		}
	})
}
