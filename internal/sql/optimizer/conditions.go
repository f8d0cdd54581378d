package optimizer

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// eachCondition calls f for the conditions of n that pass only if they are true: NULL does what false does.
func eachCondition(n plan.Node, f func(*plan.Expr)) {
	switch n := n.(type) {
	case *plan.Filter:
		f(&n.Cond)
	case *plan.Join:
		if n.On != nil {
			f(&n.On)
		}
	case *plan.Insert:
		eachViewCheck(n.Checks, f)
		if n.OnConflict != nil && n.OnConflict.Where != nil {
			f(&n.OnConflict.Where)
		}
	case *plan.Update:
		eachViewCheck(n.Checks, f)
	case *plan.Merge:
		eachViewCheck(n.Checks, f)
		for i := range n.Actions {
			if n.Actions[i].Cond != nil {
				f(&n.Actions[i].Cond)
			}
		}
	}
}

// withoutSelf makes x IS NOT NULL of x = x among the conditions that rows pass, as PostgreSQL does: records
// are not compared then, of which a field may have no equality.
func withoutSelf(conds []plan.Expr) []plan.Expr {
	for i, c := range conds {
		x, ok := c.(*plan.Call)
		if !ok || !x.Fn.Operator || x.Fn.Name != "=" || len(x.Args) != 2 || plan.Volatile(x) || !plan.ExprEqual(x.Args[0], x.Args[1]) || !types.HasOrder(x.Args[0].Type()) {
			continue
		}
		is := &plan.Is{Arg: x.Args[0], Kind: plan.IsNotNull}
		if is.OfFields() {
			is.Kind = plan.IsNotUnknown
		}
		conds[i] = is
	}
	return conds
}

// eachViewCheck calls f for the conditions of WITH CHECK OPTION and of policies; those of constraints pass if they are NULL.
func eachViewCheck(checks []plan.CheckExpr, f func(*plan.Expr)) {
	for i := range checks {
		if checks[i].View != "" || checks[i].Policy != nil {
			f(&checks[i].Cond)
		}
	}
}

// nullAsFalse simplifies such a condition: an AND with an operand that is never true is false, and an OR goes
// without that operand.
func nullAsFalse(e plan.Expr) plan.Expr {
	switch x := e.(type) {
	case *plan.And:
		args := eachNullAsFalse(x.Args)
		if slices.ContainsFunc(args, neverTrue) {
			return plan.NewConst(types.Bool, types.NewBool(false))
		}
		return foldLogic(args, true)
	case *plan.Or:
		return foldLogic(slices.DeleteFunc(eachNullAsFalse(x.Args), neverTrue), false)
	}
	return e
}

func eachNullAsFalse(args []plan.Expr) []plan.Expr {
	out := make([]plan.Expr, len(args))
	for i, a := range args {
		out[i] = nullAsFalse(a)
	}
	return out
}
