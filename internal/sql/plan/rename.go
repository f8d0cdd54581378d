package plan

// Rename replaces column identifiers everywhere in n, the plans of subqueries
// included: m returns the new identifier, or its argument. It must map new
// identifiers to themselves, as operators may share lists of columns.
func Rename(n Node, m func(ColID) ColID) {
	Walk(n, func(n Node) bool {
		renameNode(n, m)
		VisitExprs(n, func(e *Expr) { *e = renameExpr(*e, m) })
		return true
	})
}

func renameExpr(e Expr, m func(ColID) ColID) Expr {
	return MapExpr(e, func(e Expr) Expr {
		switch e := e.(type) {
		case *ColRef:
			if id := m(e.Col); id != e.Col {
				c := *e
				c.Col = id
				return &c
			}
		case *Subquery:
			Rename(e.Plan, m)
			for i := range e.Outer {
				e.Outer[i].Col = m(e.Outer[i].Col)
			}
			for i := range e.Cmps {
				e.Cmps[i] = renameExpr(e.Cmps[i], m)
			}
		}
		return e
	})
}

// renameNode renames the identifiers that n itself lists.
func renameNode(n Node, m func(ColID) ColID) {
	v := visitor{col: func(id *ColID) { *id = m(*id) }}
	v.cols(n.Props().Cols)
	v.keys(n.Props().Order)
	visit(n, v)
	s, ok := n.(*Scan)
	if !ok {
		return
	}
	for i := range s.Computed {
		s.Computed[i].ID, s.Computed[i].Value = m(s.Computed[i].ID), renameExpr(s.Computed[i].Value, m)
	}
	for i := range s.Predicates {
		s.Predicates[i].Cond = renameExpr(s.Predicates[i].Cond, m)
	}
}
