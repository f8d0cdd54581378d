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

func renameIDs(ids []ColID, m func(ColID) ColID) {
	for i := range ids {
		ids[i] = m(ids[i])
	}
}

func renameKeys(keys []SortKey, m func(ColID) ColID) {
	for i := range keys {
		keys[i].Col = m(keys[i].Col)
	}
}

func renameCols(cols []Column, m func(ColID) ColID) {
	for i := range cols {
		cols[i].ID = m(cols[i].ID)
	}
}

func renameWindow(n *Window, m func(ColID) ColID) {
	renameIDs(n.PartitionBy, m)
	renameKeys(n.OrderBy, m)
	n.RangeKey = m(n.RangeKey)
	for i := range n.Funcs {
		n.Funcs[i].Out.ID = m(n.Funcs[i].Out.ID)
	}
}

// renameNode renames the identifiers that n itself lists.
func renameNode(n Node, m func(ColID) ColID) {
	p := n.Props()
	renameCols(p.Cols, m)
	renameKeys(p.Order, m)
	switch n := n.(type) {
	case *Scan:
		for i := range n.Computed {
			n.Computed[i].ID, n.Computed[i].Value = m(n.Computed[i].ID), renameExpr(n.Computed[i].Value, m)
		}
		for i := range n.Predicates {
			n.Predicates[i].Cond = renameExpr(n.Predicates[i].Cond, m)
		}
	case *IndexJoin:
		renameIDs(n.Key, m)
	case *Join:
		renameIDs(n.Outer, m)
	case *ProjectSet:
		for i := range n.Funcs {
			renameCols(n.Funcs[i].Out, m)
		}
		n.Ordinality.ID = m(n.Ordinality.ID)
	case *GroupBy:
		renameIDs(n.Keys, m)
		for i := range n.Aggs {
			renameKeys(n.Aggs[i].OrderBy, m)
			n.Aggs[i].Out.ID = m(n.Aggs[i].Out.ID)
		}
		for i := range n.Groupings {
			n.Groupings[i].Out.ID = m(n.Groupings[i].Out.ID)
		}
	case *Distinct:
		renameIDs(n.Keys, m)
	case *Sort:
		renameKeys(n.Keys, m)
	case *Limit:
		renameKeys(n.TiesKeys, m)
	case *SetOp:
		renameIDs(n.LeftCols, m)
		renameIDs(n.RightCols, m)
	case *Window:
		renameWindow(n, m)
	case *With:
		for _, c := range n.CTEs {
			renameIDs(c.Cols, m)
			renameIDs(c.RecursiveCols, m)
			renameIDs(c.Outer, m)
		}
	case *CTEScan:
		renameIDs(n.SourceCols, m)
	case *LockRows:
		for i := range n.Targets {
			renameIDs(n.Targets[i].Key, m)
			renameIDs(n.Targets[i].Row, m)
		}
	case *Insert:
		renameIDs(n.New, m)
		if n.OnConflict != nil {
			renameIDs(n.OnConflict.Old, m)
		}
	case *Update:
		renameIDs(n.Old, m)
		renameIDs(n.New, m)
	case *Delete:
		renameIDs(n.Old, m)
	case *Merge:
		renameIDs(n.Old, m)
		renameIDs(n.New, m)
	case *Copy:
		renameCols(n.Columns, m)
	}
}
