package sim

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
)

// TestLargeTransactionsIdle leaves transactions alone for an hour in which others write and the
// leaders of their rows move: their locks hold, what is spilled stays, and they commit, or
// fail if what they have read has changed; nobody sees anything of them before.
func TestLargeTransactionsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		c := newCluster(t, 5, 3)
		c.spill = 700
		c.found(largePrefix+"030", largePrefix+"060")
		c.spread(largePrefix+"000", largePrefix+"030", largePrefix+"060")
		gateway, other := c.nodes[1].current(), c.nodes[2].current()
		own := []byte("\x10idle")
		small, outdated := c.locked(gateway, own), gateway.db.Begin(kv.TxnOptions{})
		outdated.BeginStatement()
		if _, _, err := outdated.Get(ctx, []byte("\x10read")); err != nil {
			t.Fatal(err)
		}
		c.lockToo(outdated, []byte("\x10outdated"))
		large := &largeTxn{c: c, txn: gateway.db.Begin(kv.TxnOptions{})}
		large.txn.BeginStatement()
		for i := range spillStepRows {
			if err := large.write(i, "new"); err != nil {
				t.Fatal(err)
			}
		}
		for minute := range 60 {
			<-time.After(time.Minute)
			if minute%20 != 0 {
				continue
			}
			if err := other.db.Run(ctx, func(_ context.Context, txn *kv.Txn) error {
				return txn.Put([]byte("\x10read"), fmt.Append(nil, minute))
			}); err != nil {
				t.Fatal(err)
			}
			var busy *kvpb.LockNotAvailableError
			if err := c.lockable(own); !errors.As(err, &busy) {
				t.Fatalf("after %d minutes a row that is locked: %v", minute, err)
			}
			if err := c.lockable(largeKey(0)); !errors.As(err, &busy) {
				t.Fatalf("after %d minutes a row that is spilled: %v", minute, err)
			}
			if seen, err := c.largeRows(other); err != nil || len(seen) != 0 {
				t.Fatalf("after %d minutes others see %v, %v", minute, seen, err)
			}
		}
		if err := small.Commit(ctx); err != nil {
			t.Errorf("a small transaction: %v", err)
		}
		if err := large.txn.Commit(ctx); err != nil {
			t.Errorf("a large transaction: %v", err)
		}
		if err := outdated.Commit(ctx); !kv.IsRetryable(err) {
			t.Errorf("a transaction whose reads have changed: %v", err)
		}
		want := fmt.Sprint(map[string]int{"new": spillStepRows})
		if seen, err := c.largeRows(other); err != nil || fmt.Sprint(seen) != want {
			t.Errorf("others see %v, %v", seen, err)
		}
		if _, err := c.settled(); err != nil {
			t.Error(err)
		}
		c.close()
	})
}
