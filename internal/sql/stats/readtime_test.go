package stats

import (
	"context"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
)

// A collection reads before the statements that are under way began, whose commits it would move otherwise, but not before
// what it is to see.
func TestReadTime(t *testing.T) {
	now := int64(time.Hour)
	db := kv.NewDB(nil, hlc.New(func() int64 { return now }, 0), 1)
	s := New(Config{DB: db})
	past := int64(s.past)
	if got := s.readTime(now - 2*past); got.WallTime != now-past {
		t.Errorf("nothing is under way: it reads at %s", got)
	}
	txn := db.Begin(kv.TxnOptions{})
	txn.BeginStatement()
	defer txn.Rollback(context.Background())
	began := txn.ReadTimestamp()
	if got := s.readTime(now - 2*past); got.WallTime != now-past {
		t.Errorf("a statement began later than a collection reads: it reads at %s", got)
	}
	now += 5 * past
	if got := s.readTime(began.WallTime - 1); got != began.Prev() {
		t.Errorf("a statement began at %s: it reads at %s", began, got)
	}
	if got := s.readTime(began.WallTime + 1); got.WallTime != now-past {
		t.Errorf("what it is to see came later than the statement began: it reads at %s", got)
	}
}
