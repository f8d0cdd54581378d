package sql_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

// invertedRows makes rows and conditions for TestInvertedAgrees.
type invertedRows struct{ r *rand.Rand }

func (g invertedRows) pick(list ...string) string { return list[g.r.IntN(len(list))] }

func (g invertedRows) array() string {
	var out []string
	for range g.r.IntN(4) {
		out = append(out, g.pick("1", "2", "3", "4", "null"))
	}
	return "'{" + strings.Join(out, ",") + "}'::int[]"
}

func (g invertedRows) json() string {
	return "'" + g.pick(`{"a": 1}`, `{"a": [1, 2]}`, `["a", 1]`, `"a"`, `[]`, `{}`, `{"b": {"a": null}}`, `[[1], {"a": 1.0}]`) + "'::jsonb"
}

func (g invertedRows) text() string {
	return "'" + g.pick("foo", "foobar", "bar foo", "", "Grüße", "fo") + g.pick("", "!", "x") + "'"
}

func (g invertedRows) condition() string {
	switch g.r.IntN(5) {
	case 0:
		return "a " + g.pick("@>", "<@", "&&", "=") + " " + g.array()
	case 1:
		return "j @> " + g.json()
	case 2:
		return "j " + g.pick("? 'a'", "?| '{b,c}'", "?& '{a,b}'")
	case 3:
		return "s " + g.pick("like", "ilike") + " '" + g.pick("%foo%", "foo%", "%ar f%", "%RÜ%", "_oo%") + "'"
	}
	return "s " + g.pick("%", "=") + " " + g.text()
}

// TestInvertedAgrees: through inverted indexes, which are changed with the rows, queries
// find the same rows as without.
func TestInvertedAgrees(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	run := func(q string) []string {
		var out rows
		out.Format = s.Format()
		if err := s.Query(context.Background(), q, &out); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		return out.Lines
	}
	g := invertedRows{rand.New(rand.NewPCG(1, 2))}
	run("create table g (id int primary key, a int[], j jsonb, s text)")
	row := func(id int) string { return fmt.Sprintf("(%d, %s, %s, %s)", id, g.array(), g.json(), g.text()) }
	for i := range 60 {
		run("insert into g values " + row(i))
	}
	run("create index ga on g using gin (a)")
	run("create index gj on g using gin (j)")
	run("create index gp on g using gin (j jsonb_path_ops) where id % 2 = 0")
	run("create extension pg_trgm")
	run("create index gs on g using gin (s gin_trgm_ops)")
	for i := range 150 {
		switch i % 5 {
		case 0:
			run("insert into g values " + row(i%80) + " on conflict (id) do update set a = excluded.a, s = excluded.s")
		case 1:
			run(fmt.Sprintf("update g set j = %s, id = id + %d where id = %d", g.json(), 1000*(i+1), i%70))
		case 2:
			run("delete from g where " + g.condition() + " and id % 7 = 0")
		}
		cond := g.condition()
		if i%3 == 0 {
			cond = "(" + cond + g.pick(" and ", " or ") + g.condition() + ")"
		}
		through := run("select id from g where " + cond + " and id % 2 = 0 order by id")
		without := run("select id from g@g_pkey where " + cond + " and id % 2 = 0 order by id")
		if fmt.Sprint(through) != fmt.Sprint(without) {
			t.Fatalf("%s: %v with the index, %v without", cond, through, without)
		}
	}
}
