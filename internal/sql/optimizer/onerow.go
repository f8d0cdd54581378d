package optimizer

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// comparedWithRow makes comparisons of x IN (SELECT 1, …), a query of one row that nothing has to be read
// for, among the conditions that rows pass. PostgreSQL does so before it computes constants.
func (o *optimizer) comparedWithRow(e plan.Expr) plan.Expr {
	changed := false
	conds := plan.Conjuncts(e, nil)
	for i, c := range conds {
		s, ok := c.(*plan.Subquery)
		if !ok || s.Kind != plan.AnySubquery || s.Not || len(s.Outer) > 0 || s.OpName != "=" && len(s.Left) != 1 {
			continue
		}
		row, where, ok := onlyRow(s.Plan)
		if !ok || !slices.ContainsFunc(s.Left, refersToColumns) || slices.ContainsFunc(s.Left, plan.Volatile) {
			continue
		}
		for j := range s.Left {
			right := plan.MapExpr(s.Cmps[j], row.value)
			where = append(where, &plan.Call{Fn: s.Ops[j], Args: []plan.Expr{s.Left[j], right}, T: types.Bool})
		}
		conds[i], changed = plan.ConjoinAll(where), true
	}
	if !changed {
		return e
	}
	out, err := o.foldExpr(plan.ConjoinAll(conds))
	o.unfit = o.unfit || err != nil
	return out
}

// knownRow is what the columns of a row are.
type knownRow map[plan.ColID]plan.Expr

// value is x, or what the column x is.
func (r knownRow) value(x plan.Expr) plan.Expr {
	if ref, ok := x.(*plan.ColRef); ok && r[ref.Col] != nil {
		return r[ref.Col]
	}
	return x
}

// onlyRow returns the row of a query that has one, if conditions hold, and reads no relation.
func onlyRow(n plan.Node) (row knownRow, where []plan.Expr, ok bool) {
	switch n := n.(type) {
	case *plan.Values:
		if len(n.RowExprs) != 1 {
			return nil, nil, false
		}
		return knownRow{}.with(n.Cols, n.RowExprs[0], nil)
	case *plan.Project:
		if row, where, ok = onlyRow(n.Input); ok {
			return row.with(n.Cols, n.Exprs, where)
		}
	case *plan.Filter:
		if row, where, ok = onlyRow(n.Input); ok && !hasSubquery(n.Cond) && !plan.Volatile(n.Cond) {
			return row, append(where, plan.MapExpr(n.Cond, row.value)), true
		}
	}
	return nil, nil, false
}

// with adds columns to a row, unless one has to be computed once only.
func (r knownRow) with(cols []plan.Column, exprs []plan.Expr, where []plan.Expr) (knownRow, []plan.Expr, bool) {
	for i, e := range exprs {
		if hasSubquery(e) || plan.Volatile(e) {
			return nil, nil, false
		}
		r[cols[i].ID] = plan.MapExpr(e, r.value)
	}
	return r, where, true
}

// refersToColumns reports whether an expression reads a row.
func refersToColumns(e plan.Expr) (any bool) {
	plan.Refs(e, func(plan.ColID) { any = true })
	return any
}
