package optimizer

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// constantError is what a statement fails with as its constants are computed, before any row is
// read. As in PostgreSQL these are the constants of all columns, conditions and subqueries that
// the result may need, whether or not rows will ask for them. n is folded, a copy, and changed.
func (o *optimizer) constantError(n plan.Node, out []plan.ColID) *pgerr.Error {
	scans := o.outputs
	defer func() { o.outputs = scans }()
	return o.errorOfQuery(n, out)
}

// errorOfQuery is the first error of the constants of a query of which the columns out are needed.
func (o *optimizer) errorOfQuery(n plan.Node, out []plan.ColID) *pgerr.Error {
	if err := o.errorOfFunctions(n, false); err != nil {
		return err
	}
	if err := o.errorOfUnions(n); err != nil {
		return err
	}
	if o.on(RulePrune) {
		n = o.prune(n, newSet(o.nextCol, out))
	}
	return o.errorBelow(n, false)
}

// errorOfFunctions is the first error of the arguments of functions in FROM, of a query and of those that
// are parts of it: these come before all else. listed says that n is below the select list.
func (o *optimizer) errorOfFunctions(n plan.Node, listed bool) (err *pgerr.Error) {
	switch n := n.(type) {
	case *plan.ProjectSet:
		if v, ok := n.Input.(*plan.Values); ok && len(v.Cols) == 0 {
			return o.errorOfExprs(n)
		}
	case *plan.Project:
		if listed && ownQuery(n) {
			return nil
		}
		listed = listed || !passesOn(n)
	case *plan.Limit, *plan.Sort, *plan.Distinct:
		if listed { // of a query in FROM, planned by itself
			return nil
		}
	case *plan.SetOp:
		if n.Kind != plan.Union || !n.All {
			return nil
		}
	case *plan.With: // whose queries come first
		if listed || len(n.CTEs) > 0 {
			return nil
		}
	}
	for _, c := range plan.Children(n) {
		if err == nil {
			err = o.errorOfFunctions(c, listed)
		}
	}
	return err
}

// passesOn reports whether a projection computes nothing.
func passesOn(n *plan.Project) bool {
	return !slices.ContainsFunc(n.Exprs, func(e plan.Expr) bool {
		_, ok := e.(*plan.ColRef)
		return !ok
	})
}

// errorOfUnions is the first error of the select lists of UNION ALL, all of whose columns are computed
// if they are constants.
func (o *optimizer) errorOfUnions(n plan.Node) (err *pgerr.Error) {
	plan.Walk(n, func(n plan.Node) bool {
		u, ok := n.(*plan.SetOp)
		if !ok || u.Kind != plan.Union || !u.All {
			return err == nil
		}
		for _, side := range plan.Children(u) {
			if p, ok := side.(*plan.Project); ok && !ownQuery(p) && err == nil {
				err = o.errorOfExprs(p)
			}
		}
		return err == nil
	})
	return err
}

// errorBelow is the first error of the constants of n, then of its inputs. excluded says that no
// row of n passes a condition: then a query of its own below, which is planned by itself, is not
// looked at.
func (o *optimizer) errorBelow(n plan.Node, excluded bool) (err *pgerr.Error) {
	if excluded && ownQuery(n) {
		return nil
	}
	withoutChecks(n)
	err = o.errorOfExprs(n)
	switch n := n.(type) {
	case *plan.Filter:
		excluded = excluded || !n.Having && nothingPasses(n.Cond)
	case *plan.Join:
		excluded = false
	}
	for _, c := range plan.Children(n) {
		if err == nil {
			err = o.errorBelow(c, excluded)
		}
	}
	return err
}

// errorOfExprs is the first error of the constants of n's own expressions.
func (o *optimizer) errorOfExprs(n plan.Node) (err *pgerr.Error) {
	plan.VisitExprs(n, func(e *plan.Expr) {
		if err == nil {
			err = o.errorOf(*e)
		}
	})
	return err
}

// errorOf is the first error of the constants of an expression, then of its subqueries.
func (o *optimizer) errorOf(e plan.Expr) *pgerr.Error {
	e, err := o.foldExpr(e)
	plan.WalkExpr(e, func(x plan.Expr) bool {
		s, ok := x.(*plan.Subquery)
		if err == nil && ok {
			err = o.errorOfQuery(s.Plan, plan.IDs(s.Plan.Props().Cols))
		}
		return err == nil
	})
	return err
}

// ownQuery reports whether n is a query in FROM that PostgreSQL plans by itself, rather than as a part of the one around it.
func ownQuery(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Project:
		return ownQuery(n.Input)
	case *plan.Filter: // HAVING
		return ownQuery(n.Input)
	case *plan.ProjectSet:
		return n.Alias == ""
	case *plan.GroupBy, *plan.Distinct, *plan.Sort, *plan.Limit, *plan.Window, *plan.SetOp, *plan.With:
		return true
	}
	return false
}

// withoutChecks drops the CHECK constraints and policies of what writes rows: they are computed for rows only.
func withoutChecks(n plan.Node) {
	switch n := n.(type) {
	case *plan.Insert:
		n.Checks = nil
		if n.OnConflict != nil {
			n.OnConflict.OldChecks, n.OnConflict.NewChecks = nil, nil
		}
	case *plan.Update:
		n.Checks = nil
	case *plan.Merge:
		n.Checks = nil
		for i := range n.Actions {
			n.Actions[i].OldChecks, n.Actions[i].NewChecks = nil, nil
		}
	}
}
