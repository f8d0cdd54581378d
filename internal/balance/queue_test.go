package balance

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/kvpb"
)

func TestGrowShrinkAndLose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ranges = 120
		cl := newCluster(3)
		for range ranges {
			cl.addRange(16*mib, 1, 2, 3)
		}
		cl.run(time.Minute)
		cl.check(t)
		cl.checkEven(t, "leaders of three", leaders)
		if cl.copies > 0 {
			t.Errorf("%d replicas moved while all stores held all", cl.copies)
		}
		t.Logf("three nodes: %d transfers", cl.shifts)

		cl.addNode()
		cl.addNode()
		cl.shifts = 0
		cl.run(5 * time.Minute)
		cl.check(t)
		cl.checkEven(t, "replicas of five", replicas)
		cl.checkEven(t, "leaders of five", leaders)
		if needed := ranges * 3 * 2 / 5; cl.copies > needed*11/10 {
			t.Errorf("%d replicas moved, %d had to", cl.copies, needed)
		}
		t.Logf("to five nodes: %d copies, %d transfers", cl.copies, cl.shifts)

		cl.copies, cl.shifts = 0, 0
		cl.run(10 * time.Minute)
		if cl.copies > 0 || cl.shifts > 0 {
			t.Errorf("at rest %d replicas and %d leaders moved", cl.copies, cl.shifts)
		}

		had := cl.stores[1].Capacity.Ranges
		cl.stores[1].Decommissioning = true
		cl.run(5 * time.Minute)
		cl.check(t)
		if n := cl.stores[1].Capacity.Ranges; n != 0 {
			t.Errorf("%d replicas left on the decommissioned store", n)
		}
		cl.checkEven(t, "replicas of four", replicas)
		cl.checkEven(t, "leaders of four", leaders)
		if cl.copies > had*5/4 {
			t.Errorf("%d replicas moved to empty a store of %d", cl.copies, had)
		}
		t.Logf("decommissioned %d replicas: %d copies, %d transfers", had, cl.copies, cl.shifts)

		had = cl.stores[3].Capacity.Ranges
		cl.copies, cl.shifts = 0, 0
		cl.stores[3].State, cl.stores[3].Since = placement.Down, time.Now()
		cl.elect()
		cl.run(4 * time.Minute)
		if cl.copies > 0 {
			t.Errorf("%d replicas copied before the store counted as dead", cl.copies)
		}
		cl.run(5 * time.Minute)
		cl.check(t)
		cl.checkEven(t, "leaders of three left", leaders)
		if cl.copies != had {
			t.Errorf("%d copies for %d lost replicas", cl.copies, had)
		}
	})
}

// TestStaleMeasurements evens out although the nodes see what the others did only
// every ten seconds.
func TestStaleMeasurements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const nodes, ranges = 9, 90
		cl := newCluster(nodes - 1)
		cl.measureEvery = 10 * time.Second
		for i := range ranges {
			s := func(n int) kvpb.StoreID { return kvpb.StoreID((i+n)%(nodes-1) + 1) }
			cl.addRange(16*mib, s(0), s(2), s(5))
		}
		cl.addNode()
		cl.run(15 * time.Minute)
		cl.check(t)
		cl.checkEven(t, "replicas", replicas)
		cl.checkEven(t, "leaders", leaders)
		if needed := ranges * 3 / nodes; cl.copies > needed*3/2 {
			t.Errorf("%d replicas moved, %d had to", cl.copies, needed)
		}
		t.Logf("%d copies, %d transfers", cl.copies, cl.shifts)
	})
}

func TestRepairGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := newCluster(4)
		for range 30 {
			cl.addRange(16*mib, 1, 2, 3) // balance is due: s4 is empty
		}
		hurt := cl.addRange(16*mib, 1, 2)
		cl.measure()
		q := cl.queues[0]
		q.scanIfDue(time.Now())
		if s := q.Status(); len(s.Next) == 0 || !strings.Contains(s.Next[0], "range 31: add voter") || s.UnderReplicated != 1 {
			t.Errorf("status %+v", s)
		}
		q.Step(t.Context())
		if len(hurt.Desc.Replicas) != 3 {
			t.Errorf("replicas %v", hurt.Desc.Replicas)
		}
	})
}

func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := newCluster(3)
		cl.addRange(mib, 1, 2)
		cl.fail = errors.New("no space left")
		cl.run(3 * time.Minute)
		q := cl.queues[0]
		if n := q.Stats().Failures; n < 5 || n > 12 {
			t.Errorf("tried %d times in three minutes", n)
		}
		s := q.Status()
		if len(s.Failing) != 1 || s.Failing[0].Error != "no space left" {
			t.Errorf("failing %+v", s.Failing)
		}
		cl.fail = nil
		cl.run(3 * time.Minute)
		cl.check(t)
		if s := q.Status(); len(s.Failing) != 0 || s.UnderReplicated != 0 {
			t.Errorf("status %+v", s)
		}
	})
}

func TestSnapshotBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := newCluster(3)
		for range 40 {
			cl.addRange(64*mib, 1, 2, 3)
		}
		cl.run(10 * time.Second)
		cl.addNode()
		cl.run(15 * time.Second)
		// 10 s saved up and 15 s of 32 MiB/s on each of three nodes, and one beyond.
		if most := 3 * (25*32/64 + 1); cl.copies > most {
			t.Errorf("%d copies, at most %d fit into the budget", cl.copies, most)
		}
	})
}

func TestSplitBySizeAndBoundary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := newCluster(3)
		big := cl.addRange(3000*mib, 1, 2, 3)
		boundary := cl.addRange(mib, 2, 1, 3)
		boundary.SplitKeys = [][]byte{append(key(2), 'x')}
		cl.run(30 * time.Second)
		cl.check(t)
		if big.Size > 512*mib || cl.splits < 6 {
			t.Errorf("size %d MiB after %d splits", big.Size/mib, cl.splits)
		}
		if string(boundary.Desc.EndKey) != "k000002x" {
			t.Errorf("boundary range ends at %q", boundary.Desc.EndKey)
		}
		var n uint64
		for _, q := range cl.queues {
			st := q.Stats()
			n += st.Splits[splitConfigured] + st.Splits[splitSize]
		}
		if int(n) != cl.splits {
			t.Errorf("stats count %d splits of %d", n, cl.splits)
		}
	})
}

func TestMergeSmallRanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := newCluster(4)
		places := [][]kvpb.StoreID{{1, 2, 3}, {2, 3, 4}, {3, 4, 1}, {4, 1, 2}}
		for i := range 40 {
			r := cl.addRange(mib, places[i%4]...)
			r.Zone.RangeMinBytes = ptr[int64](128 * mib)
			if i == 20 {
				r.SplitUntil = time.Now().Add(40 * time.Minute)
			}
		}
		cl.run(30 * time.Minute)
		cl.check(t)
		if len(cl.ranges) != 2 {
			t.Errorf("%d ranges left, want the two sides of the boundary made by hand", len(cl.ranges))
		}
		cl.run(20 * time.Minute)
		if len(cl.ranges) != 1 {
			t.Errorf("%d ranges left after the boundary expired", len(cl.ranges))
		}
	})
}

func TestMergeable(t *testing.T) {
	now := time.Now()
	o := Options{}
	o.fill()
	pair := func() (*RangeInfo, *RangeInfo) {
		cl := newCluster(3)
		l, r := cl.addRange(mib, 1, 2, 3), cl.addRange(mib, 1, 2, 3)
		l.Zone.RangeMinBytes, r.Zone.RangeMinBytes = ptr[int64](200*mib), ptr[int64](200*mib)
		return l, r
	}
	for want, change := range map[string]func(l, r *RangeInfo){
		"":                                  func(l, r *RangeInfo) {},
		"they are not adjacent":             func(l, r *RangeInfo) { r.Desc.StartKey = key(9) },
		"a range must begin there":          func(l, r *RangeInfo) { r.FixedStart = true },
		"the range was split by hand":       func(l, r *RangeInfo) { r.SplitUntil = now.Add(time.Second) },
		"their configurations differ":       func(l, r *RangeInfo) { r.Zone.NumReplicas = ptr(5) },
		"they are not both small and cold":  func(l, r *RangeInfo) { r.Size = 200 * mib },
		"together they are too large":       func(l, r *RangeInfo) { l.Size, r.Size = 128*mib, 128*mib },
		"together they are too busy":        func(l, r *RangeInfo) { l.QPS, r.QPS = 400, 400 },
		"they are not both small and cold ": func(l, r *RangeInfo) { l.QPS = 700 },
		"a range must begin there ":         func(l, r *RangeInfo) { l.NoSplit = true },
	} {
		l, r := pair()
		change(l, r)
		if got := Mergeable(l, r, now, &o); got != strings.TrimSpace(want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestDrainMovesLeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := newCluster(3)
		for i := range 60 {
			s := func(n int) kvpb.StoreID { return kvpb.StoreID((i+n)%3 + 1) }
			cl.addRange(mib, s(0), s(1), s(2))
		}
		cl.run(5 * time.Second)
		cl.stores[0].Draining = true
		cl.run(2 * time.Second)
		if n := cl.stores[0].Capacity.Leaders; n != 0 {
			t.Errorf("%d leaders left on the draining store", n)
		}
		cl.stores[0].Draining = false
		cl.run(2 * time.Minute)
		cl.check(t)
		cl.checkEven(t, "leaders", leaders)
		if cl.copies > 0 {
			t.Errorf("%d replicas moved", cl.copies)
		}
	})
}

func TestSplitByLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := newCluster(3)
		r := cl.addRange(mib, 1, 2, 3)
		r.Zone.RangeMinBytes = ptr[int64](128 * mib)
		r.Load = &LoadSplitter{}
		load := r.Load
		done := make(chan struct{})
		go func() {
			defer close(done)
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for range 3000 { // 30 s of 6000 requests/s, as many for each letter
				<-tick.C
				for i := range 60 {
					load.Record(append(key(1), byte('a'+i%20)))
				}
			}
		}()
		cl.run(31 * time.Second)
		<-done
		var st Stats
		for _, q := range cl.queues {
			st.Splits[splitLoad] += q.Stats().Splits[splitLoad]
		}
		if st.Splits[splitLoad] != 1 || len(cl.ranges) != 2 || string(r.Desc.EndKey) < "k000001g" || string(r.Desc.EndKey) > "k000001o" {
			t.Errorf("%d splits by load, %d ranges, the first ends at %q", st.Splits[splitLoad], len(cl.ranges), r.Desc.EndKey)
		}
		cl.run(2 * time.Minute)
		if cl.merges > 0 {
			t.Error("merged right after the split")
		}
		cl.run(30 * time.Minute)
		if len(cl.ranges) != 1 {
			t.Errorf("%d ranges although both are cold", len(cl.ranges))
		}
	})
}
