package optimizer

import (
	"cmp"
	"slices"

	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// The costs of expressions, in calls of operators: PostgreSQL's, since the order of conditions decides
// which of them fails for a row.
const (
	costOfElement  = 0.5    // to compare with an element of an array or list
	assumedList    = 10     // how many elements an array has that is no constant
	costOfSubquery = 100000 // to run a query for a row
)

// cheapestFirst orders conditions as they are best computed: each is computed only for the rows that
// pass those before it. Conditions of equal cost stay in their order.
func cheapestFirst(conds []plan.Expr) []plan.Expr {
	if len(conds) < 2 {
		return conds
	}
	type costed struct {
		cond plan.Expr
		cost float64
	}
	list := make([]costed, len(conds))
	for i, c := range conds {
		list[i] = costed{c, costOfExpr(c)}
	}
	slices.SortStableFunc(list, func(a, b costed) int { return cmp.Compare(a.cost, b.cost) })
	for i := range list {
		conds[i] = list[i].cond
	}
	return conds
}

// costOfExpr is the cost of computing an expression for a row.
func costOfExpr(e plan.Expr) float64 {
	cost := costOfNode(e)
	plan.Args(e, func(a *plan.Expr) { cost += costOfExpr(*a) })
	return cost
}

// costOfNode is the cost of an expression without that of its operands.
func costOfNode(e plan.Expr) float64 {
	switch e := e.(type) {
	case *plan.Call, *plan.MinMax, *plan.NullIf, *plan.IsDistinct, *plan.SessionValue:
		return 1
	case *plan.Cast:
		return costOfCast(e)
	case *plan.InList:
		return costOfElement * float64(len(e.List))
	case *plan.AnyAll:
		return costOfElement * elementsOf(e.Array)
	case *plan.RowCompare:
		return float64(len(e.Eq))
	case *plan.Subquery:
		return costOfQuery(e)
	}
	return 0
}

func costOfCast(e *plan.Cast) float64 {
	cast, ok := casts.Find(e.Arg.Type(), e.T)
	switch {
	case !ok || cast.Method == 'f':
		return 1
	case cast.Method == 'i':
		return 2 // an output and an input function
	}
	return 0
}

// elementsOf is how many elements an array is taken to have.
func elementsOf(e plan.Expr) float64 {
	switch e := e.(type) {
	case *plan.ArrayCtor:
		return float64(len(e.Elems))
	case *plan.Const:
		if e.D.IsNull() {
			return 0
		}
		if e.T.Family == types.ArrayFamily {
			return float64(len(e.D.Array().Elems))
		}
	}
	return assumedList
}

// costOfQuery is what a subquery costs for each row: nothing if it is run once for all of them.
func costOfQuery(e *plan.Subquery) float64 {
	switch {
	case len(e.Outer) == 0 && e.Kind != plan.AnySubquery && e.Kind != plan.AllSubquery:
		return 0
	case len(e.Outer) == 0 && e.OpName == "=": // a hash table of its rows
		return float64(len(e.Ops))
	}
	return costOfSubquery
}
