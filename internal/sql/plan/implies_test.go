package plan_test

import (
	"testing"

	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

func TestImplies(t *testing.T) {
	a, b, f := ref(1, "a"), ref(2, "b"), &plan.ColRef{Col: 3, T: types.Bool, Name: "f"}
	cmp := func(l plan.Expr, name string, n int64) plan.Expr { return op(t, name, l, num(n)) }
	in := func(l plan.Expr, list ...int64) plan.Expr {
		x := &plan.InList{Left: l, Eq: cmp(l, "=", 0).(*plan.Call).Fn}
		for _, v := range list {
			x.List = append(x.List, num(v))
		}
		return x
	}
	notNull := func(x plan.Expr) plan.Expr { return &plan.Is{Kind: plan.IsNotNull, Arg: x} }
	isTrue := func(x plan.Expr) plan.Expr { return &plan.Is{Kind: plan.IsTrue, Arg: x} }
	list := func(x ...plan.Expr) []plan.Expr { return x }
	for i, c := range []struct {
		given []plan.Expr
		cond  plan.Expr
		want  bool
	}{
		{list(cmp(a, ">", 5)), cmp(a, ">", 5), true},
		{list(cmp(a, ">", 6)), cmp(a, ">", 5), true},
		{list(cmp(a, ">", 4)), cmp(a, ">", 5), false},
		{list(cmp(a, ">=", 5)), cmp(a, ">", 5), false},
		{list(cmp(a, ">", 5)), cmp(a, ">=", 5), true},
		{list(cmp(b, ">", 6)), cmp(a, ">", 5), false},
		{list(cmp(a, "=", 7)), cmp(a, ">", 5), true},
		{list(cmp(a, "=", 5)), cmp(a, ">", 5), false},
		{list(cmp(a, "<", 5)), cmp(a, "<>", 5), true},
		{list(cmp(a, "<=", 5)), cmp(a, "<>", 5), false},
		{list(cmp(a, "<", 5)), cmp(a, ">", 1), false},
		{list(in(a, 6, 7)), cmp(a, ">", 5), true},
		{list(in(a, 5, 7)), cmp(a, ">", 5), false},
		{list(cmp(a, "=", 6)), in(a, 6, 8), true},
		{list(in(a, 6, 9)), in(a, 6, 8), false},
		{list(cmp(a, "<", 3)), notNull(a), true},
		{list(cmp(a, "<", 3)), notNull(b), false},
		{list(f), isTrue(f), true},
		{list(isTrue(f)), f, true},
		{list(&plan.Not{Arg: f}), f, false},
		{list(&plan.Not{Arg: f}), &plan.Is{Kind: plan.IsFalse, Arg: f}, true},
		{list(f), notNull(f), true},
		{list(cmp(a, ">", 6), f), &plan.And{Args: []plan.Expr{f, cmp(a, ">", 5)}}, true},
		{list(f), &plan.Or{Args: []plan.Expr{f, cmp(a, ">", 5)}}, true},
		{list(&plan.Or{Args: []plan.Expr{cmp(a, "=", 6), cmp(a, "=", 8)}}), cmp(a, ">", 5), true},
		{list(&plan.Or{Args: []plan.Expr{cmp(a, "=", 6), cmp(b, "=", 8)}}), cmp(a, ">", 5), false},
		{nil, cmp(a, ">", 5), false},
	} {
		if got := plan.Implies(c.given, c.cond); got != c.want {
			t.Errorf("case %d: %v, want %v", i, got, c.want)
		}
	}
}
