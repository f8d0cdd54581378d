package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/replica"
)

// gather makes one node lead ranges.
func (c *cluster) gather(nd *clustertest.Node, ids ...kvpb.RangeID) {
	c.T.Helper()
	for _, id := range ids {
		c.Do(id, func(r *replica.Replica) error {
			if c.Of(r) == nd {
				return nil
			}
			d, ok := r.Desc().Replica(kvpb.StoreID(nd.ID))
			if !ok {
				return errors.New("no replica there")
			}
			r.TransferLeader(d.Replica)
			time.Sleep(200 * time.Millisecond)
			r.Reclaim()
			return fmt.Errorf("range %d is not led by node %d yet", id, nd.ID)
		})
	}
}

// merge merges a range with the one to its right.
func (c *cluster) merge(id kvpb.RangeID) {
	c.T.Helper()
	c.Do(id, func(l *replica.Replica) error {
		nd := c.Of(l)
		if l.Desc().Merging != 0 {
			return c.resolve(l)
		}
		right := nd.Store.At(l.Desc().EndKey)
		if right == nil {
			return errors.New("nothing on the right")
		}
		if !right.Leads() {
			c.gather(nd, right.RangeID())
		}
		return l.Merge(context.Background(), right)
	})
}

func (c *cluster) resolve(l *replica.Replica) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return l.ResolveMerge(ctx, func(_ context.Context, right, left kvpb.RangeID, generation uint64) error {
		r := c.Leader(right)
		if r == nil {
			return errors.New("no leader")
		}
		return r.Unfreeze(left, generation)
	})
}

// holder returns the id of the range that holds a key.
func (c *cluster) holder(key string) kvpb.RangeID {
	c.T.Helper()
	for range 100 {
		for _, nd := range c.Nodes {
			if r := nd.Store.At([]byte(key)); r != nil && !nd.Port.Down() && r.Leads() {
				return r.RangeID()
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	c.T.Fatalf("no leader holds %q", key)
	return 0
}

// agree checks that all nodes have the same ranges, without gaps, in the same state.
func (c *cluster) agree() {
	c.T.Helper()
	time.Sleep(3 * time.Second)
	var want string
	for _, nd := range c.Nodes {
		got := ""
		for _, r := range nd.Store.All() {
			d := r.Desc()
			got += fmt.Sprintf("%d [%x, %x) generation %d merging %d into %d applied %d\n",
				d.RangeID, d.StartKey, d.EndKey, d.Generation, d.Merging, d.Into, r.AppliedIndex())
		}
		if want == "" {
			want = got
		} else if got != want {
			c.T.Errorf("node %d:\n%snode 1:\n%s", nd.ID, got, want)
		}
	}
}

// split makes ranges of the first letters of keys, numbered from 2 on.
func (c *cluster) split(letters string) {
	c.T.Helper()
	for i := len(letters) - 1; i >= 0; i-- {
		id := kvpb.RangeID(i + 2)
		c.Split(1, "\x10"+letters[i:i+1], id)
		c.Put(id, "\x10"+letters[i:i+1]+"0", "first")
	}
}

func TestMerge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		c.Put(1, "\x10a", "left")
		c.split("fm")
		c.Put(2, "\x10g", "middle")
		c.Put(3, "\x10z", "right")
		c.merge(1)
		c.merge(1)
		for k, v := range map[string]string{"\x10a": "left", "\x10g": "middle", "\x10z": "right", "\x10m0": "first"} {
			if got := c.Get(1, k); got != v {
				t.Errorf("%q = %q, want %q", k, got, v)
			}
			c.Put(1, k, "new")
		}
		c.agree()
		for _, nd := range c.Nodes {
			if all := nd.Store.All(); len(all) != 1 {
				t.Errorf("node %d has %d replicas", nd.ID, len(all))
			}
		}
		// A request that still goes to a merged range is told where to go.
		if d, ok := c.Nodes[0].Store.MergedInto(3); !ok || d.RangeID != 1 {
			t.Errorf("range 3 became part of %v", d)
		}
		// The ids are used up, the keys free to be split off again.
		c.Split(1, "\x10m", 4)
		if got := c.Get(4, "\x10z"); got != "new" {
			t.Errorf("z = %q", got)
		}
	})
}

// Locks survive a merge, their waiters go on waiting, and a commit under them succeeds in the range that now has the
// keys.
func TestMergeCarriesLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		c.split("f")
		lead := c.Leader(1)
		nd := c.Of(lead)
		c.gather(nd, 2)
		right := c.Leader(2)
		ctx := context.Background()
		holder, waiter := nd.Txn(1<<40), nd.Txn(1<<40+1)
		var held kvpb.LockResponse
		if err := right.Lock(ctx, &kvpb.LockRequest{Txn: holder, Key: []byte("\x10g"), Strength: lock.Update}, &held); err != nil {
			t.Fatal(err)
		}
		// The read of a later transaction that wrote nothing.
		reader := nd.Txn(1<<40 + 2)
		if err := right.Get(ctx, &kvpb.GetRequest{Txn: reader, Key: []byte("\x10h")}, &kvpb.GetResponse{}); err != nil {
			t.Fatal(err)
		}
		waited := make(chan error, 1)
		go func() {
			waited <- right.Lock(ctx, &kvpb.LockRequest{Txn: waiter, Key: []byte("\x10g"), Strength: lock.Update}, &kvpb.LockResponse{})
		}()
		time.Sleep(100 * time.Millisecond)
		c.merge(1)
		var mm *kvpb.RangeMismatchError
		if err := <-waited; !errors.As(err, &mm) || len(mm.Known) != 1 || mm.Known[0].RangeID != 1 || !mm.Known[0].ContainsKey([]byte("\x10g")) {
			t.Fatalf("who waited at the merged range: %v %+v", err, mm)
		}
		lead = c.Leader(1)
		err := lead.Lock(ctx, &kvpb.LockRequest{Txn: waiter, Key: []byte("\x10g"), Strength: lock.Update, Wait: lock.WaitError}, &kvpb.LockResponse{})
		var busy *kvpb.LockNotAvailableError
		if !errors.As(err, &busy) {
			t.Errorf("the lock was lost: %v", err)
		}
		// A serializable write below the read must move.
		old := *holder
		old.Isolation = kvpb.Serializable
		resp := &kvpb.CommitResponse{}
		err = lead.Commit(ctx, &kvpb.CommitRequest{
			Txn: &old, Writes: []kvpb.Write{{Key: []byte("\x10g"), Value: []byte("x")}, {Key: []byte("\x10h"), Value: []byte("y")}},
			Locks: [][]byte{[]byte("\x10g")}, LockTableIDs: []uint64{held.LockTableID}, AllReadsHere: true,
		}, resp)
		if err != nil {
			t.Fatalf("commit under a carried lock: %v", err)
		}
		if !reader.ReadTS.Less(resp.CommitTS) {
			t.Errorf("committed at %v, read at %v", resp.CommitTS, reader.ReadTS)
		}
		if err := lead.Lock(ctx, &kvpb.LockRequest{Txn: waiter, Key: []byte("\x10g"), Strength: lock.Update, Wait: lock.WaitError}, &kvpb.LockResponse{}); err != nil {
			t.Errorf("the lock after the commit: %v", err)
		}
	})
}

// The leader's node dies at some moment of a merge. Whichever step it had reached, the others finish or undo the merge,
// nothing is lost, and all replicas agree.
func TestMergeLeaderCrash(t *testing.T) {
	for step := range 16 {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { mergeCrash(t, time.Duration(step)*time.Millisecond, 0) })
		})
	}
}

// A follower dies at some moment of a merge and comes back as of its last flush.
func TestMergeFollowerCrash(t *testing.T) {
	for step := range 16 {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { mergeCrash(t, time.Duration(step)*time.Millisecond, 1) })
		})
	}
}

// mergeCrash kills the node that is distance nodes from the leader some time into a
// merge.
func mergeCrash(t *testing.T, after time.Duration, distance int) {
	c := newCluster(t, 3)
	defer c.CloseAll()
	c.Replicate(1)
	c.Put(1, "\x10a", "left")
	c.split("f")
	c.Put(2, "\x10z", "right")
	lead := c.Leader(1)
	nd := c.Of(lead)
	c.gather(nd, 2)
	right := c.Leader(2)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = lead.Merge(context.Background(), right)
	}()
	time.Sleep(after)
	dead := c.Nodes[(int(nd.ID)-1+distance)%len(c.Nodes)]
	c.Crash(dead, uint64(after), done)
	<-done
	c.Do(c.holder("\x10a"), func(l *replica.Replica) error { return c.resolve(l) })
	for _, k := range []string{"\x10a", "\x10z"} {
		id := c.holder(k)
		if got := c.Get(id, k); got != map[string]string{"\x10a": "left", "\x10z": "right"}[k] {
			t.Errorf("%q = %q", k, got)
		}
		c.Put(id, k, "after")
	}
	c.Start(dead)
	c.Introduce()
	time.Sleep(3 * time.Second)
	c.agree()
	if c.holder("\x10z") != 1 {
		c.merge(1)
	}
	for _, k := range []string{"\x10a", "\x10z"} {
		if got := c.Get(1, k); got != "after" {
			t.Errorf("%q = %q", k, got)
		}
	}
	c.agree()
}

// All nodes lose power after merges: each finds its merges in its log again.
func TestMergePowerLoss(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, 3)
				defer c.CloseAll()
				c.Replicate(1)
				c.split("fkp")
				if seed%2 == 1 { // the engine is durable in between
					c.merge(2)
					for _, nd := range c.Nodes {
						_ = nd.Store.Engine().Flush()
					}
				}
				for c.holder("\x10p0") != 1 {
					c.merge(1)
				}
				c.Put(1, "\x10q", "late")
				for _, nd := range c.Nodes {
					c.Crash(nd, seed)
				}
				for _, nd := range c.Nodes {
					c.Start(nd)
				}
				c.Introduce()
				for _, k := range []string{"\x10f0", "\x10k0", "\x10p0"} {
					if got := c.Get(1, k); got != "first" {
						t.Errorf("%q = %q", k, got)
					}
				}
				if got := c.Get(1, "\x10q"); got != "late" {
					t.Errorf("q = %q", got)
				}
				c.agree()
				for _, nd := range c.Nodes {
					if groups := nd.Store.Log().Groups(); len(groups) > 2+nd.Store.RemovedLogs() {
						t.Errorf("node %d has the logs of groups %v", nd.ID, groups)
					}
				}
			})
		})
	}
}

// Money moves between accounts in different ranges while these split and merge.
func TestMergeBank(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		const letters = "bdfhj"
		c.split(letters)
		var mu sync.Mutex
		sum := map[string]int{}
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
					}
					key := fmt.Sprintf("\x10%c%d", letters[(n+w)%len(letters)], w)
					if c.bump(key, uint64(w)<<32+uint64(n)) {
						mu.Lock()
						sum[key]++
						mu.Unlock()
					}
				}
			})
		}
		next := kvpb.RangeID(100)
		for round := range 12 {
			id := c.holder(fmt.Sprintf("\x10%c", 'a'+round%9))
			if l := c.Leader(id); l != nil && l.Desc().EndKey[0] == 0x10 {
				c.merge(id)
			}
			if round%3 == 2 {
				at := fmt.Sprintf("\x10%c", 'b'+round%8)
				_ = c.Leader(c.holder(at)).Split(context.Background(), []byte(at), next)
				next++
			}
		}
		close(stop)
		wg.Wait()
		total := 0
		for k, n := range sum {
			total += n
			if got := c.Get(c.holder(k), k); got != fmt.Sprint(n) {
				t.Errorf("%q = %s after %d increments", k, got, n)
			}
		}
		if total < 50 {
			t.Errorf("only %d increments", total)
		}
		c.agree()
	})
}

// bump increments a counter in a transaction, wherever its range is. It reports whether it committed.
func (c *cluster) bump(key string, n uint64) bool {
	ctx := context.Background()
	for range 200 {
		r := c.leaderOf(key)
		if r == nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		m := c.Nodes[0].Txn(1<<50 + n)
		m.Isolation = kvpb.ReadCommitted
		var l kvpb.LockResponse
		// Nobody else takes the lock for longer than a commit.
		limited, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := r.Lock(limited, &kvpb.LockRequest{Txn: m, Key: []byte(key), Strength: lock.Update}, &l)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			r.Locks().ForEach(func(l concurrency.Lock) bool {
				if string(l.Key) == key {
					c.T.Errorf("%q: range %d (part of another: %v) holds a lock of %v, wanted by %v", key, r.RangeID(), r.Gone(), l.Txn, m.ID)
				}
				return true
			})
			return false
		}
		if err != nil {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		old := 0
		_, _ = fmt.Sscan(string(l.Value), &old)
		for range 4000 {
			if r = c.leaderOf(key); r == nil {
				time.Sleep(5 * time.Millisecond)
				continue
			}
			err := r.Commit(ctx, &kvpb.CommitRequest{
				Txn: m, Writes: []kvpb.Write{{Key: []byte(key), Value: []byte(fmt.Sprint(old + 1))}},
				Locks: [][]byte{[]byte(key)}, LockTableIDs: []uint64{l.LockTableID},
			}, &kvpb.CommitResponse{})
			var nl *kvpb.NotLeaderError
			var mm *kvpb.RangeMismatchError
			switch {
			case err == nil:
				return true
			case errors.As(err, &nl), errors.As(err, &mm):
				time.Sleep(5 * time.Millisecond)
				continue
			}
			c.T.Errorf("commit of %q: %v", key, err)
			return false
		}
		c.T.Errorf("no leader takes the commit of %q", key)
		return false
	}
	return false
}

func (c *cluster) leaderOf(key string) *replica.Replica {
	for _, nd := range c.Nodes {
		if r := nd.Store.At([]byte(key)); r != nil && !nd.Port.Down() && r.Leads() {
			return r
		}
	}
	return nil
}

// After splits and merges in any order, with power losses between them, each key belongs to exactly one range, and all
// writes are there.
func TestBoundariesProperty(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { boundaries(t, seed) })
		})
	}
}

func boundaries(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	c := newCluster(t, 1)
	defer c.CloseAll()
	nd := c.Nodes[0]
	want := map[string]string{}
	key := func() string { return fmt.Sprintf("\x10%c%c", 'a'+rng.IntN(26), 'a'+rng.IntN(26)) }
	ctx := context.Background()
	next := kvpb.RangeID(2)
	merges := 0
	for step := range 120 {
		k := key()
		r := nd.Store.At([]byte(k))
		switch op := rng.IntN(10); {
		case op < 4:
			want[k] = fmt.Sprint(step)
			c.Put(r.RangeID(), k, want[k])
		case op < 6:
			if string(r.Desc().StartKey) != k {
				if err := r.Split(ctx, []byte(k), next); err != nil {
					t.Fatal(err)
				}
				next++
			}
		case op < 9:
			right := nd.Store.At(r.Desc().EndKey)
			if right == nil {
				continue
			}
			if err := r.Merge(ctx, right); err != nil {
				t.Fatal(err)
			}
			if err := right.Get(ctx, &kvpb.GetRequest{Txn: nd.Txn(1 << 40), Key: []byte(k)}, &kvpb.GetResponse{}); err == nil {
				t.Fatal("a range that was merged away answers")
			}
			merges++
		case op == 9 && rng.IntN(3) == 0:
			if rng.IntN(2) == 0 {
				_ = nd.Store.Engine().Flush()
			}
			c.Crash(nd, seed<<32|uint64(step))
			c.Start(nd)
		}
		checkBoundaries(t, nd)
	}
	for k, v := range want {
		if got := c.Get(nd.Store.At([]byte(k)).RangeID(), k); got != v {
			t.Errorf("%q = %q, want %q", k, got, v)
		}
	}
	if merges < 10 {
		t.Errorf("only %d merges", merges)
	}
}

// checkBoundaries checks that the ranges of a node hold all keys, each once.
func checkBoundaries(t *testing.T, nd *clustertest.Node) {
	t.Helper()
	all := keys.ReplicatedSpan()
	at := all.Start
	ids := map[kvpb.RangeID]bool{}
	for _, r := range nd.Store.Replicas() {
		d := r.Desc()
		if string(d.StartKey) != string(at) || ids[d.RangeID] || d.Changing() {
			t.Fatalf("range %d begins at %x, %x was expected: %+v", d.RangeID, d.StartKey, at, *d)
		}
		ids[d.RangeID] = true
		at = d.EndKey
	}
	if string(at) != string(all.End) {
		t.Fatalf("the last range ends at %x", at)
	}
}
