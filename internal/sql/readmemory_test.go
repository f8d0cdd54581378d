package sql_test

import (
	"runtime"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// largeRows is a node with the table t of 8 rows of 3 MB and little memory.
func largeRows(t *testing.T) (*node, func(text string) error) {
	n := openNode(t, fs.NewMem(), nodeOptions{mem: 16 << 20})
	s := n.session(t)
	t.Cleanup(func() {
		s.Close()
		closeNode(t, n)
	})
	mustExec(t, s, "CREATE TABLE t (k int PRIMARY KEY, v text)")
	for _, k := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
		mustExec(t, s, "INSERT INTO t VALUES ("+k+", repeat('x', 3000000))")
	}
	return n, func(text string) error { return exec1(s, text) }
}

// collectGarbage returns once what nothing refers to has been given back: the runtime tells so on goroutines of its own.
func collectGarbage() {
	const times = 3 // what a sync.Pool holds survives the first time
	for range times {
		told := make(chan struct{})
		runtime.AddCleanup(&garbage{}, func(told chan struct{}) { close(told) }, told)
		runtime.GC()
		<-told
	}
}

// garbage has a pointer, since the runtime keeps small values without one together with others.
type garbage struct{ _ *garbage }

// TestLargeRowsCount has reads of a row that is larger than what is left of the node's memory:
// they are refused before the row is copied.
func TestLargeRowsCount(t *testing.T) {
	n, run := largeRows(t)
	collectGarbage()
	rest := n.mem.Limit() - n.mem.Used() - 2<<20
	if err := n.mem.Reserve(rest); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"SELECT length(v) FROM t WHERE k = 1",
		"SELECT length(v) FROM t",
		"SELECT length(v) FROM t ORDER BY k DESC",
		"SELECT length(v) FROM t WHERE k IN (1, 3)",
		"SELECT length(v) FROM t WHERE k IN (1, 2, 3, 4, 5) FOR UPDATE",
		"SELECT length(v) FROM t WHERE k = 1 FOR UPDATE",
		"UPDATE t SET k = 9 WHERE k = 1",
	} {
		if err := run(text); pgerr.CodeOf(err) != pgerr.OutOfMemory {
			t.Errorf("%s: %v", text, err)
		}
	}
	n.mem.Release(rest)
}

// TestLargeRowsInTurn reads more than the node's memory, row by row.
func TestLargeRowsInTurn(t *testing.T) {
	n, run := largeRows(t)
	for _, text := range []string{
		"SELECT length(v) FROM t",
		"SELECT length(v) FROM t ORDER BY k DESC",
		"SELECT length(v) FROM t WHERE k IN (8, 7, 6, 5, 4, 3, 2, 1)",
		"SELECT length(v) FROM t WHERE k IN (8, 7, 6, 5, 4, 3, 2, 1) AND v = 'y'",
		"SELECT length(v) FROM t WHERE k IN (8, 7, 6, 5, 4, 3, 2, 1) FOR UPDATE",
		"SELECT length(t.v) FROM generate_series(1, 8) g JOIN t ON t.k = g",
		"UPDATE t SET v = 'y' WHERE k IN (8, 7, 6, 5, 4, 3, 2, 1)",
	} {
		if err := run(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if peak := n.mem.Peak(); peak > n.mem.Limit() {
		t.Errorf("%d bytes were in use", peak)
	}
}

// TestJSONAggregatesCount has aggregates make jsonb of 50,000 values while 4 MB of memory are left to large holders. An
// object is parsed as a whole, which takes more and counts; the elements of an array become jsonb one by one.
func TestJSONAggregatesCount(t *testing.T) {
	n, run := largeRows(t)
	collectGarbage()
	rest := n.mem.Share() - n.mem.Used() - 4<<20
	if err := n.mem.Reserve(rest); err != nil {
		t.Fatal(err)
	}
	defer n.mem.Release(rest)
	if err := run("SELECT jsonb_object_agg(g, g) IS NULL FROM generate_series(1, 50000) g"); pgerr.CodeOf(err) != pgerr.OutOfMemory {
		t.Errorf("an object: %v", err)
	}
	if err := run("SELECT jsonb_agg(g) IS NULL FROM generate_series(1, 50000) g"); err != nil {
		t.Errorf("an array: %v", err)
	}
}
