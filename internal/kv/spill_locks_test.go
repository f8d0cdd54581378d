package kv_test

import (
	"context"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
)

// A transaction that spills has its row locks replaced by durable ones: if a range had lost
// one of them by then, with its leader, others may have written the key meanwhile, and what
// the transaction wrote must not come over that.
func TestSpillWithoutItsLocks(t *testing.T) {
	ctx := context.Background()
	for _, lost := range []bool{false, true} {
		c := newRanges(t, fs.NewMem(), "h")
		g, other := c.gateway(), c.gateway()
		g.db.SetSpill(1 << 10)
		other.mustSet("old", "a", "i")
		other.router.Wait()
		txn := g.begin(kv.TxnOptions{Isolation: kv.ReadCommitted})
		sp := txn.StatementStart()
		err := setAll(ctx, txn, "mine", "a", "i")
		if lost {
			c.dropLocks(txn.ID(), key("i"))
			other.mustSet("theirs", "i")
		}
		if err == nil {
			err = txn.Put(key("k"), make([]byte, 2<<10)) // more than the gateway's buffer holds
		}
		if err == nil {
			err = txn.Commit(ctx)
		} else if err = txn.RetryStatement(ctx, sp, err); err != nil { // it would fail again
			txn.Rollback(ctx)
		}
		if lost != kv.IsRetryable(err) || !lost && err != nil {
			t.Errorf("lost=%t: %v", lost, err)
		}
		g.router.Wait()
		if got, want := other.get("a", "i"), map[bool]string{false: "[mine mine]", true: "[old theirs]"}[lost]; got != want {
			t.Errorf("lost=%t: got %s, want %s", lost, got, want)
		}
		for _, r := range c.store.Replicas() {
			r.Sweep()
		}
		c.clean()
		c.close()
	}
}
