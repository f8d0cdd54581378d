package optimizer

import "github.com/lichendb/lichen/internal/sql/plan"

// readsConstants reports whether n may read columns that the queries in FROM below it have as
// constants. PostgreSQL makes such queries parts of the one around them before it computes constants.
func readsConstants(n plan.Node) bool {
	switch n.(type) {
	case *plan.Project, *plan.Filter, *plan.Join:
		return anySource(n, hasConstants)
	}
	return false
}

// anySource reports whether f is true of an input of n whose rows n does not extend with NULLs.
func anySource(n plan.Node, f func(plan.Node) bool) bool {
	switch n := n.(type) {
	case *plan.Project:
		return f(n.Input)
	case *plan.Filter:
		return f(n.Input)
	case *plan.Join:
		left := n.Kind != plan.RightJoin && n.Kind != plan.FullJoin
		right := n.Kind == plan.InnerJoin || n.Kind == plan.RightJoin
		return left && f(n.Left) || right && f(n.Right)
	}
	return false
}

// hasConstants reports whether columns of n are constants.
func hasConstants(n plan.Node) bool {
	if cols, exprs := computedBy(n); len(cols) > 0 {
		for _, e := range exprs {
			if _, ok := constOf(e); ok {
				return true
			}
		}
	}
	return anySource(n, hasConstants)
}

// computedBy returns the columns of a projection, or of a single row of VALUES, that belongs to the query around
// it, and what they are.
func computedBy(n plan.Node) ([]plan.Column, []plan.Expr) {
	switch n := n.(type) {
	case *plan.Project:
		if !ownQuery(n) {
			return n.Cols, n.Exprs
		}
	case *plan.Values:
		if len(n.RowExprs) == 1 {
			return n.Cols, n.RowExprs[0]
		}
	}
	return nil, nil
}

// withConstantsBelow puts the constants that columns below n are in their places in an expression of n.
func withConstantsBelow(n plan.Node, e plan.Expr) plan.Expr {
	return plan.MapExpr(e, func(x plan.Expr) plan.Expr {
		switch x := x.(type) {
		case *plan.ColRef:
			if c := constantBelow(n, x.Col); c != nil && sameType(c.T, x.T) {
				return c
			}
		case *plan.Subquery:
			constantsOuter(n, x)
		}
		return x
	})
}

// constantsOuter puts the constants that columns below n are in their places in a subquery of n: it may
// not depend on n's rows then.
func constantsOuter(n plan.Node, s *plan.Subquery) {
	found := map[plan.ColID]*plan.Const{}
	for _, r := range s.Outer {
		if c := constantBelow(n, r.Col); c != nil && sameType(c.T, r.T) {
			found[r.Col] = c
		}
	}
	if len(found) == 0 {
		return
	}
	constant := func(x plan.Expr) plan.Expr {
		if ref, ok := x.(*plan.ColRef); ok && found[ref.Col] != nil {
			return found[ref.Col]
		}
		return x
	}
	everyNode(s.Plan, func(n plan.Node) {
		plan.VisitExprs(n, func(e *plan.Expr) { *e = plan.MapExpr(*e, constant) })
	})
}

// constantBelow finds the constant that a column below n is, nil if it is none.
func constantBelow(n plan.Node, id plan.ColID) (c *plan.Const) {
	anySource(n, func(in plan.Node) bool {
		switch in.(type) {
		case *plan.Project, *plan.Values:
		default:
			c = constantBelow(in, id)
			return c != nil
		}
		cols, exprs := computedBy(in)
		i := plan.FindCol(cols, id)
		if i < 0 {
			return false
		}
		switch e := exprs[i].(type) {
		case *plan.Const:
			c = e
		case *plan.ColRef:
			c = constantBelow(in, e.Col)
		}
		return true
	})
	return c
}
