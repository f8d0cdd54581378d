package catalog

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/lock"
)

// Sessions on three nodes write rows under the cached descriptor while others
// change it, with messages lost and nodes cut off.
func TestGatewaysAtRandom(t *testing.T) {
	for _, faults := range []bool{false, true} {
		t.Run(map[bool]string{false: "calm", true: "faults"}[faults], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { gatewaysAtRandom(t, faults) })
		})
	}
}

// A run ends when so many changes have returned, or after so long; then it must have
// got somewhere.
const (
	changesAtRandom = 40
	longestAtRandom = time.Minute
)

// pauseAtRandom is between the tries of a session: virtual time passes only while all wait.
func pauseAtRandom() { <-time.After(time.Duration(1+rand.IntN(5000)) * time.Microsecond) }

func gatewaysAtRandom(t *testing.T, faults bool) {
	c := openGateways(t, 3, 300*time.Millisecond)
	defer c.close()
	c.table("a")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	h := &descHistory{commits: map[int]int64{}}
	if faults {
		c.net.mu.Lock()
		c.net.fault = func(bool) bool { return rand.IntN(20) == 0 }
		c.net.mu.Unlock()
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 2 {
				i := 1 + rand.IntN(2)
				c.die(i)
				<-time.After(400 * time.Millisecond)
				c.revive(i)
			}
		}()
	}
	for i, n := range c.nodes {
		for range 2 {
			wg.Add(1)
			go func() { defer wg.Done(); h.write(t, n.session(t), stop, byte(i)) }()
		}
		wg.Add(1)
		go func() { defer wg.Done(); h.change(t, n.session(t), stop) }()
	}
	for begin := time.Now(); h.returned.Load() < changesAtRandom && time.Since(begin) < longestAtRandom; {
		<-time.After(100 * time.Millisecond)
	}
	close(stop)
	wg.Wait()
	c.net.mu.Lock()
	c.net.fault = nil
	c.net.mu.Unlock()
	h.check(t)
	want := c.nodes[0].commentOf(t, "a")
	for _, n := range c.nodes {
		if got := n.commentOf(t, "a"); len(got) != len(want) || len(got) != int(h.returned.Load()) {
			t.Errorf("node %d is at version %d, node 1 at %d, of %d", n.cat.gw.member.Node, len(got), len(want), h.returned.Load())
		}
	}
	t.Logf("%d changes, %d writes", h.returned.Load(), len(h.writes))
}

// descHistory is what happened: the length of the comment is the version.
type descHistory struct {
	returned atomic.Int64
	mu       sync.Mutex
	commits  map[int]int64 // when a version was committed
	writes   [][2]int64    // version written under, commit
}

func (h *descHistory) write(t *testing.T, s *session, stop chan struct{}, who byte) {
	row := append(keys.DatabasePrefix(900), who, byte(rand.IntN(256)), byte(rand.IntN(256)))
	for {
		select {
		case <-stop:
			return
		default:
		}
		pauseAtRandom()
		s.begin(kv.TxnOptions{Isolation: kv.Isolation(rand.IntN(3))})
		floor := h.returned.Load()
		tab, _, err := s.FindRelation(ctx, "", "", "a")
		if err != nil {
			s.rollback()
			continue
		}
		v := int64(len(tab.Comment))
		if v < floor {
			t.Errorf("version %d was used after %d had been committed and returned", v, floor)
		}
		_, err = s.txn.Lock(ctx, row, lock.Update, lock.WaitBlock)
		if err == nil {
			err = s.txn.Put(row, []byte{1})
		}
		if err != nil {
			s.rollback()
			continue
		}
		if err = s.PreCommit(ctx); err == nil {
			err = s.txn.Commit(ctx)
		}
		if err != nil {
			s.rollback()
			continue
		}
		ts := s.txn.CommitTimestamp().WallTime
		s.Committed(ctx)
		h.mu.Lock()
		h.writes = append(h.writes, [2]int64{v, ts})
		h.mu.Unlock()
	}
}

func (h *descHistory) change(t *testing.T, s *session, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		pauseAtRandom()
		s.begin(kv.TxnOptions{Isolation: kv.Isolation(rand.IntN(3))})
		tab, _, err := s.FindRelation(ctx, "", "", "a")
		if err == nil {
			err = s.LockExclusive(ctx, tab.ID)
		}
		if err == nil {
			tab, err = s.TableByID(ctx, tab.ID)
		}
		var v int
		if err == nil {
			c := tab.Clone()
			c.Comment += "x"
			v = len(c.Comment)
			err = s.Put(ctx, c)
		}
		if err == nil {
			err = s.PreCommit(ctx)
		}
		if err == nil {
			err = s.txn.Commit(ctx)
		}
		if err != nil {
			s.rollback()
			continue
		}
		ts := s.txn.CommitTimestamp().WallTime
		h.mu.Lock()
		if h.commits[v] != 0 {
			t.Errorf("version %d was made twice", v)
		}
		h.commits[v] = ts
		h.mu.Unlock()
		s.Committed(ctx)
		for {
			old := h.returned.Load()
			if old >= int64(v) || h.returned.CompareAndSwap(old, int64(v)) {
				break
			}
		}
	}
}

// check verifies that every row was committed while the version that it was
// written under was the newest.
func (h *descHistory) check(t *testing.T) {
	bad := slices.ContainsFunc(h.writes, func(w [2]int64) bool {
		next := h.commits[int(w[0])+1]
		return next != 0 && w[1] > next || w[1] < h.commits[int(w[0])]
	})
	if bad {
		t.Error("a row was written under a descriptor that was not the newest")
	}
	if len(h.writes) == 0 || len(h.commits) == 0 {
		t.Error("nothing happened")
	}
}
