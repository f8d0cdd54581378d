package optimizer

import (
	"github.com/lichendb/lichen/internal/sql/plan"
)

// commonFactors pulls what all arms of a disjunction have in common out of it:
// a AND b OR a AND c becomes a AND (b OR c), so that a can serve as the key of an
// index or of a join.
func commonFactors(e plan.Expr) plan.Expr {
	or, ok := e.(*plan.Or)
	if !ok || plan.Volatile(or) {
		return e
	}
	var common []plan.Expr
	for _, c := range plan.Conjuncts(or.Args[0], nil) {
		if !hasSubquery(c) && inEveryArm(or.Args[1:], c) {
			common = append(common, c)
		}
	}
	if len(common) == 0 {
		return e
	}
	var arms []plan.Expr
	for _, a := range or.Args {
		rest := withoutAny(plan.Conjuncts(a, nil), common)
		if len(rest) == 0 { // this arm asks for no more than what is common
			return plan.ConjoinAll(common)
		}
		arms = append(arms, plan.ConjoinAll(rest))
	}
	return plan.ConjoinAll(append(common, &plan.Or{Args: arms}))
}

func inEveryArm(arms []plan.Expr, c plan.Expr) bool {
	for _, a := range arms {
		if !containsExpr(plan.Conjuncts(a, nil), c) {
			return false
		}
	}
	return true
}

func containsExpr(list []plan.Expr, x plan.Expr) bool {
	for _, e := range list {
		if plan.ExprEqual(e, x) {
			return true
		}
	}
	return false
}

func withoutAny(list, drop []plan.Expr) []plan.Expr {
	var out []plan.Expr
	for _, e := range list {
		if !containsExpr(drop, e) {
			out = append(out, e)
		}
	}
	return out
}

// restrictByArms restricts each relation of a cluster by what the disjunctions over
// several relations say about it alone: of a.x = 1 AND b.y = 2 OR a.x = 3 AND b.y = 4
// follow a.x = 1 OR a.x = 3 and b.y = 2 OR b.y = 4.
func (o *optimizer) restrictByArms(c *joinCluster) {
	for _, cond := range c.conds {
		or, ok := cond.(*plan.Or)
		if !ok || plan.Volatile(or) || hasSubquery(or) {
			continue
		}
		for i, r := range c.rels {
			if x := armsAbout(or, r.Props().Cols, c.otherCols(i)); x != nil {
				c.rels[i] = o.push(r, []plan.Expr{x})
			}
		}
	}
}

// armsAbout returns the disjunction of what the arms say about cols alone, nil if one
// of them says nothing.
func armsAbout(or *plan.Or, cols, others []plan.Column) plan.Expr {
	var arms []plan.Expr
	for _, a := range or.Args {
		var about []plan.Expr
		for _, c := range plan.Conjuncts(a, nil) {
			if refsAny(c, cols) && refsOnly(c, others) {
				about = append(about, plan.CopyExpr(c))
			}
		}
		if len(about) == 0 {
			return nil
		}
		arms = append(arms, plan.ConjoinAll(about))
	}
	return orToIn(&plan.Or{Args: arms})
}

// otherCols are the columns of all relations but i.
func (c *joinCluster) otherCols(i int) []plan.Column {
	var cols []plan.Column
	for k, r := range c.rels {
		if k != i {
			cols = append(cols, r.Props().Cols...)
		}
	}
	return cols
}
