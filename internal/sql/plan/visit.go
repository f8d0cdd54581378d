package plan

// visitor is what visit calls for the parts of an operator; a nil function is not called.
type visitor struct {
	input func(*Node)  // each input, in the order EXPLAIN shows them
	expr  func(*Expr)  // the root of each expression, in the order they are evaluated
	col   func(*ColID) // each column that the operator lists, those of its Base aside
}

// visit calls v for the inputs, expressions and columns of n itself; v may replace them. Every
// operator has a case here, or in visitDML, unless it consists of none of them.
func visit(n Node, v visitor) {
	switch n := n.(type) {
	case *Scan:
		v.spans(n.Spans)
		v.tokens(n.Tokens)
		v.one(&n.Filter)
		v.bound(&n.Bound)
	case *IndexJoin:
		v.scan(&n.Input)
		v.one(&n.Filter)
		v.bound(&n.Bound)
		v.ids(n.Key)
	case *Join:
		v.in(&n.Left)
		v.in(&n.Right)
		v.list(n.LeftKeys)
		v.list(n.RightKeys)
		v.one(&n.On)
		v.ids(n.Outer)
	case *Values:
		for _, row := range n.RowExprs {
			v.list(row)
		}
	case *Filter:
		v.in(&n.Input)
		v.one(&n.Cond)
	case *Barrier:
		v.in(&n.Input)
	case *Project:
		v.in(&n.Input)
		v.list(n.Exprs)
	case *ProjectSet:
		v.projectSet(n)
	case *GroupBy:
		v.groupBy(n)
	case *Gather:
		v.in(&n.Input)
	case *Distinct:
		v.in(&n.Input)
		v.ids(n.Keys)
	case *Sort:
		v.in(&n.Input)
		v.bound(&n.Bound)
		v.keys(n.Keys)
	case *Limit:
		v.in(&n.Input)
		v.one(&n.Count)
		v.one(&n.Offset)
		v.keys(n.TiesKeys)
	case *SetOp:
		v.in(&n.Left)
		v.in(&n.Right)
		v.ids(n.LeftCols)
		v.ids(n.RightCols)
	case *Window:
		v.window(n)
	case *With:
		v.with(n)
	case *CTEScan:
		v.ids(n.SourceCols)
	default:
		visitDML(n, v)
	}
}

// visitDML is visit for what locks and writes rows, and for statements around a query.
func visitDML(n Node, v visitor) {
	switch n := n.(type) {
	case *LockRows:
		v.in(&n.Input)
		v.one(&n.Recheck)
		for i := range n.Targets {
			v.ids(n.Targets[i].Key)
			v.ids(n.Targets[i].Row)
		}
	case *Insert:
		v.in(&n.Input)
		if on := n.OnConflict; on != nil {
			v.one(&on.Where)
			v.set(on.Set)
			v.ids(on.Old)
			v.checks(on.OldChecks)
			v.checks(on.NewChecks)
		}
		v.checks(n.Checks)
		v.returning(n.Returning)
		v.ids(n.New)
	case *Update:
		v.in(&n.Input)
		v.set(n.Set)
		v.checks(n.Checks)
		v.returning(n.Returning)
		v.ids(n.Old)
		v.ids(n.New)
	case *Instead:
		v.in(&n.Input)
		v.set(n.Set)
		v.returning(n.Returning)
		v.ids(n.Old)
		v.ids(n.New)
	case *Delete:
		v.in(&n.Input)
		v.returning(n.Returning)
		v.ids(n.Old)
	case *Merge:
		v.in(&n.Input)
		v.actions(n.Actions)
		v.checks(n.Checks)
		v.ids(n.Old)
		v.ids(n.New)
	case *Copy:
		v.in(&n.Input)
		v.cols(n.Columns)
	case *Explain:
		v.in(&n.Input)
	}
}

func (v visitor) in(n *Node) {
	if v.input != nil {
		v.input(n)
	}
}

// scan visits the input of an IndexJoin, which is a Scan whatever replaces it.
func (v visitor) scan(s **Scan) {
	if v.input == nil {
		return
	}
	n := Node(*s)
	if v.input(&n); n != Node(*s) { // plans that are executed are only read
		*s = n.(*Scan)
	}
}

func (v visitor) one(e *Expr) {
	if v.expr != nil && *e != nil {
		v.expr(e)
	}
}

func (v visitor) list(list []Expr) {
	for i := range list {
		v.one(&list[i])
	}
}

func (v visitor) id(id *ColID) {
	if v.col != nil {
		v.col(id)
	}
}

func (v visitor) ids(ids []ColID) {
	for i := range ids {
		v.id(&ids[i])
	}
}

func (v visitor) keys(keys []SortKey) {
	for i := range keys {
		v.id(&keys[i].Col)
	}
}

func (v visitor) cols(cols []Column) {
	for i := range cols {
		v.id(&cols[i].ID)
	}
}

func (v visitor) bound(b *RowBound) {
	v.one(&b.Count)
	v.one(&b.Offset)
}

func (v visitor) spans(spans []Span) {
	for i := range spans {
		s := &spans[i]
		for j := range s.Eq {
			v.list(s.Eq[j].Values)
			v.one(&s.Eq[j].Array)
		}
		for _, b := range []*Bound{s.Lo, s.Hi} {
			if b != nil {
				v.list(b.Values)
			}
		}
	}
}

func (v visitor) tokens(t *TokenScan) {
	if t == nil {
		return
	}
	for i := range t.Conds {
		for j := range t.Conds[i] {
			v.one(&t.Conds[i][j].Value)
		}
	}
}

func (v visitor) projectSet(n *ProjectSet) {
	v.in(&n.Input)
	for i := range n.Funcs {
		v.list(n.Funcs[i].Call.Args)
		v.cols(n.Funcs[i].Out)
	}
	v.id(&n.Ordinality.ID)
}

func (v visitor) groupBy(n *GroupBy) {
	v.in(&n.Input)
	v.ids(n.Keys)
	for i := range n.Aggs {
		a := &n.Aggs[i]
		v.list(a.Args)
		v.one(&a.Filter)
		v.keys(a.OrderBy)
		v.id(&a.Out.ID)
	}
	for i := range n.Groupings {
		v.id(&n.Groupings[i].Out.ID)
	}
}

func (v visitor) window(n *Window) {
	v.in(&n.Input)
	v.ids(n.PartitionBy)
	v.keys(n.OrderBy)
	v.id(&n.RangeKey)
	for i := range n.Funcs {
		w := &n.Funcs[i]
		v.list(w.Args)
		v.one(&w.Filter)
		v.one(&w.Frame.Start.Offset)
		v.one(&w.Frame.End.Offset)
		v.id(&w.Out.ID)
	}
}

func (v visitor) with(n *With) {
	for _, c := range n.CTEs {
		v.in(&c.Plan)
		if c.Recursive != nil {
			v.in(&c.Recursive)
		}
		v.ids(c.Cols)
		v.ids(c.RecursiveCols)
		v.ids(c.Outer)
	}
	v.in(&n.Body)
}

func (v visitor) set(set []SetCol) {
	for i := range set {
		v.one(&set[i].Value)
	}
}

func (v visitor) checks(checks []CheckExpr) {
	for i := range checks {
		v.one(&checks[i].Cond)
	}
}

func (v visitor) returning(r *Returning) {
	if r != nil {
		v.list(r.Exprs)
	}
}

func (v visitor) actions(actions []MergeAction) {
	for i := range actions {
		a := &actions[i]
		v.one(&a.Cond)
		v.set(a.Set)
		v.list(a.Values)
		v.checks(a.OldChecks)
		v.checks(a.NewChecks)
	}
}

// Children returns the inputs of n, in the order EXPLAIN shows them.
func Children(n Node) []Node {
	var list []Node
	visit(n, visitor{input: func(in *Node) { list = append(list, *in) }})
	return list
}

// EachInput calls f for each input of n; f may replace it, that of an IndexJoin by a Scan only.
func EachInput(n Node, f func(*Node)) { visit(n, visitor{input: f}) }

// Walk calls f for n and the nodes below it, parents first, without the plans
// of subqueries in expressions. f returns false to skip a node's inputs.
func Walk(n Node, f func(Node) bool) {
	if n == nil || !f(n) {
		return
	}
	visit(n, visitor{input: func(in *Node) { Walk(*in, f) }})
}

// EveryNode calls f for root and all nodes below it, those of subqueries in expressions included.
func EveryNode(root Node, f func(Node)) {
	Walk(root, func(n Node) bool {
		VisitExprs(n, func(e *Expr) {
			WalkExpr(*e, func(x Expr) bool {
				if s, ok := x.(*Subquery); ok {
					EveryNode(s.Plan, f)
				}
				return true
			})
		})
		f(n)
		return true
	})
}

// VisitExprs calls f for the root of each expression of n itself, in the order
// they are evaluated; f may replace it.
func VisitExprs(n Node, f func(*Expr)) { visit(n, visitor{expr: f}) }
