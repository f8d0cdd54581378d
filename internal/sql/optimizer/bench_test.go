package optimizer_test

import (
	"context"
	"testing"

	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/planner/plantest"
)

const benchDDL = `CREATE TABLE usertable (ycsb_key text primary key, field0 text, field1 text, field2 text, field3 text,
	field4 text, field5 text, field6 text, field7 text, field8 text, field9 text);
CREATE TABLE pgbench_accounts (aid int primary key, bid int, abalance int, filler char(84));`

// BenchmarkPlan plans and optimizes parsed statements.
func BenchmarkPlan(b *testing.B) {
	for _, c := range []struct{ name, sql string }{
		{"PointSelect", "SELECT abalance FROM pgbench_accounts WHERE aid = $1"},
		{"PointSelectWide", "SELECT * FROM usertable WHERE ycsb_key = $1"},
		{"PointUpdate", "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2"},
		{"Insert", "INSERT INTO pgbench_accounts VALUES ($1, $2, $3, $4)"},
		{"Range", "SELECT * FROM usertable WHERE ycsb_key >= $1 ORDER BY ycsb_key LIMIT $2"},
	} {
		b.Run(c.name, func(b *testing.B) {
			cat := &plantest.Catalog{}
			if err := cat.Exec(benchDDL); err != nil {
				b.Fatal(err)
			}
			st, err := parser.ParseOne(c.sql)
			if err != nil {
				b.Fatal(err)
			}
			env := &planner.Env{Catalog: cat}
			b.ReportAllocs()
			for b.Loop() {
				p, err := planner.Plan(context.Background(), st.AST, env)
				if err != nil {
					b.Fatal(err)
				}
				if err := optimizer.Optimize(p, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
