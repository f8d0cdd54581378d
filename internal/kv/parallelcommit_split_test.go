package kv_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/replica"
)

// replicaOf returns the replica of the range that holds a key.
func (c *ranges) replicaOf(name string) *replica.Replica {
	_, d, err := c.store.Lookup(key(name))
	if err != nil {
		c.fatal(err)
	}
	r, _ := c.store.Replica(d.RangeID)
	return r
}

// A range is split while a transaction is staged in it, whose gateway has stopped after the
// answer to its client, and merged again when the new range has found out that it is
// committed: what the left range knew of it before must not hide what it has written.
func TestStagedPartGoesWithSplit(t *testing.T) {
	c := newRanges(t, fs.NewMem(), "p")
	defer c.close()
	ctx := context.Background()
	other := c.gateway()
	other.mustSet("old", "i", "q")
	other.router.Wait()
	victim := c.gateway()
	victim.dieAt(3, false) // both parts are staged
	txn := victim.writing(kv.TxnOptions{}, "new", "i", "q")
	if err := txn.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	victim.router.Wait()
	left := c.replicaOf("i")
	if parts, records := left.Provisional(); parts != 1 || records != 1 {
		t.Fatalf("%d parts and %d records are staged, want one each", parts, records)
	}
	if err := left.Split(ctx, key("h"), 9); err != nil {
		t.Fatal(err)
	}
	c.waitFor("i")
	c.connect()
	if parts, records := left.Provisional(); parts+records != 0 {
		t.Errorf("the left range still knows of %d parts and %d records", parts, records)
	}
	if got := other.get("i", "q"); got != "[new new]" {
		t.Fatalf("after the split: %s", got)
	}
	right := c.replicaOf("i")
	for range 1000 {
		if parts, _ := right.Provisional(); parts == 0 {
			break
		}
		<-time.After(time.Millisecond)
	}
	if err := left.Merge(ctx, right); err != nil {
		t.Fatal(err)
	}
	l := other.begin(kv.TxnOptions{Isolation: kv.ReadCommitted})
	res, err := l.Lock(ctx, key("i"), lock.Update, lock.WaitBlock)
	if err != nil || string(res.Value) != "new" {
		t.Errorf("after the merge: %q, %v", res.Value, err)
	}
	l.Rollback(ctx)
	if got := other.get("i", "q"); got != "[new new]" {
		t.Errorf("after the merge: %s", got)
	}
}

// A range answers that nothing of a transaction is left only for keys that it holds: the
// transaction's record goes then.
func TestResolveBeyondBoundary(t *testing.T) {
	c := newRanges(t, fs.NewMem())
	defer c.close()
	ctx := context.Background()
	left := c.replicaOf("a")
	before := left.Desc()
	if err := left.Split(ctx, key("h"), 9); err != nil {
		t.Fatal(err)
	}
	id := kvpb.TxnID{Hi: 1, Lo: 1}
	for _, req := range []kvpb.ResolveRequest{
		{Txn: id, Span: kvpb.Span{Key: before.StartKey, EndKey: before.EndKey}},
		{Txn: id, Keys: [][]byte{key("a"), key("i")}},
	} {
		var moved *kvpb.RangeMismatchError
		if err := left.Resolve(ctx, &req); !errors.As(err, &moved) {
			t.Errorf("%+v: %v", req, err)
		}
		if req.Span.EndKey == nil {
			continue
		}
		txn := &kvpb.TxnMeta{ID: id}
		if _, err := left.Spilled(ctx, &kvpb.SpilledRequest{Txn: txn, Span: req.Span}); !errors.As(err, &moved) {
			t.Errorf("spilled: %v", err)
		}
		if err := left.Unspill(ctx, &kvpb.UnspillRequest{Txn: txn, Anchor: key("a"), Span: req.Span}); !errors.As(err, &moved) {
			t.Errorf("unspill: %v", err)
		}
	}
}

// What was read before a split is not written below afterwards, and what nobody has read commits
// where it would have without the split.
func TestSplitKeepsReads(t *testing.T) {
	c := newRanges(t, fs.NewMem())
	defer c.close()
	ctx := context.Background()
	g := c.gateway()
	begin := func() *kv.Txn {
		txn := g.begin(kv.TxnOptions{Isolation: kv.Serializable})
		return txn
	}
	// The timestamp cache forgets which of the keys in one slot was read: not all of these share
	// theirs with a key that was.
	unread := make(map[string]*kv.Txn)
	for _, name := range []string{"n", "o", "p", "q", "r", "s", "t", "u", "v", "w"} {
		unread[name] = begin()
	}
	early, reader := begin(), begin()
	var page kv.ScanResult
	if err := reader.Scan(ctx, key("i"), key("k"), kv.ScanOptions{}, &page); err != nil || page.Len() != 0 {
		t.Fatalf("%d rows, %v", page.Len(), err)
	}
	if _, found, err := reader.Get(ctx, key("m")); err != nil || found {
		t.Fatal(found, err)
	}
	for _, boundary := range []string{"h", "l"} {
		if err := c.replicaOf(boundary).Split(ctx, key(boundary), kvpb.RangeID(boundary[0])); err != nil {
			t.Fatal(err)
		}
		c.waitFor(boundary)
	}
	c.connect()
	below := reader.ReadTimestamp()
	if err := setAll(ctx, early, "new", "j", "m"); err != nil {
		t.Fatal(err)
	}
	if err := early.Commit(ctx); err != nil || early.CommitTimestamp().LessEq(below) {
		t.Errorf("%v: it commits at %v, below the read at %v", err, early.CommitTimestamp(), below)
	}
	undisturbed := 0
	for name, txn := range unread {
		if err := setAll(ctx, txn, "new", name); err != nil {
			t.Fatal(err)
		}
		if err := txn.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		if txn.CommitTimestamp() == txn.ReadTimestamp() {
			undisturbed++
		}
	}
	if undisturbed == 0 {
		t.Error("every transaction commits later than it read, though nobody has read what they write")
	}
	reader.Rollback(ctx)
}
