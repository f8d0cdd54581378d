package exec

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// drawTyped returns an expression of a type over the columns of a table: kernels have operators for
// most, and results that do not fit, divisions by zero and NULLs among them.
func drawTyped(t *rapid.T, typ, tab string, depth int) string {
	leaf := map[string][]string{
		"int":  {"a", "b", "c", "0", "3", "-7", "-1", "NULL::int4", "32767"},
		"num":  {"n", "m", "1.5", "100", "0.00", "2.2501", "-1.00499999999999999999999", "2.25000000000000000000000", "NULL::numeric", "9223372036854775807.5"},
		"text": {"s", "'x'", "''", "NULL::text"},
		"char": {"p", "'x '::bpchar"},
		"date": {"d", "'2020-01-02'::date"},
		"bool": {"o", "true", "NULL::bool"},
	}[typ]
	if depth <= 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
		x := rapid.SampledFrom(leaf).Draw(t, typ)
		if len(x) == 1 && x >= "a" && x <= "z" {
			return tab + "." + x
		}
		return x
	}
	sub := func(typ string) string { return drawTyped(t, typ, tab, depth-1) }
	switch typ {
	case "int":
		op := rapid.SampledFrom([]string{"+", "-", "*", "/", "%"}).Draw(t, "op")
		return fmt.Sprintf("(%s %s %s)", sub("int"), op, sub("int"))
	case "num":
		op := rapid.SampledFrom([]string{"+", "-", "*", "/"}).Draw(t, "op")
		return fmt.Sprintf("(%s %s %s)", sub("num"), op, sub("num"))
	case "bool":
		return drawCondition(t, tab, sub)
	}
	return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", sub("bool"), sub(typ), sub(typ))
}

func drawCondition(t *rapid.T, tab string, sub func(string) string) string {
	typ := rapid.SampledFrom([]string{"int", "int", "num", "num", "text", "char", "date"}).Draw(t, "of")
	switch rapid.IntRange(0, 7).Draw(t, "condition") {
	case 0:
		return fmt.Sprintf("(%s AND %s)", sub("bool"), sub("bool"))
	case 1:
		return fmt.Sprintf("(%s OR %s)", sub("bool"), sub("bool"))
	case 2:
		return fmt.Sprintf("(%s IS %s)", sub(typ), rapid.SampledFrom([]string{"NULL", "NOT NULL"}).Draw(t, "test"))
	case 3:
		return fmt.Sprintf("(%s %s (1, -7, 3%s))", sub("int"), rapid.SampledFrom([]string{"IN", "NOT IN"}).Draw(t, "in"), rapid.SampledFrom([]string{"", ", NULL"}).Draw(t, "null"))
	case 4:
		return fmt.Sprintf("(NOT %s)", sub("bool"))
	case 7:
		value := rapid.SampledFrom([]string{"text", "char"}).Draw(t, "of")
		op := rapid.SampledFrom([]string{"LIKE", "NOT LIKE", "ILIKE"}).Draw(t, "like")
		return fmt.Sprintf("(%s %s %s)", sub(value), op, rapid.SampledFrom([]string{"'%y%'", "'x%'", "'%'", "''", "'_'", "'x'", `'%\\'`, "NULL", tab + ".s"}).Draw(t, "pattern"))
	case 5:
		list := map[string]string{"text": "'x', ''", "char": "'x', 'yy '", "date": "'2020-01-02', '2021-05-06'", "int": "3", "num": "1.5, 100"}[typ]
		return fmt.Sprintf("(%s IN (%s))", sub(typ), list)
	}
	op := rapid.SampledFrom([]string{"=", "<>", "<", "<=", ">", ">="}).Draw(t, "cmp")
	return fmt.Sprintf("(%s %s %s)", sub(typ), op, sub(typ))
}

// drawValues returns a row of the table of TestVectorsLikeRows.
func drawValues(t *rapid.T, id int) string {
	pick := func(vals ...string) string { return rapid.SampledFrom(append(vals, "NULL")).Draw(t, "value") }
	return fmt.Sprintf("(%d, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)", id,
		pick("1", "3", "32767", "-7"), pick("1", "3", "2147483647", "0"), pick("1", "9223372036854775807", "-9223372036854775808", "5"),
		pick("1.50", "2.25", "0.00", "-1.00"), pick("1.5", "100", "NaN'::numeric+'1", "92233720368547758.07", "1e30"),
		pick("'x'", "'y'", "''"), pick("'x'", "'x '", "'yy'"), pick("'2020-01-02'", "'2021-05-06'"), pick("true", "false"), pick("1.5", "-0.0", "'NaN'"))
}

func drawQuery(t *rapid.T) string {
	expr := func(typ, tab string) string { return drawTyped(t, typ, tab, 3) }
	agg := func() string {
		typ := rapid.SampledFrom([]string{"int", "num", "text", "date"}).Draw(t, "arg")
		fn := map[string][]string{
			"int": {"sum", "avg", "min", "max", "count", "bit_and", "array_agg"}, "num": {"sum", "avg", "min", "max", "stddev"},
			"text": {"min", "max", "count", "string_agg"}, "date": {"min", "max"},
		}[typ]
		arg, f := expr(typ, "t"), rapid.SampledFrom(fn).Draw(t, "fn")
		if f == "string_agg" {
			arg += ", ','"
		}
		filter := ""
		if rapid.IntRange(0, 3).Draw(t, "filter") == 0 {
			filter = " FILTER (WHERE " + expr("bool", "t") + ")"
		}
		return f + "(" + arg + ")" + filter
	}
	where := " WHERE " + expr("bool", "t")
	switch rapid.IntRange(0, 4).Draw(t, "query") {
	case 0:
		return "SELECT count(*), " + agg() + ", " + agg() + " FROM t" + where
	case 1:
		k := expr(rapid.SampledFrom([]string{"int", "num", "text", "char", "bool"}).Draw(t, "key"), "t")
		if rapid.IntRange(0, 2).Draw(t, "ordered") == 0 {
			k = rapid.SampledFrom([]string{"t.id", "t.b", "t.b, t.id", "t.p", "t.s, t.b"}).Draw(t, "key of an index")
			if rapid.Bool().Draw(t, "of the index alone") {
				return fmt.Sprintf("SELECT max(t.id), min(t.b), count(*), sum(t.b / (t.id - 1)) FROM t GROUP BY %s", k)
			}
			return fmt.Sprintf("SELECT max(t.id), %s FROM t%s GROUP BY %s", agg(), where, k)
		}
		return fmt.Sprintf("SELECT %s, count(*), %s FROM t%s GROUP BY 1", k, agg(), where)
	case 2:
		return "SELECT t.id, " + expr("int", "t") + ", " + expr("num", "t") + " FROM t" + where
	case 3:
		in := rapid.SampledFrom([]string{"EXISTS (SELECT 1 FROM u WHERE u.b = t.b AND %s)", "NOT EXISTS (SELECT 1 FROM u WHERE u.b = t.b AND %s)",
			"EXISTS (SELECT 1 FROM u WHERE u.id = t.b AND %s)"}).Draw(t, "in")
		return "SELECT t.id FROM t WHERE " + fmt.Sprintf(in, rapid.SampledFrom([]string{"true", "u.c > t.c", expr("bool", "u")}).Draw(t, "on"))
	}
	if rapid.IntRange(0, 3).Draw(t, "by index") == 0 {
		return fmt.Sprintf("SELECT u.id, %s FROM u WHERE %s AND %s", expr("num", "u"), rapid.SampledFrom([]string{"u.b = 3", "u.b < 4", "u.b IS NULL"}).Draw(t, "range"), expr("bool", "u"))
	}
	kind := rapid.SampledFrom([]string{"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"}).Draw(t, "join")
	key := rapid.SampledFrom([]string{"t.b = u.b", "t.b = u.id", "u.id = t.b / t.a", "t.n = u.n", "t.s = u.s AND t.b = u.b", "t.p = u.p"}).Draw(t, "keys")
	if on := rapid.SampledFrom([]string{"", " AND t.c > u.c", " AND " + expr("bool", "u")}).Draw(t, "on"); kind != "FULL JOIN" {
		key += on
	}
	return fmt.Sprintf("SELECT t.id, u.id, t.s, u.n FROM t %s u ON %s", kind, key)
}

// TestVectorsLikeRows runs queries over columns, in batches of all sizes, and row by row: same rows in
// the same sequence, or the same error.
func TestVectorsLikeRows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		w.optimize = true
		for _, name := range []string{"t", "u"} {
			w.table(name, "id int4 not null; a int2; b int4; c int8; n numeric(8,2); m numeric; s text; p bpchar(3); d date; o bool; f float8; primary (id)"+
				rapid.SampledFrom([]string{"", "; index (b)", "; unique (id, b)", "; index (p)", "; index (s, b)"}).Draw(rt, "index"))
			var rows []string
			for i := range rapid.IntRange(0, 9).Draw(rt, "rows") {
				rows = append(rows, strings.ReplaceAll(drawValues(rt, i), "NaN'::numeric+'1", "'NaN'::numeric"))
			}
			if len(rows) > 0 {
				w.must("INSERT INTO " + name + " VALUES " + strings.Join(rows, ", "))
			}
		}
		q := drawQuery(rt)
		lookups := rapid.Bool().Draw(rt, "lookups")
		run := func(v optimizer.Vectorization, most int) string {
			w.options = &optimizer.Options{}
			if lookups {
				w.options = lookupsOnly()
			}
			w.options.Vectorize = v
			w.batchRows = most
			rows, _, err := w.exec(q)
			if err != nil {
				return describe(err)
			}
			return strings.Join(rows, "\n")
		}
		want := run(optimizer.VectorizeNever, 1)
		for _, most := range []int{rowcontainer.BatchRows, rapid.IntRange(1, 4).Draw(rt, "batch")} {
			got := run(optimizer.VectorizeAlways, most)
			if got != want {
				rt.Fatalf("%s\nbatches of %d\n--- columns\n%s\n--- rows\n%s", q, most, got, want)
			}
		}
	})
}

// TestVectorsUsed sees that the plans of TestVectorsLikeRows are about columns at all.
func TestVectorsUsed(t *testing.T) {
	w := newWorld(t)
	w.table("t", "id int4 not null; b int4; primary (id)")
	w.optimize = true
	w.options = &optimizer.Options{Vectorize: optimizer.VectorizeAlways, Disabled: map[string]bool{optimizer.RuleMergeJoin: true}}
	for _, q := range []string{"SELECT sum(b) FROM t", "SELECT b FROM t WHERE b > 1", "SELECT t.b FROM t JOIN t u ON t.b = u.b", "SELECT t.b FROM t JOIN t u ON t.b = u.id"} {
		p, err := w.plan(q, nil)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		plan.Walk(p.Root, func(n plan.Node) bool {
			j, lookup := n.(*plan.Join)
			lookup = lookup && j.Algo == plan.LookupJoin
			found = (found || n.Props().Vectorized) && !(lookup && !n.Props().Vectorized)
			return true
		})
		if !found {
			t.Errorf("%s is computed as rows", q)
		}
	}
}

// manyRows are statistics by which lookups are cheaper than reading a whole table.
type manyRows map[string]float64

// Stats implements optimizer.StatsSource.
func (m manyRows) Stats(t *catalog.Table) *optimizer.TableStats {
	return &optimizer.TableStats{Rows: m[t.Name]}
}

// lookupsOnly has joins be done by lookups, over columns.
func lookupsOnly() *optimizer.Options {
	return &optimizer.Options{
		Vectorize: optimizer.VectorizeAlways,
		Disabled:  map[string]bool{optimizer.RuleHashJoin: true, optimizer.RuleMergeJoin: true},
		Stats:     manyRows{"t": 10, "u": 1e6},
	}
}

// TestLookupsOverColumns sees that a lookup join over columns reads what its left rows ask for, however many
// rows that is and in however small batches, and looks at no row that does not matter.
func TestLookupsOverColumns(t *testing.T) {
	w := newWorld(t)
	w.optimize, w.options = true, lookupsOnly()
	w.table("t", "id int4 not null; b int4; primary (id)")
	w.table("u", "id int4 not null; b int4; c int4; primary (id); index (b)")
	w.must("INSERT INTO t VALUES (1, 3), (2, 1), (3, 7), (4, 3), (5, 2), (6, NULL)")
	// 1 / c fails only for the last row of each b.
	w.must("INSERT INTO u SELECT b * 100 + i, b, 20 - i FROM generate_series(1, 3) b, generate_series(1, 20) i")
	for _, c := range []struct{ query, want string }{
		{"SELECT t.id, count(*), min(u.id) FROM t JOIN u ON u.b = t.b GROUP BY 1", "1|20|301 2|20|101 4|20|301 5|20|201"},
		{"SELECT t.id, count(u.id) FROM t LEFT JOIN u ON u.b = t.b AND u.c > 17 GROUP BY 1", "1|2 2|2 3|0 4|2 5|2 6|0"},
		{"SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.b = t.b)", "1 2 4 5"},
		{"SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.b = t.b AND 1 / u.c = t.id - t.id)", "1 2 4 5"},
		{"SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.b = t.b AND 1 / u.c = t.id - t.id)", "3 6"},
		{"SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.b = t.b AND 1 / u.c = t.id + 5)", "22012 division by zero"},
		{"SELECT t.id FROM t JOIN u ON u.id = t.b / (t.id - 3)", "22012 division by zero"},
	} {
		for _, most := range []int{rowcontainer.BatchRows, 4, 3, 1} {
			w.batchRows = most
			rows, _, err := w.exec(c.query)
			got := strings.Join(rows, " ")
			if err != nil {
				got = describe(err)
			}
			if got != c.want {
				t.Errorf("%s\nbatches of %d: %s", c.query, most, got)
			}
		}
		p, err := w.plan(c.query, nil)
		if err != nil {
			t.Fatal(err)
		}
		plan.Walk(p.Root, func(n plan.Node) bool {
			if j, ok := n.(*plan.Join); ok && !(j.Vectorized && j.Batches()) {
				t.Errorf("%s is not done by lookups over columns", c.query)
			}
			return true
		})
	}
}
