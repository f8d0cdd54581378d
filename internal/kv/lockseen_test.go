package kv_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
)

// seenKeys are enough keys for one iterator, some of them in another range.
func seenKeys() (names []string) {
	for i := range 20 {
		names = append(names, fmt.Sprintf("%c%02d", "aq"[i/15], i))
	}
	return names
}

// expectSeen locks all keys, which the transaction has read, and returns an error unless those in changed, and no
// others, have the values given there since: "" is a key that is gone.
func expectSeen(txn *kv.Txn, changed map[string]string) error {
	ctx := context.Background()
	if err := txn.LockUnchangedAhead(ctx, keysOf(seenKeys()...), lock.Update); err != nil {
		return err
	}
	for _, name := range seenKeys() {
		res, err := txn.LockUnchanged(ctx, key(name), lock.Update, lock.WaitBlock)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		want, other := changed[name]
		if res.Changed != other || res.Found != (!other || want != "") || other && string(res.Value) != want {
			return fmt.Errorf("%s: %+v with %q, want %q (changed: %v)", name, res, res.Value, want, other)
		}
	}
	return nil
}

// lockSeen locks rows that a transaction has read while others change some of them in every way.
func lockSeen(t *testing.T) error {
	ctx := context.Background()
	c := newRanges(t, fs.NewMem(), "p")
	defer c.close()
	g, other := c.gateway(), c.gateway()
	names := seenKeys()
	other.mustSet("old", names...)
	begin := func() *kv.Txn {
		txn := g.begin(kv.TxnOptions{Isolation: kvpb.ReadCommitted})
		for _, n := range names {
			if _, found, err := txn.Get(ctx, key(n)); !found || err != nil {
				t.Fatalf("%s: %v, %v", n, found, err)
			}
		}
		return txn
	}
	check := func(what string, txn *kv.Txn, changed map[string]string) error {
		defer txn.Rollback(ctx)
		if err := expectSeen(txn, changed); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	}
	quiet := check("quiet", begin(), nil)

	txn := begin()
	other.mustSet("new", "a07", "q16")
	committed := check("committed", txn, map[string]string{"a07": "new", "q16": "new"})

	txn = begin()
	err := other.db.Run(ctx, func(ctx context.Context, txn *kv.Txn) error { return txn.Delete(key("a08")) })
	if err != nil {
		t.Fatal(err)
	}
	deleted := check("deleted", txn, map[string]string{"a08": ""})
	other.mustSet("old", "a08")

	other.db.SetSpill(1)
	writer := other.writing(kv.TxnOptions{}, "moved", "a03", "a04", "q15")
	txn = begin() // has the writer commit later than where its versions are
	if err := writer.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	moved := check("spilled, and moved by the commit", txn, map[string]string{"a03": "moved", "a04": "moved", "q15": "moved"})
	return errors.Join(quiet, committed, deleted, moved)
}

func TestLockSeen(t *testing.T) {
	if err := lockSeen(t); err != nil {
		t.Error(err)
	}
}

// What is locked with a seen key's lock has its value for those who ask for it, and own writes count.
func TestLockSeenValues(t *testing.T) {
	ctx := context.Background()
	c := newRanges(t, fs.NewMem(), "p")
	defer c.close()
	c.gateway().mustSet("old", seenKeys()...)
	g := c.gateway()
	sender := &lockCounter{Sender: g.router}
	db := kv.NewDB(sender, c.clock, g.incarnation)
	db.SetSpill(1)
	txn := db.Begin(kv.TxnOptions{})
	defer txn.Rollback(ctx)
	txn.BeginStatement()
	if err := setAll(ctx, txn, "own", "a05", "a06"); err != nil {
		t.Fatal(err)
	}
	txn.BeginStatement()
	sender.single = 0
	if err := txn.LockUnchangedAhead(ctx, keysOf(seenKeys()...), lock.Update); err != nil {
		t.Fatal(err)
	}
	seen, err := txn.LockUnchanged(ctx, key("a01"), lock.Update, lock.WaitError)
	if err != nil || !seen.Found || seen.Changed || seen.Value != nil || sender.single != 0 {
		t.Errorf("seen: %+v, %v, %d requests", seen, err, sender.single)
	}
	whole, err := txn.Lock(ctx, key("a01"), lock.Update, lock.WaitError)
	if err != nil || string(whole.Value) != "old" || whole.Changed || sender.single != 1 {
		t.Errorf("with its value: %+v, %v, %d requests", whole, err, sender.single)
	}
	own, err := txn.LockUnchanged(ctx, key("a05"), lock.Update, lock.WaitError)
	if err != nil || string(own.Value) != "own" || own.Changed || own.Self {
		t.Errorf("own: %+v, %v", own, err)
	}
}
