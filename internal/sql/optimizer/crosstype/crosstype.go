// Package crosstype rewrites comparisons across date and time types.
//
// A comparison of a column with a value of another date or time type, such as
// date_column < date '2026-01-01' + interval '1 month', turns the lesser type of the two into the greater,
// row by row. The same comparison within the column's type can be answered by indexes, statistics and kernels.
//
// Above it: optimizer. Below it: plan, builtin.
//
// Invariants:
//
//  1. Within is exact: for each row it gives what the comparison given does (TestComparable of datefuncs,
//     optimizer/crosstype.slt in sql).
//  2. Bound is implied: whatever compares as said is within the bound (the same tests).
package crosstype

import (
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/datefuncs"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Rewriter rewrites comparisons. Fold computes a call of constants.
type Rewriter struct {
	Fold func(*plan.Call) plan.Expr
}

// Within returns the comparison c of something that depends on the row with a value that does not, as one
// within the type of the former, if c compares different date and time types and there is an exact form.
func (r Rewriter) Within(c *plan.Call) plan.Expr {
	op, ok := plan.Mirrored[c.Fn.Name]
	if !ok || !c.Fn.Operator || len(c.Args) != 2 || !crossesTimes(c.Fn) {
		return c
	}
	row, value := c.Args[0], c.Args[1]
	switch {
	case independentOfRows(value) && !independentOfRows(row):
		op = c.Fn.Name
	case independentOfRows(row) && !independentOfRows(value):
		row, value = value, row
	default:
		return c
	}
	if row.Type().Family == types.DateFamily {
		return r.compareDate(c, row, op, value)
	}
	if v := r.raised(value, row.Type()); v != nil {
		return compareWithin(row, op, v)
	}
	return c
}

// crossesTimes reports whether fn has operands of two different types of dates and timestamps.
func crossesTimes(fn *call.Overload) bool {
	return fn.Args[0].Family != fn.Args[1].Family && isTime(fn.Args[0]) && isTime(fn.Args[1])
}

func isTime(t *types.T) bool {
	return t.Family == types.DateFamily || t.Family == types.TimestampFamily || t.Family == types.TimestampTZFamily
}

// independentOfRows reports whether e has one value for all rows.
func independentOfRows(e plan.Expr) bool {
	fixed := !plan.Volatile(e)
	plan.Refs(e, func(plan.ColID) { fixed = false })
	plan.WalkExpr(e, func(e plan.Expr) bool {
		_, subquery := e.(*plan.Subquery)
		fixed = fixed && !subquery
		return fixed
	})
	return fixed
}

// raised is the value as one of the greater type t, nil if t is not greater.
func (r Rewriter) raised(value plan.Expr, t *types.T) plan.Expr {
	switch from := value.Type().Family; {
	case t.Family == types.TimestampFamily && from == types.DateFamily:
		return r.called(datefuncs.AsTimestamp, value)
	case t.Family == types.TimestampTZFamily && from != types.TimestampTZFamily:
		return r.called(datefuncs.AsTimestampTZ, value)
	}
	return nil
}

// compareDate is the comparison c of dates with a timestamp or timestamptz as one with the last date that begins before it.
func (r Rewriter) compareDate(c *plan.Call, row plan.Expr, op string, value plan.Expr) plan.Expr {
	last := func(inclusive bool) plan.Expr {
		return r.called(datefuncs.LastDate, value, plan.NewConst(types.Bool, types.NewBool(inclusive)))
	}
	if _, ok := value.(*plan.Const); ok && value.Type().Family == types.TimestampFamily {
		if d := last(true); r.beginsAt(d, value) {
			return compareWithin(row, op, d)
		}
	}
	switch op {
	case "<":
		return compareWithin(row, "<=", last(false))
	case "<=":
		return compareWithin(row, "<=", last(true))
	case ">":
		return compareWithin(row, ">", last(true))
	case ">=":
		return compareWithin(row, ">", last(false))
	}
	return c
}

// beginsAt reports whether the date d, a constant, begins at the timestamp ts, another one.
func (r Rewriter) beginsAt(d, ts plan.Expr) bool {
	equal, ok := r.Fold(&plan.Call{
		Fn: comparison("=", d.Type(), ts.Type()), Args: []plan.Expr{d, ts}, T: types.Bool,
	}).(*plan.Const)
	return ok && equal.D.IsTrue()
}

// called is a call of a function of datefuncs, or its value.
func (r Rewriter) called(name string, args ...plan.Expr) plan.Expr {
	for _, fn := range builtin.Functions(name) {
		if fn.Args[0].Family == args[0].Type().Family {
			return r.Fold(&plan.Call{Fn: fn, Args: args, T: fn.Ret})
		}
	}
	return nil
}

// comparison is the operator for operands of the types left and right.
func comparison(op string, left, right *types.T) *call.Overload {
	for _, fn := range builtin.Operators(op, false) {
		if len(fn.Args) == 2 && fn.Args[0].Family == left.Family && fn.Args[1].Family == right.Family {
			return fn
		}
	}
	return nil
}

// compareWithin compares a row's value with one of the same type.
func compareWithin(row plan.Expr, op string, value plan.Expr) plan.Expr {
	fn := comparison(op, value.Type(), value.Type())
	return &plan.Call{Fn: fn, Args: []plan.Expr{row, value}, T: types.Bool}
}

// Bound returns a timestamp that is not less than any that compares less than or equal to the timestamptz value, or if
// not upper, not greater than any that compares greater or equal. No exact form exists: where clocks are set back or forth,
// the order of timestamps is not that of the instants that a zone makes of them.
func (r Rewriter) Bound(value plan.Expr, upper bool) plan.Expr {
	return r.called(datefuncs.TimestampBound, value, plan.NewConst(types.Bool, types.NewBool(upper)))
}
