package catalog

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

var ctx = context.Background()

func TestCommitRollbackReopen(t *testing.T) {
	n := openNode(t, fs.NewMem())
	s, other := n.session(t), n.session(t)
	gen := s.Generation()
	s.begin(kv.TxnOptions{})
	s.create("gone")
	s.rollback()
	s.begin(kv.TxnOptions{})
	id := s.create("kept").ID
	other.begin(kv.TxnOptions{})
	if other.find("kept") != nil || s.find("kept") == nil || s.Generation() != gen {
		t.Fatal("an uncommitted table is seen by others, or not by its maker")
	}
	other.rollback()
	s.commit()
	if s.Generation() == gen {
		t.Fatal("the commit did not raise the generation")
	}
	n.close(t)
	n = openNode(t, n.disk)
	defer n.close(t)
	s = n.session(t)
	s.begin(kv.TxnOptions{})
	if s.find("gone") != nil {
		t.Error("a rolled back table is there")
	}
	got := s.find("kept")
	if got == nil || got.ID != id || got.Columns[1].Type.Typmod != 14 {
		t.Fatalf("after reopening: %+v", got)
	}
	if again := s.create("more"); again.ID <= id || again.Oid == got.Oid {
		t.Errorf("id %d or oid %d was used before", again.ID, again.Oid)
	}
	s.rollback()
}

func TestSavepoint(t *testing.T) {
	n := openNode(t, fs.NewMem())
	defer n.close(t)
	s := n.session(t)
	s.begin(kv.TxnOptions{})
	s.create("a")
	kvsp, sp := s.txn.Savepoint(), s.Savepoint()
	s.create("b")
	if err := s.txn.RollbackTo(ctx, kvsp); err != nil {
		t.Fatal(err)
	}
	s.RollbackTo(sp)
	if s.find("a") == nil || s.find("b") != nil {
		t.Error("the savepoint was not restored")
	}
	s.statement()
	s.create("b")
	s.commit()
	s.begin(kv.TxnOptions{})
	if s.find("a") == nil || s.find("b") == nil {
		t.Error("not all tables were committed")
	}
	s.rollback()
}

func TestPinAllTellsStalePlans(t *testing.T) {
	n := openNode(t, fs.NewMem())
	defer n.close(t)
	s, u := n.session(t), n.session(t)
	s.begin(kv.TxnOptions{})
	tab := s.create("t")
	s.commit()
	deps := []Dep{{tab.ID, tab.Version}}
	u.begin(kv.TxnOptions{})
	if !u.Valid(ctx, deps) || u.PinAll(ctx, deps) != nil || u.PinAll(ctx, deps) != nil {
		t.Fatal("the newest version is not valid")
	}
	u.commit()
	s.begin(kv.TxnOptions{})
	if err := s.LockExclusive(ctx, tab.ID); err != nil {
		t.Fatal(err)
	}
	c := tab.Clone()
	c.Comment = "changed"
	if err := s.Put(ctx, c); err != nil {
		t.Fatal(err)
	}
	s.commit()
	u.begin(kv.TxnOptions{})
	var retry *kvpb.RetryError
	if u.Valid(ctx, deps) || !errors.As(u.PinAll(ctx, deps), &retry) {
		t.Error("a plan of an old version passes")
	}
	u.commit()
}

// A table of the same name in another schema makes plans stale that found this
// one on the search path.
func TestNamesakesSupersede(t *testing.T) {
	n := openNode(t, fs.NewMem())
	defer n.close(t)
	s := n.session(t)
	s.begin(kv.TxnOptions{})
	tab := s.create("t")
	other, err := s.CreateSchema(ctx, tab.Database, "other", RootOid)
	if err != nil {
		t.Fatal(err)
	}
	s.commit()
	deps := []Dep{{tab.ID, tab.Version}}
	s.begin(kv.TxnOptions{})
	twin := newTable("t")
	twin.ID, twin.Oid, twin.Database, twin.Schema = 5000, 50000, tab.Database, other.ID
	if _, err := s.AddName(ctx, NameKey{tab.Database, other.ID, "t"}, NameEntry{ID: twin.ID}); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(ctx, twin); err != nil {
		t.Fatal(err)
	}
	s.commit()
	s.begin(kv.TxnOptions{})
	if s.Valid(ctx, deps) {
		t.Error("a plan stays valid that may mean another table now")
	}
	s.rollback()
}

// A commit that fails may have happened: the catalog then reads what is there.
func TestUnknownOutcomeIsReadBack(t *testing.T) {
	n := openNode(t, fs.NewMem())
	defer n.close(t)
	s, u := n.session(t), n.session(t)
	s.begin(kv.TxnOptions{})
	s.create("t")
	if err := s.PreCommit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.txn.Commit(ctx); err != nil { // as if the answer had been lost
		t.Fatal(err)
	}
	s.RolledBack(ctx)
	u.begin(kv.TxnOptions{})
	if u.find("t") == nil {
		t.Error("the table was committed, but the catalog does not know it")
	}
	u.rollback()
}

func TestHistoricalReads(t *testing.T) {
	n := openNode(t, fs.NewMem())
	defer n.close(t)
	s := n.session(t)
	s.begin(kv.TxnOptions{})
	tab := s.create("t")
	s.commit()
	before := n.db.Clock().Now()
	s.begin(kv.TxnOptions{})
	if err := s.LockExclusive(ctx, tab.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.RemoveName(ctx, NameKey{tab.Database, tab.Schema, "t"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(ctx, tab.ID); err != nil {
		t.Fatal(err)
	}
	s.commit()
	s.begin(kv.TxnOptions{ReadOnly: true, AsOf: before})
	if !s.Modified() || s.find("t") == nil {
		t.Error("the dropped table is not seen in the past")
	}
	s.rollback()
	s.begin(kv.TxnOptions{})
	if s.Modified() || s.find("t") != nil {
		t.Error("the dropped table is seen in the present")
	}
	s.rollback()
}

func TestUndefinedDatabase(t *testing.T) {
	n := openNode(t, fs.NewMem())
	defer n.close(t)
	if _, err := n.cat.DatabaseByName(ctx, "nosuch"); pgerr.CodeOf(err) != pgerr.InvalidCatalogName {
		t.Error(err)
	}
}

// Who takes so long that a Cleaner of another node takes it for dead keeps nothing.
func TestKeepTooLate(t *testing.T) {
	n := openNode(t, fs.NewMem())
	defer n.close(t)
	s := n.session(t)
	s.begin(kv.TxnOptions{})
	span := keys.IndexSpan(1, 100, 1)
	a, err := s.ClearUnlessCommitted(ctx, span, 0)
	if err != nil {
		t.Fatal(err)
	}
	cl := Cleaner{Store: n.cat, ClearSpan: func(context.Context, []byte, []byte) error {
		if err := s.Freshen(ctx); err != nil {
			t.Fatal(err)
		}
		if err := a.Keep(ctx); pgerr.CodeOf(err) != pgerr.SnapshotTooOld {
			t.Errorf("kept while it is being cleared: %v", err)
		}
		s.rollback()
		return nil
	}}
	if cleared, err := cl.clean(ctx, cleanupID(a.ID), cleanupRecord{Start: span.Start, End: span.End}); err != nil || !cleared {
		t.Errorf("cleared %v: %v", cleared, err)
	}
}

// What is written for a job is cleared once that can't make its change any more, and stays if it has made it.
func TestCleanerOfJobs(t *testing.T) {
	n := openNode(t, fs.NewMem())
	defer n.close(t)
	claimed, cleared := true, 0
	cl := Cleaner{
		Store: n.cat, Delay: func() time.Duration { return 0 },
		ClearSpan: func(context.Context, []byte, []byte) error { cleared++; return nil },
		Claimed:   func(_ context.Context, _ *kv.Txn, job int64) (bool, error) { return job == 7 && claimed, nil },
	}
	pass := func(want int) {
		t.Helper()
		if got, err := cl.Pass(ctx); err != nil || got != want || cleared != want {
			t.Fatalf("cleared %d spans, want %d: %v", got, want, err)
		}
	}
	var ids []uint64
	for i := range 2 {
		s := n.session(t)
		s.begin(kv.TxnOptions{})
		a, err := s.ClearUnlessCommitted(ctx, keys.IndexSpan(1, 100, uint64(i)), 7)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, a.ID)
		s.rollback() // the node has died
		s.Close()
	}
	pass(0)
	s := n.session(t)
	s.begin(kv.TxnOptions{})
	if err := s.AnnouncedBefore(ids[0]).Keep(ctx); err != nil {
		t.Fatal(err)
	}
	s.commit()
	pass(0)
	claimed = false
	pass(1)
}

func TestCleaner(t *testing.T) {
	n := openNode(t, fs.NewMem())
	defer n.close(t)
	cleared := map[string]int{}
	cl := Cleaner{
		Store: n.cat, Delay: func() time.Duration { return 0 },
		ClearSpan: func(_ context.Context, start, _ []byte) error { cleared[string(start)]++; return nil },
	}
	pass := func(want int) {
		t.Helper()
		if got, err := cl.Pass(ctx); err != nil || got != want {
			t.Fatalf("cleared %d spans, want %d: %v", got, want, err)
		}
	}
	span := func(i uint64) keys.Span { return keys.IndexSpan(1, 100, i) }
	s := n.session(t)
	build := func(span keys.Span) {
		t.Helper()
		a, err := s.ClearUnlessCommitted(ctx, span, 0)
		if err == nil {
			err = s.Freshen(ctx)
		}
		if err == nil {
			err = a.Keep(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s.begin(kv.TxnOptions{})
	if err := s.ClearOnCommit(ctx, span(1)); err != nil {
		t.Fatal(err)
	}
	build(span(2))
	pass(0) // the transaction is still open
	s.rollback()
	pass(1) // what was built is cleared, what was to be dropped stays
	if cleared[string(span(2).Start)] != 1 {
		t.Error("the wrong span was cleared")
	}
	s.begin(kv.TxnOptions{})
	if err := s.ClearOnCommit(ctx, span(3)); err != nil {
		t.Fatal(err)
	}
	build(span(4))
	s.commit()
	n.close(t)
	disk := n.disk
	*n = *openNode(t, disk) // records survive a restart
	cl.Store = n.cat
	if n.cat.PendingCleanups() != 1 {
		t.Fatalf("%d records after the restart, want 1", n.cat.PendingCleanups())
	}
	pass(1)
	if cleared[string(span(3).Start)] != 1 || cleared[string(span(4).Start)] != 0 {
		t.Errorf("cleared %v", cleared)
	}
	pass(0)
	cl.Delay = func() time.Duration { return time.Hour }
	s = n.session(t)
	s.begin(kv.TxnOptions{})
	if err := s.ClearOnCommit(ctx, span(5)); err != nil {
		t.Fatal(err)
	}
	s.commit()
	pass(0) // not due yet
}
