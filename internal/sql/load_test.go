package sql_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

const loadStatement = "INSERT INTO t SELECT i, -i FROM generate_series(1, 20000) i"

// duringLoad has f called once, when the first block of a load is on its way. The returned function
// returns how many blocks there were.
func duringLoad(n *node, f func()) (blocks func() int64) {
	var count atomic.Int64
	hook := func(req *kvpb.CommitRequest) {
		if req.Ingest && count.Add(1) == 1 && f != nil {
			f()
		}
	}
	n.sender.onCommit.Store(&hook)
	return count.Load
}

// What others do while a table is loaded: they see no row of it before its end, wait for nothing, and no row of theirs is lost.
func TestOthersDuringLoad(t *testing.T) {
	for _, c := range []struct {
		name, other, later string
		code               pgerr.Code
		rows               string
	}{
		{name: "nobody", rows: "20000"},
		{name: "reader", other: "SELECT a FROM t", rows: "20000"},
		{name: "writer", other: "INSERT INTO t VALUES (30000, 1)", rows: "20001"},
		{name: "writer of a key", other: "INSERT INTO t VALUES (15000, 1)", code: pgerr.UniqueViolation, rows: "1"},
		{name: "writer of a unique key", other: "INSERT INTO t VALUES (30000, -15000)", code: pgerr.UniqueViolation, rows: "1"},
		{name: "writer that goes on", other: "BEGIN; INSERT INTO t VALUES (30000, 1)", later: "COMMIT", rows: "20001"},
		{name: "writer that gives up", other: "BEGIN; INSERT INTO t VALUES (30000, 1)", later: "ROLLBACK", rows: "20000"},
		{name: "loader", other: "INSERT INTO t SELECT i, -i FROM generate_series(40001, 60000) i", rows: "40000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNode(t, fs.NewMem())
			defer closeNode(t, n)
			s, other := n.session(t), n.session(t)
			defer s.Close()
			defer other.Close()
			mustExec(t, s, "CREATE TABLE t (a INT PRIMARY KEY, b INT UNIQUE)")
			mustExec(t, s, "SET lock_timeout = '1ms'") // how long the loader waits for others
			var seen string
			blocks := duringLoad(n, func() {
				seen = value(t, other, "SELECT count(*) FROM t")
				if c.other != "" {
					mustExec(t, other, c.other)
				}
			})
			err := exec1(s, loadStatement)
			if code := pgerr.CodeOf(err); code != c.code {
				t.Fatalf("got %v", err)
			}
			if err != nil && !strings.Contains(pgerr.From(err).Detail, "15000) already exists.") {
				t.Errorf("detail: %s", pgerr.From(err).Detail)
			}
			if c.later != "" {
				mustExec(t, other, c.later)
			}
			if blocks() < 2 || seen != "0" {
				t.Errorf("%d blocks; others saw %s rows", blocks(), seen)
			}
			for _, q := range []string{"SELECT count(*) FROM t", "SELECT count(*) FROM t@t_b_key WHERE b IS NOT NULL"} {
				if got := value(t, s, q); got != c.rows {
					t.Errorf("%s: %s", q, got)
				}
			}
		})
	}
}

// What is undone leaves no row and what was there before: a statement that fails, is cancelled or whose commit fails, a
// savepoint, a block.
func TestLoadUndone(t *testing.T) {
	n := newNode(t, fs.NewMem())
	s := n.session(t)
	mustExec(t, s, "CREATE TABLE t (a INT PRIMARY KEY, b INT UNIQUE CHECK (b > -20000))")
	blocks := duringLoad(n, nil)
	check := func(what, rows string) {
		t.Helper()
		if got := value(t, s, "SELECT count(*) FROM t"); got != rows || blocks() == 0 {
			t.Errorf("%s: %s rows, %d blocks", what, got, blocks())
		}
		blocks = duringLoad(n, nil)
	}
	if err := exec1(s, loadStatement); pgerr.CodeOf(err) != pgerr.CheckViolation {
		t.Errorf("got %v", err)
	}
	blocks = func() int64 { return 1 } // it may have failed before the first was full
	check("failure", "0")
	mustExec(t, s, "ALTER TABLE t DROP CONSTRAINT t_b_check")
	mustExec(t, s, "BEGIN; TRUNCATE t; SAVEPOINT p")
	mustExec(t, s, loadStatement)
	check("within the block", "20000")
	mustExec(t, s, "ROLLBACK TO p")
	blocks = func() int64 { return 1 }
	check("savepoint", "0")
	mustExec(t, s, loadStatement)
	mustExec(t, s, "ROLLBACK")
	check("block", "0")
	mustExec(t, s, "INSERT INTO t VALUES (1, 1)")
	mustExec(t, s, "BEGIN; TRUNCATE t")
	mustExec(t, s, loadStatement)
	mustExec(t, s, "ROLLBACK")
	check("truncation", "1")
	mustExec(t, s, "BEGIN; TRUNCATE t")
	mustExec(t, s, loadStatement)
	s.Close()
	closeNode(t, n) // with the block open
	n = newNode(t, n.disk)
	s = n.session(t)
	blocks = func() int64 { return 1 }
	check("restart", "1")
	mustExec(t, s, "TRUNCATE t")
	mustExec(t, s, loadStatement)
	s.Close()
	closeNode(t, n)
	n = newNode(t, n.disk)
	s = n.session(t)
	blocks = func() int64 { return 1 }
	check("restart after the commit", "20000")
	s.Close()
	closeNode(t, n)
}

// Tables that have rows, or on which more depends than the entries, are not loaded.
func TestNotLoaded(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	for _, c := range []struct{ name, before, after string }{
		{name: "rows", before: "INSERT INTO t VALUES (0, 0)"},
		{name: "rows of the transaction", before: "BEGIN; INSERT INTO t VALUES (0, 0)", after: "COMMIT"},
		{name: "block", before: "BEGIN", after: "COMMIT"},
		{name: "foreign key", before: "CREATE TABLE r (a INT PRIMARY KEY); INSERT INTO r SELECT generate_series(-20000, 0); ALTER TABLE t ADD FOREIGN KEY (b) REFERENCES r"},
		{name: "deferrable", before: "ALTER TABLE t ADD CONSTRAINT d UNIQUE (b) DEFERRABLE"},
	} {
		mustExec(t, s, "DROP TABLE IF EXISTS t; CREATE TABLE t (a INT PRIMARY KEY, b INT)")
		mustExec(t, s, c.before)
		blocks := duringLoad(n, nil)
		mustExec(t, s, loadStatement)
		if blocks() > 0 {
			t.Errorf("%s: there are %d blocks", c.name, blocks())
		}
		if c.after != "" {
			mustExec(t, s, c.after)
		}
		if got := value(t, s, "SELECT count(*) FROM t WHERE a > 0"); got != "20000" {
			t.Errorf("%s: %s rows", c.name, got)
		}
	}
}

// COPY names the line of the first row with a key that was there before, whether it is loaded or not.
func TestCopyDuplicates(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	mustExec(t, s, "CREATE TABLE t (a INT PRIMARY KEY, b INT UNIQUE)")
	for _, c := range []struct {
		name        string
		lines       int
		again       map[int]int // what line says of b instead of its number
		bad         int         // a line that is none, if not 0
		code        pgerr.Code
		where, what string
	}{
		{name: "few", lines: 100, again: map[int]int{80: 70, 90: 2}, code: pgerr.UniqueViolation, where: "COPY t, line 80", what: "Key (b)=(70) already exists."},
		{name: "many", lines: 20000, again: map[int]int{19000: 1, 15000: 14000, 18000: 2}, code: pgerr.UniqueViolation, where: "COPY t, line 15000", what: "Key (b)=(14000) already exists."},
		{name: "before a bad line", lines: 20000, again: map[int]int{15000: 14000}, bad: 19000, code: pgerr.UniqueViolation, where: "COPY t, line 15000", what: "Key (b)=(14000) already exists."},
		{name: "after a bad line", lines: 20000, again: map[int]int{15000: 14000}, bad: 14999, code: pgerr.InvalidTextRepresentation, where: "COPY t, line 14999, column b: \"x\""},
		{name: "none", lines: 20000},
		{name: "with stored rows", lines: 20000, code: pgerr.UniqueViolation, where: "COPY t, line 1", what: "Key (a)=(1) already exists."},
	} {
		var data strings.Builder
		for i := range c.lines {
			b := strconv.Itoa(i + 1)
			if k, ok := c.again[i+1]; ok {
				b = strconv.Itoa(k)
			}
			if i+1 == c.bad {
				b = "x"
			}
			fmt.Fprintf(&data, "%d\t%s\n", i+1, b)
		}
		err := s.Query(t.Context(), "COPY t FROM STDIN", &batchRows{rows: rows{Format: s.Format()}, after: func(string) {}, chunks: []string{data.String()}})
		if code := pgerr.CodeOf(err); code != c.code {
			t.Fatalf("%s: %v", c.name, err)
		}
		if err == nil {
			continue
		}
		if e := pgerr.From(err); e.Context != c.where || e.Detail != c.what {
			t.Errorf("%s: %s / %s", c.name, e.Context, e.Detail)
		}
	}
	if got := value(t, s, "SELECT count(*) FROM t"); got != "20000" {
		t.Errorf("%s rows", got)
	}
}

// TestLoadPowerLoss: of a table that is loaded there are all rows or none after a power loss, and all once the
// load has been answered.
func TestLoadPowerLoss(t *testing.T) {
	c := &crashingDisk{mem: fs.NewCrashableMem(), stride: 9}
	n := openNode(t, fs.WithHooks(c.mem, c.hook), nodeOptions{ranges: newFakeRanges()})
	s := n.session(t)
	mustExec(t, s, "CREATE TABLE t (a INT PRIMARY KEY, b INT UNIQUE); CREATE TABLE other (a INT)")
	c.done.Store(loadBegins)
	for range 4 {
		mustExec(t, s, loadStatement)
		c.done.Store(loadAnswered)
		for i := range 12 {
			mustExec(t, s, fmt.Sprintf("INSERT INTO other VALUES (%d)", i))
		}
		c.done.Store(loadBegins)
		mustExec(t, s, "TRUNCATE t")
	}
	s.Close()
	closeNode(t, n)
	checked := map[int64]int{}
	for i, disk := range c.copies {
		if c.least[i] > 0 {
			verifyLoaded(t, disk, c.least[i] == loadAnswered)
			checked[c.least[i]]++
		}
	}
	if checked[loadBegins] < 3 || checked[loadAnswered] < 3 {
		t.Fatalf("power losses: %v", checked)
	}
}

// What crashingDisk.done counts in TestLoadPowerLoss.
const (
	loadBegins   = 1
	loadAnswered = 2
)

// verifyLoaded checks that there are all rows, or none if a load has not been answered.
func verifyLoaded(t *testing.T, disk fs.FS, answered bool) {
	t.Helper()
	n := openNode(t, disk, nodeOptions{ranges: newFakeRanges()})
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	got := answer(t, s, "SELECT count(*), coalesce(sum(a), 0) FROM t; SELECT count(*), coalesce(sum(-b), 0) FROM t@t_b_key WHERE b IS NOT NULL")
	if got != "20000  200010000\n20000  200010000" && (answered || got != "0  0\n0  0") {
		t.Errorf("after a power loss (answered: %t): %s", answered, got)
	}
}
