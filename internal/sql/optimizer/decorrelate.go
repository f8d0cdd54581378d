package optimizer

import (
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// decorrelate turns EXISTS and IN subqueries among the conditions of filters
// into semi and anti joins.
func (o *optimizer) decorrelate(n plan.Node) plan.Node {
	eachChild(n, o.decorrelate)
	f, ok := n.(*plan.Filter)
	if !ok {
		return n
	}
	input := f.Input
	var rest []plan.Expr
	for _, c := range plan.Conjuncts(f.Cond, nil) {
		if j := o.semiJoin(input, c); j != nil {
			input = j
			continue
		}
		rest = append(rest, c)
	}
	return filtered(input, rest)
}

// semiJoin returns input joined by a condition that is a subquery, nil if the
// condition is none or cannot be expressed so.
func (o *optimizer) semiJoin(input plan.Node, cond plan.Expr) plan.Node {
	not := false
	if n, ok := cond.(*plan.Not); ok {
		not, cond = true, n.Arg
	}
	s, ok := cond.(*plan.Subquery)
	if !ok {
		return nil
	}
	not = not != s.Not
	switch s.Kind {
	case plan.ExistsSubquery:
		if len(s.Outer) == 0 {
			return nil // evaluated once as it is
		}
	case plan.AnySubquery:
		if s.OpName != "=" || not && !neverNull(input, s) && !plant.On(plant.NullInAntiJoin) {
			return nil // with NULLs, NOT IN is something else
		}
		for _, l := range s.Left {
			if hasSubquery(l) || plan.Volatile(l) {
				return nil
			}
		}
	default:
		return nil
	}
	if !plan.Pure(s.Plan) {
		return nil
	}
	inner, on, ok := o.detach(s)
	if !ok {
		return nil
	}
	for i := range s.Left {
		if s.Kind == plan.AnySubquery {
			on = append(on, &plan.Call{Fn: s.Ops[i], Args: []plan.Expr{s.Left[i], s.Cmps[i]}, T: s.T})
		}
	}
	j := &plan.Join{Kind: plan.SemiJoin, Left: input, Right: o.decorrelate(inner), On: plan.ConjoinAll(on)}
	if not {
		j.Kind = plan.AntiJoin
	}
	j.Cols = input.Props().Cols
	return j
}

// neverNull reports whether neither side of an IN can be NULL.
func neverNull(input plan.Node, s *plan.Subquery) bool {
	for i := range s.Left {
		l, lok := s.Left[i].(*plan.ColRef)
		r, rok := s.Cmps[i].(*plan.ColRef)
		if !lok || !rok || !notNull(input, l.Col) || !notNull(s.Plan, r.Col) {
			return false
		}
	}
	return true
}

// detach separates a subquery's plan into a part that does not depend on the
// enclosing row and conditions that do.
func (o *optimizer) detach(s *plan.Subquery) (plan.Node, []plan.Expr, bool) {
	n := s.Plan
	if len(s.Outer) == 0 {
		return n, nil, true
	}
	outer := newSet(o.nextCol, nil)
	for _, r := range s.Outer {
		outer.add(r.Col)
	}
	exists := s.Kind == plan.ExistsSubquery
	n, project, ok := peel(n, exists)
	if !ok {
		return nil, nil, false
	}
	n, on, ok := splitFilters(n, outer)
	if !ok || dependsOn(n, outer) {
		return nil, nil, false
	}
	if exists || project == nil {
		return n, on, true
	}
	p, ok := comparedColumns(n, project, on, outer)
	return p, on, ok
}

// peel removes the operators on top of a subquery that do not change whether a
// row exists (for IN: with given values), and returns the projection among
// them.
func peel(n plan.Node, exists bool) (plan.Node, *plan.Project, bool) {
	var project *plan.Project
	for {
		switch x := n.(type) {
		case *plan.Project:
			if project != nil && !exists {
				return nil, nil, false
			}
			project, n = x, x.Input
		case *plan.Sort:
			n = x.Input
		case *plan.Distinct:
			if x.On && !exists {
				return nil, nil, false
			}
			n = x.Input
		default:
			return n, project, true
		}
	}
}

// splitFilters removes the conditions that refer to outer columns from the
// filters on top of n and returns them.
func splitFilters(n plan.Node, outer colSet) (plan.Node, []plan.Expr, bool) {
	var on, keep []plan.Expr
	for {
		f, ok := n.(*plan.Filter)
		if !ok {
			return filtered(n, keep), on, true
		}
		for _, c := range plan.Conjuncts(f.Cond, nil) {
			switch {
			case !refsSet(c, outer):
				keep = append(keep, c)
			case hasSubquery(c):
				return nil, nil, false
			default:
				on = append(on, c)
			}
		}
		n = f.Input
	}
}

// comparedColumns projects n to the columns that IN compares, with those that
// the conditions need.
func comparedColumns(n plan.Node, project *plan.Project, on []plan.Expr, outer colSet) (plan.Node, bool) {
	p := &plan.Project{Input: n}
	p.Cols = append(p.Cols, project.Cols...)
	p.Exprs = append(p.Exprs, project.Exprs...)
	for _, e := range p.Exprs {
		if refsSet(e, outer) {
			return nil, false
		}
	}
	in := n.Props().Cols
	for _, c := range on {
		plan.Refs(c, func(id plan.ColID) {
			if i := plan.FindCol(in, id); i >= 0 && plan.FindCol(p.Cols, id) < 0 {
				p.Cols, p.Exprs = append(p.Cols, in[i]), append(p.Exprs, plan.Ref(in[i]))
			}
		})
	}
	return p, true
}

// refsSet reports whether e refers to a column of set.
func refsSet(e plan.Expr, set colSet) (any bool) {
	plan.Refs(e, func(id plan.ColID) { any = any || set.has(id) })
	return any
}

// dependsOn reports whether any expression in n refers to a column of set.
func dependsOn(n plan.Node, set colSet) (any bool) {
	plan.Walk(n, func(n plan.Node) bool {
		plan.VisitExprs(n, func(e *plan.Expr) { any = any || refsSet(*e, set) })
		if j, ok := n.(*plan.Join); ok {
			for _, id := range j.Outer {
				any = any || set.has(id)
			}
		}
		return !any
	})
	return any
}
