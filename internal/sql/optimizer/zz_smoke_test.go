package optimizer_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner/plantest"
)

func TestZZSmoke(t *testing.T) {
	cat := &plantest.Catalog{}
	for _, l := range strings.Split(string(must(os.ReadFile("/tmp/plpg/cat.sql"))), "\n") {
		if l == "" { continue }
		if err := cat.Exec(l); err != nil {
			fmt.Println("DDL", l[:60], err)
		}
	}
	if err := cat.Exec("CREATE TABLE t (id int primary key, a int, b text, c int not null, d numeric(10,2)); CREATE INDEX t_a ON t (a); CREATE TABLE u (id int primary key, tid int, v text unique, f float8, ts timestamptz, da date, vc varchar(5), bo bool, arr int[]);CREATE TABLE w (x bigint, y smallint default 7, z char(3), g int generated always as identity, h uuid, j jsonb, iv interval, by bytea);"); err != nil { t.Fatal(err) }
	for i, q := range strings.Split(string(must(os.ReadFile(os.Getenv("SMOKE")))), "\n----\n") {
		out := run(t, cat, q, &optimizer.Options{}, plan.ExplainOptions{})
		if strings.HasPrefix(out, "ERROR") || os.Getenv("ALL") != "" {
			fmt.Printf("== %d: %s\n%s\n", i, q, out)
		}
	}
}
func must(b []byte, err error) []byte { if err != nil { panic(err) }; return b }
