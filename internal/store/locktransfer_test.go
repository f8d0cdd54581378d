package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/rpc"
)

func mustLock(t *testing.T, txn *kv.Txn, key string) {
	t.Helper()
	if _, err := txn.Lock(context.Background(), []byte(key), lock.Update, lock.WaitBlock); err != nil {
		t.Fatalf("lock of %q: %v", key, err)
	}
}

// Transactions that hold row locks survive two transfers and commit. Their waiters wait at the new leader. A leader
// that dies takes its locks with it.
func TestLocksSurviveTransfer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		c.Put(1, "\x10a", "old")
		c.Put(1, "\x10b", "old")
		ctx := context.Background()
		first := c.Leading(1)
		dbs := map[*clustertest.Node]*kv.DB{}
		for _, nd := range c.Nodes {
			dbs[nd] = nd.Gateway()
		}
		holder := dbs[c.Other(first)].Begin(kv.TxnOptions{})
		holder.BeginStatement()
		mustLock(t, holder, "\x10a")
		if err := holder.Put([]byte("\x10a"), []byte("new")); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { // waits for the lock all the while
			waiter := dbs[first].Begin(kv.TxnOptions{Isolation: kv.ReadCommitted})
			waiter.BeginStatement()
			res, err := waiter.Lock(ctx, []byte("\x10a"), lock.Update, lock.WaitBlock)
			if err != nil || string(res.Value) != "new" {
				t.Errorf("the waiter got %q, %v", res.Value, err)
			}
			if err := waiter.Put([]byte("\x10a"), []byte("newer")); err != nil {
				t.Error(err)
			}
			if err := waiter.Commit(ctx); err != nil {
				t.Errorf("the waiter's commit: %v", err)
			}
		})
		time.Sleep(50 * time.Millisecond)
		second := c.Other(first)
		if took := c.Transfer(1, second); took > 100*time.Millisecond {
			t.Errorf("the transfer took %v", took)
		}
		holder.BeginStatement()
		mustLock(t, holder, "\x10b")
		third := c.Other(first, second)
		c.Transfer(1, third)
		if n := c.Leader(1).Locks().Len(); n != 3 { // two locks and one who waits
			time.Sleep(100 * time.Millisecond)
			if n = c.Leader(1).Locks().Len(); n != 3 {
				t.Errorf("%d locks after the transfer", n)
			}
		}
		if err := holder.Put([]byte("\x10b"), []byte("new")); err != nil {
			t.Fatal(err)
		}
		if err := holder.Commit(ctx); err != nil {
			t.Errorf("commit after two transfers: %v", err)
		}
		wg.Wait()
		if v := c.Get(1, "\x10a") + c.Get(1, "\x10b"); v != "newernew" {
			t.Errorf("values %q", v)
		}
		time.Sleep(time.Second)
		if n := c.Leader(1).Locks().Len(); n != 0 {
			t.Errorf("%d locks are left", n)
		}
		// Without a lock transfer the commit fails, though an old record may be there.
		lost := dbs[first].Begin(kv.TxnOptions{})
		lost.BeginStatement()
		mustLock(t, lost, "\x10a")
		if err := lost.Put([]byte("\x10a"), []byte("never")); err != nil {
			t.Fatal(err)
		}
		third.Port.SetDown(true)
		for c.Leader(1) == nil || c.Leading(1) == third {
			time.Sleep(10 * time.Millisecond)
		}
		if err := lost.Commit(ctx); !kv.IsRetryable(err) {
			t.Errorf("a commit without its lock: %v", err)
		}
		third.Port.SetDown(false)
	})
}

// Leaders that transfer their leadership as soon as they lead, some before they have removed the record of the locks
// that they imported, lose no locks.
func TestLockTransferAfterAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		c.Put(1, "\x10a", "old")
		holder := c.Nodes[0].Gateway().Begin(kv.TxnOptions{})
		for _, nd := range c.Nodes[1:] {
			nd.Gateway()
		}
		holder.BeginStatement()
		mustLock(t, holder, "\x10a")
		if err := holder.Put([]byte("\x10a"), []byte("new")); err != nil {
			t.Fatal(err)
		}
		for n := range 40 {
			time.Sleep(time.Duration(n) * time.Millisecond)
			c.Transfer(1, c.Other(c.Leading(1)))
		}
		if err := holder.Commit(context.Background()); err != nil {
			t.Errorf("commit after the transfers: %v", err)
		}
		if v := c.Get(1, "\x10a"); v != "new" {
			t.Errorf("value %q", v)
		}
	})
}

// A leader that has transferred its leadership does not campaign at once: it would end the new leadership, and lose
// the row locks.
func TestLockTransferUndisturbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		c.Put(1, "\x10a", "old")
		for range 20 {
			time.Sleep(time.Second)
			nd, old := c.Leading(1), c.Leader(1)
			target := c.Other(nd)
			rep, _ := old.Desc().Replica(kvpb.StoreID(target.ID))
			began := time.Now()
			old.TransferLeader(rep.Replica)
			for ; c.Leading(1) != target; time.Sleep(50 * time.Microsecond) {
				if _, known := old.Leader(); !known { // the clock's ticks come at any moment
					old.Tick()
					synctest.Wait()
					nd.Store.TickElections()
				}
				if time.Since(began) > 100*time.Millisecond {
					t.Fatal("the lock transfer takes longer than 100 ms")
				}
			}
		}
	})
}

// The target of a lock transfer imports the row locks and dies before it can remove their record. Until then it has
// granted and released none, so the next leader imports the same locks. Then the record is gone, and released locks
// stay released.
func TestLockTransferTwice(t *testing.T) {
	if err := transferTwice(t); err != nil {
		t.Error(err)
	}
}

func transferTwice(t *testing.T) (wrong error) {
	fail := func(format string, args ...any) { wrong = errors.Join(wrong, fmt.Errorf(format, args...)) }
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		c.Put(1, "\x10a", "old")
		first := c.Leading(1)
		target := c.Other(first)
		dbs := map[*clustertest.Node]*kv.DB{}
		for _, nd := range c.Nodes {
			dbs[nd] = nd.Gateway()
		}
		holder := dbs[first].Begin(kv.TxnOptions{})
		holder.BeginStatement()
		mustLock(t, holder, "\x10a")
		rep, _ := c.Leader(1).Desc().Replica(kvpb.StoreID(target.ID))
		c.Leader(1).TransferLeader(rep.Replica)
		for c.Leading(1) != target {
			time.Sleep(50 * time.Microsecond)
		}
		taken := c.Leader(1)
		target.Port.SetDown(true) // what it sent a moment ago does not arrive
		if n := taken.Locks().Len(); n != 1 {
			t.Fatalf("the target holds %d locks", n)
		}
		early := dbs[target].Begin(kv.TxnOptions{})
		early.BeginStatement()
		soon, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		defer cancel()
		if _, err := early.Lock(soon, []byte("\x10b"), lock.Update, lock.WaitBlock); err == nil {
			fail("the target grants locks that its successor does not hear of")
		}
		for c.Leader(1) == nil || c.Leader(1) == taken {
			time.Sleep(10 * time.Millisecond)
		}
		if err := holder.Put([]byte("\x10a"), []byte("new")); err != nil {
			t.Fatal(err)
		}
		if err := holder.Commit(context.Background()); err != nil {
			fail("commit: %w", err)
		}
		target.Port.SetDown(false)
		early.Rollback(context.Background())
		c.Transfer(1, target)
		if n := c.Leader(1).Locks().Len(); n != 0 {
			fail("%d locks came back", n)
		}
		if v := c.Get(1, "\x10a"); v != "new" {
			fail("value %q", v)
		}
	})
	return wrong
}

// A leadership that is only offered stays where it is while a request that may change row locks takes too long: the
// locks would be lost. Here it is the commit of another transaction.
func TestOfferKeepsLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		c.Put(1, "\x10a", "old")
		first, lead := c.Leading(1), c.Leader(1)
		db := first.Gateway()
		holder, other := db.Begin(kv.TxnOptions{}), db.Begin(kv.TxnOptions{})
		for txn, key := range map[*kv.Txn]string{holder: "\x10a", other: "\x10b"} {
			txn.BeginStatement()
			mustLock(t, txn, key)
			if err := txn.Put([]byte(key), []byte("new")); err != nil {
				t.Fatal(err)
			}
		}
		rep, _ := lead.Desc().Replica(kvpb.StoreID(c.Other(first).ID))
		c.Net.Lose(func(_, to kvpb.NodeID, m rpc.Method, _ []byte) bool { return to == first.ID && m != rpc.MethodLiveness })
		done := make(chan error)
		go func() { done <- other.Commit(context.Background()) }()
		time.Sleep(10 * time.Millisecond)
		lead.OfferLeader(rep.Replica)
		time.Sleep(1100 * time.Millisecond)
		c.Net.Lose(nil)
		if err := errors.Join(<-done, holder.Commit(context.Background())); err != nil {
			t.Error(err)
		}
		if c.Leader(1) != lead {
			t.Error("the leadership went")
		}
		lead.OfferLeader(rep.Replica)
		time.Sleep(time.Second)
		if c.Leader(1) == lead {
			t.Error("the leadership did not go though nothing was in its way")
		}
	})
}

// A leadership that is only offered stays where it is if its row locks are few but too long for an export.
func TestOfferKeepsLongLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		c.Put(1, "\x10a", "old")
		first, lead := c.Leading(1), c.Leader(1)
		holder := first.Gateway().Begin(kv.TxnOptions{})
		holder.BeginStatement()
		const locks = 300
		for i := range locks { // of more than 8 MiB
			mustLock(t, holder, fmt.Sprintf("\x10%04d%s", i, strings.Repeat("x", 32<<10)))
		}
		rep, _ := lead.Desc().Replica(kvpb.StoreID(c.Other(first).ID))
		lead.OfferLeader(rep.Replica)
		time.Sleep(2 * time.Second)
		if n := lead.Locks().Len(); c.Leader(1) != lead || n != locks {
			t.Fatalf("the leadership went, or its locks: %d are left", n)
		}
		if err := holder.Put([]byte("\x10a"), []byte("new")); err != nil {
			t.Fatal(err)
		}
		if err := holder.Commit(context.Background()); err != nil {
			t.Errorf("commit after the offer: %v", err)
		}
		lead.OfferLeader(rep.Replica)
		time.Sleep(time.Second)
		if c.Leader(1) == lead {
			t.Error("the leadership did not go though its locks had")
		}
	})
}

// A leadership that was transferred to a node that does not take it, or dies at once, continues in a later term, on
// another node or on the same one. On the same one it has its locks.
func TestLockTransferToNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		c.Put(1, "\x10a", "old")
		first := c.Leading(1)
		for _, nd := range c.Nodes {
			nd.Gateway()
		}
		db := first.Gateway()
		holder := db.Begin(kv.TxnOptions{})
		holder.BeginStatement()
		mustLock(t, holder, "\x10a")
		target := c.Other(first)
		rep, _ := c.Leader(1).Desc().Replica(kvpb.StoreID(target.ID))
		lead := c.Leader(1)
		lead.TransferLeader(rep.Replica)
		for lead.Leads() {
			time.Sleep(100 * time.Microsecond)
		}
		target.Port.SetDown(true)
		began := time.Now()
		for c.Leader(1) == nil {
			if time.Since(began) > 5*time.Second {
				t.Fatal("nobody leads")
			}
			time.Sleep(10 * time.Millisecond)
		}
		if err := holder.Put([]byte("\x10a"), []byte("new")); err != nil {
			t.Fatal(err)
		}
		err := holder.Commit(context.Background())
		if err != nil && (lead.Leads() || !kv.IsRetryable(err)) {
			t.Errorf("commit: %v", err)
		}
		if v := c.Get(1, "\x10a"); (v == "new") != (err == nil) {
			t.Errorf("value %q after %v", v, err)
		}
		target.Port.SetDown(false)
	})
}

// All gateways increment while the leadership moves and leaders die: no increment is lost or done twice, and none fails
// because of a move.
func TestIncrementsOverTransfers(t *testing.T) {
	for seed := range uint64(3) {
		synctest.Test(t, func(t *testing.T) { incrementsOverTransfers(t, seed, seed == 2) })
	}
}

func incrementsOverTransfers(t *testing.T, seed uint64, kill bool) {
	c := newCluster(t, 3)
	defer c.CloseAll()
	c.Replicate(1)
	c.Put(1, "\x10n", "")
	rnd := rand.New(rand.NewPCG(seed, 3))
	var wg sync.WaitGroup
	var mu sync.Mutex
	done, failed := 0, map[string]int{}
	stop := make(chan struct{})
	for i, nd := range c.Nodes {
		db := nd.Gateway()
		for range 2 {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					err := increment(db, i%2 == 0)
					mu.Lock()
					if err == nil {
						done++
					} else {
						failed[err.Error()]++
					}
					mu.Unlock()
				}
			})
		}
	}
	for range 12 {
		time.Sleep(time.Duration(50+rnd.IntN(300)) * time.Millisecond)
		from := c.Leading(1)
		if from == nil {
			continue
		}
		if kill && rnd.IntN(3) == 0 {
			from.Port.SetDown(true) // cut off for a while
			time.Sleep(3 * time.Second)
			from.Port.SetDown(false)
			continue
		}
		c.Transfer(1, c.Other(from, c.Nodes[rnd.IntN(3)]))
	}
	close(stop)
	wg.Wait()
	n := len(c.Get(1, "\x10n"))
	unknown := 0
	for msg, k := range failed {
		if strings.Contains(msg, "outcome") {
			unknown += k
		}
	}
	if n < done || n > done+unknown {
		t.Errorf("seed %d: %d increments of %d acknowledged, %d unknown", seed, n, done, unknown)
	}
	if !kill && len(failed) > 0 || done < 20 {
		t.Errorf("seed %d: %d done, failures %v", seed, done, failed)
	}
	time.Sleep(2 * time.Second)
	if left := c.Leader(1).Locks().Len(); left != 0 {
		c.Leader(1).Locks().ForEach(func(l concurrency.Lock) bool { t.Logf("%+v", l); return true })
		t.Errorf("seed %d: %d locks are left", seed, left)
	}
	t.Logf("seed %d: %d done, failures %v", seed, done, failed)
}

// increment adds a letter to a row, as a block of two statements or as one.
func increment(db *kv.DB, block bool) error {
	ctx := context.Background()
	txn := db.Begin(kv.TxnOptions{Isolation: kv.ReadCommitted})
	txn.BeginStatement()
	res, err := txn.Lock(ctx, []byte("\x10n"), lock.Update, lock.WaitBlock)
	if err != nil {
		txn.Rollback(ctx)
		return fmt.Errorf("lock: %w", err)
	}
	v := string(res.Value) + "x"
	if block {
		time.Sleep(5 * time.Millisecond)
		txn.BeginStatement()
	}
	if err := txn.Put([]byte("\x10n"), []byte(v)); err != nil {
		return err
	}
	return txn.Commit(ctx)
}

// The locks of a gateway whose process has ended go when another transaction wants them, and the gateway's
// transaction does not commit.
func TestLocksOfDeadGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		defer c.CloseAll()
		nd := c.Nodes[0]
		var mu sync.Mutex
		dead := map[uint64]bool{}
		db := nd.Gateway()
		gone := kv.NewDB(nd.KV.Router, nd.Clock, nd.KV.GatewayIncarnation()+1)
		nd.Store.ConnectTxns(replica.TxnDeps{GatewayAlive: func(id kvpb.TxnID) bool {
			mu.Lock()
			defer mu.Unlock()
			return !dead[id.Hi]
		}})
		ctx := context.Background()
		for _, wait := range []lock.WaitPolicy{lock.WaitBlock, lock.WaitError, lock.WaitSkip} {
			holder := gone.Begin(kv.TxnOptions{})
			holder.BeginStatement()
			mustLock(t, holder, "\x10a")
			if err := holder.Put([]byte("\x10a"), []byte("never")); err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			dead[holder.ID().Hi] = true
			mu.Unlock()
			txn := db.Begin(kv.TxnOptions{})
			txn.BeginStatement()
			res, err := txn.Lock(ctx, []byte("\x10a"), lock.Update, wait)
			if err != nil || res.Skipped {
				t.Errorf("wait policy %d: %+v, %v", wait, res, err)
			}
			mu.Lock()
			dead[holder.ID().Hi] = false // it was only out of reach
			mu.Unlock()
			var retry *kvpb.RetryError
			if err := holder.Commit(ctx); !errors.As(err, &retry) {
				t.Errorf("commit without its lock: %v", err)
			}
			txn.Rollback(ctx)
		}
	})
}
