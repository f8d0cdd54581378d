package optimizer

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Costs, in units of reading a page in sequence as PostgreSQL's are.
const (
	costSeek     = 0.25   // positioning an iterator
	costRow      = 0.012  // reading a row in order and decoding it
	costIndexRow = 0.008  // reading an index entry
	costFetch    = 0.3    // reading a row by primary key
	costOperator = 0.0025 // evaluating an operator
	costTuple    = 0.01   // passing a row on
	costHash     = 0.015  // adding a row to a hash table
	costCompare  = 0.005  // a comparison while sorting
)

// selectivity estimates the fraction of rows for which cond is true.
func selectivity(cond plan.Expr, st *TableStats, scan *plan.Scan) float64 {
	switch c := cond.(type) {
	case nil:
		return 1
	case *plan.Const:
		if c.D.IsTrue() {
			return 1
		}
		return 0
	case *plan.And:
		s := 1.0
		for _, a := range c.Args {
			s *= selectivity(a, st, scan)
		}
		return s
	case *plan.Or:
		s := 0.0
		for _, a := range c.Args {
			x := selectivity(a, st, scan)
			s += x - s*x
		}
		return s
	case *plan.Not:
		return 1 - selectivity(c.Arg, st, scan)
	case *plan.Is:
		if c.Kind == plan.IsNull {
			return nullSel
		}
		if c.Kind == plan.IsNotNull {
			return 1 - nullSel
		}
		return otherSel
	case *plan.InList:
		s := min(1, equalSel(c.Left, st, scan)*float64(len(c.List)))
		if c.Not {
			return 1 - s
		}
		return s
	case *plan.AnyAll:
		return min(1, equalSel(c.Left, st, scan)*arrayLen)
	case *plan.Call:
		return callSel(c, st, scan)
	}
	return otherSel
}

// equalSel estimates how many rows have one value of e.
func equalSel(e plan.Expr, st *TableStats, scan *plan.Scan) float64 {
	if scan != nil {
		if ord := column(scan, e); ord >= 0 {
			return 1 / st.distinct(scan.Table, ord)
		}
	}
	return eqSel
}

func callSel(c *plan.Call, st *TableStats, scan *plan.Scan) float64 {
	if !c.Fn.Operator || len(c.Args) != 2 {
		return rangeSel
	}
	switch c.Fn.Name {
	case "=":
		if s := equalSel(c.Args[0], st, scan); s != eqSel {
			return s
		}
		return equalSel(c.Args[1], st, scan)
	case "<>":
		return 1 - eqSel
	case "~~", "~~*", "~", "~*":
		return matchSel
	case "!~~", "!~~*", "!~", "!~*":
		return 1 - matchSel
	}
	return rangeSel
}

// operators counts the operators in a condition, for its cost.
func operators(e plan.Expr) float64 {
	n := 0.0
	plan.WalkExpr(e, func(x plan.Expr) bool {
		switch s := x.(type) {
		case *plan.ColRef, *plan.Const, *plan.Param:
		case *plan.Subquery:
			n += max(1, s.Plan.Props().Total/costOperator)
		default:
			n++
		}
		return true
	})
	return n * costOperator
}

// sortCost estimates sorting rows of which keep are wanted.
func sortCost(rows, keep float64) float64 {
	if rows < 2 {
		return costCompare
	}
	n := rows
	if keep > 0 && keep < rows {
		n = max(keep, 2)
	}
	return rows * math.Log2(max(n, 2)) * costCompare
}

// countOf returns a constant row count, ok=false where it is not known.
func countOf(e plan.Expr) (float64, bool) {
	if e == nil {
		return 0, true
	}
	c, ok := e.(*plan.Const)
	if !ok || c.D.IsNull() || c.D.Family() != types.IntFamily {
		return 0, false
	}
	return max(float64(c.D.Int()), 0), true
}

// limited estimates how many rows a bound leaves of rows.
func limited(b plan.RowBound, rows float64) float64 {
	if b.Count == nil {
		return rows
	}
	n, ok := countOf(b.Count)
	if !ok {
		return max(1, rows*defaultLimit)
	}
	skip, ok := countOf(b.Offset)
	if !ok {
		skip = rows * defaultLimit
	}
	return min(n+skip, rows)
}

// groups estimates the number of groups among rows by a number of keys.
func groups(rows float64, keys int) float64 {
	if keys == 0 {
		return 1
	}
	return max(1, min(rows, math.Pow(DefaultDistinct, float64(keys)), rows*0.5+1))
}
