package sql_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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
const needsMuch = "SELECT length(upper(repeat('y', 12000000)))"

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

// TestNoWaitForMemory refuses memory to a statement that runs alone: nobody can give it back.
func TestNoWaitForMemory(t *testing.T) {
	n, _, b := memoryNode(t)
	n.sql.OnMemoryWait(func() { t.Error("waits") })
	if err := b.Query(context.Background(), "SELECT length(repeat('y', 60000000))", &discard{}); pgerr.CodeOf(err) != pgerr.OutOfMemory {
		t.Error(err)
	}
}

// TestBlockWaitsForMemory has statements of a block refused memory: they begin again once there is
// some, and what the block did before stands.
func TestBlockWaitsForMemory(t *testing.T) {
	n, a, b := memoryNode(t)
	mustExec(t, b, "CREATE TABLE t (id int PRIMARY KEY, v int)")
	mustExec(t, b, "BEGIN")
	mustExec(t, b, "INSERT INTO t VALUES (1, 1)")
	for _, q := range []string{
		needsMuch,
		"UPDATE t SET v = v + length(upper(repeat('y', 12000000)))",
		"INSERT INTO t SELECT 2, length(upper(repeat('y', 12000000 + 0 * i))) FROM generate_series(1, 1) i",
		"CREATE TABLE made AS SELECT length(upper(repeat('y', 12000000))) AS n",
	} {
		release := hold(t, a, "30000000")
		waits := make(chan struct{}, 1000)
		n.sql.OnMemoryWait(func() { waits <- struct{}{} })
		done := make(chan error)
		go func() { done <- b.Query(context.Background(), q, &discard{}) }()
		select {
		case <-waits:
		case err := <-done:
			t.Fatalf("%s: %v, want it to wait", q, err)
		}
		release()
		if err := <-done; err != nil {
			t.Fatalf("%s: %v: %s", q, err, pgerr.From(err).Detail)
		}
	}
	mustExec(t, b, "COMMIT")
	got := value(t, a, "SELECT (SELECT sum(v) FROM t) || ' ' || (SELECT count(*) FROM t) || ' ' || (SELECT sum(n) FROM made)")
	if want := "24000001 2 12000000"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestMemoryAndLocksInACircle has a block wait for the memory of a statement that waits for the
// block's lock: the block is refused.
func TestMemoryAndLocksInACircle(t *testing.T) {
	n, a, b := memoryNode(t)
	n.sql.SetLockedMemoryWait(time.Millisecond)
	mustExec(t, b, "CREATE TABLE t (id int PRIMARY KEY, v int)")
	mustExec(t, b, "INSERT INTO t VALUES (1, 1)")
	mustExec(t, b, "BEGIN")
	mustExec(t, b, "UPDATE t SET v = 2")
	var waits atomic.Bool
	n.sql.OnMemoryWait(func() { waits.Store(true) })
	done := make(chan error)
	go func() {
		done <- a.Query(context.Background(), "WITH m AS MATERIALIZED (SELECT repeat('x', 6000000) AS s) UPDATE t SET v = length(s) FROM m", &discard{})
	}()
	for n.sql.MemoryUsed() < 6000000 {
		runtime.Gosched()
	}
	err := b.Query(context.Background(), "SELECT length(repeat('y', 46000000))", &discard{})
	if pgerr.CodeOf(err) != pgerr.OutOfMemory || !waits.Load() {
		t.Errorf("%v, waits %t", err, waits.Load())
	}
	mustExec(t, b, "ROLLBACK")
	if err := <-done; err != nil {
		t.Errorf("%v: %s", err, pgerr.From(err).Detail)
	}
}

// TestCopyWaitsForMemory has COPY FROM refused memory, by itself and in a block: it waits, and
// reads again what it has kept. One that could not keep its data does not wait.
func TestCopyWaitsForMemory(t *testing.T) {
	n, a, b := memoryNode(t)
	mustExec(t, b, "CREATE TABLE t (id int PRIMARY KEY, v text)")
	half := strings.Repeat("y", 5000000) // a line in pieces is put together
	for _, c := range []struct {
		begin, end string
		chunks     []string
		waits      bool
	}{
		{"SELECT", "SELECT", []string{"1\ta\n2\t" + half, half + "\n"}, true},
		{"BEGIN", "COMMIT", []string{"3\ta\n4\t" + half, half + "\n"}, true},
		{"BEGIN", "ROLLBACK", []string{"5\t" + half + half + half + "\n6\t", half, half, half, half + "\n"}, false},
	} {
		mustExec(t, b, c.begin)
		release := hold(t, a, "30000000")
		var waited atomic.Bool
		waits := make(chan struct{}, 1000)
		n.sql.OnMemoryWait(func() { waited.Store(true); waits <- struct{}{} })
		in := &batchRows{chunks: c.chunks, after: func(string) {}}
		done := make(chan error, 1)
		go func() { done <- b.Query(context.Background(), "COPY t FROM STDIN", in) }()
		var err error
		select {
		case <-waits:
			release()
			err = <-done
		case err = <-done:
			release()
		}
		switch waited := waited.Load(); {
		case c.waits && (err != nil || !waited):
			t.Errorf("%s: %v, waited %t", c.begin, err, waited)
		case !c.waits && (pgerr.CodeOf(err) != pgerr.OutOfMemory || waited):
			t.Errorf("%v, waited %t", err, waited)
		}
		mustExec(t, b, c.end)
	}
	if got, want := value(t, a, "SELECT sum(id) || ' ' || sum(length(v)) FROM t"), "10 20000002"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
