package kv_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
)

// collect drops everything that nobody can read at the clock's present time or later.
func (c *ranges) collect() {
	for _, r := range c.store.Replicas() {
		var elsewhere *kvpb.NotLeaderError
		if err := r.CollectGarbage(context.Background(), c.clock.Now()); err != nil && !errors.As(err, &elsewhere) {
			c.fatal(err)
		}
	}
}

// What a commit that is not decided would take the place of stays, whatever the
// collection threshold: the commit may be aborted.
func TestCollectUnderProvisional(t *testing.T) {
	ctx := context.Background()
	for n := 1; n <= steps; n++ {
		for _, delivered := range []bool{false, true} {
			c := newRanges(t, fs.NewMem(), "h", "p")
			c.name = fmt.Sprintf("%d/delivered=%t: ", n, delivered)
			other, victim := c.gateway(), c.gateway()
			for _, val := range []string{"older", "old"} {
				other.mustSet(val, "a", "i", "q")
			}
			other.router.Wait()
			txn := victim.writing(kv.TxnOptions{}, "new", "a", "i", "q")
			victim.dieAt(n, delivered)
			err := txn.Commit(ctx)
			victim.router.Wait()
			for range 2 { // the second time with the threshold in place
				c.collect()
			}
			c.alive.Store(victim.incarnation, false)
			c.dropLocks(txn.ID(), key("a"), key("i"), key("q"))
			got := other.get("a", "i", "q")
			if got != "[old old old]" && got != "[new new new]" || err == nil && got != "[new new new]" {
				t.Errorf(c.name+"the commit returned %v, and the values are %s", err, got)
			}
			for _, r := range c.store.Replicas() {
				r.Sweep()
			}
			c.clean()
			c.collect()
			if again := other.get("a", "i", "q"); again != got {
				t.Errorf(c.name+"the values were %s, and are %s once all is settled", got, again)
			}
			c.close()
		}
	}
}

// readCollected reads what was collected since the transaction's snapshot, and returns an error unless the
// read is refused.
func readCollected(t *testing.T) error {
	ctx := context.Background()
	g := newRanges(t, fs.NewMem())
	defer g.close()
	other := g.gateway()
	other.mustSet("old", "a")
	txn := g.gateway().begin(kv.TxnOptions{})
	defer txn.Rollback(ctx)
	if _, _, err := txn.Get(ctx, key("x")); err != nil { // fixes the snapshot
		t.Fatal(err)
	}
	other.mustSet("new", "a")
	for range 2 { // the second time with the threshold in place
		g.collect()
	}
	v, _, err := txn.Get(ctx, key("a"))
	var old *kvpb.SnapshotTooOldError
	if !errors.As(err, &old) {
		return fmt.Errorf("a read of a collected version returns %q, %w", v, cmp.Or(err, errors.New("without an error")))
	}
	return nil
}

// A read of a version that may be collected is refused.
func TestReadBelowThreshold(t *testing.T) {
	if err := readCollected(t); err != nil {
		t.Error(err)
	}
}

// A deletion that has been collected is not written over by a transaction from before it.
func TestCommitAboveCollected(t *testing.T) {
	ctx := context.Background()
	for _, names := range [][]string{{"a"}, {"a", "i"}} {
		c := newRanges(t, fs.NewMem(), "h", "p")
		g, other := c.gateway(), c.gateway()
		other.mustSet("old", names...)
		other.router.Wait()
		txn := g.begin(kv.TxnOptions{})
		if got, _, err := txn.Get(ctx, key("x")); err != nil || got != nil {
			t.Fatal(got, err)
		}
		deletion := other.begin(kv.TxnOptions{})
		for _, n := range names {
			if _, err := deletion.Lock(ctx, key(n), lock.Update, lock.WaitBlock); err != nil {
				t.Fatal(err)
			}
			if err := deletion.Delete(key(n)); err != nil {
				t.Fatal(err)
			}
		}
		if err := deletion.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		other.router.Wait()
		c.collect()
		err := setAll(ctx, txn, "new", names...)
		if err == nil {
			err = txn.Commit(ctx)
		}
		if err == nil && txn.CommitTimestamp().LessEq(deletion.CommitTimestamp()) {
			t.Errorf("%v: written at %v over a deletion at %v", names, txn.CommitTimestamp(), deletion.CommitTimestamp())
		}
		if err != nil && !kv.IsRetryable(err) {
			t.Error(err)
		}
		txn.Rollback(ctx)
		g.router.Wait()
		c.close()
	}
}

// Versions are collected all the time, up to the present, while transactions in several
// ranges come and go: nothing that was committed is lost.
func TestCollectBetweenCommits(t *testing.T) {
	const writers, rounds = 4, 100
	c := newRanges(t, fs.NewMem(), "h", "p")
	defer c.close()
	names := []string{"a", "i", "q"}
	c.gateway().mustSet("0", names...)
	done := make(chan struct{})
	var collector, wg sync.WaitGroup
	collector.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				c.collect()
			}
		}
	})
	for range writers {
		g := c.gateway()
		wg.Go(func() {
			for done := 0; done < rounds; {
				err := g.increment(names)
				var old *kvpb.SnapshotTooOldError
				switch {
				case err == nil:
					done++
				case !kv.IsRetryable(err) && !errors.As(err, &old):
					t.Error(err)
					return
				}
			}
			g.router.Wait()
		})
	}
	wg.Wait()
	close(done)
	collector.Wait()
	want := fmt.Sprint(writers * rounds)
	if got := c.gws[0].get(names...); got != fmt.Sprint([]string{want, want, want}) {
		t.Errorf("after %s increments the values are %s", want, got)
	}
}

// increment adds one to the number under each of the names.
func (g *gateway) increment(names []string) error {
	ctx := context.Background()
	txn := g.begin(kv.TxnOptions{})
	defer txn.Rollback(ctx)
	for _, name := range names {
		if _, err := txn.Lock(ctx, key(name), lock.Update, lock.WaitBlock); err != nil {
			return err
		}
		v, ok, err := txn.Get(ctx, key(name))
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(v))
		if err != nil {
			return fmt.Errorf("%s is %q, found %t: %w", name, v, ok, err)
		}
		if err := txn.Put(key(name), []byte(strconv.Itoa(n+1))); err != nil {
			return err
		}
	}
	return txn.Commit(ctx)
}

// What has changed since a snapshot can't be told any more when it may have been
// collected: reads are not moved then.
func TestRefreshOverCollected(t *testing.T) {
	ctx := context.Background()
	c := newRanges(t, fs.NewMem())
	defer c.close()
	g, other := c.gateway(), c.gateway()
	other.mustSet("old", "a", "b")
	txn := g.begin(kv.TxnOptions{})
	defer txn.Rollback(ctx)
	if got, _, err := txn.Get(ctx, key("a")); err != nil || string(got) != "old" {
		t.Fatal(got, err)
	}
	deletion := other.begin(kv.TxnOptions{})
	if _, err := deletion.Lock(ctx, key("a"), lock.Update, lock.WaitBlock); err != nil {
		t.Fatal(err)
	}
	if err := deletion.Delete(key("a")); err != nil {
		t.Fatal(err)
	}
	if err := deletion.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	c.collect()
	if got := other.get("a", "b"); got != "[ old]" { // of b later than the snapshot, so the commit has to move
		t.Fatal(got)
	}
	err := setAll(ctx, txn, "saw a", "b")
	if err == nil {
		err = txn.Commit(ctx)
	}
	if !kv.IsRetryable(err) {
		t.Errorf("a transaction that read what was deleted before its commit: %v", err)
	}
}

// A read that looks further, for versions that may have been committed before it began,
// answers for its own timestamp all the same.
func TestUncertainReadOverCollected(t *testing.T) {
	ctx := context.Background()
	c := newRanges(t, fs.NewMem())
	defer c.close()
	g, other := c.gateway(), c.gateway()
	g.db.SetMaxOffset(time.Hour)
	other.mustSet("old", "a", "x")
	txn := g.begin(kv.TxnOptions{})
	defer txn.Rollback(ctx)
	if got, _, err := txn.Get(ctx, key("x")); err != nil || string(got) != "old" {
		t.Fatal(got, err)
	}
	err := other.db.Run(ctx, func(ctx context.Context, txn *kv.Txn) error {
		if _, err := txn.Lock(ctx, key("a"), lock.Update, lock.WaitBlock); err != nil {
			return err
		}
		return txn.Delete(key("a"))
	})
	if err != nil {
		t.Fatal(err)
	}
	c.collect()
	if got, found, err := txn.Get(ctx, key("a")); err == nil {
		t.Errorf("got %q, found %t, at %v; the threshold is %v", got, found, txn.ReadTimestamp(), c.store.Replicas()[0].Threshold())
	}
}
