package optimizer

import (
	"github.com/lichendb/lichen/internal/sql/plan"
)

// mergeJoin returns the join of two tables done by reading both in the order
// of their keys, nil if no indexes give that order.
func (o *optimizer) mergeJoin(n *plan.Join, keys []equiKey, rest []plan.Expr, left, right *plan.Scan) *plan.Join {
	if !o.on(RuleMergeJoin) || !o.on(RuleIndexes) || len(keys) == 0 || left == nil || right == nil {
		return nil
	}
	var lo, ro []plan.SortKey
	for _, k := range keys {
		l, lok := k.left.(*plan.ColRef)
		r, rok := k.right.(*plan.ColRef)
		if !lok || !rok {
			return nil
		}
		lo, ro = append(lo, plan.SortKey{Col: l.Col}), append(ro, plan.SortKey{Col: r.Col})
	}
	if !o.orderedBy(left, lo[0].Col) || !o.orderedBy(right, ro[0].Col) {
		return nil
	}
	l := o.accessPath(left, wanted{order: lo, sorted: true})
	r := o.accessPath(right, wanted{order: ro, sorted: true})
	if !sortedOn(l, lo) || !sortedOn(r, ro) {
		return nil
	}
	j := &plan.Join{Kind: n.Kind, Algo: plan.MergeJoin, Left: l, Right: r, On: plan.ConjoinAll(rest)}
	j.Cols, j.Rows = n.Cols, n.Rows
	for _, k := range keys {
		j.LeftKeys, j.RightKeys = append(j.LeftKeys, k.left), append(j.RightKeys, k.right)
	}
	lp, rp := l.Props(), r.Props()
	if loopKeepsOrder(n.Kind) {
		j.Order = lp.Order
	}
	j.Startup = lp.Startup + rp.Startup
	j.Total = lp.Total + rp.Total + (lp.Rows+rp.Rows)*costOperator*float64(len(keys)) + j.Rows*operators(j.On)
	return j
}

// sortedOn reports whether the rows of a scan come sorted by keys. A scan of one
// row is left to the other algorithms.
func sortedOn(n plan.Node, keys []plan.SortKey) bool {
	return !maxOneRow(n) && satisfies(n.Props().Order, keys, n)
}
