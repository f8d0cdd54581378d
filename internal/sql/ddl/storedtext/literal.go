package storedtext

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// FixLiterals makes the quoted constants of an expression mean in every session what they
// mean in this one, where DateStyle, TimeZone, IntervalStyle or the time of day decide. The
// other arguments are those of planner.Annotate. An expression with an error stays as it
// is: the check that follows reports it.
func FixLiterals(ctx context.Context, e *statement.Env, text string, t *catalog.Table, value, want *types.T) string {
	x, err := parser.ParseExpr(text)
	if err != nil {
		return text
	}
	env := PlannerEnv(e, e.Coll)
	// A default keeps the digits that its column rounds away, but the fields of INTERVAL DAY
	// say what a bare number counts.
	env.AnyLength = want == nil || want.Family != types.IntervalFamily
	notes, _, err := planner.Annotate(ctx, env, x, t, value, want)
	if err != nil {
		return text
	}
	if fixed := FixOperators(notes); !RestateLiterals(e, notes) && !fixed {
		return text
	}
	if _, alone := x.(*ast.StrLit); alone && want.Is(types.Regclass) {
		return ast.Format(x) + "::regclass" // as SequenceRef has it
	}
	return ast.Format(x)
}

// FixOperators gives the operators that users have made their schemas, and reports whether there are any.
func FixOperators(notes *planner.Notes) bool {
	for x, of := range notes.Operators {
		if op, _ := planner.OperatorOf(x); op != nil {
			op.Schema = of.Schema
		}
	}
	return len(notes.Operators) > 0
}

// RestateLiterals writes the constants of a planned tree anew that are read under the
// session's settings: as they print under the default ones, which all settings read alike,
// and the names of objects as their oids, which stay when they are renamed and search_path
// changes. It reports whether there are any.
func RestateLiterals(e *statement.Env, notes *planner.Notes) bool {
	found := false
	for lit, c := range notes.Literals {
		if c != nil && (readUnderSettings(c.T) || NamesObject(c)) {
			lit.Val, found = Neutral(e, c.T, c.D), true
		}
	}
	return found
}

// Neutral prints a value as all sessions read it.
func Neutral(e *statement.Env, t *types.T, d types.Datum) string {
	return typeio.FormatDatum(t, d, NeutralFormat(e))
}

// NeutralFormat prints values as all sessions read them.
func NeutralFormat(e *statement.Env) *types.FormatContext {
	format := types.NewFormatContext()
	if e.Format != nil { // it finds the types of fields
		format.TypeByOid = e.Format.TypeByOid
	}
	return format
}

// NamesObject reports whether a constant is the name of an object that can be renamed: those
// of the system cannot.
func NamesObject(c *plan.Const) bool {
	if c.D.IsNull() {
		return false
	}
	switch c.T.Oid {
	case types.Regclass.Oid, types.Regtype.Oid, types.Regnamespace.Oid, types.Regcollation.Oid:
		return c.D.Int() >= catalog.FirstUserOid
	}
	if c.T.Family != types.ArrayFamily {
		return false
	}
	for _, d := range c.D.ArrayElems() {
		if NamesObject(&plan.Const{T: c.T.Elem, D: d}) {
			return true
		}
	}
	return false
}

// readUnderSettings reports whether settings decide what a text means as a value of type t.
func readUnderSettings(t *types.T) bool {
	switch t.Family {
	case types.DateFamily, types.TimeFamily, types.TimeTZFamily, types.TimestampFamily, types.TimestampTZFamily, types.IntervalFamily:
		return true
	case types.ArrayFamily:
		return readUnderSettings(t.Elem)
	case types.RangeFamily, types.MultirangeFamily:
		return readUnderSettings(t.Sub)
	case types.RecordFamily:
		for _, f := range t.Fields() {
			if readUnderSettings(f.Type) {
				return true
			}
		}
	}
	return false
}
