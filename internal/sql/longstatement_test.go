package sql_test

import (
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql"
)

// manyWrites is how many writes the commits have that besideCommits meets.
const manyWrites = 1000

// besideBlocks has other change a row before each block of a new table is ingested, until done is
// called, which returns how many blocks there were.
func besideBlocks(t *testing.T, n *node, other *sql.Session, change string) (done func() int64) {
	var mu sync.Mutex // two blocks are on their way at once
	var blocks int64
	meet := func(req *kvpb.CommitRequest) {
		if !req.Ingest {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		blocks++
		if err := exec1(other, change); err != nil {
			t.Errorf("%s: %v", change, err)
		}
	}
	n.sender.onCommit.Store(&meet)
	return func() int64 {
		n.sender.onCommit.Store(nil)
		mu.Lock()
		defer mu.Unlock()
		return blocks
	}
}

// A new table is filled from what its query finds in one snapshot, at the first attempt, whoever
// changes that meanwhile. So is a materialized view.
func TestFillBesideWriters(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s, other := n.session(t), n.session(t)
	defer s.Close()
	defer other.Close()
	mustExec(t, s, "CREATE TABLE src (id INT PRIMARY KEY, v INT, pad TEXT)")
	mustExec(t, s, "INSERT INTO src SELECT i, 0, repeat('x', 150) FROM generate_series(1, 20000) i")
	for _, c := range []struct{ text, table string }{
		{"CREATE TABLE a AS SELECT * FROM src", "a"},
		{"SELECT * INTO b FROM src", "b"},
		{"CREATE MATERIALIZED VIEW m AS SELECT * FROM src", "m"},
		{"REFRESH MATERIALIZED VIEW m", "m"},
	} {
		want := value(t, s, "SELECT sum(v) FROM src")
		done := besideBlocks(t, n, other, "UPDATE src SET v = v + 1 WHERE id IN (1, 10000, 20000)")
		mustExec(t, s, c.text)
		if blocks := done(); blocks < 3 {
			t.Errorf("%s: %d blocks were written, want 3 at least", c.text, blocks)
		}
		if got := value(t, s, "SELECT sum(v) FROM "+c.table); got != want {
			t.Errorf("%s: the sum is %s, want %s", c.text, got, want)
		}
	}
}

// In a block, later statements see what the query has seen.
func TestFillInBlock(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s, other := n.session(t), n.session(t)
	defer s.Close()
	defer other.Close()
	mustExec(t, s, "CREATE TABLE src (id INT PRIMARY KEY, v INT)")
	mustExec(t, s, "INSERT INTO src SELECT i, 0 FROM generate_series(1, 10000) i")
	mustExec(t, s, "BEGIN")
	done := besideBlocks(t, n, other, "UPDATE src SET v = 1 WHERE id = 1 AND v = 0")
	mustExec(t, s, "CREATE TABLE a AS SELECT * FROM src")
	if done() == 0 {
		t.Error("no block was written")
	}
	if filled, read := value(t, s, "SELECT sum(v) FROM a"), value(t, s, "SELECT sum(v) FROM src"); filled != read {
		t.Errorf("the new table has a sum of %s, the one that it was filled from %s", filled, read)
	}
	mustExec(t, s, "COMMIT")
}

// besideCommits calls change before each commit of many rows, until done is called, which returns
// how many there were.
func besideCommits(n *node, change func()) (done func() int64) {
	var commits atomic.Int64
	meet := func(req *kvpb.CommitRequest) {
		if len(req.Writes) >= manyWrites && req.Txn.Isolation == kvpb.Serializable {
			commits.Add(1)
			change()
		}
	}
	n.sender.onCommit.Store(&meet)
	return func() int64 {
		n.sender.onCommit.Store(nil)
		return commits.Load()
	}
}

// reservesAhead runs a long statement beside one who writes what it reads, whenever it is about to
// commit, and returns how many attempts it took.
func reservesAhead(t *testing.T, text string, most time.Duration) (attempts int64) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	n.sql.ReserveAtOnce()
	n.sql.ReserveAtMost(most)
	s, other := n.session(t), n.session(t)
	defer s.Close()
	defer other.Close()
	mustExec(t, s, "CREATE TABLE src (id INT PRIMARY KEY, v INT)")
	mustExec(t, s, "INSERT INTO src SELECT i, 0 FROM generate_series(1, 1000) i")
	mustExec(t, s, "CREATE TABLE dst (id INT PRIMARY KEY, v INT)")
	writes := 0
	var waiting <-chan error
	done := besideCommits(n, func() {
		mustExec(t, other, "SELECT count(*) FROM dst") // so that the commit has to be later
		if writes++; writes > 20 || waiting != nil {
			return
		}
		write := query(other, "INSERT INTO src VALUES (1000 + "+strconv.Itoa(writes)+", 1)")
		for n.store.Waits().Len() == 0 && len(write) == 0 {
			runtime.Gosched()
		}
		if len(write) == 0 {
			waiting = write // for the statement
		} else if err := <-write; err != nil {
			t.Error(err)
		}
	})
	mustExec(t, s, text)
	attempts = done()
	if waiting != nil {
		if err := <-waiting; err != nil {
			t.Errorf("who waited for the statement: %v", err)
		}
	}
	if got, want := value(t, s, "SELECT count(*) FROM dst"), value(t, s, "SELECT count(*) - 1 FROM src"); waiting != nil && got != want {
		t.Errorf("%s rows were inserted, want %s", got, want)
	}
	return attempts
}

// A statement that others keep from committing has them wait.
func TestReserveAhead(t *testing.T) {
	if got := reservesAhead(t, "INSERT INTO dst SELECT * FROM src", time.Minute); got > 3 {
		t.Errorf("the statement ended at attempt %d", got)
	}
}

// Nobody waits for a statement where the cluster setting says so: it fails until the others have
// written.
func TestReserveNever(t *testing.T) {
	if got := reservesAhead(t, "INSERT INTO dst SELECT * FROM src", 0); got <= 3 {
		t.Errorf("the statement ended at attempt %d", got)
	}
}
