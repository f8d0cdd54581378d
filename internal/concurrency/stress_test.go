package concurrency

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/lock"
)

// recheck is when a wait that lasts is checked again; the stress never needs
// that but for a wait that ended in the middle of another one's check.
const recheck = 100 * time.Millisecond

// stuck is how long a stress test may take before it counts as hung.
const stuck = 5 * time.Minute

// lockStress runs transactions that lock a few of a few keys in random order.
type lockStress struct {
	t       *testing.T
	table   *LockTable
	graph   *WaitGraph
	keys    [][]byte
	holders [][lock.NumStrengths]atomic.Int32 // per key and strength, counted by the holders themselves
	timeout <-chan struct{}

	commits, deadlocks, cancels, rechecks atomic.Int64
}

// TestLockStress checks that conflicting locks are never held at once, that
// no wake-up is lost, and that every deadlock is found.
func TestLockStress(t *testing.T) {
	s := &lockStress{t: t, table: NewLockTable(0), graph: NewWaitGraph()}
	for i := range 6 {
		s.keys = append(s.keys, fmt.Appendf(nil, "key %d", i))
	}
	s.holders = make([][lock.NumStrengths]atomic.Int32, len(s.keys))
	timeout := make(chan struct{})
	s.timeout = timeout
	timer := time.AfterFunc(stuck, func() { close(timeout) })
	defer timer.Stop()
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(g)))
			for i := range 300 {
				if !s.txn(Holder{ID: TxnID{Hi: uint64(g) + 1, Lo: uint64(i)}, Start: ts(i)}, rng) {
					return
				}
			}
		})
	}
	wg.Wait()
	if s.table.Len() != 0 || s.graph.Len() != 0 {
		t.Errorf("%d locks and %d waits left", s.table.Len(), s.graph.Len())
	}
	t.Logf("%d commits, %d deadlocks, %d cancelled waits, %d checked again",
		s.commits.Load(), s.deadlocks.Load(), s.cancels.Load(), s.rechecks.Load())
	if s.commits.Load() == 0 || s.deadlocks.Load() == 0 || s.cancels.Load() == 0 {
		t.Error("the stress did not exercise everything")
	}
}

// txn locks up to four keys and releases them; false means that it hangs.
func (s *lockStress) txn(h Holder, rng *rand.Rand) bool {
	held := map[int]lock.Strength{}
	defer func() {
		for k, st := range held {
			s.holders[k][st].Add(-1)
			s.table.Release(h.ID, s.keys[k])
		}
	}()
	for range 1 + rng.IntN(4) {
		k, st := rng.IntN(len(s.keys)), lock.Strength(1+rng.IntN(4))
		granted, alive := s.acquire(h, k, st, rng)
		if !granted {
			return alive
		}
		if st > held[k] {
			if held[k] != lock.None {
				s.holders[k][held[k]].Add(-1)
			}
			held[k] = st
			s.holders[k][st].Add(1)
		}
		s.exclusive(h, k, held[k])
		runtime.Gosched() // let others meet the locks
	}
	s.commits.Add(1)
	return true
}

// exclusive checks that nobody else counts as a holder that conflicts.
func (s *lockStress) exclusive(h Holder, k int, st lock.Strength) {
	for other := lock.KeyShare; other < lock.NumStrengths; other++ {
		n := s.holders[k][other].Load()
		if other == st {
			n--
		}
		if n > 0 && other.Conflicts(st) {
			s.t.Errorf("%v holds key %d for %v while %d hold it for %v", h.ID, k, st, n, other)
		}
	}
}

func (s *lockStress) acquire(h Holder, k int, st lock.Strength, rng *rand.Rand) (granted, alive bool) {
	w, err := s.table.Acquire(s.keys[k], h, st)
	if err != nil {
		s.t.Error(err)
		return false, false
	}
	if w == nil {
		return true, true
	}
	wait := s.graph.Add(h, w)
	defer s.graph.Remove(wait)
	if rng.IntN(20) == 0 { // a timeout, racing with the grant
		s.cancels.Add(1)
		return s.give(w, h, k), true
	}
	for {
		s.graph.Check(wait)
		select {
		case <-w.Done():
			return w.Err() == nil, true
		case <-wait.Victim():
			s.deadlocks.Add(1)
			return s.give(w, h, k), true
		case <-time.After(recheck):
			s.rechecks.Add(1)
		case <-s.timeout:
			s.t.Errorf("%v waits for %v forever", h.ID, w.Blockers())
			w.Cancel()
			return false, false
		}
	}
}

// give cancels; a lock granted in the meantime is released by the caller as
// one that it holds.
func (s *lockStress) give(w *Waiter, h Holder, k int) (granted bool) {
	granted = w.Cancel()
	if granted && s.table.Holds(s.keys[k], h.ID) < w.Strength() {
		s.t.Error("granted but not held")
	}
	return granted
}

// mvcc is a toy store: versions of a few keys, to check reads against writes.
type mvcc struct {
	mu       sync.Mutex
	versions [8][]hlc.Timestamp
}

func (s *mvcc) put(k int, ts hlc.Timestamp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions[k] = append(s.versions[k], ts)
}

// count returns how many versions of the keys from..to-1 are visible at ts.
func (s *mvcc) count(from, to int, ts hlc.Timestamp) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, vs := range s.versions[from:to] {
		for _, v := range vs {
			if v.LessEq(ts) {
				n++
			}
		}
	}
	return n
}

type doneRead struct {
	from, to, seen int
	ts             hlc.Timestamp
}

// TestReadsMissNoCommit runs the commit protocol against point and span reads:
// what a read saw must be what is there at its timestamp in the end.
func TestReadsMissNoCommit(t *testing.T) {
	var (
		store mvcc
		clock atomic.Int64
		wg    sync.WaitGroup
		mu    sync.Mutex
		reads []doneRead
		keys  [len(store.versions)][]byte
		cs    = NewCommits()
		cache = NewTimestampCache(TimestampCacheOptions{KeySlots: 64, SpanCount: 8}, ts(0))
	)
	for i := range keys {
		keys[i] = []byte{byte(i)}
	}
	for g := range 4 {
		wg.Go(func() { // writer
			rng := rand.New(rand.NewPCG(2, uint64(g)))
			for i := range 2000 {
				id := TxnID{Hi: uint64(g) + 1, Lo: uint64(i)}
				a, b := rng.IntN(len(keys)), rng.IntN(len(keys))
				write := slices.CompactFunc([][]byte{keys[min(a, b)], keys[max(a, b)]}, bytes.Equal)
				now := ts(int(clock.Add(1)))
				c := cs.Begin(id, write)
				at := now.Max(cache.GetKeys(write, id).Next())
				if rng.IntN(10) > 0 {
					c.SetTimestamp(at)
					for _, k := range write {
						store.put(int(k[0]), at)
					}
				}
				c.Finish()
			}
		})
		wg.Go(func() { // reader
			rng := rand.New(rand.NewPCG(3, uint64(g)))
			for i := range 2000 {
				id := TxnID{Hi: uint64(g) + 100, Lo: uint64(i)}
				at := ts(int(clock.Add(1)))
				from := rng.IntN(len(keys))
				to := from + 1
				if i%3 == 0 {
					to = len(keys)
					cache.AddSpan(keys[from], nil, at, id)
					for c := cs.BlockingScan(id, keys[from], nil, at); c != nil; c = cs.BlockingScan(id, keys[from], nil, at) {
						<-c.Changed()
					}
				} else {
					cache.AddKey(keys[from], at, id)
					for c := cs.BlockingRead(id, keys[from], at); c != nil; c = cs.BlockingRead(id, keys[from], at) {
						<-c.Changed()
					}
				}
				r := doneRead{from, to, store.count(from, to, at), at}
				mu.Lock()
				reads = append(reads, r)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, r := range reads {
		if n := store.count(r.from, r.to, r.ts); n != r.seen {
			t.Fatalf("read of keys %d to %d at %v saw %d versions, there are %d", r.from, r.to, r.ts, r.seen, n)
		}
	}
}
