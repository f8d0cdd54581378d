package sql_test

import (
	"context"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql/types"
)

// TestManyConditions filters and computes with more conditions than are computed by kernels: they give what
// few do.
func TestManyConditions(t *testing.T) {
	n := openNode(t, fs.NewMem(), nodeOptions{})
	defer n.close()
	ses := n.session(t)
	defer ses.Close()
	mustExec(t, ses, "CREATE TABLE t (id int PRIMARY KEY, k int)")
	mustExec(t, ses, "INSERT INTO t SELECT i, i % 10 FROM generate_series(1, 3000) i")
	for _, c := range []struct {
		name string
		text func(n int) string
		few  int64 // with 20
		many int64 // with 2000
	}{
		{"rows in a list", each("SELECT count(*) FROM t WHERE (k, id) IN (", ",", "(3, ?)", ")"), 2, 200},
		{"rows not in a list", each("SELECT count(*) FROM t WHERE (k, id) NOT IN (", ",", "(3, ?)", ")"), 2998, 2800},
		{"a disjunction", each("SELECT count(*) FROM t WHERE ", " OR ", "id + 1 = ? AND k < 5", ""), 9, 999},
		{"a conjunction", each("SELECT count(*) FROM t WHERE ", " AND ", "id + 0 <> ?", ""), 2981, 1001},
		{"a case", each("SELECT sum(CASE ", " ", "WHEN id + 0 = ? THEN k", " END) FROM t"), 90, 9000},
		{"a list", each("SELECT count(*) FROM t WHERE k + id IN (", ",", "?", ")"), 14, 1994},
	} {
		for steps, want := range map[int]int64{20: c.few, 2000: c.many} {
			var got firstInt
			if err := ses.Query(context.Background(), c.text(steps), &got); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if got.n != want {
				t.Errorf("%s of %d: %d, want %d", c.name, steps, got.n, want)
			}
		}
	}
}

// firstInt keeps the integer of a row.
type firstInt struct {
	discard
	n int64
}

func (c *firstInt) Row(row []types.Datum) error {
	c.n = row[0].Int()
	return nil
}
