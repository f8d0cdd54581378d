package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

func ref(id plan.ColID, name string) *plan.ColRef {
	return &plan.ColRef{Col: id, T: types.Int4, Name: name}
}

func num(n int64) *plan.Const { return plan.NewConst(types.Int4, types.NewInt(n)) }

func op(t *testing.T, name string, l, r plan.Expr) *plan.Call {
	t.Helper()
	fn, err := builtin.ResolveOperator(name, []*types.T{l.Type(), r.Type()})
	if err != nil {
		t.Fatal(err)
	}
	return &plan.Call{Fn: fn, Args: []plan.Expr{l, r}, T: fn.Ret}
}

// TestExprEqual checks structural equality.
func TestExprEqual(t *testing.T) {
	a := op(t, "+", ref(1, "a"), num(1))
	b := op(t, "+", &plan.ColRef{Col: 1, T: types.Int4, Name: "other", Pos: 9}, num(1))
	if !plan.ExprEqual(a, b) {
		t.Error("names and positions should not matter")
	}
	for _, c := range []plan.Expr{
		op(t, "+", ref(2, "a"), num(1)), op(t, "+", ref(1, "a"), num(2)), op(t, "-", ref(1, "a"), num(1)),
		&plan.Is{Arg: a, Kind: plan.IsNull}, num(1), nil,
	} {
		if plan.ExprEqual(a, c) {
			t.Errorf("%s equals %s", plan.FormatExpr(a), plan.FormatExpr(c))
		}
	}
	x := &plan.Is{Arg: a, Kind: plan.IsNull}
	if plan.ExprEqual(x, &plan.Is{Arg: a, Kind: plan.IsNotNull}) {
		t.Error("IS NULL equals IS NOT NULL")
	}
}

// TestMapExpr checks that rewriting shares what stays the same and does not
// change the original.
func TestMapExpr(t *testing.T) {
	left, right := op(t, "=", ref(1, "a"), num(1)), op(t, "=", ref(2, "b"), num(2))
	e := &plan.And{Args: []plan.Expr{left, right}}
	calls := 0
	m := plan.MapExpr(e, func(x plan.Expr) plan.Expr {
		calls++
		if r, ok := x.(*plan.ColRef); ok && r.Col == 2 {
			return ref(3, "c")
		}
		return x
	})
	if calls != 7 {
		t.Errorf("%d calls", calls)
	}
	if got := plan.FormatExpr(m); got != "((a = 1) AND (c = 2))" {
		t.Errorf("got %s", got)
	}
	if got := plan.FormatExpr(e); got != "((a = 1) AND (b = 2))" {
		t.Errorf("original changed: %s", got)
	}
	if m.(*plan.And).Args[0] != left {
		t.Error("unchanged operand was copied")
	}
	same := plan.MapExpr(e, func(x plan.Expr) plan.Expr { return x })
	if same != plan.Expr(e) {
		t.Error("identity made a copy")
	}
}

// TestMapExprDeep checks that the work is linear in the depth.
func TestMapExprDeep(t *testing.T) {
	var e plan.Expr = ref(1, "a")
	const depth = 1000
	for range depth {
		e = &plan.Not{Arg: e}
	}
	calls := 0
	plan.MapExpr(e, func(x plan.Expr) plan.Expr {
		calls++
		if _, ok := x.(*plan.ColRef); ok {
			return ref(2, "b")
		}
		return x
	})
	if calls != depth+1 {
		t.Errorf("%d calls", calls)
	}
}

// TestCopyExpr checks that a copy shares no operands.
func TestCopyExpr(t *testing.T) {
	e := &plan.InList{Left: ref(1, "a"), List: []plan.Expr{num(1), num(2)}}
	c := plan.CopyExpr(e).(*plan.InList)
	c.List[0] = num(9)
	c.Left.(*plan.ColRef).Col = 5
	if e.Left.(*plan.ColRef).Col != 1 || !plan.ExprEqual(e.List[0], num(1)) {
		t.Error("the original changed")
	}
}

func scan() *plan.Scan {
	t := &catalog.Table{ID: 1, Name: "t", Kind: catalog.KindTable}
	t.Columns = []catalog.Column{{ID: 1, Name: "a", Type: types.Int4, NotNull: true}, {ID: 2, Name: "b", Type: types.Int4}}
	t.Indexes = []catalog.Index{
		{ID: 1, Name: "t_pkey", Unique: true, Primary: true, Columns: []catalog.IndexColumn{{Column: 1}}},
		{ID: 2, Name: "t_b", Columns: []catalog.IndexColumn{{Column: 2, Desc: true}}},
	}
	s := &plan.Scan{Table: t, Index: t.Primary(), Alias: "t", Ords: []int{0, 1}}
	s.Cols = []plan.Column{{ID: 1, Name: "a", Type: types.Int4}, {ID: 2, Name: "b", Type: types.Int4}}
	return s
}

// TestVerify checks that broken plans are found.
func TestVerify(t *testing.T) {
	filter := func(cond plan.Expr) plan.Node {
		f := &plan.Filter{Input: scan(), Cond: cond}
		f.Cols = f.Input.Props().Cols
		return f
	}
	short := scan()
	short.Ords = short.Ords[:1]
	sorted := &plan.Sort{Input: scan(), Keys: []plan.SortKey{{Col: 7}}}
	for _, c := range []struct {
		name string
		n    plan.Node
		want string
	}{
		{"good", filter(op(t, "=", ref(1, "a"), num(1))), ""},
		{"unknown column", filter(op(t, "=", ref(9, "z"), num(1))), "not visible"},
		{"not a condition", filter(num(1)), "has type int4"},
		{"untyped", filter(&plan.Is{Arg: plan.NewNull(types.Unknown)}), "no type"},
		{"scan", short, "positions"},
		{"sort", sorted, "not produced"},
		{"cte", &plan.CTEScan{ID: 3, Name: "x"}, "no With defines"},
	} {
		err := plan.Verify(c.n, nil)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	if err := plan.Verify(filter(op(t, "=", ref(9, "z"), num(1))), []plan.ColID{9}); err != nil {
		t.Errorf("outer column: %v", err)
	}
}

// TestRename checks that identifiers change everywhere.
func TestRename(t *testing.T) {
	s := scan()
	s.Filter = op(t, ">", ref(1, "a"), num(0))
	p := &plan.Project{Input: s, Exprs: []plan.Expr{op(t, "+", ref(1, "a"), ref(2, "b"))}}
	p.Cols = []plan.Column{{ID: 3, Name: "x", Type: types.Int4}}
	n := &plan.Sort{Input: p, Keys: []plan.SortKey{{Col: 3}}}
	n.Cols = p.Cols
	plan.Rename(n, func(id plan.ColID) plan.ColID {
		if id < 10 {
			return id + 10
		}
		return id
	})
	if err := plan.Verify(n, nil); err != nil {
		t.Fatal(err)
	}
	if n.Keys[0].Col != 13 || s.Cols[1].ID != 12 || plan.FormatExpr(s.Filter) != "(a > 0)" {
		t.Error("not renamed")
	}
}

// TestKeyColumns checks which columns an index's keys have.
func TestKeyColumns(t *testing.T) {
	tab := scan().Table
	if got := plan.KeyColumns(tab, &tab.Indexes[1]); len(got) != 2 || got[1].Column != 1 {
		t.Errorf("secondary: %v", got)
	}
	if got := plan.KeyColumns(tab, tab.Primary()); len(got) != 1 {
		t.Errorf("primary: %v", got)
	}
	if len(tab.Indexes[1].Columns) != 1 {
		t.Error("the descriptor changed")
	}
}

// TestFormat checks the text of a plan with costs.
func TestFormat(t *testing.T) {
	s := scan()
	s.Spans = []plan.Span{{Eq: []plan.KeyMatch{{Values: []plan.Expr{num(1), num(2)}}}}}
	s.Filter = &plan.Is{Arg: ref(2, "b"), Kind: plan.IsNotNull}
	s.Startup, s.Total, s.Rows = 0.25, 1.5, 2
	l := &plan.Limit{Input: s, Count: num(3)}
	l.Cols = s.Cols
	got := strings.Join(plan.Format(l, plan.ExplainOptions{Costs: true, Actual: func(n plan.Node) *plan.Actual {
		if n == plan.Node(l) {
			return &plan.Actual{}
		}
		return &plan.Actual{Loops: 2, Rows: 6, Startup: 2 * time.Millisecond, Total: 5 * time.Millisecond, Timing: true}
	}}), "\n")
	want := `Limit  (cost=0.00..0.00 rows=1 width=8) (never executed)
  ->  Index Scan using t_pkey on t  (cost=0.25..1.50 rows=2 width=8) (actual time=1.000..2.500 rows=3 loops=2)
        Index Cond: (a = ANY ('{1,2}'::integer[]))
        Filter: (b IS NOT NULL)`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestClone checks that a cloned plan can be changed without changing the
// original, subqueries included.
func TestClone(t *testing.T) {
	inner := scan()
	inner.Filter = op(t, "=", ref(1, "a"), ref(9, "outer"))
	sub := &plan.Subquery{Kind: plan.ExistsSubquery, Plan: inner, Outer: []plan.ColRef{{Col: 9}}, T: types.Bool}
	s := scan()
	s.Spans = []plan.Span{{Lo: &plan.Bound{Values: []plan.Expr{num(1)}}}}
	f := &plan.Filter{Input: s, Cond: sub}
	f.Cols = s.Cols
	format := func(n plan.Node) string {
		return strings.Join(plan.Format(n, plan.ExplainOptions{Internal: true, Verbose: true}), "\n")
	}
	before := format(f)
	c := plan.Clone(f).(*plan.Filter)
	if got := format(c); got != before {
		t.Fatalf("clone differs:\n%s\n%s", got, before)
	}
	c.Input.(*plan.Scan).Spans[0].Lo.Values[0] = num(7)
	c.Cond.(*plan.Subquery).Plan.(*plan.Scan).Filter = nil
	c.Cols[0].Name = "changed"
	if got := format(f); got != before {
		t.Errorf("the original changed:\n%s", got)
	}
}
