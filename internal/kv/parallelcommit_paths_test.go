package kv_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
)

// counted counts a gateway's messages by kind.
func (g *gateway) counted() map[string]int {
	n := map[string]int{}
	g.set(func(op string, _ []byte, after bool) error {
		g.mu.Lock()
		defer g.mu.Unlock()
		if !after {
			n[op]++
		}
		return nil
	})
	return n
}

// A transaction that writes in one range and reads, or only locks, in others
// commits in one phase there, once the others have agreed to the timestamp.
func TestReadsAndLocksElsewhere(t *testing.T) {
	ctx := context.Background()
	for _, iso := range []kv.Isolation{kv.Serializable, kv.ReadCommitted} {
		for _, moved := range []bool{false, true} {
			c := newRanges(t, fs.NewMem(), "h", "p")
			g, other := c.gateway(), c.gateway()
			other.mustSet("old", "a", "i", "q")
			other.router.Wait()
			messages := g.counted()
			txn := g.begin(kv.TxnOptions{Isolation: iso})
			if _, _, err := txn.Get(ctx, key("i")); err != nil {
				t.Fatal(err)
			}
			if _, err := txn.Lock(ctx, key("q"), lock.Share, lock.WaitBlock); err != nil {
				t.Fatal(err)
			}
			if err := setAll(ctx, txn, "new", "a"); err != nil {
				t.Fatal(err)
			}
			if moved {
				other.get("a")
			}
			if err := txn.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			g.router.Wait()
			want := map[string]int{"stage": 1, "commit": 1, "release": 1}
			if moved {
				want["stage"], want["commit"] = 2, 2
				if iso == kv.Serializable {
					want["refresh"] = 1
				}
			}
			if fmt.Sprint(messages) != fmt.Sprint(want) {
				t.Errorf("%s, moved=%t: messages %v, want %v", iso, moved, messages, want)
			}
			other.mustSet("end", "a", "i", "q") // nothing is locked
			other.router.Wait()
			if c.clean(); t.Failed() {
				t.FailNow()
			}
			c.close()
		}
	}
}

// A lock that a range has lost fails the commit, wherever it was.
func TestLostLock(t *testing.T) {
	ctx := context.Background()
	for _, lost := range []string{"a", "i", "q"} {
		c := newRanges(t, fs.NewMem(), "h", "p")
		g := c.gateway()
		g.mustSet("old", "a", "i", "q")
		g.router.Wait()
		txn := g.writing(kv.TxnOptions{}, "new", "a", "i")
		if _, err := txn.Lock(ctx, key("q"), lock.Share, lock.WaitBlock); err != nil {
			t.Fatal(err)
		}
		c.dropLocks(txn.ID(), key(lost))
		if err := txn.Commit(ctx); !kv.IsRetryable(err) {
			t.Errorf("without its lock on %s the commit returned %v", lost, err)
		}
		g.router.Wait()
		if got := g.get("a", "i", "q"); got != "[old old old]" {
			t.Errorf("%s", got)
		}
		g.mustSet("end", "a", "i", "q")
		g.router.Wait()
		c.clean()
		c.close()
	}
	c := newRanges(t, fs.NewMem())
	defer c.close()
	txn := c.gateway().writing(kv.TxnOptions{}, "x", "a")
	c.dropLocks(txn.ID(), key("a"))
	if _, err := txn.Lock(ctx, key("a"), lock.Update, lock.WaitBlock); !kv.IsRetryable(err) {
		t.Errorf("a lock that was lost and taken again: %v", err)
	}
	txn.Rollback(ctx)
}

// Nor does a recovery commit a transaction that has lost a lock in a range in which it
// does not write: its gateway dies just when it learns that.
func TestLostLockAndCoordinator(t *testing.T) {
	ctx := context.Background()
	c := newRanges(t, fs.NewMem(), "h", "p")
	defer c.close()
	g, other := c.gateway(), c.gateway()
	other.mustSet("old", "a", "i", "q")
	other.router.Wait()
	txn := g.begin(kv.TxnOptions{})
	if _, err := txn.Lock(ctx, key("q"), lock.Share, lock.WaitBlock); err != nil {
		t.Fatal(err)
	}
	if err := setAll(ctx, txn, "new", "a", "i"); err != nil {
		t.Fatal(err)
	}
	c.dropLocks(txn.ID(), key("q"))
	other.mustSet("changed", "q")
	g.set(func(op string, _ []byte, _ bool) error {
		if op == "abort" {
			return errLost
		}
		return nil
	})
	if err := txn.Commit(ctx); err == nil {
		t.Error("it committed without a lock that it took")
	}
	c.alive.Store(g.incarnation, false)
	c.dropLocks(txn.ID(), key("a"), key("i"))
	if got := other.get("a", "i", "q"); got != "[old old changed]" {
		t.Errorf("%s: it committed after its gateway's death, without a lock that it took", got)
	}
}

// A transaction with more keys than a record lists commits in two rounds, and its
// coordinator may stop there too.
func TestTwoRounds(t *testing.T) {
	ctx := context.Background()
	pad := bytes.Repeat([]byte("k"), 400)
	name := func(p string, i int) []byte { return append(key(fmt.Sprintf("%s%04d", p, i)), pad...) }
	for n := 0; n <= 6; n++ {
		c := newRanges(t, fs.NewMem(), "h", "p")
		g, other := c.gateway(), c.gateway()
		txn := g.begin(kv.TxnOptions{})
		const rows = 200
		for i := range rows {
			for _, p := range []string{"a", "i", "q"} {
				if err := txn.Put(name(p, i), []byte("v")); err != nil {
					t.Fatal(err)
				}
			}
		}
		if n > 0 {
			g.dieAt(n, true)
		}
		err := txn.Commit(ctx)
		g.router.Wait()
		if n > 0 {
			c.alive.Store(g.incarnation, false)
		}
		got := count(t, other.db)
		if got != 0 && got != 3*rows || err == nil && got == 0 || n == 0 && err != nil {
			t.Errorf("stopped at %d, the commit returned %v: %d rows", n, err, got)
		}
		if kv.IsRetryable(err) && got != 0 {
			t.Errorf("stopped at %d: %v, yet it committed", n, err)
		}
		for _, r := range c.store.Replicas() {
			r.Sweep()
		}
		c.clean()
		c.close()
	}
}

// A range that is split between a transaction's statements and its commit, or
// between the parts of it, changes nothing but the way.
func TestSplitDuringCommit(t *testing.T) {
	ctx := context.Background()
	for at := range 4 {
		c := newRanges(t, fs.NewMem(), "h")
		g, other := c.gateway(), c.gateway()
		other.mustSet("old", "a", "i", "q")
		other.router.Wait()
		txn := g.writing(kv.TxnOptions{}, "new", "a", "i", "q")
		n := 0
		g.set(func(string, []byte, bool) error {
			g.mu.Lock()
			defer g.mu.Unlock()
			if n++; n == at+1 {
				_, d, err := c.store.Lookup(key("p"))
				if err != nil {
					return err
				}
				r, _ := c.store.Replica(d.RangeID)
				if err := r.Split(ctx, key("p"), kvpb.RangeID(9)); err != nil {
					return err
				}
				c.waitFor("q")
				c.connect()
			}
			return nil
		})
		err := txn.Commit(ctx)
		g.set(nil)
		g.router.Wait()
		got := other.get("a", "i", "q")
		if err == nil && got != "[new new new]" || kv.IsRetryable(err) && got != "[old old old]" || err != nil && !kv.IsRetryable(err) {
			t.Errorf("split at %d: %v, %s", at, err, got)
		}
		other.mustSet("end", "a", "i", "q")
		c.close()
	}
}
