package plan

import "slices"

// Clone copies a plan with all its expressions and the plans of subqueries;
// descriptors, constants and statements are shared. Column identifiers stay
// the same.
func Clone(n Node) Node {
	c := cloneNode(n)
	p := c.Props()
	p.Cols, p.Order = slices.Clone(p.Cols), slices.Clone(p.Order)
	visit(c, visitor{
		input: func(in *Node) { *in = Clone(*in) },
		expr:  func(e *Expr) { *e = CopyExpr(*e) },
	})
	return c
}

// cloneNode copies n and the lists that hold its expressions and columns; inputs and expressions
// stay the same.
func cloneNode(n Node) Node {
	switch n := n.(type) {
	case *Scan:
		c := *n
		c.Ords, c.Spans = slices.Clone(n.Ords), cloneSpans(n.Spans)
		c.Tokens = n.Tokens.clone()
		c.Computed, c.Predicates = slices.Clone(n.Computed), slices.Clone(n.Predicates)
		return &c
	case *IndexJoin:
		c := *n
		c.Key, c.Ords = slices.Clone(n.Key), slices.Clone(n.Ords)
		return &c
	case *VirtualScan:
		c := *n
		c.Ords = slices.Clone(n.Ords)
		return &c
	case *Join:
		c := *n
		c.LeftKeys, c.RightKeys, c.Outer = slices.Clone(n.LeftKeys), slices.Clone(n.RightKeys), slices.Clone(n.Outer)
		return &c
	case *Values:
		c := *n
		c.RowExprs = slices.Clone(n.RowExprs)
		for i := range c.RowExprs {
			c.RowExprs[i] = slices.Clone(c.RowExprs[i])
		}
		return &c
	case *Filter:
		c := *n
		return &c
	case *Barrier:
		c := *n
		return &c
	case *Project:
		c := *n
		c.Exprs = slices.Clone(n.Exprs)
		return &c
	case *Gather:
		c := *n
		return &c
	case *ProjectSet:
		c := *n
		c.Funcs = slices.Clone(n.Funcs)
		for i := range c.Funcs {
			c.Funcs[i].Call = c.Funcs[i].Call.copy().(*Call)
			c.Funcs[i].Out = slices.Clone(c.Funcs[i].Out)
		}
		return &c
	case *GroupBy:
		c := *n
		c.Keys, c.Aggs = slices.Clone(n.Keys), slices.Clone(n.Aggs)
		c.Groupings = slices.Clone(n.Groupings)
		for i := range c.Aggs {
			c.Aggs[i].Args, c.Aggs[i].OrderBy = slices.Clone(c.Aggs[i].Args), slices.Clone(c.Aggs[i].OrderBy)
		}
		return &c
	}
	return cloneOver(n)
}

// cloneOver is cloneNode for the operators that order, cut, combine or lock rows.
func cloneOver(n Node) Node {
	switch n := n.(type) {
	case *Distinct:
		c := *n
		c.Keys = slices.Clone(n.Keys)
		return &c
	case *Sort:
		c := *n
		c.Keys = slices.Clone(n.Keys)
		return &c
	case *Limit:
		c := *n
		c.TiesKeys = slices.Clone(n.TiesKeys)
		return &c
	case *SetOp:
		c := *n
		c.LeftCols, c.RightCols = slices.Clone(n.LeftCols), slices.Clone(n.RightCols)
		return &c
	case *Window:
		c := *n
		c.Funcs = slices.Clone(n.Funcs)
		c.PartitionBy, c.OrderBy = slices.Clone(n.PartitionBy), slices.Clone(n.OrderBy)
		for i := range c.Funcs {
			c.Funcs[i].Args = slices.Clone(c.Funcs[i].Args)
		}
		return &c
	case *With:
		c := *n
		c.CTEs = slices.Clone(n.CTEs)
		for i, e := range n.CTEs {
			d := *e
			d.Cols, d.RecursiveCols, d.Outer = slices.Clone(e.Cols), slices.Clone(e.RecursiveCols), slices.Clone(e.Outer)
			c.CTEs[i] = &d
		}
		return &c
	case *TransitionScan:
		c := *n
		c.Ords = slices.Clone(n.Ords)
		return &c
	case *CTEScan:
		c := *n
		c.SourceCols = slices.Clone(n.SourceCols)
		return &c
	case *LockRows:
		c := *n
		c.Targets = slices.Clone(n.Targets)
		for i := range c.Targets {
			t := &c.Targets[i]
			t.Key, t.Row, t.Ords = slices.Clone(t.Key), slices.Clone(t.Row), slices.Clone(t.Ords)
		}
		return &c
	}
	return cloneDML(n)
}

// cloneDML copies what writes rows; foreign keys and what is derived from rows is shared.
func cloneDML(n Node) Node {
	switch n := n.(type) {
	case *Insert:
		c := *n
		c.Checks, c.Returning = slices.Clone(n.Checks), n.Returning.clone()
		if n.OnConflict != nil {
			on := *n.OnConflict
			on.Set, c.OnConflict = slices.Clone(on.Set), &on
			on.OldChecks, on.NewChecks = slices.Clone(on.OldChecks), slices.Clone(on.NewChecks)
		}
		return &c
	case *Update:
		c := *n
		c.Set, c.Checks, c.Returning = slices.Clone(n.Set), slices.Clone(n.Checks), n.Returning.clone()
		return &c
	case *Instead:
		c := *n
		c.Set, c.Returning = slices.Clone(n.Set), n.Returning.clone()
		return &c
	case *Delete:
		c := *n
		c.Returning = n.Returning.clone()
		return &c
	case *Copy:
		c := *n
		return &c
	case *Explain:
		c := *n
		return &c
	case *Merge:
		c := *n
		c.Actions, c.Checks = slices.Clone(n.Actions), slices.Clone(n.Checks)
		for i := range c.Actions {
			a := &c.Actions[i]
			a.Set, a.Values = slices.Clone(a.Set), slices.Clone(a.Values)
			a.OldChecks, a.NewChecks = slices.Clone(a.OldChecks), slices.Clone(a.NewChecks)
		}
		return &c
	}
	return n
}

func (r *Returning) clone() *Returning {
	if r == nil {
		return nil
	}
	return &Returning{Exprs: slices.Clone(r.Exprs)}
}

func cloneSpans(spans []Span) []Span {
	out := slices.Clone(spans)
	bound := func(b *Bound) *Bound {
		if b == nil {
			return nil
		}
		return &Bound{Values: slices.Clone(b.Values), Inclusive: b.Inclusive}
	}
	for i := range out {
		s := &out[i]
		s.Eq = slices.Clone(s.Eq)
		for j := range s.Eq {
			s.Eq[j].Values = slices.Clone(s.Eq[j].Values)
		}
		s.Lo, s.Hi = bound(s.Lo), bound(s.Hi)
	}
	return out
}

func (t *TokenScan) clone() *TokenScan {
	if t == nil {
		return nil
	}
	c := &TokenScan{Index: t.Index, Conds: slices.Clone(t.Conds)}
	for i := range c.Conds {
		c.Conds[i] = slices.Clone(c.Conds[i])
	}
	return c
}
