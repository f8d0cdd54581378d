package optimizer

import (
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// volatileExpr reports whether e calls a volatile function, in subqueries too.
func volatileExpr(e plan.Expr) (found bool) {
	plan.WalkExpr(e, func(x plan.Expr) bool {
		switch x := x.(type) {
		case *plan.Call:
			found = found || x.Fn.Volatility == builtin.Volatile
		case *plan.Subquery:
			found = found || !pure(x.Plan)
		}
		return !found
	})
	return found
}
