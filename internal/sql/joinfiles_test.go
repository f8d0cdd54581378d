package sql_test

import (
	"fmt"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

// joins are all kinds of joins, with and without a condition beside the keys. %s stands for a condition
// between l.s and r.s.
var joins = []string{
	"SELECT l.i, r.i FROM l JOIN r ON l.k = r.k%s ORDER BY 1, 2",
	"SELECT l.i, r.i FROM l LEFT JOIN r ON l.k = r.k%s ORDER BY 1, 2",
	"SELECT l.i, r.i FROM l RIGHT JOIN r ON l.k = r.k%s ORDER BY 1, 2",
	"SELECT l.i, r.i FROM l FULL JOIN r ON l.k = r.k%s ORDER BY 1, 2",
	"SELECT l.i FROM l WHERE EXISTS (SELECT FROM r WHERE l.k = r.k%s) ORDER BY 1",
	"SELECT l.i FROM l WHERE NOT EXISTS (SELECT FROM r WHERE l.k = r.k%s) ORDER BY 1",
	"SELECT l.i, r.i FROM l JOIN r ON (l.k, l.s) = (r.k, r.s)%s ORDER BY 1, 2",
	"SELECT l.i, r.i FROM r FULL JOIN l ON (l.k, l.s) = (r.k, r.s)%s ORDER BY 1, 2",
}

// TestJoinsInTemporaryFiles compares joins of rows and of columns in temporary files with those in memory.
// Some keys are NULL, one has more rows than find memory, and some have a match on one side only.
func TestJoinsInTemporaryFiles(t *testing.T) {
	setup := "CREATE TABLE l (i INT PRIMARY KEY, k INT, s TEXT); CREATE TABLE r (i INT PRIMARY KEY, k INT, s TEXT);" +
		"INSERT INTO l SELECT i, CASE WHEN i % 7 = 0 THEN NULL WHEN i % 5 = 0 THEN 1 ELSE i END, chr(97 + i % 3) FROM generate_series(1, 120) i;" +
		"INSERT INTO r SELECT i, CASE WHEN i % 11 = 0 THEN NULL WHEN i % 4 = 0 THEN 1 ELSE i / 2 END, chr(97 + i % 4) FROM generate_series(1, 200) i"
	answers := func(o nodeOptions) (out []string) {
		n := openNode(t, fs.NewMem(), o)
		defer closeNode(t, n)
		s := n.session(t)
		defer s.Close()
		answer(t, s, setup)
		answer(t, s, fmt.Sprintf("SET optimizer_rules_off = 'merge_join,lookup_join'; SET vectorize = '%s'", o.vectorize))
		for _, q := range joins {
			for _, on := range []string{"", " AND l.s < r.s", " AND l.s > r.s AND l.i % 2 = 0", " AND l.i < 0"} {
				out = append(out, answer(t, s, fmt.Sprintf(q, on)))
			}
		}
		if n.temp.Files() > 0 {
			t.Errorf("%d files are left", n.temp.Files())
		}
		return out
	}
	want := answers(nodeOptions{vectorize: "off"})
	for _, o := range []nodeOptions{
		{vectorize: "on"}, {vectorize: "off", workMem: 1}, {vectorize: "on", workMem: 1},
		{vectorize: "on", workMem: 1, batchRows: 3}, {vectorize: "off", workMem: 2 << 10, batchRows: 3},
	} {
		for i, got := range answers(o) {
			if got != want[i] {
				t.Errorf("vectorize %s, work_mem %d: join %d:\n%s\nwant\n%s", o.vectorize, o.workMem, i, got, want[i])
			}
		}
	}
}
