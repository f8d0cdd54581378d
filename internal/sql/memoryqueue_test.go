package sql_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// holder keeps the statement that sends it a row waiting, and so the memory of the row.
type holder struct {
	discard
	has, release chan struct{}
}

func (h *holder) Row([]types.Datum) error {
	close(h.has)
	<-h.release
	return nil
}

// hold has a session hold n bytes until release is called, which waits for its end.
func hold(t *testing.T, s *sql.Session, n string) (release func()) {
	h := &holder{has: make(chan struct{}), release: make(chan struct{})}
	done := make(chan error)
	go func() { done <- s.Query(context.Background(), "SELECT repeat('x', "+n+")", h) }()
	<-h.has
	return func() {
		close(h.release)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// memoryNode is a node with little memory, and two sessions of it.
func memoryNode(t *testing.T) (n *node, a, b *sql.Session) {
	n = openNode(t, fs.NewMem(), nodeOptions{mem: 48 << 20})
	a, b = n.session(t), n.session(t)
	t.Cleanup(func() {
		a.Close()
		b.Close()
		closeNode(t, n)
	})
	return n, a, b
}

// needsMuch needs more memory than another statement leaves that holds 30 MB.
const needsMuch = "SELECT length(repeat('y', 12000000))"

// TestWaitsForMemory has a statement refused memory that another one holds: it begins again once
// that one has ended.
func TestWaitsForMemory(t *testing.T) {
	n, a, b := memoryNode(t)
	release := hold(t, a, "30000000")
	waits := make(chan struct{}, 1000)
	n.sql.OnMemoryWait(func() { waits <- struct{}{} })
	done := make(chan error)
	go func() { done <- b.Query(context.Background(), needsMuch, &discard{}) }()
	<-waits
	release()
	if err := <-done; err != nil {
		t.Errorf("%v: %s, after %d waits", err, pgerr.From(err).Detail, len(waits))
	}
}

// TestManyWaitForMemory has many sessions run a statement for which there is memory once: all
// succeed, one after the other.
func TestManyWaitForMemory(t *testing.T) {
	n, _, _ := memoryNode(t)
	const many = 8
	done := make(chan error)
	for range many {
		s := n.session(t)
		defer s.Close()
		go func() { done <- s.Query(context.Background(), needsMuch, &discard{}) }()
	}
	for range many {
		if err := <-done; err != nil {
			t.Errorf("%v: %s", err, pgerr.From(err).Detail)
		}
	}
}

// TestWaitForMemoryEnds cancels a statement that waits for memory.
func TestWaitForMemoryEnds(t *testing.T) {
	n, a, b := memoryNode(t)
	release := hold(t, a, "30000000")
	defer release()
	other := n.session(t)
	defer other.Close()
	n.sql.OnMemoryWait(func() { mustExec(t, other, fmt.Sprintf("SELECT pg_cancel_backend(%d)", b.PID())) })
	if err := b.Query(context.Background(), needsMuch, &discard{}); pgerr.CodeOf(err) != pgerr.QueryCanceled {
		t.Errorf("%v, want it cancelled", err)
	}
}

// TestNoWaitForMemory refuses memory to statements for which nobody else can end: to one that runs
// alone, and to one of a transaction, whose locks others may wait for.
func TestNoWaitForMemory(t *testing.T) {
	n, a, b := memoryNode(t)
	n.sql.OnMemoryWait(func() { t.Error("waits") })
	if err := b.Query(context.Background(), "SELECT length(repeat('y', 60000000))", &discard{}); pgerr.CodeOf(err) != pgerr.OutOfMemory {
		t.Errorf("alone: %v", err)
	}
	release := hold(t, a, "30000000")
	defer release()
	mustExec(t, b, "BEGIN")
	if err := b.Query(context.Background(), needsMuch, &discard{}); pgerr.CodeOf(err) != pgerr.OutOfMemory {
		t.Errorf("in a block: %v", err)
	}
}
