package sql_test

import (
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

// TestMemoryOfManyGroups has groups with little in each: they are charged what they take,
// not a share of the pool each.
func TestMemoryOfManyGroups(t *testing.T) {
	n := openNode(t, fs.NewMem(), nodeOptions{mem: 48 << 20})
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	for _, call := range []string{
		"count(DISTINCT b)", "count(DISTINCT b::text)", "array_agg(b)", "array_agg(b ORDER BY c)", "array_agg(DISTINCT b)",
		"string_agg(b::text, ',')", "string_agg(b::text, ',' ORDER BY c)", "json_agg(b)", "jsonb_object_agg(b, c)",
		"percentile_cont(0.5) WITHIN GROUP (ORDER BY b)", "percentile_disc(0.5) WITHIN GROUP (ORDER BY b::text)",
		"mode() WITHIN GROUP (ORDER BY b)", "max(b::text)", "sum(DISTINCT b)", "sum(b::numeric)", "variance(b::numeric)",
	} {
		got := answer(t, s, "SELECT count(v) FROM (SELECT b % 20000 AS a, "+call+
			" AS v FROM (SELECT g AS b, -g AS c FROM generate_series(1, 40000) g) t GROUP BY 1) u")
		if got != "20000" {
			t.Errorf("%s: %s", call, got)
		}
	}
}
