package exec

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// pushDown turns Filter over Scan into a Scan with the given spans, as an
// optimizer would; the filter stays in the scan unless the spans are points.
func pushDown(n plan.Node, index int, spans []plan.Span, l *plan.Locking) plan.Node {
	switch n := n.(type) {
	case *plan.Filter:
		if s, ok := n.Input.(*plan.Scan); ok {
			return constrain(s, index, spans, l, n.Cond)
		}
	case *plan.Scan:
		return constrain(n, index, spans, l, nil)
	case *plan.Project:
		n.Input = pushDown(n.Input, index, spans, l)
	case *plan.Limit:
		n.Input = pushDown(n.Input, index, spans, l)
	case *plan.Update:
		n.Input = pushDown(n.Input, index, spans, l)
	case *plan.Delete:
		n.Input = pushDown(n.Input, index, spans, l)
	}
	return n
}

func constrain(s *plan.Scan, index int, spans []plan.Span, l *plan.Locking, cond plan.Expr) plan.Node {
	t := s.Table
	if index == 0 {
		s.Spans, s.Locking = spans, l
		if len(spans) == 0 || len(spans[0].Eq) < len(t.Indexes[0].Columns) {
			s.Filter = cond
		}
		return s
	}
	ix := &t.Indexes[index]
	in := &plan.Scan{Table: t, Index: ix, Spans: spans}
	j := &plan.IndexJoin{Input: in, Table: t, Ords: s.Ords, Filter: cond, Locking: l}
	j.Cols = s.Cols
	add := func(id catalog.ColumnID) {
		ord := t.ColumnByID(id)
		if !slices.Contains(in.Ords, ord) {
			in.Ords = append(in.Ords, ord)
			in.Cols = append(in.Cols, s.Cols[slices.Index(s.Ords, ord)])
		}
	}
	for _, c := range ix.Columns {
		add(c.Column)
	}
	for _, c := range t.Primary().Columns {
		add(c.Column)
		j.Key = append(j.Key, s.Cols[slices.Index(s.Ords, t.ColumnByID(c.Column))].ID)
	}
	return j
}

func num(n int64) plan.Expr  { return &plan.Const{T: types.Int4, D: types.NewInt(n)} }
func str(s string) plan.Expr { return &plan.Const{T: types.Text, D: types.NewString(s)} }
func null() plan.Expr        { return &plan.Const{T: types.Int4} }
func eq(values ...plan.Expr) plan.KeyMatch {
	return plan.KeyMatch{Values: values}
}
func lo(incl bool, v ...plan.Expr) *plan.Bound { return &plan.Bound{Values: v, Inclusive: incl} }

func (w *world) through(index int, l *plan.Locking, sql string, spans ...plan.Span) string {
	w.t.Helper()
	w.tweak = func(p *plan.Prepared) { p.Root = pushDown(p.Root, index, spans, l) }
	defer func() { w.tweak = nil }()
	return w.must(sql)
}

func TestSpans(t *testing.T) {
	w := newWorld(t)
	w.table("s", "a int4; b int4; c text; primary (a, b); index (c); index (b desc)")
	w.store.pageRows = 2
	for a := 1; a <= 4; a++ {
		for b := 1; b <= 3; b++ {
			c := fmt.Sprintf("'c%d'", a)
			if b == 3 {
				c = "null"
			}
			w.must(fmt.Sprintf("insert into s values (%d, %d, %s)", a, b, c))
		}
	}
	ab := "select a * 10 + b from s"
	for _, c := range []struct {
		name  string
		index int
		want  string
		spans []plan.Span
	}{
		{"none", 0, "", []plan.Span{}},
		{"prefix", 0, "21 22 23", []plan.Span{{Eq: []plan.KeyMatch{eq(num(2))}}}},
		{"point", 0, "32", []plan.Span{{Eq: []plan.KeyMatch{eq(num(3)), eq(num(2))}}}},
		{"absent point", 0, "", []plan.Span{{Eq: []plan.KeyMatch{eq(num(3)), eq(num(9))}}}},
		{"null point", 0, "", []plan.Span{{Eq: []plan.KeyMatch{eq(num(3)), eq(null())}}}},
		{"product", 0, "12 13 32 33", []plan.Span{{Eq: []plan.KeyMatch{eq(num(3), num(1), num(3)), eq(num(3), num(2))}}}},
		{"range", 0, "21 22 23 31 32 33", []plan.Span{{Lo: lo(false, num(1)), Hi: lo(true, num(3))}}},
		{"open range", 0, "31 32 33 41 42 43", []plan.Span{{Lo: lo(true, num(3))}}},
		{"below", 0, "11 12 13", []plan.Span{{Hi: lo(false, num(2))}}},
		{"second column", 0, "22 23", []plan.Span{{Eq: []plan.KeyMatch{eq(num(2))}, Lo: lo(true, num(2))}}},
		{"tuple", 0, "23 31 32 33 41 42 43", []plan.Span{{Lo: lo(false, num(2), num(2))}}},
		{"overlap", 0, "11 12 13 21 22 23 31 32 33", []plan.Span{
			{Lo: lo(true, num(2)), Hi: lo(true, num(3))}, {Lo: lo(true, num(1)), Hi: lo(true, num(2))}, {Eq: []plan.KeyMatch{eq(num(2)), eq(num(2))}}}},
		{"empty range", 0, "", []plan.Span{{Lo: lo(true, num(3)), Hi: lo(false, num(3))}}},
		{"secondary", 1, "21 22", []plan.Span{{Eq: []plan.KeyMatch{eq(str("c2"))}}}},
		{"secondary null", 1, "13 23 33 43", []plan.Span{{Eq: []plan.KeyMatch{{Null: true}}}}},
		{"not null", 1, "11 12 21 22 31 32 41 42", []plan.Span{{NotNull: true}}},
		{"secondary from", 1, "31 32 41 42", []plan.Span{{Lo: lo(true, str("c3"))}}},
		{"descending", 2, "13 23 33 43 12 22 32 42", []plan.Span{{Lo: lo(true, num(2))}}},
		{"descending below", 2, "11 21 31 41", []plan.Span{{Hi: lo(false, num(2))}}},
		{"all of secondary", 2, "13 23 33 43 12 22 32 42 11 21 31 41", nil},
	} {
		if got := w.through(c.index, nil, ab, c.spans...); c.spans != nil && got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		w.tweak = func(p *plan.Prepared) {
			p.Root = pushDown(p.Root, c.index, c.spans, nil)
			plan.Walk(p.Root, func(n plan.Node) bool {
				if s, ok := n.(*plan.Scan); ok {
					s.Reverse = true
				}
				return true
			})
		}
		words := strings.Fields(c.want)
		slices.Reverse(words)
		if got := w.must(ab); got != strings.Join(words, " ") {
			t.Errorf("%s reversed: got %q", c.name, got)
		}
		w.tweak = nil
	}
}

func TestSpanOfWrongFamily(t *testing.T) {
	w := standardWorld(t)
	w.tweak = func(p *plan.Prepared) {
		p.Root = pushDown(p.Root, 0, []plan.Span{{Eq: []plan.KeyMatch{eq(str("1"))}}}, nil)
	}
	if _, _, err := w.exec("select a from t"); pgerr.CodeOf(err) != pgerr.InternalError {
		t.Fatal(err)
	}
}

func forUpdate(wait lock.WaitPolicy) *plan.Locking {
	return &plan.Locking{Strength: lock.Update, Wait: wait}
}

// TestLockingScans: a concurrent transaction holds the row, changes it and
// commits while the statement waits.
func TestLockingScans(t *testing.T) {
	point := []plan.Span{{Eq: []plan.KeyMatch{eq(num(1))}}}
	byB := []plan.Span{{Lo: lo(true, num(5)), Hi: lo(true, num(15))}}
	for _, c := range []struct {
		name, change, sql string
		index             int
		spans             []plan.Span
		want              string
		after             string
	}{
		{"point", "update t set b = 11 where a = 1", "update t set b = b + 100 where a = 1", 0, point, "#1", "1|111|x"},
		{"filter still holds", "update t set c = 'y' where a = 1", "update t set b = b + 100 where b < 12", 0, nil, "#1", "1|110|y"},
		{"filter fails now", "update t set b = 50 where a = 1", "update t set b = b + 100 where b < 12", 0, nil, "", "1|50|x"},
		{"deleted", "delete from t where a = 1", "update t set b = b + 100 where b < 12", 0, nil, "", ""},
		{"key moved", "update t set a = 7 where a = 1", "update t set b = b + 100 where a = 1", 0, point, "", "7|10|x"},
		{"left the index range", "update t set b = 50 where a = 1", "update t set c = 'z' where c is not null", 1, byB, "", "1|50|x"},
		{"stays in the index range", "update t set b = 12 where a = 1", "update t set c = 'z' where c is not null", 1, byB, "#1", "1|12|z"},
		{"delete", "update t set b = 11 where a = 1", "delete from t where a = 1", 0, point, "#1", ""},
	} {
		for _, iso := range []kvpb.Isolation{kvpb.ReadCommitted, kvpb.RepeatableRead} {
			w := standardWorld(t)
			w.must("insert into t values (1, 10, 'x')")
			w.iso = iso
			holder := w.store.begin(kvpb.ReadCommitted)
			w.txn = holder
			w.must(c.change)
			w.txn = nil
			w.store.onWait = func(h *fakeTxn) { h.commit() }
			w.tweak = func(p *plan.Prepared) { p.Root = pushDown(p.Root, c.index, c.spans, forUpdate(lock.WaitBlock)) }
			rows, n, err := w.exec(c.sql)
			w.tweak = nil
			if iso != kvpb.ReadCommitted {
				if kvpb.Classify(err) != kvpb.ClassRetry {
					t.Errorf("%s at %s: %v", c.name, iso, err)
				}
				continue
			}
			got := strings.Join(rows, " ")
			if n > 0 {
				got = fmt.Sprint("#", n)
			}
			if err != nil || got != c.want {
				t.Errorf("%s: got %q %v, want %q", c.name, got, err, c.want)
			}
			if got := w.must("select * from t"); got != c.after {
				t.Errorf("%s: afterwards %q, want %q", c.name, got, c.after)
			}
		}
	}
}

func TestNoWaitAndSkipLocked(t *testing.T) {
	w := standardWorld(t)
	w.must("insert into t values (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'z')")
	holder := w.store.begin(kvpb.ReadCommitted)
	w.txn = holder
	w.must("delete from t where a = 2")
	w.txn = nil
	if got := w.through(0, forUpdate(lock.WaitSkip), "select a from t limit 2"); got != "1 3" {
		t.Fatal(got)
	}
	w.tweak = func(p *plan.Prepared) { p.Root = pushDown(p.Root, 0, nil, forUpdate(lock.WaitError)) }
	_, _, err := w.exec("select a from t")
	if e := pgerr.From(err); e.Code != pgerr.LockNotAvailable || e.Message != `could not obtain lock on row in relation "t"` {
		t.Fatal(err)
	}
	before := w.store.lockings
	w.through(0, forUpdate(lock.WaitBlock), "select a from t limit 1")
	if n := w.store.lockings - before; n != 1 {
		t.Fatalf("LIMIT 1 locked %d rows", n)
	}
}

// TestLockingCoveringScan: the scan reads nothing but a secondary index, and
// locks the rows by the primary key that its entries hold.
func TestLockingCoveringScan(t *testing.T) {
	for _, c := range []struct{ change, want string }{
		{"update t set c = 'y' where a = 1", "10 20"},
		{"update t set b = 12 where a = 1", "12 20"},
		{"update t set b = 99 where a = 1", "20"},
		{"update t set b = null where a = 1", "20"},
		{"delete from t where a = 1", "20"},
	} {
		w := standardWorld(t)
		w.must("insert into t values (1, 10, 'x'), (2, 20, 'x'), (3, 30, 'x')")
		w.txn = w.store.begin(kvpb.ReadCommitted)
		w.must(c.change)
		w.txn = nil
		w.store.onWait = func(h *fakeTxn) { h.commit() }
		w.tweak = func(p *plan.Prepared) {
			plan.Walk(p.Root, func(n plan.Node) bool {
				if s, ok := n.(*plan.Scan); ok {
					s.Index, s.Locking = &s.Table.Indexes[1], forUpdate(lock.WaitBlock)
					s.Ords, s.Cols = []int{1}, s.Cols[1:2]
					s.Spans = []plan.Span{{Lo: lo(true, num(5)), Hi: lo(false, num(30))}}
				}
				return true
			})
		}
		if got := w.must("select b from t"); got != c.want {
			t.Errorf("%s: got %q, want %q", c.change, got, c.want)
		}
		if n := len(w.store.locks); n != 0 {
			t.Errorf("%d locks left", n)
		}
	}
}

func TestReadOnlyRefusesWrites(t *testing.T) {
	w := standardWorld(t)
	for _, sql := range []string{"insert into t values (1)", "update t set b = 1", "delete from t"} {
		p, err := w.plan(sql, nil)
		if err != nil {
			t.Fatal(err)
		}
		pr, err := Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		_, err = pr.Run(&operator.Env{Ctx: context.Background(), Txn: w.store.begin(w.iso), ReadOnly: true}, nil)
		if pgerr.CodeOf(err) != pgerr.ReadOnlySQLTransaction {
			t.Fatal(err)
		}
	}
}

// canned answers every Get and Lock with one value, without allocating.
type canned struct {
	*fakeTxn
	value   []byte
	primary []byte
	puts    int
}

// pointProgram compiles a statement whose scan of t is a point on $1.
func pointProgram(t testing.TB, w *world, sql string, l *plan.Locking, n int) *Program {
	w.tweak = func(p *plan.Prepared) {
		param := &plan.Param{Index: 0, T: types.Int4}
		p.Root = pushDown(p.Root, 0, []plan.Span{{Eq: []plan.KeyMatch{eq(param)}}}, l)
	}
	p, err := w.plan(sql, make([]types.Datum, n))
	if err != nil {
		t.Fatal(err)
	}
	pr, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	return pr
}

func TestPointAllocations(t *testing.T) {
	w := standardWorld(t)
	w.must("insert into t values (1, 10, 'x')")
	for _, c := range []struct {
		sql string
		l   *plan.Locking
	}{
		{"select c, b from t where a = $1", nil},
		{"update t set b = b + 1 where a = $1", &plan.Locking{Strength: lock.NoKeyUpdate}},
	} {
		pr := pointProgram(t, w, c.sql, c.l, 1)
		txn := newCanned(t, w)
		env := &operator.Env{Ctx: context.Background(), Txn: txn, Builtin: &call.Context{}, Params: []types.Datum{types.NewInt(1)}}
		sink := func(*rowcontainer.Batch) error { return nil }
		if n := testing.AllocsPerRun(100, func() {
			if _, err := pr.Run(env, sink); err != nil {
				t.Fatal(err)
			}
		}); n > 1 {
			t.Errorf("%s: %v allocations", c.sql, n)
		}
	}
}

func BenchmarkPoint(b *testing.B) {
	w := standardWorld(b)
	w.must("insert into t values (1, 10, 'x')")
	for name, sql := range map[string]string{"select": "select c, b from t where a = $1", "update": "update t set b = b + 1 where a = $1"} {
		b.Run(name, func(b *testing.B) {
			var l *plan.Locking
			if name == "update" {
				l = &plan.Locking{Strength: lock.NoKeyUpdate}
			}
			pr := pointProgram(b, w, sql, l, 1)
			env := &operator.Env{Ctx: context.Background(), Txn: newCanned(b, w), Builtin: &call.Context{}, Params: []types.Datum{types.NewInt(1)}}
			sink := func(*rowcontainer.Batch) error { return nil }
			b.ReportAllocs()
			for b.Loop() {
				if _, err := pr.Run(env, sink); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
