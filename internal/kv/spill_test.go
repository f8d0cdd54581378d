package kv_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/lock"
)

func count(t *testing.T, db *kv.DB) int {
	t.Helper()
	txn := db.Begin(kv.TxnOptions{})
	txn.BeginStatement()
	defer txn.Rollback(context.Background())
	return countIn(t, txn)
}

func countIn(t *testing.T, txn *kv.Txn) int {
	t.Helper()
	n := 0
	var res kv.ScanResult
	for start := key("a"); start != nil; start = res.Resume {
		if err := txn.Scan(context.Background(), start, key("z"), kv.ScanOptions{}, &res); err != nil {
			t.Fatal(err)
		}
		n += res.Len()
	}
	return n
}

// A transaction larger than the write buffer is invisible until it commits, sees
// itself, and is atomic across a restart.
func TestSpill(t *testing.T) {
	ctx := context.Background()
	f := fs.NewMem()
	s, db := open(t, f)
	const rows = 18_000
	val := make([]byte, 1000)
	fill := func(txn *kv.Txn, prefix string) {
		txn.BeginStatement()
		for i := range rows {
			k := key(fmt.Sprintf("%s%06d", prefix, i))
			if _, err := txn.Lock(ctx, k, lock.Update, lock.WaitBlock); err != nil {
				t.Fatal(err)
			}
			if err := txn.Put(k, val); err != nil {
				t.Fatal(err)
			}
		}
	}
	committed := db.Begin(kv.TxnOptions{})
	fill(committed, "c")
	if n := count(t, db); n != 0 {
		t.Fatalf("another transaction sees %d rows of an open one", n)
	}
	if n := countIn(t, committed); n != 0 {
		t.Fatalf("the statement sees %d of its own rows", n)
	}
	committed.BeginStatement()
	if n := countIn(t, committed); n != rows {
		t.Fatalf("the transaction sees %d of its %d rows", n, rows)
	}
	sp := committed.Savepoint()
	fill(committed, "d")
	if err := committed.RollbackTo(ctx, sp); err != nil {
		t.Fatal(err)
	}
	committed.BeginStatement()
	if n := countIn(t, committed); n != rows {
		t.Fatalf("after the rollback to the savepoint it sees %d rows", n)
	}
	if err := committed.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if n := count(t, db); n != rows {
		t.Fatalf("after the commit there are %d rows", n)
	}
	aborted := db.Begin(kv.TxnOptions{})
	fill(aborted, "e")
	aborted.Rollback(ctx)
	open1 := db.Begin(kv.TxnOptions{})
	fill(open1, "f")
	if n := count(t, db); n != rows {
		t.Fatalf("with one aborted and one open there are %d rows", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, db = open(t, f)
	defer s.Close()
	if n := count(t, db); n != rows {
		t.Fatalf("after the restart there are %d rows", n)
	}
}

// A rollback of what was spilled over several ranges is over as soon as the record says so,
// however long it takes to remove the rest.
func TestRollbackOverRanges(t *testing.T) {
	ctx := context.Background()
	c := newRanges(t, fs.NewMem(), "h", "p")
	defer c.close()
	other := c.gateway()
	other.mustSet("old", "a", "i", "q")
	other.router.Wait()
	g := c.gateway()
	g.db.SetSpill(1)
	txn := g.writing(kv.TxnOptions{}, "new", "a", "i", "q")
	later := make(chan struct{})
	g.set(func(op string, _ []byte, after bool) error {
		if op == "resolve" && !after {
			<-later
		}
		return nil
	})
	txn.Rollback(ctx)
	if got := other.get("a", "i", "q"); got != "[old old old]" {
		t.Error(got)
	}
	other.mustSet("end", "a", "i", "q")
	close(later)
	g.router.Wait()
	if got := other.get("a", "i", "q"); got != "[end end end]" {
		t.Error(got)
	}
	other.router.Wait()
	for _, r := range c.store.Replicas() {
		r.Sweep()
	}
	c.clean()
}
