package planner_test

import (
	"context"
	"testing"

	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/planner/plantest"
	"github.com/lichendb/lichen/internal/sql/types"
)

// TestPlanDefault checks what a DEFAULT may be.
func TestPlanDefault(t *testing.T) {
	env := &planner.Env{Catalog: &plantest.Catalog{}}
	for _, c := range []struct {
		sql  string
		typ  *types.T
		code pgerr.Code
	}{
		{"1 + 1", types.Int4, ""},
		{"'x'", types.Int4, pgerr.InvalidTextRepresentation},
		{"'2020-01-01'", types.Date, ""},
		{"now()", types.Timestamp, ""},
		{"true", types.Int4, pgerr.DatatypeMismatch},
		{"a + 1", types.Int4, pgerr.FeatureNotSupported},
		{"(SELECT 1)", types.Int4, pgerr.FeatureNotSupported},
		{"sum(1)", types.Int4, pgerr.GroupingError},
	} {
		e, err := parser.ParseExpr(c.sql)
		if err != nil {
			t.Fatal(err)
		}
		x, err := planner.PlanDefault(context.Background(), env, e, "c", c.typ)
		if got := pgerr.CodeOf(err); got != c.code {
			t.Errorf("%s: got %q (%v), want %q", c.sql, got, err, c.code)
		}
		if err == nil && x.Type().Family != c.typ.Family {
			t.Errorf("%s: type %s", c.sql, x.Type().Name)
		}
	}
}

// TestPlanRowExpr checks expressions over a table's row.
func TestPlanRowExpr(t *testing.T) {
	cat := &plantest.Catalog{}
	if err := cat.Exec("CREATE TABLE t (id int primary key, b text)"); err != nil {
		t.Fatal(err)
	}
	env := &planner.Env{Catalog: cat}
	tab, err := cat.ResolveTable(context.Background(), "", "", "t")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sql  string
		cond bool
		want string
		code pgerr.Code
	}{
		{"id > 3 AND b <> ''", true, "((id > 3) AND (b <> ''::text))", ""},
		{"id", true, "", pgerr.DatatypeMismatch},
		{"t.id + 1", false, "(id + 1)", ""},
		{"nope > 1", true, "", pgerr.UndefinedColumn},
		{"id IN (SELECT 1)", true, "", pgerr.FeatureNotSupported},
	} {
		e, err := parser.ParseExpr(c.sql)
		if err != nil {
			t.Fatal(err)
		}
		x, err := planner.PlanRowExpr(context.Background(), env, tab, []plan.ColID{7, 8}, e, c.cond)
		if got := pgerr.CodeOf(err); got != c.code {
			t.Errorf("%s: got %q (%v), want %q", c.sql, got, err, c.code)
			continue
		}
		if err == nil && plan.FormatExpr(x) != c.want {
			t.Errorf("%s: got %s", c.sql, plan.FormatExpr(x))
		}
	}
}
