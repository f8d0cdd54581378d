package planner

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// Immutable reports whether a value depends on nothing but the columns in it: what is stored for it, or
// kept in the order of it, stays right.
func Immutable(e plan.Expr) bool {
	ok := true
	plan.WalkExpr(e, func(x plan.Expr) bool {
		switch x := x.(type) {
		case *plan.Call:
			ok = ok && (x.Fn.Volatility == call.Immutable || joinsImmutably(x))
		case *plan.Cast:
			ok = ok && casts.Immutable(x.Arg.Type(), x.T)
		case *plan.SessionValue:
			ok = false
		case *plan.Case:
			if x.OperandElse { // the value of a domain: what its constraints call does not count
				ok = ok && Immutable(x.Operand)
				return false
			}
		}
		return ok
	})
	return ok
}

// joinsImmutably reports whether a call is text || value of a value whose text is the same
// under all settings: || is stable, for the sake of dates for example.
func joinsImmutably(c *plan.Call) bool {
	if !c.Fn.Operator || c.Fn.Name != "||" || !c.T.Is(types.Text) {
		return false
	}
	return !slices.ContainsFunc(c.Args, func(x plan.Expr) bool {
		switch t := x.Type(); t.Family {
		case types.IntFamily:
			return !t.Is(types.Int2) && !t.Is(types.Int4) && !t.Is(types.Int8) // regclass
		case types.StringFamily, types.BoolFamily, types.DecimalFamily, types.FloatFamily, types.UUIDFamily, types.TimeFamily:
			return false
		}
		return true
	})
}
