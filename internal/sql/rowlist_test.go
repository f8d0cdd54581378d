package sql_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

// TestLongLists looks rows up by thousands of values, alone and in pairs, through the
// index; where two lists would multiply out to too many keys one is left to the filter.
func TestLongLists(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	ask := func(q string) string { return answer(t, s, q) }
	ask("CREATE TABLE l (a INT, b INT, PRIMARY KEY (a, b)); INSERT INTO l SELECT i, 2 * i FROM generate_series(1, 20000) i")
	var single, pairs []string
	for i := range 5000 {
		single = append(single, fmt.Sprint(2*i))
		pairs = append(pairs, fmt.Sprintf("(%d, %d)", 3*i, 6*i))
	}
	for _, c := range []struct{ cond, rows, plan string }{
		{fmt.Sprintf("a IN (%s)", strings.Join(single, ",")), "4999", "Index Cond: (a ="},
		{fmt.Sprintf("(a, b) IN (%s)", strings.Join(pairs, ",")), "4999", "Index Cond: (((a ="},
		{fmt.Sprintf("a IN (%[1]s) AND b IN (%[1]s)", strings.Join(single, ",")), "2499", "Index Cond: (a ="},
	} {
		if got := ask("SELECT count(*) FROM l WHERE " + c.cond); got != c.rows {
			t.Errorf("%.60s...: %s rows; want %s", c.cond, got, c.rows)
		}
		if got := ask("EXPLAIN SELECT * FROM l WHERE " + c.cond); !strings.Contains(got, c.plan) {
			t.Errorf("%.60s...: %.300s; want %s", c.cond, got, c.plan)
		}
	}
}
