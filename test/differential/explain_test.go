package main

import (
	"strings"
	"testing"
)

// TestGroupingComputes checks that a plan's node of grouping sets is told from one below it, and
// from one with a single list of keys.
func TestGroupingComputes(t *testing.T) {
	const below = `MixedAggregate
  Output: (SubPlan 1), count(*)
  Hash Key: (SubPlan 1)
  Group Key: ()
  ->  Function Scan on pg_catalog.generate_series g
        Output: (SubPlan 1), g.x
        SubPlan 1
          ->  Result
                Output: (g.x + 1)`
	for _, c := range []struct {
		plan string
		want bool
	}{
		{below, false},
		{below + "\n  SubPlan 2\n    ->  Result", true},
		{strings.Replace(below, "  Group Key: ()\n", "", 1) + "\n  SubPlan 2\n    ->  Result", false},
		{"Sort\n  Sort Key: x\n  ->  " + strings.ReplaceAll(below+"\n  SubPlan 2\n    ->  Result", "\n", "\n      "), true},
	} {
		var rows []string
		for line := range strings.Lines(c.plan) {
			rows = append(rows, rowText([][]byte{[]byte(strings.TrimSuffix(line, "\n"))}))
		}
		if got := groupingComputes(rows); got != c.want {
			t.Errorf("groupingComputes = %v, want %v:\n%s", got, c.want, c.plan)
		}
	}
}
