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

// TestCancelledComparison cancels statements that compare large values at each check that they make: a comparison
// that is cut short must lead to the error, never to a row.
func TestCancelledComparison(t *testing.T) {
	n := openNode(t, fs.NewMem(), nodeOptions{})
	defer n.close()
	ses := n.session(t)
	defer ses.Close()
	run := func(text string) {
		t.Helper()
		if err := ses.Query(context.Background(), text, &discard{}); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	run("SET enable_hashjoin = off; SET enable_nestloop = off; SET enable_hashagg = off; CREATE TYPE pair AS (a int[], i int)")
	for _, v := range [][2]string{
		{"int[]", "array_fill(1, ARRAY[20000]) || i"}, {"text", "repeat('x', 70000) || i"}, {"bytea", "(repeat('x', 70000) || i)::bytea"},
		{"bpchar", "(repeat('x', 10) || i || repeat(' ', 70000))::bpchar"}, {"jsonb", "('[' || repeat('12,', 20000) || i || ']')::jsonb"},
		{"pair", "ROW(array_fill(1, ARRAY[20000]), i)::pair"},
	} {
		run("CREATE TABLE v (n int PRIMARY KEY, i int, x " + v[0] + ")")
		run("INSERT INTO v SELECT n, i, " + v[1] + " FROM (VALUES (1, 3), (2, 1), (3, 4), (4, 1)) t (n, i)")
		for _, query := range []string{
			"SELECT i FROM v ORDER BY x DESC, i",
			"SELECT i FROM v ORDER BY x FETCH FIRST 1 ROWS WITH TIES",
			"SELECT DISTINCT ON (x) i FROM (SELECT * FROM v ORDER BY x, i DESC) s",
			"SELECT i, rank() OVER (ORDER BY x), count(*) OVER (PARTITION BY x) FROM v",
			"SELECT a.i, b.i FROM v a JOIN v b USING (x) ORDER BY 1, 2",
			"SELECT array_agg(i ORDER BY i) FROM v GROUP BY x",
			"SELECT a.i, b.i FROM v a, v b WHERE a.x < b.x ORDER BY 1, 2",
			"SELECT i FROM v WHERE x IN (SELECT x FROM v WHERE i > 2) ORDER BY i",
		} {
			cancelAtEachCheck(t, ses, query)
		}
		run("DROP TABLE v")
	}
}

// mostCancels bounds how often cancelAtEachCheck runs a statement.
const mostCancels = 15

// cancelAtEachCheck runs a statement again and again, cancelled at its first check, its second and so on;
// of many checks it takes some, evenly.
func cancelAtEachCheck(t *testing.T, ses *sql.Session, text string) {
	t.Helper()
	checks, at := 0, 0
	ses.OnCancelCheck(func() {
		if checks++; checks == at {
			ses.Cancel()
		}
	})
	defer ses.OnCancelCheck(nil)
	var whole rowCollector
	if err := ses.Query(context.Background(), text, &whole); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	last := checks
	for at = 1; at <= last; at += 1 + last/mostCancels {
		checks = 0
		var got rowCollector
		err := ses.Query(context.Background(), text, &got)
		switch {
		case err != nil && pgerr.CodeOf(err) != pgerr.QueryCanceled:
			t.Fatalf("%s: %v", text, err)
		case err == nil && got.text != whole.text:
			t.Fatalf("%s: cancelled at check %d of %d:\n%swant\n%s", text, at, last, got.text, whole.text)
		}
	}
}

// rowCollector keeps rows as text.
type rowCollector struct {
	discard
	text string
}

func (c *rowCollector) Row(row []types.Datum) error {
	c.text += fmt.Sprintln(row)
	return nil
}
