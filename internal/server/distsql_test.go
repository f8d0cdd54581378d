package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lichendb/lichen/internal/kvpb"
)

// spreadTable begins a cluster of three nodes with a table in five ranges, which all of them lead some of, and connects to
// the second. Its rows are so long that a node answers for them many times.
func (c *testNodes) spreadTable() (first, second, third *Node, one *pgx.Conn) {
	first, second, third, one = c.splitTable()
	c.until("leaders on every store", func() (bool, string) { led := c.led(second); return len(led) == 3, fmt.Sprint(led) })
	c.exec(one, "ALTER TABLE t ADD COLUMN pad TEXT")
	c.exec(one, "UPDATE t SET pad = repeat('x', 20000)")
	<-time.After(time.Second) // it is certainly past
	c.exec(one, "SET distsql = always")
	return first, second, third, one
}

// column returns the texts that a query yields in its only column.
func (c *testNodes) column(conn *pgx.Conn, query string) []string {
	c.t.Helper()
	rows, err := conn.Query(c.ctx, query)
	if err != nil {
		c.t.Fatalf("%s: %v", query, err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		c.t.Fatalf("%s: %v", query, err)
	}
	return out
}

// TestPartsOfQueries: parts of queries run on the three nodes that have the rows, and far fewer bytes go between nodes.
func TestPartsOfQueries(t *testing.T) { withNodes(t, testPartsOfQueries) }

func testPartsOfQueries(t *testing.T, c *testNodes) {
	_, _, _, one := c.spreadTable()
	const query = "SELECT count(*), sum(v), avg(length(pad)), min(k), max(k) FROM t WHERE v % 2 = 0"
	answer := func() string {
		return strings.Join(c.column(one, "SELECT format('%s %s %s %s %s', a, b, c, d, e) FROM ("+query+") q(a, b, c, d, e)"), ";")
	}
	moved := func() (bytes int, plan string) {
		text := strings.Join(c.column(one, "EXPLAIN (ANALYZE, DISTSQL, COSTS off, TIMING off, SUMMARY off) "+query), "\n")
		_, rest, ok := strings.Cut(text, "Moved between Nodes: ")
		if _, err := fmt.Sscanf(rest, "%d bytes", &bytes); !ok || err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		return bytes, text
	}
	want := "50 2550 20000.000000000000 2 100"
	if got := answer(); got != want {
		t.Errorf("got %s", got)
	}
	few, plan := moved()
	for _, part := range []string{"Finalize Aggregate", "Gather from Nodes", "Partial Aggregate", "Placement: ", "Nodes: 3", "Distribution: full"} {
		if !strings.Contains(plan, part) {
			t.Errorf("there is no %q in\n%s", part, plan)
		}
	}
	c.exec(one, "SET distsql = off")
	if got := answer(); got != want {
		t.Errorf("got %s", got)
	}
	many, plan := moved()
	if !strings.Contains(plan, "Distribution: local") {
		t.Error(plan)
	}
	t.Logf("%d bytes, %d with distsql off", few, many)
	if few <= 0 || few > many/20 {
		t.Errorf("%d bytes between nodes, %d with distsql off", few, many)
	}
}

// readAll reads a table of a hundred rows by a cursor, and calls between after the first rows. Each row must come once.
func (c *testNodes) readAll(one *pgx.Conn, between func()) {
	c.t.Helper()
	const query = "SELECT k::text || left(pad, 1) FROM t JOIN (VALUES (0), (1)) x(r) ON t.v % 2 = x.r WHERE length(pad) > 3"
	if plan := strings.Join(c.column(one, "EXPLAIN "+query), "\n"); !strings.Contains(plan, "Gather from Nodes") {
		c.t.Errorf("other nodes run nothing of\n%s", plan)
	}
	for _, s := range []string{"BEGIN", "DECLARE c CURSOR FOR " + query} {
		if _, err := one.Exec(c.ctx, s); err != nil {
			c.t.Fatalf("%s: %v", s, err)
		}
	}
	rows := c.column(one, "FETCH 3 FROM c")
	between()
	rows = append(rows, c.column(one, "FETCH ALL FROM c")...)
	seen := map[string]int{}
	for _, k := range rows {
		seen[k]++
	}
	for k := range 100 {
		if n := seen[fmt.Sprintf("%dx", k+1)]; n != 1 {
			c.t.Errorf("row %d comes %d times", k+1, n)
		}
	}
	if _, err := one.Exec(c.ctx, "COMMIT"); err != nil {
		c.t.Error(err)
	}
}

// TestNodeDies: a node that runs a part of a query is lost on the way. The gateway reads the rest by itself.
func TestNodeDies(t *testing.T) { withNodes(t, testNodeDies) }

func testNodeDies(t *testing.T, c *testNodes) {
	first, _, _, one := c.spreadTable()
	c.readAll(one, func() { c.isolate(first) })
}

// TestRangesMove: ranges are split, and led elsewhere, while a query reads them.
func TestRangesMove(t *testing.T) { withNodes(t, testRangesMove) }

func testRangesMove(t *testing.T, c *testNodes) {
	_, second, third, one := c.spreadTable()
	c.readAll(one, func() {
		two := c.connect(third)
		c.exec(two, "ALTER TABLE t SPLIT AT VALUES (5), (15), (25), (35), (45), (55), (65), (75), (85), (95)")
		before := fmt.Sprint(c.led(second))
		c.until("leaderships that move", func() (bool, string) {
			c.exec(two, "ALTER TABLE t SCATTER")
			now := fmt.Sprint(c.led(second))
			return now != before, now
		})
	})
}

// TestWritesBetween: a transaction that writes while its cursor is open goes on reading by itself, in the snapshot of the cursor.
func TestWritesBetween(t *testing.T) { withNodes(t, testWritesBetween) }

func testWritesBetween(t *testing.T, c *testNodes) {
	_, _, _, one := c.spreadTable()
	c.readAll(one, func() {
		for _, s := range []string{"INSERT INTO t SELECT g, g, 'xbcd' FROM generate_series(101, 200) g", "DELETE FROM t WHERE k > 50 AND k <= 100"} {
			if _, err := one.Exec(c.ctx, s); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestCancelParts: a query whose nodes do not answer ends when it is cancelled.
func TestCancelParts(t *testing.T) { withNodes(t, testCancelParts) }

func testCancelParts(t *testing.T, c *testNodes) {
	first, _, third, one := c.spreadTable()
	c.exec(one, "SET statement_timeout = '300ms'")
	c.net.Partition([]kvpb.NodeID{c.machine(first), c.machine(third)}, []kvpb.NodeID{c.machine(c.nodes[1])})
	begun := time.Now()
	_, err := one.Exec(context.Background(), "SELECT sum(v) FROM t")
	var pe *pgconn.PgError
	if !errors.As(err, &pe) || pe.Code != "57014" {
		t.Errorf("%v", err)
	}
	if took := time.Since(begun); took > time.Second {
		t.Errorf("it took %v", took)
	}
}
