package exec

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// onJoins changes every join that has equality keys in its condition.
func onJoins(p *plan.Prepared, f func(*plan.Join)) {
	plan.Walk(p.Root, func(n plan.Node) bool {
		if j, ok := n.(*plan.Join); ok {
			f(j)
		}
		return true
	})
}

// hashKeys moves "left = right" of a join's condition to its keys.
func hashKeys(j *plan.Join, algo plan.JoinAlgorithm) {
	call, ok := j.On.(*plan.Call)
	if !ok || call.Fn.Name != "=" {
		return
	}
	l, r := call.Args[0], call.Args[1]
	if ref := l.(*plan.ColRef); plan.FindCol(j.Left.Props().Cols, ref.Col) < 0 {
		l, r = r, l
	}
	j.Algo, j.LeftKeys, j.RightKeys, j.On = algo, []plan.Expr{l}, []plan.Expr{r}, nil
}

// sorted puts a sort by one key over an input of a merge join.
func sorted(n plan.Node, key plan.Expr) plan.Node {
	s := &plan.Sort{Input: n, Keys: []plan.SortKey{{Col: key.(*plan.ColRef).Col}}}
	s.Cols = n.Props().Cols
	return s
}

// TestJoinAlgorithmsAgree runs random joins with every algorithm and kind.
func TestJoinAlgorithmsAgree(t *testing.T) {
	w := newWorld(t)
	w.table("l", "i int4; k int4; s text; primary (i)")
	w.table("r", "i int4; k int4; s text; primary (i)")
	for i := 1; i <= 60; i++ {
		k := fmt.Sprint(i * 7 % 13)
		if i%9 == 0 {
			k = "null"
		}
		w.must(fmt.Sprintf("insert into l values (%d, %s, 'l%d')", i, k, i%5))
		if i%3 == 0 {
			w.must(fmt.Sprintf("insert into r values (%d, %s, 'l%d')", i, k, i%4))
		}
	}
	for _, kind := range []string{"join", "left join", "right join", "full join"} {
		for _, on := range []string{"l.k = r.k", "l.s = r.s"} {
			sql := fmt.Sprintf("select l.i, l.s, r.i, r.s from l %s r on %s order by 1, 3", kind, on)
			w.tweak = nil
			want := w.must(sql)
			if want == "" {
				t.Fatal("nothing to compare")
			}
			for _, algo := range []plan.JoinAlgorithm{plan.HashJoin, plan.MergeJoin} {
				w.tweak = func(p *plan.Prepared) {
					onJoins(p, func(j *plan.Join) {
						hashKeys(j, algo)
						if algo == plan.MergeJoin {
							j.Left, j.Right = sorted(j.Left, j.LeftKeys[0]), sorted(j.Right, j.RightKeys[0])
						}
					})
				}
				if got := w.must(sql); got != want {
					t.Errorf("%s with algorithm %d differs", sql, algo)
				}
			}
		}
	}
}

// TestSemiAndAntiJoins turns an inner join into the kinds that SQL text yields
// only through an optimizer.
func TestSemiAndAntiJoins(t *testing.T) {
	w := queryWorld(t)
	w.must("insert into t values (5, null, 'n')")
	for _, c := range []struct {
		kind     plan.JoinKind
		on, want string
	}{
		{plan.SemiJoin, "t.a = u.x", "1 3 5"},
		{plan.AntiJoin, "t.a = u.x", "2 4"},
		{plan.AntiJoin, "t.b = u.x", "1 2 3 4 5"},
	} {
		for _, algo := range []plan.JoinAlgorithm{plan.HashJoin, plan.LoopJoin, plan.MergeJoin} {
			w.tweak = func(p *plan.Prepared) {
				onJoins(p, func(j *plan.Join) {
					if algo != plan.LoopJoin {
						hashKeys(j, algo)
					}
					if algo == plan.MergeJoin {
						j.Left, j.Right = sorted(j.Left, j.LeftKeys[0]), sorted(j.Right, j.RightKeys[0])
					}
					j.Kind = c.kind
					j.Cols = j.Left.Props().Cols
				})
			}
			if got := w.must("select t.a from t join u on " + c.on + " order by t.a"); got != c.want {
				t.Errorf("%+v algorithm %d: %s", c, algo, got)
			}
		}
	}
}

func TestMemoryLimit(t *testing.T) {
	w := newWorld(t)
	w.mem = quota.NewPool("statement", 1<<20)
	for _, sql := range []string{
		"select g from generate_series(1, 100000) g order by g desc",
		"select count(distinct g) from generate_series(1, 100000) g",
		"select g, count(*) from generate_series(1, 100000) g group by g",
		"select distinct g from generate_series(1, 100000) g",
		"select a.g from generate_series(1, 100000) a(g) join generate_series(1, 100000) b(g) on a.g < b.g",
		"select array(select g from generate_series(1, 100000) g)",
		"with q as (select g from generate_series(1, 100000) g) select count(*) from q",
		"select g from generate_series(1, 100000) g union select 1",
		"select string_agg('some text', ',') from generate_series(1, 1000000) g",
		"select row_number() over () from generate_series(1, 100000) g",
		"select 1 where 5 not in (select g + 10 from generate_series(1, 100000) g)",
	} {
		_, _, err := w.exec(sql)
		e := pgerr.From(err)
		if err == nil || e.Code != pgerr.OutOfMemory || e.Message != "out of memory" || e.Detail == "" || e.Hint == "" {
			t.Errorf("%s: %v", sql, err)
		}
	}
	for _, dir := range []string{"", "desc"} {
		w.tweak = func(p *plan.Prepared) {
			plan.Walk(p.Root, func(n plan.Node) bool {
				if s, ok := n.(*plan.Sort); ok {
					s.Bound = plan.RowBound{Count: num(2), Offset: num(1)}
				}
				return true
			})
		}
		want := map[string]string{"": "2 3", "desc": "99999 99998"}[dir]
		if got := w.must("select g from generate_series(1, 100000) g order by g " + dir + " limit 2 offset 1"); got != want {
			t.Errorf("top-k: %s", got)
		}
	}
}

func TestCancel(t *testing.T) {
	w := queryWorld(t)
	for _, sql := range []string{
		"select count(*) from generate_series(1, 1000000000) g",
		"with recursive r(n) as (select 1 union all select 1 from r) select count(*) from r",
		"select count(*) from generate_series(1, 100000) a, generate_series(1, 100000) b where a = -b",
	} {
		p, err := w.plan(sql, nil)
		if err != nil {
			t.Fatal(err)
		}
		pr, err := Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err = pr.Run(&operator.Env{Ctx: ctx, Txn: w.store.begin(w.iso), Builtin: &call.Context{Ctx: ctx}, Mem: w.mem}, func(*rowcontainer.Batch) error { return nil })
		if err == nil {
			t.Errorf("%s: not cancelled", sql)
		}
	}
}

func TestPortal(t *testing.T) {
	w := queryWorld(t)
	for _, sql := range []string{
		"select a from t order by a", "select a from t", "insert into u values (20, 'a', 1), (21, 'b', 1), (22, 'c', 1), (23, 'd', 1) returning x",
	} {
		p, err := w.plan(sql, nil)
		if err != nil {
			t.Fatal(err)
		}
		pr, err := Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		txn := w.store.begin(w.iso)
		if err := pr.Open(&operator.Env{Ctx: context.Background(), Txn: txn, Mem: w.mem}); err != nil {
			t.Fatal(err)
		}
		var sizes []int
		for {
			b, err := pr.Next(3)
			if err != nil {
				t.Fatal(err)
			}
			sizes = append(sizes, b.Len())
			if p.Modifies && len(sizes) == 1 && pr.RowsAffected() != 4 {
				t.Errorf("%s: %d rows written after the first portion", sql, pr.RowsAffected())
			}
			if b.Len() == 0 {
				break
			}
		}
		pr.Close()
		txn.rollback()
		if fmt.Sprint(sizes) != "[3 1 0]" {
			t.Errorf("%s: portions %v", sql, sizes)
		}
	}
	if w.mem.Used() != 0 {
		t.Errorf("%d bytes leaked", w.mem.Used())
	}
}

// virtualRows computes the rows (0, v0), (1, v1) and (2, v2), and notes how many were asked
// for by key and how many were left out because they do not pass a test.
type virtualRows struct{ keys, left int }

func (v *virtualRows) VirtualRows(_ context.Context, req *operator.VirtualRequest, emit func(types.Row) error) error {
	row := make(types.Row, len(req.Table.Columns))
	v.keys += len(req.Keys)
	for i := range int64(3) {
		row[0], row[1] = types.NewInt(i), types.NewString(fmt.Sprint("v", i))
		if req.Index != nil && !slices.ContainsFunc(req.Keys, func(k types.Row) bool { return k[0].Int() == i }) {
			continue
		}
		if slices.ContainsFunc(req.Tests, func(c operator.ColumnTest) bool { return !c.Passes(row[c.Ord]) }) {
			v.left++
			continue
		}
		if err := emit(row); err != nil {
			return err
		}
	}
	return nil
}

func TestVirtualTables(t *testing.T) {
	w := newWorld(t)
	v := w.table("v", "n int4; s text")
	v.Kind = catalog.KindVirtual
	v.Indexes = append([]catalog.Index{{ID: 1, Name: "v"}}, catalog.Index{
		ID: 2, Name: "v_n", Unique: true, HashColumns: 1, Columns: []catalog.IndexColumn{{Column: v.Columns[0].ID}}, Stored: []catalog.ColumnID{v.Columns[1].ID},
	})
	rows := &virtualRows{}
	w.optimize = true
	w.virtual = rows
	w.check(
		"select s from v where n > 0", "v1 v2",
		"select s from v limit 1", "v0",
		"select x.s, y.n from v x join v y on x.n = y.n order by 1", "v0|0 v1|1 v2|2",
	)
	rows.keys = 0
	w.check(
		"select s from v where n = 1", "v1",
		"select s from v where n in (2, 0, 2, 7, null) order by n", "v0 v2",
		"select s from v where n = any(array[1, 1])", "v1",
		"select s from v where n = null", "",
		"select s from v where n in (1, 2) and s = 'v2'", "v2",
		"select (select s from v where n = a.x) from (values (1), (5)) a(x)", "v1 NULL",
	)
	if rows.keys != 1+3+1+2+2 {
		t.Errorf("%d keys were looked up", rows.keys)
	}
	rows.left = 0
	w.check(
		"select s from v where s = 'v1'", "v1",
		"select n from v where s in ('v0', 'v2', 'v7') and n < 7 order by n", "0 2",
		"select n from v where s = 'v1' or n = 0 order by n", "0 1",
		"select n from v where s not in ('v1', 'v2')", "0",
		"select n from v where s in ('v1', null)", "1",
		"select n from v where s::varchar = any (array['v0', 'v1']) order by n", "0 1",
		"select n from v where s = 'v' || n order by n", "0 1 2",
		"select n from v where s = 'v1' || random()", "",
	)
	if rows.left != 2+1+2+2+1 {
		t.Errorf("%d rows were left out", rows.left)
	}
}

// TestLockRowsRechecks: a join's row changes while the statement waits for it.
func TestLockRowsRechecks(t *testing.T) {
	for _, c := range []struct{ change, want string }{
		{"update t set c = 'new' where a = 1", "1|new|p"},
		{"update t set b = 99 where a = 1", ""},
		{"delete from t where a = 1", ""},
	} {
		w := queryWorld(t)
		holder := w.store.begin(kvpb.ReadCommitted)
		w.txn = holder
		w.must(c.change)
		w.txn = nil
		w.store.onWait = func(h *fakeTxn) { h.commit() }
		got := w.must("select t.a, t.c, u.y from t join u on t.a = u.x where t.b < 20 for update of t")
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.change, got, c.want)
		}
	}
	// What was computed from the old version cannot be corrected: start over.
	w := queryWorld(t)
	w.txn = w.store.begin(kvpb.ReadCommitted)
	w.must("update t set b = 11 where a = 1")
	w.txn = nil
	w.store.onWait = func(h *fakeTxn) { h.commit() }
	if _, _, err := w.exec("select t.b + 1 from t join u on t.a = u.x for update of t"); kvpb.Classify(err) != kvpb.ClassRetry {
		t.Fatal(err)
	}
}

// TestUpdateBelowJoinRetries: such a row cannot be looked at again, so the
// Statement starts over.
func TestUpdateBelowJoinRetries(t *testing.T) {
	w := queryWorld(t)
	w.check("update t set c = u.y from u where t.a = u.x", "#2", "select a, c from t where c in ('p', 'q')", "1|p 3|q",
		"update t set b = t.b + v.k from (values (1, 100), (1, 200)) v(i, k) where t.a = v.i", "#1")
	holder := w.store.begin(kvpb.ReadCommitted)
	w.txn = holder
	w.must("update t set b = 77 where a = 1")
	w.txn = nil
	w.store.onWait = func(h *fakeTxn) { h.commit() }
	if _, _, err := w.exec("update t set c = u.y from u where t.a = u.x"); kvpb.Classify(err) != kvpb.ClassRetry {
		t.Fatal(err)
	}
}

type sliceSource struct {
	rows []types.Row
	pos  int
}

func (s *sliceSource) NextRow(row types.Row) (bool, error) {
	if s.pos == len(s.rows) {
		return false, nil
	}
	copy(row, s.rows[s.pos])
	s.pos++
	return true, nil
}

func (s *sliceSource) Forget() {}

func (s *sliceSource) FailedAt(int) {}

func (s *sliceSource) Number(int) int64 { return int64(s.pos) }

func (s *sliceSource) FailedAtNumber(int64) {}

func TestCopyRows(t *testing.T) {
	w := standardWorld(t)
	p, err := w.plan("copy t from stdin", nil)
	if err != nil {
		t.Fatal(err)
	}
	pr, err := CompileNode(p.Root.(*plan.Copy).Input, nil)
	if err != nil {
		t.Fatal(err)
	}
	txn := w.store.begin(w.iso)
	src := &sliceSource{}
	for i := range 3000 {
		src.rows = append(src.rows, types.Row{types.NewInt(int64(i)), types.NewInt(int64(i) + 1000), types.Null})
	}
	n, err := pr.Run(&operator.Env{Ctx: context.Background(), Txn: txn, Copy: src, Mem: w.mem}, nil)
	if err != nil || n != 3000 {
		t.Fatal(n, err)
	}
	txn.commit()
	if got := w.must("select count(*), min(b) from t"); got != "3000|1000" {
		t.Fatal(got)
	}
}

func TestFailingRowIsCut(t *testing.T) {
	w := standardWorld(t)
	long := strings.Repeat("é", 50)
	_, _, err := w.exec("insert into t values (1, 13, '" + long + "')")
	want := "Failing row contains (1, 13, " + strings.Repeat("é", 32) + "...)."
	if e := pgerr.From(err); e.Detail != want || e.Table != "t" || e.Constraint != "t_check" {
		t.Fatalf("%+v", e)
	}
}

// TestOrderedGroups checks that groups of one batch do not share memory.
func TestOrderedGroups(t *testing.T) {
	w := queryWorld(t)
	w.must("insert into t values (7, 70, 'w'), (8, 80, 'w'), (9, 90, 'v')")
	w.tweak = func(p *plan.Prepared) {
		plan.Walk(p.Root, func(n plan.Node) bool {
			if g, ok := n.(*plan.GroupBy); ok && !g.Scalar {
				g.Ordered = true
				s := &plan.Sort{Input: g.Input}
				s.Cols = g.Input.Props().Cols
				for _, k := range g.Keys {
					s.Keys = append(s.Keys, plan.SortKey{Col: k})
				}
				g.Input = s
			}
			return true
		})
	}
	w.check(
		"select c, count(*), max(c || a), string_agg(a::text, '+' order by a desc), count(distinct b) from t group by c",
		"v|1|v9|9|1 w|2|w8|8+7|2 x|2|x3|3+1|2 y|1|y2|2|1 NULL|1|NULL|4|0",
	)
}
