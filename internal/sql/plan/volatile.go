package plan

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
)

// Volatile reports whether e calls a volatile function, in subqueries too.
func Volatile(e Expr) (found bool) {
	WalkExpr(e, func(x Expr) bool {
		switch x := x.(type) {
		case *Call:
			found = found || x.Fn.Volatility == call.Volatile
		case *Subquery:
			found = found || !Pure(x.Plan)
		}
		return !found
	})
	return found
}

// Pure reports whether a plan has no effects: no writes, locks or volatile calls.
func Pure(n Node) bool {
	pure := true
	Walk(n, func(n Node) bool {
		switch n.(type) {
		case *LockRows, *Insert, *Update, *Delete, *Merge:
			pure = false
		}
		VisitExprs(n, func(e *Expr) { pure = pure && !Volatile(*e) })
		return pure
	})
	return pure
}
