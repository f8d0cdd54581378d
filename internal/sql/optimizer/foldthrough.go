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
	if p, ok := n.(*plan.Project); ok {
		for _, e := range p.Exprs {
			if _, ok := constOf(e); ok {
				return true
			}
		}
	}
	return anySource(n, hasConstants)
}

// withConstantsBelow puts the constants that columns below n are in their places in an expression of n.
func withConstantsBelow(n plan.Node, e plan.Expr) plan.Expr {
	return plan.MapExpr(e, func(x plan.Expr) plan.Expr {
		ref, ok := x.(*plan.ColRef)
		if !ok {
			return x
		}
		if c := constantBelow(n, ref.Col); c != nil && sameType(c.T, ref.T) {
			return c
		}
		return x
	})
}

// constantBelow finds the constant that a column below n is, nil if it is none.
func constantBelow(n plan.Node, id plan.ColID) (c *plan.Const) {
	anySource(n, func(in plan.Node) bool {
		p, ok := in.(*plan.Project)
		if !ok {
			c = constantBelow(in, id)
			return c != nil
		}
		i := plan.FindCol(p.Cols, id)
		if i < 0 {
			return false
		}
		switch e := p.Exprs[i].(type) {
		case *plan.Const:
			c = e
		case *plan.ColRef:
			c = constantBelow(p, e.Col)
		}
		return true
	})
	return c
}
