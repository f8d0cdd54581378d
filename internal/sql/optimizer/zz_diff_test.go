package optimizer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/planner/plantest"
)

const diffDDL = `CREATE TABLE t (id int primary key, a int, b text, c int not null, d numeric(10,2), CHECK (a > 0));
CREATE INDEX t_a ON t (a);
CREATE TABLE u (id int primary key, tid int, v text unique, f float8, ts timestamptz, da date, vc varchar(5), bo bool, arr int[]);
CREATE TABLE w (x bigint, y smallint default 7, z char(3), g int generated always as identity, h uuid, j jsonb, iv interval, by bytea);
CREATE VIEW vt AS SELECT id, b AS bb FROM t WHERE a > 1;`

func TestZZDiff(t *testing.T) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, "host=/tmp/plpg user=postgres database=diff")
	if err != nil { t.Skip(err) }
	defer conn.Close(ctx)
	conn.Exec(ctx, "drop schema public cascade; create schema public;")
	if _, err := conn.Exec(ctx, diffDDL); err != nil { t.Fatal(err) }
	cat := &plantest.Catalog{}
	if err := cat.Exec(diffDDL); err != nil { t.Fatal(err) }
	bad := 0
	qs := strings.Split(string(must(os.ReadFile(os.Getenv("SMOKE")))), "\n")
	for _, q := range qs {
		q = strings.TrimSpace(q)
		if q == "" || strings.HasPrefix(q, "--") { continue }
		pg := pgSide(ctx, conn, q)
		me := mySide(t, cat, q)
		if pg != me {
			bad++
			fmt.Printf("== %s\n   pg: %s\n   me: %s\n", q, pg, me)
		}
	}
	fmt.Println("different:", bad, "of", len(qs))
}

func pgSide(ctx context.Context, conn *pgx.Conn, q string) string {
	sd, err := conn.PgConn().Prepare(ctx, "", q, nil)
	if err != nil {
		var e *pgconn.PgError
		if !errors.As(err, &e) { return err.Error() }
		s := fmt.Sprintf("%s %s @%d", e.Code, e.Message, e.Position)
		if e.Detail != "" { s += " D:" + e.Detail }
		if e.Hint != "" { s += " H:" + e.Hint }
		return s
	}
	s := "ok params="
	for _, o := range sd.ParamOIDs { s += fmt.Sprint(o, " ") }
	for _, f := range sd.Fields { s += fmt.Sprintf("| %s %d %d att%d", f.Name, f.DataTypeOID, f.TypeModifier, f.TableAttributeNumber) }
	return s
}

func mySide(t *testing.T, cat *plantest.Catalog, q string) string {
	st, err := parser.ParseOne(q)
	var p *plan.Prepared
	if err == nil {
		p, err = planner.Plan(context.Background(), st.AST, &planner.Env{Catalog: cat})
	}
	if err != nil {
		e := pgerr.From(err)
		s := fmt.Sprintf("%s %s @%d", e.Code, e.Message, e.Position)
		if e.Detail != "" { s += " D:" + e.Detail }
		if e.Hint != "" { s += " H:" + e.Hint }
		return s
	}
	if err := plan.Verify(p.Root, nil); err != nil { t.Errorf("%s: canonical: %v", q, err) }
	s := "ok params="
	for _, pt := range p.ParamTypes { s += fmt.Sprint(pt.Oid, " ") }
	for _, f := range p.Columns { s += fmt.Sprintf("| %s %d %d att%d", f.Name, f.Type.Oid, f.Type.Typmod, f.Attnum) }
	optimizer.Optimize(p, nil)
	if err := plan.Verify(p.Root, nil); err != nil { t.Errorf("%s: optimized: %v\n%s", q, err, strings.Join(plan.Format(p.Root, plan.ExplainOptions{Internal: true}), "\n")) }
	return s
}
