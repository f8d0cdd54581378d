package sql_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/logictest"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

const readAll = "SELECT sum(v) FROM t"

// cursorAll is how drivers with server-side cursors read.
var cursorAll = []string{"DECLARE c CURSOR FOR SELECT v FROM t", "FETCH ALL c"}

// loseBlock has a block of s fail because other changes what it has read.
func loseBlock(t *testing.T, s, other *sql.Session, reads ...string) {
	t.Helper()
	mustExec(t, s, "BEGIN")
	for _, text := range reads {
		mustExec(t, s, text)
	}
	mustExec(t, other, "UPDATE t SET v = v + 1 WHERE id = 2")
	err := exec1(s, "UPDATE t SET v = v + 1 WHERE id = 2")
	if pgerr.CodeOf(err) != pgerr.SerializationFailure {
		t.Fatalf("a block that has read what changed: %v", err)
	}
	mustExec(t, s, "ROLLBACK")
}

// contendedNode is a node with a table, and three sessions, of which one has lost two blocks that
// begin with the statements reads.
func contendedNode(t *testing.T, reads ...string) (n *node, loser, b, c *sql.Session) {
	n = newNode(t, fs.NewMem())
	loser, b, c = n.session(t), n.session(t), n.session(t)
	mustExec(t, loser, "CREATE TABLE t (id INT PRIMARY KEY, v INT)")
	mustExec(t, loser, "INSERT INTO t VALUES (1, 0), (2, 0)")
	loseBlock(t, loser, b, reads...)
	loseBlock(t, loser, b, reads...)
	return n, loser, b, c
}

// query runs a text in another goroutine.
func query(s *sql.Session, text string) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.Query(context.Background(), text, logictest.NewRows(s)) }()
	return done
}

// followBlock has a block of b begin while one of a, which is alike, is under way; it returns an
// error unless both are committed.
func followBlock(t *testing.T, n *node, a, b *sql.Session, reads ...string) error {
	mustExec(t, a, "BEGIN")
	mustExec(t, b, "BEGIN")
	for _, text := range reads {
		mustExec(t, a, text)
	}
	second := query(b, reads[0])
	for n.store.Waits().Len() == 0 && len(second) == 0 {
		runtime.Gosched()
	}
	for _, text := range []string{"UPDATE t SET v = v + 1 WHERE id = 1", "COMMIT"} {
		mustExec(t, a, text)
	}
	if err := <-second; err != nil {
		return err
	}
	for _, text := range append(slices.Clone(reads[1:]), "UPDATE t SET v = v + 1 WHERE id = 1", "COMMIT") {
		if err := exec1(b, text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}

// Once blocks have failed, those that begin alike follow one another.
func TestContention(t *testing.T) {
	n, loser, b, c := contendedNode(t, readAll)
	defer closeNode(t, n)
	for _, s := range []*sql.Session{loser, b, c} {
		defer s.Close()
	}
	if err := followBlock(t, n, loser, b, readAll); err != nil {
		t.Error(err)
	}
	if got := value(t, c, "SELECT v FROM t WHERE id = 1"); got != "2" {
		t.Errorf("two blocks have added %s", got)
	}
	// Others wait for no contention lock: neither blocks that begin otherwise nor single statements.
	mustExec(t, loser, "BEGIN")
	mustExec(t, loser, readAll)
	mustExec(t, c, "BEGIN; SELECT count(*) FROM t; UPDATE t SET v = 0 WHERE id = 1; COMMIT")
	mustExec(t, c, readAll)
	mustExec(t, loser, "ROLLBACK")
}

// A block that begins with a cursor takes contention locks as others do.
func TestContentionOfCursors(t *testing.T) {
	n, loser, b, c := contendedNode(t, cursorAll...)
	defer closeNode(t, n)
	for _, s := range []*sql.Session{loser, b, c} {
		defer s.Close()
	}
	if err := followBlock(t, n, loser, b, cursorAll...); err != nil {
		t.Error(err)
	}
	if got := value(t, c, "SELECT v FROM t WHERE id = 1"); got != "2" {
		t.Errorf("two blocks have added %s", got)
	}
}

// Nobody waits long, nor often, for the block of a client that takes its time.
func TestContentionOfSlowClients(t *testing.T) {
	n, loser, b, c := contendedNode(t, readAll)
	defer closeNode(t, n)
	for _, s := range []*sql.Session{loser, b, c} {
		defer s.Close()
	}
	mustExec(t, loser, "BEGIN")
	mustExec(t, loser, readAll)
	mustExec(t, b, "SET lock_timeout = '20ms'")
	mustExec(t, b, "BEGIN")
	mustExec(t, b, readAll)
	mustExec(t, b, "SELECT v FROM t WHERE id = 1")
	mustExec(t, c, "BEGIN")
	done := query(c, readAll)
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("a block still waits for a contention lock")
	}
	for _, s := range []*sql.Session{loser, b, c} {
		mustExec(t, s, "COMMIT")
	}
}

// What a block has read and then locked does not keep it from moving to a later snapshot, not even
// while others wait to write it.
func TestLockedReadsHold(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s, other, waiter := n.session(t), n.session(t), n.session(t)
	for _, ses := range []*sql.Session{s, other, waiter} {
		defer ses.Close()
	}
	mustExec(t, s, "CREATE TABLE t (id INT PRIMARY KEY, v INT)")
	mustExec(t, s, "INSERT INTO t SELECT i, 0 FROM generate_series(1, 10) i")
	mustExec(t, s, "BEGIN")
	mustExec(t, s, "SELECT v FROM t WHERE id <= 5")
	mustExec(t, s, "SELECT v FROM t WHERE id <= 5 FOR UPDATE")
	waits := query(waiter, "UPDATE t SET v = v + 10 WHERE id = 3")
	for n.store.Waits().Len() == 0 && len(waits) == 0 {
		runtime.Gosched()
	}
	mustExec(t, other, "UPDATE t SET v = 5 WHERE id = 7")
	mustExec(t, other, "SELECT sum(v) FROM t") // the commit comes after this
	mustExec(t, s, "UPDATE t SET v = v + 1 WHERE id = 7")
	mustExec(t, s, "UPDATE t SET v = v + 1 WHERE id = 3")
	mustExec(t, s, "COMMIT")
	if err := <-waits; err != nil {
		t.Error(err)
	}
	if got := value(t, s, "SELECT string_agg(v::text, ' ' ORDER BY id) FROM t WHERE id IN (3, 7)"); got != "11 6" {
		t.Errorf("the rows hold %s", got)
	}
}
