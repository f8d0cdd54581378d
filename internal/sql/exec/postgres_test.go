package exec

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// psql runs statements in PostgreSQL when the environment variable
// LICHEN_TEST_PSQL holds a psql command line, for example "psql -h /tmp/pg".
type psql struct {
	t    *testing.T
	args []string
}

func newPsql(t *testing.T) *psql {
	cmd := os.Getenv("LICHEN_TEST_PSQL")
	if cmd == "" {
		t.Skip("LICHEN_TEST_PSQL is not set")
	}
	return &psql{t, strings.Fields(cmd)}
}

// Run returns the rows of each statement, or "!code message".
func (p *psql) run(stmts []string) []string {
	const mark = "--next--"
	var in bytes.Buffer
	in.WriteString("\\set VERBOSITY verbose\n\\pset null NULL\n\\pset tuples_only on\n\\pset format unaligned\n")
	for _, s := range stmts {
		fmt.Fprintf(&in, "%s;\n\\echo %s\n\\warn %s\n", s, mark, mark)
	}
	cmd := exec.Command(p.args[0], append(p.args[1:], "-X", "-q")...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, &errs
	if err := cmd.Run(); err != nil {
		p.t.Fatalf("psql: %v\n%s", err, errs.String())
	}
	rows, fails := strings.Split(out.String(), mark+"\n"), strings.Split(errs.String(), mark+"\n")
	res := make([]string, len(stmts))
	for i := range stmts {
		if at := strings.Index(fails[i], "ERROR:  "); at >= 0 {
			line, _, _ := strings.Cut(fails[i][at+8:], "\n")
			code, msg, _ := strings.Cut(line, ": ")
			res[i] = "!" + code + " " + msg
			continue
		}
		res[i] = strings.TrimSuffix(strings.ReplaceAll(rows[i], "\n", " "), " ")
	}
	return res
}

func (w *world) outcome(sql string) string {
	rows, _, err := w.exec(sql)
	if err != nil {
		e := pgerr.From(err)
		return "!" + string(e.Code) + " " + e.Message
	}
	return strings.Join(rows, " ")
}

// TestAgainstPostgres compares fixed and random queries, plain and optimized,
// with what PostgreSQL answers.
func TestAgainstPostgres(t *testing.T) {
	p := newPsql(t)
	setup := []string{
		"drop table if exists t, u, n",
		"create table t (a int primary key, b int, c text, d numeric, f float8, e date, g bool)",
		"create table u (x int primary key, y text default 'dflt', z numeric not null, w int8)",
		"create table n (k int, v int, s char(5), primary key (k, v))",
		"create index on t (b)", "create unique index on u (w)", "create index on n (v desc)",
	}
	var data []string
	seed, _ := strconv.ParseInt(os.Getenv("LICHEN_TEST_SEED"), 10, 64)
	rng := rand.New(rand.NewSource(seed))
	orNull := func(s string) string {
		if rng.Intn(6) == 0 {
			return "null"
		}
		return s
	}
	for i := range 40 {
		data = append(data, fmt.Sprintf("insert into t values (%d, %s, %s, %s, %s, %s, %s)", i, orNull(fmt.Sprint(rng.Intn(10))),
			orNull(fmt.Sprintf("'s%d'", rng.Intn(6))), orNull(fmt.Sprintf("%d.%02d", rng.Intn(5), rng.Intn(100))),
			orNull(fmt.Sprint(float64(rng.Intn(40))/4)), orNull(fmt.Sprintf("date '2024-01-01' + %d", rng.Intn(20))), orNull([]string{"true", "false"}[rng.Intn(2)])))
		if i%2 == 0 {
			data = append(data, fmt.Sprintf("insert into u values (%d, %s, %d.5, %s)", i, orNull(fmt.Sprintf("'s%d'", rng.Intn(6))), rng.Intn(4), orNull(fmt.Sprint(i*3))))
		}
		data = append(data, fmt.Sprintf("insert into n values (%d, %d, 'x%d')", rng.Intn(8), i, rng.Intn(4)))
	}
	var queries []string
	queries = append(queries, fixedQueries...)
	for range 400 {
		queries = append(queries, randomQuery(rng))
	}
	for range 200 {
		queries = append(queries, randomWrite(rng), "select * from "+[]string{"t order by a", "u order by x", "n order by k, v"}[rng.Intn(3)])
	}
	stmts := slices.Concat(setup, data, queries)
	want := p.run(stmts)[len(setup)+len(data):]
	bad := 0
	for _, opt := range []bool{false, true} {
		w := newWorld(t)
		w.table("t", "a int4; b int4; c text; d numeric; f float8; e date; g bool; primary (a); index (b)")
		w.table("u", "x int4; y text default 'dflt'; z numeric not null; w int8; primary (x); unique (w)")
		w.table("n", "k int4; v int4; s char(5); primary (k, v); index (v desc)")
		for _, s := range data {
			w.must(s)
		}
		w.optimize, w.store.pageRows = opt, 3
		for i, q := range queries {
			got, exp := w.outcome(q), want[i]
			if !strings.Contains(q, "order by") || strings.Contains(q, "/*any*/") {
				got, exp = sortWords(got), sortWords(exp)
			}
			got, exp = strings.ReplaceAll(got, "  ", " "), strings.ReplaceAll(exp, "  ", " ")
			if got != exp {
				bad++
				t.Errorf("optimized=%v: %s\n got  %.300s\n want %.300s", opt, q, got, exp)
			}
			if bad > 30 {
				t.Fatal("too many differences")
			}
		}
	}
}

func sortWords(s string) string {
	if strings.HasPrefix(s, "!") {
		return s
	}
	f := strings.Fields(s)
	slices.Sort(f)
	return strings.Join(f, " ")
}

// randomQuery makes a query over t, u and n.
func randomQuery(rng *rand.Rand) string {
	pick := func(s ...string) string { return s[rng.Intn(len(s))] }
	cond := func() string {
		return pick("t.b > 4", "t.b = u.x", "t.a < 20", "t.c = 's1'", "t.d > 2", "t.g", "not t.g", "t.c is null", "t.f between 2 and 6",
			"t.a in (1, 5, 9, 30)", "t.b is distinct from 3", "t.e >= date '2024-01-10'", "t.c like 's%'", "t.b = any (array[1, 2, 3])",
			"(t.a, t.b) > (10, 3)", "coalesce(t.b, 0) % 2 = 0", "t.a = 7", "t.b in (select v from n where k = 3)", "t.c not in (select y from u)",
			"exists (select 1 from n where n.k = t.b)", "not exists (select 1 from n where n.k = t.b and n.v > t.a)",
			"t.a > (select min(x) from u where u.y = t.c)", "t.b >= all (select k from n where v < t.a)", "t.f <> t.d", "t.a between 3 and 30 and t.b < 6")
	}
	join := pick("join", "left join", "right join", "full join", "join")
	on := pick("t.a = u.x", "t.c = u.y", "t.b = u.x", "t.a = u.x and t.b > 2", "t.c = u.y and t.a < u.x", "t.a * 3 = u.w", "t.a > u.x")
	if join == "full join" {
		on = pick("t.a = u.x", "t.c = u.y", "t.b = u.x")
	}
	from := fmt.Sprintf("t %s u on %s", join, on)
	if rng.Intn(4) == 0 {
		from += " " + pick("join n on n.k = t.b", "left join n on n.v = u.x", "left join n on n.k = t.b and n.v = t.a", "left join lateral (select * from n where n.k = t.b order by v limit 1) n on true")
	} else {
		from += " cross join (select 1 as k, 2 as v, 'q' as s) n"
	}
	where := cond() + pick(" and ", " or ", " and not ") + "(" + cond() + ")"
	switch rng.Intn(5) {
	case 0:
		return fmt.Sprintf("select t.a, t.b, t.c, u.x, u.z from %s where %s order by t.a, u.x, n.k, n.v", from, where)
	case 1:
		where = strings.NewReplacer("select min(x) from u where u.y = t.c", "select 3", "n.k = t.b", "n.k = 2", "n.v > t.a", "n.v > 39", "v < t.a", "v < 5").Replace(where)
		return fmt.Sprintf("select t.c, count(*), sum(t.b), min(u.z), max(t.e), count(distinct t.b) from %s where %s group by t.c order by 1", from, where)
	case 2:
		return fmt.Sprintf("select distinct t.b, u.y from %s where %s order by 1 desc, 2", from, where)
	case 3:
		return fmt.Sprintf("select t.a, u.x, n.v from %s where %s order by t.a desc nulls last, u.x, n.v limit %d offset %d", from, where, rng.Intn(10), rng.Intn(4))
	}
	op := pick("union", "union all", "intersect", "except", "except all", "intersect all")
	return fmt.Sprintf("select t.b, t.c from t where %s %s select x, y from u order by 1, 2", strings.ReplaceAll(cond(), "t.b = u.x", "t.b = 2"), op)
}

// randomWrite makes a statement that changes t, u or n, with an outcome that
// does not depend on the order in which rows are visited.
func randomWrite(rng *rand.Rand) string {
	pick := func(s ...string) string { return s[rng.Intn(len(s))] }
	a, b, c := rng.Intn(60), rng.Intn(12), rng.Intn(200)
	where := pick(fmt.Sprintf("a = %d", a), fmt.Sprintf("b = %d", b), fmt.Sprintf("a between %d and %d", a, a+5), "c is null and b > 3",
		fmt.Sprintf("a in (%d, %d, %d)", a, b, a/2), "f > d", fmt.Sprintf("b > %d and a < %d", b, a), fmt.Sprintf("exists (select 1 from n where k = t.b and v < %d)", b))
	ret := pick("", " returning *", " returning a, b")
	switch rng.Intn(9) {
	case 0:
		return fmt.Sprintf("update t set b = %s where %s%s", pick("b + 1", "null", "a % 7", "(select max(k) from n where v < t.a)", "coalesce(b, 0) * 2"), where, ret)
	case 1:
		return fmt.Sprintf("update t set c = %s, d = %s where %s%s", pick("c || 'x'", "'s2'", "null"), pick("d * 2", "d + f::numeric(6, 2)", "1.50"), where, ret)
	case 2:
		return fmt.Sprintf("delete from t where a = %d or (%s and a %% 5 = 0)%s", a, where, ret)
	case 3:
		return fmt.Sprintf("insert into t (a, b, c) values (%d, %d, 's%d'), (%d, null, null)%s%s", a, b, b%6, a+1,
			pick("", " on conflict do nothing", " on conflict (a) do update set b = excluded.b, c = t.c || excluded.c", " on conflict (a) do update set c = 'hit' where t.b > 4"), ret)
	case 4:
		return fmt.Sprintf("insert into u (x, z, w) values (%d, %d, %s)%s", a, b, pick(fmt.Sprint(c), "null"),
			pick("", " on conflict do nothing", " on conflict (w) do update set z = u.z + excluded.z, y = 'w'", " on conflict (x) do update set w = excluded.w"))
	case 5:
		return fmt.Sprintf("update u set %s where x = %d returning *", pick(fmt.Sprintf("w = %d", c), fmt.Sprintf("x = %d", b), "z = z - 0.25, y = default", "w = null"), a)
	case 6:
		return fmt.Sprintf("insert into n select %d, a + %d, c from t where %s on conflict do nothing", b, c, where)
	case 7:
		return fmt.Sprintf("update n set %s where k = %d", pick("v = v + 1000", "k = k + 100, s = 'm'", "s = s || 'y'"), b)
	}
	return fmt.Sprintf("delete from n using t where n.k = t.b and %s", strings.ReplaceAll(where, "exists (select 1 from n where k = t.b and v <", "(t.a >"))
}
