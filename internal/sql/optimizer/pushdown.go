package optimizer

import (
	"slices"

	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// pushFilters moves conditions towards the scans.
func (o *optimizer) pushFilters(n plan.Node) plan.Node { return o.push(n, nil) }

// push returns n restricted by conds (which refer to n's columns or outer
// ones), with the conditions as deep as possible.
func (o *optimizer) push(n plan.Node, conds []plan.Expr) plan.Node {
	switch n := n.(type) {
	case *plan.Filter:
		return o.push(n.Input, append(withoutSelf(plan.Conjuncts(n.Cond, nil)), conds...)) // those of a query in FROM come first
	case *plan.Barrier:
		return o.pushBarrier(n, conds)
	case *plan.Scan:
		n.Filter = plan.Conjoin(n.Filter, plan.ConjoinAll(cheapestFirst(conds)))
		return n
	case *plan.VirtualScan:
		n.Filter = plan.Conjoin(n.Filter, plan.ConjoinAll(cheapestFirst(conds)))
		return n
	case *plan.Project:
		return o.pushProject(n, conds)
	case *plan.Join:
		return o.pushJoin(n, conds)
	case *plan.GroupBy:
		keys := n.Keys
		if n.Scalar || n.Sets != nil {
			keys = nil
		}
		in, above := splitBy(conds, keys)
		n.Input = o.push(n.Input, in)
		return filtered(n, above)
	case *plan.Distinct:
		in, above := splitBy(conds, n.Keys)
		n.Input = o.push(n.Input, in)
		return filtered(n, above)
	case *plan.Window:
		in, above := splitBy(conds, n.PartitionBy)
		n.Input = o.push(n.Input, in)
		return filtered(n, above)
	case *plan.ProjectSet:
		in, above := splitBy(conds, plan.IDs(n.Input.Props().Cols))
		n.Input = o.push(n.Input, in)
		return filtered(n, above)
	case *plan.Sort:
		in, above := splitVolatile(conds)
		n.Input = o.push(n.Input, in)
		return filtered(n, above)
	case *plan.SetOp:
		return o.pushSetOp(n, conds)
	case *plan.With:
		eachChild(n, func(c plan.Node) plan.Node {
			if c == n.Body {
				return c
			}
			return o.push(c, nil)
		})
		n.Body = o.push(n.Body, conds)
		return n
	}
	eachChild(n, func(c plan.Node) plan.Node { return o.push(c, nil) })
	return filtered(n, conds)
}

// filtered puts a Filter over n if there are conditions.
func filtered(n plan.Node, conds []plan.Expr) plan.Node {
	if len(conds) == 0 {
		return n
	}
	f := &plan.Filter{Input: n, Cond: plan.ConjoinAll(cheapestFirst(conds))}
	f.Cols = n.Props().Cols
	return f
}

// splitVolatile separates conditions that must stay where they are.
func splitVolatile(conds []plan.Expr) (movable, rest []plan.Expr) {
	for _, c := range conds {
		if plan.Volatile(c) {
			rest = append(rest, c)
		} else {
			movable = append(movable, c)
		}
	}
	return movable, rest
}

// splitBy separates the conditions that refer to nothing but keys, or at least
// one of them, and may move below.
func splitBy(conds []plan.Expr, keys []plan.ColID) (below, above []plan.Expr) {
	for _, c := range conds {
		refs, ok := 0, !plan.Volatile(c)
		plan.Refs(c, func(id plan.ColID) {
			refs++
			found := false
			for _, k := range keys {
				found = found || k == id
			}
			ok = ok && found
		})
		if ok && refs > 0 {
			below = append(below, c)
		} else {
			above = append(above, c)
		}
	}
	return below, above
}

// pushProject replaces references to computed columns by what computes them.
func (o *optimizer) pushProject(n *plan.Project, conds []plan.Expr) plan.Node {
	var in, above []plan.Expr
	for _, c := range conds {
		if x, ok := throughProject(n, c); ok {
			in = append(in, x)
		} else {
			above = append(above, c)
		}
	}
	n.Input = o.push(n.Input, in)
	return filtered(n, above)
}

// throughProject rewrites a condition over n's columns to one over its input. The subqueries that compute the
// columns come along: for the rows that fail the condition nothing else is computed.
func throughProject(n *plan.Project, cond plan.Expr) (plan.Expr, bool) {
	if plan.Volatile(cond) {
		return nil, false
	}
	ok := true
	plan.Refs(cond, func(id plan.ColID) {
		if i := plan.FindCol(n.Cols, id); i >= 0 && plan.Volatile(n.Exprs[i]) {
			ok = false
		}
	})
	if !ok {
		return nil, false
	}
	x := plan.MapExpr(cond, func(e plan.Expr) plan.Expr {
		switch e := e.(type) {
		case *plan.ColRef:
			if i := plan.FindCol(n.Cols, e.Col); i >= 0 {
				return plan.CopyExpr(n.Exprs[i])
			}
		case *plan.Subquery:
			for _, r := range e.Outer {
				i := plan.FindCol(n.Cols, r.Col)
				if i < 0 {
					continue
				}
				if ref, same := n.Exprs[i].(*plan.ColRef); !same || ref.Col != r.Col {
					ok = false // its plan refers to the computed column
				}
			}
		}
		return e
	})
	return x, ok
}

// pushSetOp restricts both sides.
func (o *optimizer) pushSetOp(n *plan.SetOp, conds []plan.Expr) plan.Node {
	var left, right, above []plan.Expr
	for _, c := range conds {
		if plan.Volatile(c) || hasSubquery(c) {
			above = append(above, c)
			continue
		}
		left = append(left, renamed(c, n.Cols, n.LeftCols))
		right = append(right, renamed(c, n.Cols, n.RightCols))
	}
	n.Left = o.push(n.Left, left)
	n.Right = o.push(n.Right, right)
	return filtered(n, above)
}

// renamed rewrites references to cols[i] to references to ids[i].
func renamed(e plan.Expr, cols []plan.Column, ids []plan.ColID) plan.Expr {
	return plan.MapExpr(e, func(e plan.Expr) plan.Expr {
		if r, ok := e.(*plan.ColRef); ok {
			if i := plan.FindCol(cols, r.Col); i >= 0 {
				return &plan.ColRef{Col: ids[i], T: r.T, Name: r.Name, Pos: r.Pos}
			}
		}
		return e
	})
}

// pushJoin distributes conditions above a join and its own condition.
func (o *optimizer) pushJoin(n *plan.Join, conds []plan.Expr) plan.Node {
	if o.on(RuleOuterJoins) {
		simplifyOuter(n, conds)
		if i := testOfUnmatched(n, conds); i >= 0 {
			return o.push(unmatched(n), slices.Delete(slices.Clone(conds), i, i+1))
		}
	}
	lc, rc := n.Left.Props().Cols, n.Right.Props().Cols
	var left, right, on, above []plan.Expr
	for _, c := range plan.Conjuncts(n.On, nil) {
		toLeft := n.Kind == plan.InnerJoin || n.Kind == plan.RightJoin || n.Kind == plan.SemiJoin
		toRight := n.Kind != plan.FullJoin && n.Kind != plan.RightJoin
		switch {
		case plan.Volatile(c):
			on = append(on, c)
		case toRight && refsOnly(c, lc) && refsAny(c, rc):
			right = append(right, c)
		case toLeft && refsOnly(c, rc) && refsAny(c, lc):
			left = append(left, c)
		case toLeft && refsOnly(c, rc) && refsOnly(c, lc):
			left = append(left, c)
		default:
			on = append(on, c)
		}
	}
	for _, c := range conds {
		vol := plan.Volatile(c)
		switch {
		case vol:
			above = append(above, c)
		case n.Kind == plan.FullJoin:
			above = append(above, c)
		case refsOnly(c, rc) && n.Kind != plan.RightJoin:
			left = append(left, c)
		case refsOnly(c, lc) && (n.Kind != plan.LeftJoin || plant.On(plant.FilterBelowOuter)):
			right = append(right, c)
		case n.Kind == plan.InnerJoin:
			on = append(on, c)
		default:
			above = append(above, c)
		}
	}
	n.On = plan.ConjoinAll(cheapestFirst(on))
	n.Left = o.push(n.Left, left)
	n.Right = o.push(n.Right, right)
	return filtered(n, above)
}

// simplifyOuter turns an outer join into an inner one (or a full into a
// one-sided one) if a condition above rejects the rows it adds.
func simplifyOuter(n *plan.Join, conds []plan.Expr) {
	rejects := func(cols []plan.Column) bool {
		for _, c := range conds {
			if rejectsNull(c, cols) {
				return true
			}
		}
		return false
	}
	lc, rc := n.Left.Props().Cols, n.Right.Props().Cols
	switch n.Kind {
	case plan.LeftJoin:
		if rejects(rc) {
			n.Kind = plan.InnerJoin
		}
	case plan.RightJoin:
		if rejects(lc) {
			n.Kind = plan.InnerJoin
		}
	case plan.FullJoin:
		l, r := rejects(lc), rejects(rc)
		switch {
		case l && r:
			n.Kind = plan.InnerJoin
		case l:
			n.Kind = plan.LeftJoin
		case r:
			n.Kind = plan.RightJoin
		}
	}
}

// rejectsNull reports whether cond cannot be true when all of cols are NULL.
func rejectsNull(cond plan.Expr, cols []plan.Column) bool {
	switch c := cond.(type) {
	case *plan.And:
		for _, a := range c.Args {
			if rejectsNull(a, cols) {
				return true
			}
		}
	case *plan.Or:
		for _, a := range c.Args {
			if !rejectsNull(a, cols) {
				return false
			}
		}
		return true
	case *plan.Is:
		if plant.On(plant.OuterUnchecked) {
			return nullOnNull(c.Arg, cols)
		}
		switch c.Kind {
		case plan.IsNotNull, plan.IsTrue, plan.IsFalse, plan.IsNotUnknown:
			return nullOnNull(c.Arg, cols)
		}
	default:
		return nullOnNull(cond, cols)
	}
	return false
}

// nullOnNull reports whether e is NULL when all of cols are.
func nullOnNull(e plan.Expr, cols []plan.Column) bool {
	switch e := e.(type) {
	case *plan.ColRef:
		return plan.FindCol(cols, e.Col) >= 0
	case *plan.Cast:
		return nullOnNull(e.Arg, cols)
	case *plan.Not:
		return nullOnNull(e.Arg, cols)
	case *plan.InList:
		return nullOnNull(e.Left, cols)
	case *plan.Call:
		if !e.Fn.Strict && !plant.On(plant.OuterUnchecked) {
			return false
		}
		for _, a := range e.Args {
			if nullOnNull(a, cols) {
				return true
			}
		}
	}
	return false
}
