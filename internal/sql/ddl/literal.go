package ddl

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// fixLiterals makes the quoted constants of an expression mean in every session what they
// mean in this one, where DateStyle, TimeZone, IntervalStyle or the time of day decide. The
// other arguments are those of planner.Annotate. An expression with an error stays as it
// is: the check that follows reports it.
func (e *Env) fixLiterals(ctx context.Context, text string, t *catalog.Table, value, want *types.T) string {
	x, err := parser.ParseExpr(text)
	if err != nil {
		return text
	}
	env := e.plannerEnv(e.Coll)
	// A default keeps the digits that its column rounds away, but the fields of INTERVAL DAY
	// say what a bare number counts.
	env.AnyLength = want == nil || want.Family != types.IntervalFamily
	notes, _, err := planner.Annotate(ctx, env, x, t, value, want)
	if err != nil || !e.restateLiterals(notes) {
		return text
	}
	return ast.Format(x)
}

// restateLiterals writes the constants of a planned tree anew that are read under the
// session's settings: as they print under the default ones, which all settings read alike.
// It reports whether there are any.
func (e *Env) restateLiterals(notes *planner.Notes) bool {
	format, found := types.NewFormatContext(), false
	if e.Format != nil { // it finds the types of fields
		format.Names, format.TypeByOid = e.Format.Names, e.Format.TypeByOid
	}
	for lit, c := range notes.Literals {
		if c != nil && readUnderSettings(c.T) {
			lit.Val, found = types.FormatDatum(c.T, c.D, format), true
		}
	}
	return found
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
