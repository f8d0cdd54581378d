package optimizer

import (
	"cmp"
	"slices"

	"github.com/lichendb/lichen/internal/sql/plan"
)

// orderSemiJoins orders the joins below n, and then the semi and anti joins that stand on one
// another: each of them keeps or drops a row of the relation below all of them by itself, so the one that
// is estimated to keep the fewest comes first.
func (o *optimizer) orderSemiJoins(n *plan.Join) plan.Node {
	joins, base := semiJoins(n)
	base = o.orderJoins(base)
	kept := make(map[*plan.Join]float64, len(joins))
	for _, j := range joins {
		j.Left, j.Right = base, o.orderJoins(j.Right)
		if len(joins) > 1 {
			kept[j] = o.rough(j)
		}
	}
	slices.SortStableFunc(joins, func(a, b *plan.Join) int { return cmp.Compare(kept[a], kept[b]) })
	for _, j := range joins {
		j.Left, j.Cols = base, base.Props().Cols
		base = j
	}
	return base
}

// semiJoins returns the semi and anti joins that stand on one another below n, from the lowest on, and
// what the lowest stands on.
func semiJoins(n plan.Node) (joins []*plan.Join, base plan.Node) {
	for {
		j, ok := n.(*plan.Join)
		if !ok || !dropsRows(j) {
			slices.Reverse(joins)
			return joins, n
		}
		joins = append(joins, j)
		n = j.Left
	}
}

// dropsRows reports whether a join has some of the rows on its left, and nothing else.
func dropsRows(j *plan.Join) bool {
	return (j.Kind == plan.SemiJoin || j.Kind == plan.AntiJoin) && len(j.Outer) == 0
}
