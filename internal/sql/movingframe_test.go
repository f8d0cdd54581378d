package sql_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

// TestMovingFrames compares aggregates over frames that move with the same over the rows
// that a subquery finds, and computes one over frames that would take 10⁹ additions.
func TestMovingFrames(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	ask := func(q string) string { return answer(t, s, q) }
	ask(`CREATE TABLE m (id INT PRIMARY KEY, i INT, n NUMERIC, f FLOAT8, s TEXT, v INTERVAL);
		INSERT INTO m SELECT g, NULLIF(g * 7919 % 101, 50), NULLIF((g * 31 % 17)::numeric, 3) / NULLIF(g % 4, 0) + round(g::numeric / 8, g % 5),
			sin(g) * 1e10 ^ (g % 3), 'x' || g * 13 % 29, make_interval(days => g % 9, secs => g % 5) FROM generate_series(1, 120) g`)
	for _, agg := range []string{
		"count(i)", "sum(i)", "avg(i)", "min(i)", "max(s)", "sum(n)", "avg(n)", "max(n)", "variance(n)", "stddev_pop(i)", "bit_xor(i)", "bool_and(i > 3)",
		"sum(v)", "sum(f)", "string_agg(s, ',' ORDER BY id)", "count(*) FILTER (WHERE i % 2 = 0)", "range_agg(int4range(i, i + 2))", "count(*)",
	} {
		call := strings.Replace(agg, " ORDER BY id", "", 1)
		for _, frame := range [][3]string{
			{"1 PRECEDING", "1 FOLLOWING", "m.id - 1 AND m.id + 1"}, {"9 PRECEDING", "CURRENT ROW", "m.id - 9 AND m.id"},
			{"30 PRECEDING", "10 PRECEDING", "m.id - 30 AND m.id - 10"}, {"2 FOLLOWING", "25 FOLLOWING", "m.id + 2 AND m.id + 25"},
			{"CURRENT ROW", "UNBOUNDED FOLLOWING", "m.id AND 1000"}, {"3 FOLLOWING", "1 FOLLOWING", "m.id + 3 AND m.id + 1"},
		} {
			got := ask(fmt.Sprintf("SELECT id, %s OVER (ORDER BY id ROWS BETWEEN %s AND %s) FROM m ORDER BY id", call, frame[0], frame[1]))
			want := ask(fmt.Sprintf("SELECT id, (SELECT %s FROM m o WHERE o.id BETWEEN %s) FROM m ORDER BY id", agg, frame[2]))
			if got != want {
				t.Errorf("%s between %s and %s:\n%s\nwant:\n%s", agg, frame[0], frame[1], got, want)
			}
		}
	}
	if got := ask("SELECT sum(a) FROM (SELECT sum(i) OVER (ORDER BY i ROWS 20000 PRECEDING) a FROM generate_series(1, 50000) i) q"); got != "16334583355000" {
		t.Errorf("sum %s", got)
	}
}
