package planner_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/planner/plantest"
	"github.com/lichendb/lichen/internal/sql/types"
)

// TestGolden runs testdata: "ddl" creates objects; "describe" plans one
// statement per line and prints its parameters and columns or its error; "plan"
// prints the canonical plan of one statement. The results of describe were
// compared with those of PostgreSQL 15's Describe for the same statements.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		cat := &plantest.Catalog{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "ddl":
				if err := cat.Exec(d.Input); err != nil {
					return plantest.Describe(err) + "\n"
				}
				return ""
			case "describe":
				var out strings.Builder
				for _, sql := range strings.Split(d.Input, "\n") {
					out.WriteString(describe(t, cat, sql) + "\n")
				}
				return out.String()
			case "plan":
				p, err := prepare(cat, d.Input, nil)
				if err != nil {
					return plantest.Describe(err) + "\n"
				}
				return strings.Join(plan.Format(p.Root, plan.ExplainOptions{Internal: true}), "\n") + "\n"
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

func prepare(cat *plantest.Catalog, sql string, params []*types.T) (*plan.Prepared, error) {
	st, err := parser.ParseOne(sql)
	if err != nil {
		return nil, err
	}
	return planner.Plan(context.Background(), st.AST, &planner.Env{Catalog: cat, ParamTypes: params})
}

// describe prints what a client would learn from Parse and Describe.
func describe(t *testing.T, cat *plantest.Catalog, sql string) string {
	p, err := prepare(cat, sql, nil)
	if err != nil {
		return strings.ReplaceAll(plantest.Describe(err), "\n", " ")
	}
	if err := plan.Verify(p.Root, nil); err != nil {
		t.Errorf("%s: %v", sql, err)
	}
	var b strings.Builder
	b.WriteString("(")
	for i, pt := range p.ParamTypes {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(types.FormatType(pt))
	}
	b.WriteString(") ->")
	for i, c := range p.Columns {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, " %s %s", c.Name, types.FormatType(c.Type))
		if c.Attnum != 0 {
			fmt.Fprintf(&b, " #%d", c.Attnum)
		}
	}
	return b.String()
}

// TestParamHints checks that declared parameter types are used.
func TestParamHints(t *testing.T) {
	cat := &plantest.Catalog{}
	if err := cat.Exec("CREATE TABLE t (id int primary key, b text)"); err != nil {
		t.Fatal(err)
	}
	p, err := prepare(cat, "SELECT $1, id FROM t WHERE id = $2", []*types.T{types.Int8, nil})
	if err != nil {
		t.Fatal(err)
	}
	if !p.ParamTypes[0].Is(types.Int8) || !p.ParamTypes[1].Is(types.Int4) {
		t.Errorf("got %s, %s", p.ParamTypes[0].Name, p.ParamTypes[1].Name)
	}
	_, err = prepare(cat, "SELECT id FROM t WHERE b = $1", []*types.T{types.Int4})
	if pgerr.CodeOf(err) != pgerr.UndefinedFunction {
		t.Errorf("text = integer: %v", err)
	}
}

// TestDependencies checks that plans name the descriptors they came from.
func TestDependencies(t *testing.T) {
	cat := &plantest.Catalog{}
	ddl := "CREATE TABLE t (id int primary key); CREATE TABLE u (id int primary key); CREATE VIEW v AS SELECT id FROM t"
	if err := cat.Exec(ddl); err != nil {
		t.Fatal(err)
	}
	for sql, want := range map[string]string{
		"SELECT * FROM t":                                  "t",
		"SELECT * FROM v":                                  "v t",
		"SELECT (SELECT max(id) FROM u) FROM t":            "t u",
		"INSERT INTO u SELECT id FROM v":                   "u v t",
		"WITH x AS (SELECT * FROM u) SELECT 1 FROM t AS y": "u t",
	} {
		p, err := prepare(cat, sql, nil)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		var got []string
		for _, d := range p.Deps {
			var tab *catalog.Table
			if tab, err = cat.TableByID(context.Background(), d.ID); err != nil {
				t.Fatal(err)
			}
			got = append(got, tab.Name)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: depends on %s, want %s", sql, s, want)
		}
	}
}

// TestUncacheable checks that plans do not outlive what they folded.
func TestUncacheable(t *testing.T) {
	cat := &plantest.Catalog{}
	for sql, want := range map[string]bool{
		"SELECT 'now'::timestamptz":        true,
		"SELECT '2020-01-01'::timestamptz": false,
		"SELECT now()":                     false,
		"SELECT date 'tomorrow'":           true,
	} {
		p, err := prepare(cat, sql, nil)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if p.Uncacheable != want {
			t.Errorf("%s: uncacheable = %v", sql, p.Uncacheable)
		}
	}
}

// TestViewDepth checks that views cannot nest without bound.
func TestViewDepth(t *testing.T) {
	cat := &plantest.Catalog{}
	if err := cat.Exec("CREATE VIEW v0 AS SELECT 1 AS x"); err != nil {
		t.Fatal(err)
	}
	var err error
	for i := 1; i < 400 && err == nil; i++ {
		err = cat.Exec(fmt.Sprintf("CREATE VIEW v%d AS SELECT x FROM v%d", i, i-1))
	}
	if pgerr.CodeOf(err) != pgerr.StatementTooComplex {
		t.Fatalf("got %v", err)
	}
}
