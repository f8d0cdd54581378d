package optimizer

import (
	"math"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Costs, in units of reading a page in sequence as PostgreSQL's are.
const (
	costSeek     = 0.25   // positioning an iterator
	costRow      = 0.012  // reading a row in order and decoding it
	costIndexRow = 0.008  // reading an index entry
	costFetch    = 0.3    // reading a row by primary key
	costSorted   = 0.12   // the same, of many in the order of their keys
	sortedFrom   = 1024   // rows from which on that is so
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
		return allSel(c.Args, st, scan)
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
			return nullsSel(c.Arg, st, scan)
		}
		if c.Kind == plan.IsNotNull {
			return 1 - nullsSel(c.Arg, st, scan)
		}
		return otherSel
	case *plan.InList:
		s := listSel(c, st, scan)
		if c.Not {
			return 1 - s
		}
		return s
	case *plan.AnyAll:
		return elementSel(c, st, scan)
	case *plan.Call:
		return callSel(c, st, scan)
	}
	return otherSel
}

// nullsSel estimates the share of rows for which e is NULL.
func nullsSel(e plan.Expr, st *TableStats, scan *plan.Scan) float64 {
	if scan != nil {
		if ord := column(scan, e); ord >= 0 {
			if c := st.column(scan.Table, ord); c != nil {
				return max(c.Nulls, leastSel)
			}
		}
	}
	return nullSel
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

// elementSel estimates the share of rows for which an operator is true of some elements of
// an array, or of all.
func elementSel(c *plan.AnyAll, st *TableStats, scan *plan.Scan) float64 {
	if c.All && c.Op.Name == "<>" {
		some := *c
		some.All = false
		return 1 - elementSel(&some, st, scan)
	}
	if c.All {
		return otherSel
	}
	if scan != nil {
		if ord := column(scan, c.Left); ord >= 0 {
			return st.anyElement(scan.Table, ord, c.Array)
		}
	}
	n := float64(arrayLen)
	if st != nil && st.values != nil {
		n = st.values.elements(c.Array)
	}
	return min(1, equalSel(c.Left, st, scan)*n)
}

// listSel estimates the share of rows that have one of the values of a list.
func listSel(c *plan.InList, st *TableStats, scan *plan.Scan) float64 {
	if scan != nil {
		if ord := column(scan, c.Left); ord >= 0 {
			return st.anyOf(scan.Table, ord, c.List)
		}
	}
	return min(1, eqSel*float64(len(c.List)))
}

// allSel estimates the share of rows that meet all conditions: as if they had nothing
// to do with one another, but for the two bounds of a range, and what extended statistics tell.
func allSel(conds []plan.Expr, st *TableStats, scan *plan.Scan) float64 {
	type span struct {
		ord    int
		lo, hi *plan.Bound
	}
	var spans []span
	sel, conds := st.together(conds, scan)
	for _, c := range conds {
		ord, lo, hi := boundOf(c, scan)
		if ord < 0 {
			sel *= selectivity(c, st, scan)
			continue
		}
		i := slices.IndexFunc(spans, func(s span) bool { return s.ord == ord })
		if i < 0 {
			i, spans = len(spans), append(spans, span{ord: ord})
		}
		if lo != nil {
			spans[i].lo = lo
		} else {
			spans[i].hi = hi
		}
	}
	for _, s := range spans {
		sel *= st.between(scan.Table, s.ord, s.lo, s.hi)
	}
	return sel
}

// boundOf returns the column of scan that c bounds on one side, -1 if it does no such thing.
func boundOf(c plan.Expr, scan *plan.Scan) (ord int, lo, hi *plan.Bound) {
	call, ok := c.(*plan.Call)
	if !ok || scan == nil {
		return -1, nil, nil
	}
	ord, op, value := columnSide(scan, call)
	if ord < 0 {
		return -1, nil, nil
	}
	b := &plan.Bound{Values: []plan.Expr{value}, Inclusive: len(op) == 2}
	switch op {
	case "<", "<=":
		return ord, nil, b
	case ">", ">=":
		return ord, b, nil
	}
	return -1, nil, nil
}

func callSel(c *plan.Call, st *TableStats, scan *plan.Scan) float64 {
	if c.Fn.Name == builtin.SampleName {
		return sampleSel(c)
	}
	if !c.Fn.Operator || len(c.Args) != 2 {
		return rangeSel
	}
	if ord, lo, hi := boundOf(c, scan); ord >= 0 {
		return st.between(scan.Table, ord, lo, hi)
	}
	switch c.Fn.Name {
	case "=":
		return comparedSel(c, st, scan)
	case "<>":
		return 1 - comparedSel(c, st, scan)
	case "~~", "~~*":
		return likeSel(c, st, scan)
	}
	if s, ok := sampledSel(c, st, scan); ok {
		return s
	}
	switch c.Fn.Name {
	case "~", "~*":
		return matchSel
	case "!~~", "!~~*", "!~", "!~*":
		return 1 - matchSel
	}
	return rangeSel
}

// sampleSel is the share of rows that TABLESAMPLE asks for.
func sampleSel(c *plan.Call) float64 {
	percent, ok := constOf(c.Args[0])
	if !ok || percent.IsNull() {
		return rangeSel
	}
	return min(max(percent.Float()/100, 0), 1)
}

// likeSel estimates the share of rows that match a pattern. Tools ask for everything with
// the pattern %, which all values match but NULL.
func likeSel(c *plan.Call, st *TableStats, scan *plan.Scan) float64 {
	d, ok := constOf(c.Args[1])
	if ok && d.Family() == types.StringFamily && d.Str() != "" && strings.Trim(d.Str(), "%") == "" {
		return 1 - nullsSel(c.Args[0], st, scan)
	}
	if s, ok := sampledSel(c, st, scan); ok {
		return s
	}
	return matchSel
}

// leastSampled is how many values of a column must be known to go by them.
const leastSampled = 10

// sampledSel estimates the share of rows for which an operator is true by what it is for
// the values of the only column in it that are known; ok says whether there are enough.
func sampledSel(c *plan.Call, st *TableStats, scan *plan.Scan) (sel float64, ok bool) {
	if scan == nil || st == nil || st.values == nil {
		return 0, false
	}
	col := onlyColumn(c)
	at := plan.FindCol(scan.Cols, col)
	if at < 0 {
		return 0, false
	}
	known := st.column(scan.Table, scan.Ords[at])
	if known == nil {
		return 0, false
	}
	of := scan.Table.Columns[scan.Ords[at]].Type
	common := 0.0
	for _, v := range known.Common {
		met, ok := st.values.meets(c, col, v.Value)
		if !ok {
			return 0, false
		}
		common += v.Share
		if met {
			sel += v.Share
		}
	}
	rest := max(1-common-known.Nulls, 0)
	n, met := 0, 0
	for _, v := range known.Bounds {
		if slices.ContainsFunc(known.Common, func(c catalog.CommonValue) bool { return types.CompareTyped(of, c.Value, v, nil) == 0 }) {
			continue
		}
		is, ok := st.values.meets(c, col, v)
		if !ok {
			return 0, false
		}
		n++
		if is {
			met++
		}
	}
	if rest < leastRest {
		return min(max(sel, leastSel), 1), true
	}
	if n < leastSampled {
		return 0, false
	}
	least := 0.5 / float64(n) // none or all of some are not none or all of many
	return sel + rest*min(max(float64(met)/float64(n), least), 1-least), true
}

// leastRest is the share of the rows without common values that is worth to be estimated.
const leastRest = 0.01

// onlyColumn returns the only column in an operator's arguments that its value can be
// computed by for some of the column's values while a plan is made, 0 if it is not so: a
// function may take long but for values of fixed size.
func onlyColumn(c *plan.Call) plan.ColID {
	only, fits := plan.ColID(0), true
	plan.WalkExpr(c, func(e plan.Expr) bool {
		switch e := e.(type) {
		case *plan.ColRef:
			fits = fits && (only == 0 || only == e.Col)
			only = e.Col
		case *plan.Const, *plan.Param:
		case *plan.Cast:
		case *plan.Call:
			fits = fits && (e.Fn.Operator || fixedSize(e))
		default:
			fits = false
		}
		return fits
	})
	if !fits {
		return 0
	}
	return only
}

// fixedSize reports whether a call is one of values of fixed size that returns another.
func fixedSize(c *plan.Call) bool {
	for _, a := range c.Args {
		if _, ok := a.(*plan.Const); !ok && !ofFixedSize(a.Type()) {
			return false
		}
	}
	return ofFixedSize(c.T)
}

func ofFixedSize(t *types.T) bool {
	switch t.Family {
	case types.BoolFamily, types.IntFamily, types.FloatFamily, types.DecimalFamily, types.DateFamily, types.TimeFamily,
		types.TimestampFamily, types.TimestampTZFamily, types.IntervalFamily:
		return true
	}
	return false
}

// comparedSel estimates the share of rows for which two values are equal.
func comparedSel(c *plan.Call, st *TableStats, scan *plan.Scan) float64 {
	if scan == nil {
		return eqSel
	}
	if ord := column(scan, c.Args[0]); ord >= 0 {
		return st.equal(scan.Table, ord, c.Args[1])
	}
	if ord := column(scan, c.Args[1]); ord >= 0 {
		return st.equal(scan.Table, ord, c.Args[0])
	}
	if s, ok := sampledSel(c, st, scan); ok {
		return s
	}
	return eqSel
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

// countOf returns a number of rows, ok=false where it is not known.
func (o *optimizer) countOf(e plan.Expr) (float64, bool) {
	if e == nil {
		return 0, true
	}
	d, ok := o.values.of(e)
	if !ok || d.IsNull() || d.Family() != types.IntFamily {
		return 0, false
	}
	return max(float64(d.Int()), 0), true
}

// limited estimates how many rows a bound leaves of rows.
func (o *optimizer) limited(b plan.RowBound, rows float64) float64 {
	if b.Count == nil {
		return rows
	}
	n, ok := o.countOf(b.Count)
	if !ok {
		return max(1, rows*defaultLimit)
	}
	skip, ok := o.countOf(b.Offset)
	if !ok {
		skip = rows * defaultLimit
	}
	return min(n+skip, rows)
}
