package optimizer_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/planner/plantest"
)

// fixedStats are row counts by table name.
type fixedStats map[string]float64

func (s fixedStats) Stats(t *catalog.Table) *optimizer.TableStats {
	rows, ok := s[t.Name]
	if !ok {
		return nil
	}
	return &optimizer.TableStats{Rows: rows}
}

// TestGolden runs testdata: "ddl" creates objects, "rows" sets row counts, and
// "plan" prints the optimized plan, with the rules in off=(...) disabled. Every
// plan, canonical, optimized or with any one rule off, must satisfy
// plan.Verify.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		cat := &plantest.Catalog{}
		stats := fixedStats{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "ddl":
				if err := cat.Exec(d.Input); err != nil {
					return plantest.Describe(err) + "\n"
				}
				return ""
			case "rows":
				for _, a := range d.CmdArgs {
					n, err := strconv.ParseFloat(a.Vals[0], 64)
					if err != nil {
						t.Fatal(err)
					}
					stats[a.Key] = n
				}
				return ""
			case "plan":
				opts := &optimizer.Options{Stats: stats, Disabled: map[string]bool{}}
				explain := plan.ExplainOptions{}
				for _, a := range d.CmdArgs {
					switch a.Key {
					case "off":
						for _, v := range a.Vals {
							opts.Disabled[v] = true
						}
					case "costs":
						explain.Costs = true
					case "internal":
						explain.Internal = true
					}
				}
				for _, rule := range optimizer.Rules() {
					run(t, cat, d.Input, &optimizer.Options{Stats: stats, Disabled: map[string]bool{rule: true}}, explain)
				}
				return run(t, cat, d.Input, opts, explain)
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

func run(t *testing.T, cat *plantest.Catalog, sql string, opts *optimizer.Options, explain plan.ExplainOptions) string {
	st, err := parser.ParseOne(sql)
	if err != nil {
		return plantest.Describe(err) + "\n"
	}
	p, err := planner.Plan(context.Background(), st.AST, &planner.Env{Catalog: cat})
	if err != nil {
		return plantest.Describe(err) + "\n"
	}
	if err := plan.Verify(p.Root, nil); err != nil {
		t.Errorf("%s\ncanonical plan: %v\n%s", sql, err, strings.Join(plan.Format(p.Root, plan.ExplainOptions{Internal: true}), "\n"))
	}
	if err := optimizer.Optimize(p, opts); err != nil {
		t.Fatal(err)
	}
	if err := plan.Verify(p.Root, nil); err != nil {
		t.Errorf("%s\noptimized plan: %v\n%s", sql, err, strings.Join(plan.Format(p.Root, plan.ExplainOptions{Internal: true}), "\n"))
	}
	for _, c := range p.Columns {
		if plan.FindCol(p.Root.Props().Cols, c.ID) < 0 {
			t.Errorf("%s\ncolumn %s is not produced", sql, c.Name)
		}
	}
	return strings.Join(plan.Format(p.Root, explain), "\n") + "\n"
}
