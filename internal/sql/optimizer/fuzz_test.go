package optimizer_test

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/planner/plantest"
)

// statements returns the statements in the test data of this package and the
// planner's.
func statements(tb testing.TB) []string {
	var out []string
	for _, pattern := range []string{"testdata/golden/*", "../planner/testdata/*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			tb.Fatal(err)
		}
		for _, p := range paths {
			if st, err := os.Stat(p); err != nil || st.IsDir() {
				continue
			}
			f, err := os.Open(p)
			if err != nil {
				tb.Fatal(err)
			}
			sc := bufio.NewScanner(f)
			for sc.Scan() {
				switch word, _, _ := strings.Cut(strings.ToLower(sc.Text()), " "); word {
				case "select", "with", "insert", "update", "delete", "values", "upsert", "copy", "explain":
					out = append(out, sc.Text())
				}
			}
			if err := f.Close(); err != nil {
				tb.Fatal(err)
			}
		}
	}
	return out
}

const fuzzDDL = benchDDL + `
CREATE TABLE t (id int primary key, a int, b text, c int not null, d numeric(10,2), CHECK (a > 0));
CREATE INDEX t_a ON t (a);
CREATE INDEX t_bc ON t (b, c DESC) INCLUDE (d);
CREATE TABLE u (id int primary key, tid int, v text unique, f float8, ts timestamptz, da date, vc varchar(5), bo bool, arr int[]);
CREATE TABLE w (x bigint, y smallint default 7, z char(3), g int, h uuid, j jsonb, iv interval, by bytea, primary key (x, y));
CREATE VIEW vt AS SELECT id, b AS bb FROM t WHERE a > 1;`

// FuzzPlan checks that no statement makes planning or optimizing panic, and
// that every plan is well-formed.
func FuzzPlan(f *testing.F) {
	for _, s := range statements(f) {
		f.Add(s)
	}
	cat := &plantest.Catalog{}
	if err := cat.Exec(fuzzDDL); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		st, err := parser.ParseOne(sql)
		if err != nil || st.AST == nil {
			return
		}
		p, err := planner.Plan(context.Background(), st.AST, &planner.Env{Catalog: cat})
		if err != nil {
			return
		}
		if err := plan.Verify(p.Root, nil); err != nil {
			t.Fatalf("canonical plan: %v", err)
		}
		if err := optimizer.Optimize(p, nil); err != nil {
			t.Fatal(err)
		}
		if err := plan.Verify(p.Root, nil); err != nil {
			t.Fatalf("optimized plan: %v", err)
		}
		plan.Format(p.Root, plan.ExplainOptions{Costs: true, Verbose: true})
	})
}
