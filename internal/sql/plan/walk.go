package plan

// Walk calls f for n and the nodes below it, parents first, without the plans
// of subqueries in expressions. f returns false to skip a node's children.
func Walk(n Node, f func(Node) bool) {
	if n == nil || !f(n) {
		return
	}
	for _, c := range n.Children() {
		Walk(c, f)
	}
}

// VisitExprs calls f for the root of each expression of n itself, in the order
// they are evaluated; f may replace it.
func VisitExprs(n Node, f func(*Expr)) {
	one := func(e *Expr) {
		if *e != nil {
			f(e)
		}
	}
	bound := func(b *RowBound) { one(&b.Count); one(&b.Offset) }
	switch n := n.(type) {
	case *Scan:
		visitSpans(n.Spans, one)
		visitTokens(n.Tokens, one)
		one(&n.Filter)
		bound(&n.Bound)
	case *IndexJoin:
		one(&n.Filter)
		bound(&n.Bound)
	case *VirtualScan:
		one(&n.Filter)
	case *Join:
		visitList(n.LeftKeys, one)
		visitList(n.RightKeys, one)
		one(&n.On)
	case *Values:
		for _, row := range n.RowExprs {
			visitList(row, one)
		}
	case *Filter:
		one(&n.Cond)
	case *Project:
		visitList(n.Exprs, one)
	case *ProjectSet:
		for i := range n.Funcs {
			visitList(n.Funcs[i].Call.Args, one)
		}
	case *GroupBy:
		for i := range n.Aggs {
			visitList(n.Aggs[i].Args, one)
			one(&n.Aggs[i].Filter)
		}
	case *Sort:
		bound(&n.Bound)
	case *Limit:
		one(&n.Count)
		one(&n.Offset)
	case *Window:
		visitWindow(n, one)
	case *LockRows:
		one(&n.Recheck)
	case *Insert, *Update, *Delete, *Merge:
		visitDML(n, one)
	}
}

func visitList(list []Expr, one func(*Expr)) {
	for i := range list {
		one(&list[i])
	}
}

func visitSpans(spans []Span, one func(*Expr)) {
	for i := range spans {
		s := &spans[i]
		for j := range s.Eq {
			visitList(s.Eq[j].Values, one)
			one(&s.Eq[j].Array)
		}
		for _, b := range []*Bound{s.Lo, s.Hi} {
			if b != nil {
				visitList(b.Values, one)
			}
		}
	}
}

func visitTokens(t *TokenScan, one func(*Expr)) {
	if t == nil {
		return
	}
	for i := range t.Conds {
		for j := range t.Conds[i] {
			one(&t.Conds[i][j].Value)
		}
	}
}

func visitWindow(n *Window, one func(*Expr)) {
	for i := range n.Funcs {
		w := &n.Funcs[i]
		visitList(w.Args, one)
		one(&w.Filter)
		one(&w.Frame.Start.Offset)
		one(&w.Frame.End.Offset)
	}
}

func visitDML(n Node, one func(*Expr)) {
	if m, ok := n.(*Merge); ok {
		visitMerge(m, one)
		return
	}
	var checks []CheckExpr
	var set []SetCol
	var ret *Returning
	switch n := n.(type) {
	case *Insert:
		if n.OnConflict != nil {
			set = n.OnConflict.Set
			one(&n.OnConflict.Where)
		}
		checks, ret = n.Checks, n.Returning
	case *Update:
		set, checks, ret = n.Set, n.Checks, n.Returning
	case *Delete:
		ret = n.Returning
	}
	for i := range set {
		one(&set[i].Value)
	}
	for i := range checks {
		one(&checks[i].Cond)
	}
	if ret != nil {
		visitList(ret.Exprs, one)
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
	c, i := cloneExpr(e), 0
	Args(c, func(a *Expr) {
		*a = mapped[i]
		i++
	})
	return c
}

// cloneExpr copies e and its operand slices, but not its operands.
func cloneExpr(e Expr) Expr {
	list := func(l []Expr) []Expr { return append([]Expr(nil), l...) }
	switch e := e.(type) {
	case *Call:
		c := *e
		c.Args = list(e.Args)
		return &c
	case *Cast:
		c := *e
		return &c
	case *And:
		return &And{Args: list(e.Args)}
	case *Or:
		return &Or{Args: list(e.Args)}
	case *Not:
		c := *e
		return &c
	case *Is:
		c := *e
		return &c
	case *IsDistinct:
		c := *e
		return &c
	case *Case:
		c := *e
		c.Whens = append([]When(nil), e.Whens...)
		return &c
	case *AllElements:
		c := *e
		return &c
	case *Coalesce:
		return &Coalesce{Args: list(e.Args), T: e.T}
	case *NullIf:
		c := *e
		return &c
	case *MinMax:
		c := *e
		c.Args = list(e.Args)
		return &c
	case *InList:
		c := *e
		c.List = list(e.List)
		return &c
	case *AnyAll:
		c := *e
		return &c
	case *ArrayCtor:
		c := *e
		c.Elems = list(e.Elems)
		return &c
	case *RowCtor:
		c := *e
		c.Fields = list(e.Fields)
		return &c
	case *RowCompare:
		c := *e
		c.Left, c.Right = list(e.Left), list(e.Right)
		return &c
	case *Subscript:
		c := *e
		c.Lower, c.Upper = list(e.Lower), list(e.Upper)
		return &c
	case *FieldSelect:
		c := *e
		return &c
	case *Subquery:
		c := *e
		c.Left = list(e.Left)
		return &c
	}
	return e
}

// CopyExpr returns a copy of e that shares nothing, the plans of subqueries
// included.
func CopyExpr(e Expr) Expr {
	if e == nil {
		return nil
	}
	var c Expr
	switch e := e.(type) {
	case *Const:
		d := *e
		c = &d
	case *ColRef:
		d := *e
		c = &d
	case *Param:
		d := *e
		c = &d
	default:
		c = cloneExpr(e)
	}
	if s, ok := c.(*Subquery); ok {
		s.Plan = Clone(s.Plan)
		s.Outer, s.Cmps = append([]ColRef(nil), s.Outer...), append([]Expr(nil), s.Cmps...)
	}
	Args(c, func(a *Expr) { *a = CopyExpr(*a) })
	return c
}
