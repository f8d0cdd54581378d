package optimizer

import "github.com/lichendb/lichen/internal/sql/plan"

// emptyRows produces no rows.
func emptyRows(cols []plan.Column) plan.Node {
	v := &plan.Values{}
	v.Cols = cols
	return v
}

// isEmpty reports whether n is known to produce no rows.
func isEmpty(n plan.Node) bool {
	v, ok := n.(*plan.Values)
	return ok && len(v.RowExprs) == 0
}

// emptied is n without what yields no rows, in subqueries too: nothing of that is computed.
func emptied(n plan.Node) plan.Node {
	eachChild(n, emptied)
	eachSubquery(n, func(s *plan.Subquery) { s.Plan = emptied(s.Plan) })
	if yieldsNothing(n) {
		return emptyRows(n.Props().Cols)
	}
	if g, ok := n.(*plan.GroupBy); ok && oneGroup(g) {
		return &plan.Values{RowExprs: [][]plan.Expr{nil}}
	}
	return n
}

func yieldsNothing(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.With:
		return isEmpty(n.Body) && len(n.CTEs) == 0
	case *plan.Filter:
		return isEmpty(n.Input) || nothingPasses(n.Cond)
	case *plan.Barrier:
		return isEmpty(n.Input)
	case *plan.Project:
		return isEmpty(n.Input)
	case *plan.ProjectSet:
		return isEmpty(n.Input)
	case *plan.Sort:
		return isEmpty(n.Input)
	case *plan.Distinct:
		return isEmpty(n.Input)
	case *plan.Window:
		return isEmpty(n.Input)
	case *plan.Limit:
		return isEmpty(n.Input) && n.Count == nil && n.Offset == nil // whose errors are found as it is opened
	case *plan.GroupBy:
		return isEmpty(n.Input) && !n.Scalar && n.Sets == nil
	case *plan.Join:
		return joinsNothing(n)
	}
	return false
}

// joinsNothing reports whether a join has no rows as one of its sides has none.
func joinsNothing(j *plan.Join) bool {
	left, right := isEmpty(j.Left), isEmpty(j.Right)
	switch j.Kind {
	case plan.InnerJoin, plan.SemiJoin:
		return left || right || j.On != nil && nothingPasses(j.On)
	case plan.LeftJoin, plan.AntiJoin:
		return left
	case plan.RightJoin:
		return right
	}
	return left && right
}

// oneGroup reports whether g has one row of nothing, whatever its input: HAVING without aggregates.
func oneGroup(g *plan.GroupBy) bool {
	return g.Scalar && g.Sets == nil && len(g.Keys)+len(g.Aggs)+len(g.Groupings) == 0
}
