package kv_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
)

// lockCounter counts the requests for single locks, and loses answers for many.
type lockCounter struct {
	kvpb.Sender
	single int
	lose   bool
}

func (c *lockCounter) Lock(ctx context.Context, req *kvpb.LockRequest, resp *kvpb.LockResponse) error {
	c.single++
	return c.Sender.Lock(ctx, req, resp)
}

func (c *lockCounter) LockMany(ctx context.Context, req *kvpb.LockManyRequest, resp *kvpb.LockManyResponse) error {
	err := c.Sender.LockMany(ctx, req, resp)
	if err == nil && c.lose {
		return errLost
	}
	return err
}

func keysOf(names ...string) (keys [][]byte) {
	for _, n := range names {
		keys = append(keys, key(n))
	}
	return keys
}

// Locks taken ahead are held and answered without another request; one that somebody else
// has is waited for when its turn comes.
func TestLockAhead(t *testing.T) {
	ctx := context.Background()
	c := newRanges(t, fs.NewMem(), "h", "p")
	defer c.close()
	other := c.gateway()
	other.mustSet("old", "a", "i")
	holder := other.begin(kv.TxnOptions{})
	if _, err := holder.Lock(ctx, key("i"), lock.Update, lock.WaitBlock); err != nil {
		t.Fatal(err)
	}
	sender := &lockCounter{Sender: c.gateway().router}
	db := kv.NewDB(sender, c.clock, c.gates)
	locked := func(txn *kv.Txn, name string, calls int) (kv.LockResult, error) {
		t.Helper()
		before := sender.single
		res, err := txn.Lock(ctx, key(name), lock.Update, lock.WaitError)
		if got := sender.single - before; got != calls {
			t.Errorf("the lock of %s took %d requests, want %d", name, got, calls)
		}
		return res, err
	}
	txn := db.Begin(kv.TxnOptions{})
	txn.BeginStatement()
	if err := txn.LockAhead(ctx, keysOf("q", "a", "i", "b", "q"), lock.Update); err != nil {
		t.Fatal(err)
	}
	if res, err := locked(txn, "a", 0); err != nil || !res.Found || string(res.Value) != "old" || res.Self {
		t.Errorf("a: %+v, %v", res, err)
	}
	if res, err := locked(txn, "q", 0); err != nil || res.Found {
		t.Errorf("q: %+v, %v", res, err)
	}
	var busy *kvpb.LockNotAvailableError
	if _, err := locked(txn, "i", 1); !errors.As(err, &busy) {
		t.Errorf("a lock that another transaction has: %v", err)
	}
	holder.Rollback(ctx)
	if res, err := locked(txn, "i", 1); err != nil || string(res.Value) != "old" {
		t.Errorf("i: %+v, %v", res, err)
	}
	if _, err := holderOf(other, "b"); !errors.As(err, &busy) {
		t.Errorf("a lock that was taken ahead and not asked for yet: %v", err)
	}
	if err := txn.Put(key("a"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	if res, err := locked(txn, "a", 0); err != nil || !res.Self || string(res.Value) != "new" {
		t.Errorf("a, written meanwhile: %+v, %v", res, err)
	}
	txn.BeginStatement()
	if _, err := locked(txn, "a", 1); err != nil { // locks may have gone since
		t.Error(err)
	}
	if err := txn.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if got := other.get("a"); got != "[new]" {
		t.Error(got)
	}
	for _, n := range []string{"a", "b", "i", "q"} {
		if held, err := holderOf(other, n); err != nil {
			t.Errorf("%s is still locked: %v", n, err)
		} else {
			held.Rollback(ctx)
		}
	}
	other.router.Wait()
	c.clean()
}

// holderOf locks a key for a new transaction, without waiting.
func holderOf(g *gateway, name string) (*kv.Txn, error) {
	txn := g.begin(kv.TxnOptions{})
	_, err := txn.Lock(context.Background(), key(name), lock.Update, lock.WaitError)
	if err != nil {
		txn.Rollback(context.Background())
	}
	return txn, err
}

// Locks whose answer got lost go with the transaction.
func TestLockAheadLost(t *testing.T) {
	ctx := context.Background()
	c := newRanges(t, fs.NewMem(), "h", "p")
	defer c.close()
	other := c.gateway()
	sender := &lockCounter{Sender: c.gateway().router, lose: true}
	txn := kv.NewDB(sender, c.clock, c.gates).Begin(kv.TxnOptions{})
	txn.BeginStatement()
	if err := txn.LockAhead(ctx, keysOf("a", "b", "q"), lock.Update); err != errLost {
		t.Fatal(err)
	}
	if _, err := holderOf(other, "q"); err == nil {
		t.Fatal("the lock was not granted")
	}
	txn.Rollback(ctx)
	for _, n := range []string{"a", "b", "q"} {
		if held, err := holderOf(other, n); err != nil {
			t.Errorf("%s is still locked: %v", n, err)
		} else {
			held.Rollback(ctx)
		}
	}
}

// Many locks that are taken ahead keep others out as single ones do, one by one, and are released with the transaction.
func TestLockRun(t *testing.T) {
	ctx := context.Background()
	c := newRanges(t, fs.NewMem(), "h", "p")
	defer c.close()
	var names []string
	const n = 3 * concurrency.MinRunKeys
	for i := range 2 * n {
		names = append(names, fmt.Sprintf("%c%04d", "aj"[i/n], i%n))
	}
	other := c.gateway()
	for _, n := range names { // each in one range: no intents are left
		other.mustSet("old", n)
	}
	sender := &lockCounter{Sender: c.gateway().router}
	db := kv.NewDB(sender, c.clock, c.gates)
	taken := func(name string) bool {
		t.Helper()
		txn := other.begin(kv.TxnOptions{})
		defer txn.Rollback(ctx)
		_, err := txn.Lock(ctx, key(name), lock.KeyShare, lock.WaitError)
		var refused *kvpb.LockNotAvailableError
		if err != nil && !errors.As(err, &refused) {
			t.Fatal(err)
		}
		return err != nil
	}
	for _, commits := range []bool{false, true} { // which would release locks of another range later
		txn := db.Begin(kv.TxnOptions{})
		txn.BeginStatement()
		if err := txn.LockAhead(ctx, keysOf(names...), lock.Update); err != nil {
			t.Fatal(err)
		}
		if !taken("a0000") || !taken("a0100") || !taken("j0007") || taken("a01005") {
			t.Error("others lock a key that is locked, or cannot lock one between those")
		}
		for _, n := range names {
			if res, err := txn.Lock(ctx, key(n), lock.Update, lock.WaitError); err != nil || !res.Found || string(res.Value) != "old" {
				t.Fatalf("%s: %+v, %v", n, res, err)
			}
		}
		if commits {
			for _, n := range names[:n] {
				if err := txn.Delete(key(n)); err != nil {
					t.Fatal(err)
				}
			}
			if err := txn.Commit(ctx); err != nil {
				t.Fatal(err)
			}
		} else {
			txn.Rollback(ctx)
		}
		if taken("a0000") || taken("a0100") || taken("a0191") || !commits && taken("j0007") {
			t.Errorf("a key is locked although the transaction has ended (committed: %t)", commits)
		}
	}
	if sender.single > 0 {
		t.Errorf("%d locks were requested one by one", sender.single)
	}
}
