package plan

func visitList(list []Expr, one func(*Expr)) {
	for i := range list {
		one(&list[i])
	}
}

// Args calls f for each direct operand of e; f may replace it. The operands of
// a Subquery are its Left expressions: its plan is not entered.
func Args(e Expr, f func(*Expr)) {
	one := func(e *Expr) {
		if *e != nil {
			f(e)
		}
	}
	switch e := e.(type) {
	case *Call:
		visitList(e.Args, one)
	case *Cast:
		one(&e.Arg)
	case *And:
		visitList(e.Args, one)
	case *Or:
		visitList(e.Args, one)
	case *Not:
		one(&e.Arg)
	case *Is:
		one(&e.Arg)
	case *IsDistinct:
		one(&e.Left)
		one(&e.Right)
	case *Case:
		one(&e.Operand)
		for i := range e.Whens {
			one(&e.Whens[i].Cond)
			one(&e.Whens[i].Result)
		}
		one(&e.Else)
	case *AllElements:
		one(&e.Array)
		one(&e.Cond)
	case *Coalesce:
		visitList(e.Args, one)
	case *NullIf:
		one(&e.Left)
		one(&e.LeftCmp)
		one(&e.RightCmp)
	case *MinMax:
		visitList(e.Args, one)
	case *InList:
		one(&e.Left)
		visitList(e.List, one)
	case *AnyAll:
		one(&e.Left)
		one(&e.Array)
	case *ArrayCtor:
		visitList(e.Elems, one)
	case *RowCtor:
		visitList(e.Fields, one)
		one(&e.NullRow)
	case *RowCompare:
		visitList(e.Left, one)
		visitList(e.Right, one)
	case *Subscript:
		one(&e.Arg)
		visitList(e.Lower, one)
		visitList(e.Upper, one)
	case *FieldSelect:
		one(&e.Arg)
	case *Subquery:
		visitList(e.Left, one)
	}
}

// WalkExpr calls f for e and the expressions below it, parents first; f returns
// false to skip an expression's operands. Plans of subqueries are not entered.
func WalkExpr(e Expr, f func(Expr) bool) {
	if e == nil || !f(e) {
		return
	}
	Args(e, func(a *Expr) { WalkExpr(*a, f) })
}

// Refs calls f for each column that e needs from its row: its ColRefs, and the
// Outer columns of its subqueries.
func Refs(e Expr, f func(ColID)) {
	switch e := e.(type) {
	case nil, *Const, *Param:
		return
	case *ColRef:
		f(e.Col)
		return
	case *Subquery:
		for i := range e.Outer {
			f(e.Outer[i].Col)
		}
	}
	Args(e, func(a *Expr) { Refs(*a, f) })
}

// MapExpr rebuilds e bottom-up: f is called for each expression after its
// operands were mapped, and returns what replaces it. e itself is not changed;
// parts that stay the same are shared. Plans of subqueries are not entered.
func MapExpr(e Expr, f func(Expr) Expr) Expr {
	if e == nil {
		return nil
	}
	return f(MapArgs(e, func(a Expr) Expr { return MapExpr(a, f) }))
}

// MapArgs replaces each direct operand of e by f of it, from the left. e itself is not changed, and
// returned if its operands stay the same.
func MapArgs(e Expr, f func(Expr) Expr) Expr {
	var mapped []Expr
	changed := false
	Args(e, func(a *Expr) {
		m := f(*a)
		changed = changed || m != *a
		mapped = append(mapped, m)
	})
	if !changed {
		return e
	}
	c, i := e.copy(), 0
	Args(c, func(a *Expr) {
		*a = mapped[i]
		i++
	})
	return c
}

// CopyExpr returns a copy of e that shares nothing, the plans of subqueries
// included.
func CopyExpr(e Expr) Expr {
	if e == nil {
		return nil
	}
	c := e.copy()
	if s, ok := c.(*Subquery); ok {
		s.Plan = Clone(s.Plan)
		s.Outer, s.Cmps = append([]ColRef(nil), s.Outer...), append([]Expr(nil), s.Cmps...)
	}
	Args(c, func(a *Expr) { *a = CopyExpr(*a) })
	return c
}
