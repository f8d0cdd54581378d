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

// Computes reports whether e is computed of its row, parameters and constants alone, by functions and operators that are built
// in and not volatile.
func Computes(e Expr) bool {
	ok := true
	WalkExpr(e, func(x Expr) bool {
		switch x := x.(type) {
		case *Const, *Param, *ColRef, *FieldSelect, *Cast, *And, *Or, *Not, *Is, *Case, *CaseOperand, *Coalesce, *SessionValue,
			*ArrayCtor, *RowCtor, *Subscript:
		case *Call:
			ok = ok && computes(x.Fn)
		case *IsDistinct:
			ok = ok && computes(x.Eq)
		case *NullIf:
			ok = ok && computes(x.Eq)
		case *MinMax:
			ok = ok && computes(x.Less)
		case *InList:
			ok = ok && computes(x.Eq)
		case *AnyAll:
			ok = ok && computes(x.Op)
		default:
			ok = false
		}
		return ok
	})
	return ok
}

func computes(fn *call.Overload) bool { return fn.Volatility != call.Volatile && fn.Routine == nil }

// unseen are volatile functions whose calls change nothing that functions which aren't volatile could see.
var unseen = map[string]bool{"nextval": true, "random": true, "gen_random_uuid": true, "clock_timestamp": true}

// Unseen reports whether a plan does nothing that functions which aren't volatile could see: it has no effects, but of calls in unseen.
func Unseen(n Node) bool {
	ok := true
	Walk(n, func(n Node) bool {
		switch n.(type) {
		case *Insert, *Update, *Delete, *Merge, *CTEScan: // of which the query may stand elsewhere
			ok = false
		}
		VisitExprs(n, func(e *Expr) {
			WalkExpr(*e, func(x Expr) bool {
				switch x := x.(type) {
				case *Call:
					ok = ok && (x.Fn.Volatility != call.Volatile || unseen[x.Fn.Name] && x.Fn.Routine == nil)
				case *Subquery:
					ok = ok && Unseen(x.Plan)
				}
				return ok
			})
		})
		return ok
	})
	return ok
}
