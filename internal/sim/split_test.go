package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/lock"
)

// TestSplitLeavesNoLocks commits several transactions, every other one in a second range
// too, at the moment at which their range is split, again and again: a lock whose commit
// is applied just before the split must not live on in the new range, where nobody would
// ever release it, and what is staged there not in what the left range's leader knows.
func TestSplitLeavesNoLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rounds, writers = 30, 8
		c := newCluster(t, 7, 3)
		c.found("\x10t")
		for _, n := range c.nodes {
			// While a leader waits for its disk, commits and the split queue up behind one
			// another and become one entry.
			n.disk.SetSlow(5 * time.Millisecond)
		}
		rng := rand.New(rand.NewPCG(7, 7))
		key := func(round, i int) []byte { return fmt.Appendf(nil, "\x10split%02d/%d", round, i) }
		for round := 0; round < rounds && !t.Failed(); round++ {
			left := c.leaderOf(key(round, 0))
			id := c.newRangeID()
			txns := make([]*kv.Txn, writers)
			for i := range txns {
				txns[i] = c.locked(left.inc, key(round, i))
				if i%2 == 1 {
					c.lockToo(txns[i], fmt.Appendf(nil, "\x10too%02d/%d", round, i))
				}
			}
			var wg sync.WaitGroup
			for _, txn := range txns {
				pause := time.Duration(rng.IntN(int(10 * time.Millisecond)))
				wg.Go(func() {
					<-time.After(pause)
					_ = txn.Commit(context.Background()) // it may fail, but not leave a lock
				})
			}
			pause := time.Duration(rng.IntN(int(10 * time.Millisecond)))
			wg.Go(func() {
				<-time.After(pause)
				if err := left.Split(context.Background(), key(round, 0), id); err != nil {
					t.Errorf("split %d: %v", round, err)
				}
			})
			wg.Wait()
			left.inc.router.Wait()
			if parts, records := left.Provisional(); parts+records > 0 {
				t.Errorf("split %d: the left range's leader knows of %d parts and %d records", round, parts, records)
			}
			for i := range writers {
				if err := c.lockable(key(round, i)); err != nil {
					t.Errorf("split %d: %q is still locked: %v", round, key(round, i), err)
				}
			}
		}
		c.close()
	})
}

// leaderOf returns the leader of the range that holds a key, once there is one.
func (c *cluster) leaderOf(key []byte) led {
	for range 1000 {
		for _, r := range c.leaders() {
			if r.Desc().ContainsKey(key) {
				return r
			}
		}
		<-time.After(20 * time.Millisecond)
	}
	c.t.Fatalf("nobody leads the range of %q", key)
	return led{}
}

// locked returns a transaction that has locked and written a key.
func (c *cluster) locked(inc *incarnation, key []byte) *kv.Txn {
	t := inc.db.Begin(kv.TxnOptions{Isolation: kv.ReadCommitted})
	t.BeginStatement()
	c.lockToo(t, key)
	return t
}

// lockToo has a transaction lock and write another key.
func (c *cluster) lockToo(t *kv.Txn, key []byte) {
	_, err := t.Lock(context.Background(), key, lock.Update, lock.WaitBlock)
	if err == nil {
		err = t.Put(key, []byte("v"))
	}
	if err != nil {
		c.t.Fatalf("lock %q: %v", key, err)
	}
}

// lockable answers whether a new transaction gets the lock of a key.
func (c *cluster) lockable(key []byte) error {
	ctx := context.Background()
	t := c.nodes[1].current().db.Begin(kv.TxnOptions{Isolation: kv.ReadCommitted})
	t.LockTimeout = 400 * time.Millisecond // before the gateway of a lock that has leaked is asked
	t.BeginStatement()
	_, err := t.Lock(ctx, key, lock.Update, lock.WaitBlock)
	t.Rollback(ctx)
	return err
}
