package store_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/store"
)

// leave removes the replica of a range from a node.
func (c *cluster) leave(id kvpb.RangeID, nd *clustertest.Node) {
	c.T.Helper()
	c.Change(id, replica.Remove, nd)
	for n := 0; ; n++ {
		if _, ok := nd.Store.Replica(id); !ok {
			return
		}
		if n == 2000 {
			c.T.Fatalf("node %d still has its replica of range %d", nd.ID, id)
		}
		time.Sleep(time.Millisecond)
	}
}

// Neither moving a replica to a store nor moving it away flushes the engine. The log of the removed replica stays until
// its end is durable, and a crash before that brings it back.
func TestMovesDoNotFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2)
		defer c.CloseAll()
		two := c.Nodes[1]
		c.fill(1, "k", 20, 100)
		var flushes atomic.Int32
		synctest.Wait() // until the flush of its start is told
		two.Store.Engine().OnFlush(func() { flushes.Add(1) })
		c.Change(1, replica.AddLearner, two)
		time.Sleep(2 * time.Second)
		c.sameData(1)
		c.leave(1, two)
		if n := flushes.Load(); n != 0 {
			t.Errorf("%d flushes", n)
		}
		if _, ok := two.Store.Log().State(raftlog.GroupID(1)); !ok {
			t.Error("the log is gone before the replica's end is durable")
		}
		crash := fs.CrashClone(two.Disk, 0, 1)
		if err := two.Store.Engine().Flush(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, ok := two.Store.Log().State(raftlog.GroupID(1)); ok {
			t.Error("the log is still there")
		}
		clock := hlc.New(func() int64 { return time.Now().UnixNano() }, 250*time.Millisecond)
		s, err := store.Open(store.Options{FS: crash, Dir: clustertest.Dir, Clock: clock, CacheBytes: 1 << 20, MemTableBytes: 1 << 20})
		if err == nil {
			err = s.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := s.Replica(1); !ok || !r.Initialized() {
			t.Error("a crash before the replica's end was durable lost it")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// A replica is removed while its disk still writes slowly what came before: nothing of that is written after the removal
// (invariant 7 of package raftgroup). A store with a part of a replica would not start again.
func TestStopWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		if c.Leading(1) != c.Nodes[0] {
			c.Transfer(1, c.Nodes[0])
		}
		time.Sleep(5 * time.Second)
		slow := c.Nodes[2]
		release := make(chan struct{})
		slow.Store.DiskWatch().SetFault(func(op *fs.Op) error {
			if op.Kind.Mutates() {
				<-release
			}
			return nil
		})
		for i := range 20 { // what arrives while the disk stands waits behind the first write
			c.Put(1, "\x10a", strconv.Itoa(i))
		}
		c.Change(1, replica.Remove, slow)
		time.Sleep(500 * time.Millisecond) // but the disk does not count as stalled yet
		slow.Store.DiskWatch().SetFault(nil)
		close(release)
		time.Sleep(2 * time.Second)
		if _, ok := slow.Store.Replica(1); ok {
			t.Fatal("the replica is still there")
		}
		span := keys.RangeLocalSpan(1)
		it, err := slow.Store.Engine().NewIter(storage.IterOptions{Lower: span.Start, Upper: span.End})
		if err != nil {
			t.Fatal(err)
		}
		defer it.Close()
		for ok := it.First(); ok; ok = it.Next() {
			key, _, err := storage.DecodeEngineKey(it.Key())
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(key, keys.RangeTombstone(1)) {
				t.Errorf("%s was written after the replica was removed", keys.Pretty(key))
			}
		}
	})
}

// A store gets a replica of a range again just after it has lost one: the end of the former replica becomes durable
// first, so that no crash leaves two.
func TestReplicaComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2)
		defer c.CloseAll()
		two := c.Nodes[1]
		c.fill(1, "k", 20, 100)
		for range 3 {
			c.Change(1, replica.AddLearner, two)
			time.Sleep(2 * time.Second)
			c.sameData(1)
			c.leave(1, two)
		}
		c.Change(1, replica.AddLearner, two)
		time.Sleep(2 * time.Second)
		c.sameData(1)
		r, _ := two.Store.Replica(1)
		if st, ok := two.Store.Log().State(raftlog.GroupID(1)); !ok || st.Replica != uint64(r.ReplicaID()) {
			t.Errorf("the log is that of replica %d, the replica is %d", st.Replica, r.ReplicaID())
		}
	})
}

// A crash brings a removed replica back while the range already has a new one in its place. The new
// one's messages arrive before the store has started: they must not take the log of the replica that
// the store is about to load, without which it would never start again (invariant S12).
func TestMessagesBeforeStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starting func()
		c := &cluster{clustertest.NewWith(t, 2, clustertest.Options{BeforeStart: func(*clustertest.Node) {
			if starting != nil {
				starting()
			}
		}})}
		defer c.CloseAll()
		two := c.Nodes[1]
		c.fill(1, "k", 20, 100)
		c.Change(1, replica.AddLearner, two)
		time.Sleep(2 * time.Second)
		if err := two.Store.Engine().Flush(); err != nil {
			t.Fatal(err)
		}
		c.leave(1, two)
		var late [][]byte // what the leader sends to the new replica, and node 2 hears only as it starts
		c.Net.Lose(func(_, to kvpb.NodeID, m rpc.Method, msg []byte) bool {
			if to != two.ID || m != store.MethodRaft {
				return false
			}
			late = append(late, bytes.Clone(msg))
			return true
		})
		c.Change(1, replica.AddLearner, two)
		time.Sleep(2 * time.Second)
		c.Net.Lose(nil)
		c.Crash(two, 1)
		starting = func() {
			for _, msg := range late {
				c.Nodes[0].Port.Send(two.ID, store.MethodRaft, msg)
			}
			time.Sleep(time.Second)
		}
		if c.Start(two); len(late) == 0 {
			t.Fatal("the new replica was told nothing")
		}
		c.Introduce()
		time.Sleep(5 * time.Second)
		c.sameData(1)
	})
}

// A snapshot of a range that arrives before its store has started does not keep the store from loading
// the replicas of its other ranges (invariant S12).
func TestSnapshotBeforeStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starting func()
		c := &cluster{clustertest.NewWith(t, 2, clustertest.Options{BeforeStart: func(*clustertest.Node) {
			if starting != nil {
				starting()
			}
		}})}
		defer c.CloseAll()
		two := c.Nodes[1]
		c.fill(1, "a", 5, 100)
		c.fill(1, "z", 5, 100)
		c.Change(1, replica.AddLearner, two)
		time.Sleep(2 * time.Second)
		if err := two.Store.Engine().Flush(); err != nil {
			t.Fatal(err)
		}
		c.Split(1, "\x10m", 2)
		c.leave(2, two)
		c.Close(two)
		c.Change(2, replica.AddLearner, two)
		starting = func() {
			c.Introduce()
			time.Sleep(5 * time.Second)
		}
		c.Start(two)
		c.Introduce()
		time.Sleep(5 * time.Second)
		c.sameData(1)
		c.sameData(2)
	})
}

// A replica is moved away from a store and comes back as two ranges after a split, while none of this is durable on the
// store: after a crash no key belongs to two replicas.
func TestSnapshotBehindRemoval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2)
		defer c.CloseAll()
		two := c.Nodes[1]
		c.fill(1, "a", 5, 100)
		c.fill(1, "z", 5, 100)
		c.Change(1, replica.AddLearner, two)
		time.Sleep(2 * time.Second)
		c.leave(1, two)
		c.Split(1, "\x10m", 2)
		c.Change(2, replica.AddLearner, two)
		time.Sleep(2 * time.Second)
		c.sameData(2)
		clock := hlc.New(func() int64 { return time.Now().UnixNano() }, 250*time.Millisecond)
		s, err := store.Open(store.Options{FS: fs.CrashClone(two.Disk, 0, 1), Dir: clustertest.Dir, Clock: clock, CacheBytes: 1 << 20, MemTableBytes: 1 << 20})
		if err == nil {
			err = s.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if all := s.Replicas(); len(all) != 1 || all[0].RangeID() != 2 {
			t.Errorf("after a crash there are %d replicas", len(all))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// A follower that was down, while everything became durable and the leadership moved, catches up from the log of the new
// leader.
func TestCatchUpFromNewLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		c.fill(1, "k", 50, 100)
		first := c.Leading(1)
		away, target := c.Other(first), c.Other(first, c.Other(first))
		c.Close(away)
		c.fill(1, "n", 50, 100)
		time.Sleep(time.Second)
		for _, nd := range c.Nodes {
			if nd != away {
				if err := nd.Store.Engine().Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(time.Second)
		c.Transfer(1, target)
		snapshots := 0
		c.Net.OnCall(func(_, _ kvpb.NodeID, m rpc.Method, req []byte) error {
			if part(m, req) == store.PartBegin {
				snapshots++
			}
			return nil
		})
		c.Start(away)
		c.Introduce()
		time.Sleep(5 * time.Second)
		c.sameData(1)
		if snapshots != 0 {
			t.Errorf("%d snapshots", snapshots)
		}
	})
}

// While the leadership moves, reads and writes of clients at all nodes wait for at most 50 ms, in 99 of 100 moves.
func TestTransferDelay(t *testing.T) {
	const moves, limit = 60, 50 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		c.Put(1, "\x10a", "1")
		var mu sync.Mutex
		worst := map[string]time.Duration{}
		stop := make(chan struct{})
		var wg sync.WaitGroup
		load := func(what string, op func(context.Context) error) {
			wg.Go(func() {
				for ctx := context.Background(); ; time.Sleep(time.Millisecond) {
					select {
					case <-stop:
						return
					default:
					}
					began := time.Now()
					if err := op(ctx); err != nil && !kv.IsRetryable(err) {
						t.Errorf("%s: %v", what, err)
						return
					}
					mu.Lock()
					worst[what] = max(worst[what], time.Since(began))
					mu.Unlock()
				}
			})
		}
		for i, nd := range c.Nodes {
			db := nd.Gateway()
			load("read", func(ctx context.Context) error {
				txn := db.Begin(kv.TxnOptions{ReadOnly: true})
				defer txn.Rollback(ctx)
				txn.BeginStatement()
				_, _, err := txn.Get(ctx, []byte("\x10a"))
				return err
			})
			load("write", func(ctx context.Context) error {
				txn := db.Begin(kv.TxnOptions{Isolation: kv.ReadCommitted})
				txn.BeginStatement()
				key := []byte{0x10, 'w', byte(i)}
				_, err := txn.Lock(ctx, key, lock.Update, lock.WaitBlock)
				if err = errors.Join(err, txn.Put(key, []byte("1"))); err != nil {
					txn.Rollback(ctx)
					return err
				}
				return txn.Commit(ctx)
			})
		}
		waits := map[string][]time.Duration{}
		for n := range moves {
			time.Sleep(100 * time.Millisecond)
			mu.Lock()
			clear(worst)
			mu.Unlock()
			from := c.Leading(1)
			c.Transfer(1, c.Other(from, c.Nodes[n%3]))
			time.Sleep(100 * time.Millisecond)
			mu.Lock()
			for what, d := range worst {
				waits[what] = append(waits[what], d)
			}
			mu.Unlock()
		}
		close(stop)
		wg.Wait()
		for what, all := range waits {
			slices.Sort(all)
			p99 := all[len(all)*99/100]
			t.Logf("%s: median %v, p99 %v of %d moves", what, all[len(all)/2], p99, len(all))
			if p99 > limit {
				t.Errorf("%s: waited for %v", what, p99)
			}
		}
	})
}
