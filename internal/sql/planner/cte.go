package planner

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/coerce"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// with plans a WITH clause and makes its names visible in s.
func (b *builder) with(w *ast.With, s *scope) ([]*plan.CTE, error) {
	if w == nil {
		return nil, nil
	}
	var out []*plan.CTE
	seen := len(s.ctes)
	list, err := withOrder(w)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		for _, e := range s.ctes[seen:] {
			if e.name == c.Name {
				return nil, pgerr.New(pgerr.DuplicateAlias, "WITH query name \"%s\" specified more than once", c.Name).At(c.Pos)
			}
		}
		e, err := b.cte(c, w.Recursive, s)
		if err != nil {
			return nil, err
		}
		s.ctes = append(s.ctes, e)
		out = append(append(out, e.inner...), e.cte)
	}
	return out, nil
}

// cte plans one common table expression.
func (b *builder) cte(c *ast.CTE, recursive bool, s *scope) (*cteEntry, error) {
	b.nextCTE++
	e := &cteEntry{name: c.Name, cte: &plan.CTE{ID: b.nextCTE, Name: c.Name}}
	e.cte.Materialized = c.Materialize == ast.MaterializeAlways
	inner := &scope{parent: s.parent, bound: &boundary{within: s.bound}, ctes: s.ctes}
	if recursive {
		if err := checkRecursion(c); err != nil {
			return nil, err
		}
	}
	if err := b.cteQuery(c, recursive, e, inner); err != nil {
		return nil, err
	}
	e.outer = inner.outer()
	for i := range e.outer {
		e.cte.Outer = append(e.cte.Outer, e.outer[i].Col)
	}
	return e, nil
}

// cteQuery plans the query of a common table expression.
func (b *builder) cteQuery(c *ast.CTE, recursive bool, e *cteEntry, inner *scope) error {
	if c.Search != nil || c.Cycle != nil {
		return b.searchedCTE(c, recursive, e, inner)
	}
	q, ok := c.Stmt.(*ast.Select)
	if !ok {
		return b.modifyingCTE(c, e, inner)
	}
	if recursive && q.Op == ast.SetUnion && refersTo(q, c.Name) {
		return b.recursiveCTE(c, q, e, inner)
	}
	p, err := b.relation(q, inner)
	if err != nil {
		return err
	}
	e.cte.Plan = p.node
	e.cols = columnsOf(p.targets, c.Cols)
	return checkCTECols(c, len(e.cols))
}

func checkCTECols(c *ast.CTE, n int) error {
	if len(c.Cols) > n {
		return pgerr.New(pgerr.InvalidColumnReference, "WITH query \"%s\" has %d columns available but %d columns specified",
			c.Name, n, len(c.Cols)).At(c.Pos)
	}
	return nil
}

// modifyingCTE plans INSERT, UPDATE or DELETE in WITH.
func (b *builder) modifyingCTE(c *ast.CTE, e *cteEntry, s *scope) error {
	if s.parent != nil || b.depth > 1 {
		return pgerr.New(pgerr.FeatureNotSupported, "WITH clause containing a data-modifying statement must be at the top level").At(c.Pos)
	}
	b.modifies = true
	e.cte.Modifies = true
	var with *ast.With
	var f func(*scope) (plan.Node, error)
	switch st := c.Stmt.(type) {
	case *ast.Insert:
		with, f = st.With, func(sc *scope) (plan.Node, error) { return b.insert(st, sc) }
	case *ast.Update:
		with, f = st.With, func(sc *scope) (plan.Node, error) { return b.update(st, sc) }
	case *ast.Delete:
		with, f = st.With, func(sc *scope) (plan.Node, error) { return b.delete(st, sc) }
	default:
		return pgerr.New(pgerr.FeatureNotSupported, "MERGE not supported in WITH query").At(c.Pos)
	}
	ctes, err := b.with(with, s)
	if err != nil {
		return err
	}
	n, err := f(s)
	if err != nil {
		return err
	}
	e.cte.Plan = wrapWith(n, ctes)
	e.cols = append(e.cols, n.Props().Cols...)
	for i := range c.Cols {
		if i < len(e.cols) {
			e.cols[i].Name = c.Cols[i]
		}
	}
	return checkCTECols(c, len(e.cols))
}

// recursiveCTE plans a UNION whose right side may refer to the name defined.
func (b *builder) recursiveCTE(c *ast.CTE, q *ast.Select, e *cteEntry, s *scope) error {
	var err error
	if e.inner, err = b.with(q.With, s); err != nil {
		return err
	}
	first, err := b.setOpSide(q.L, &scope{parent: s.parent, bound: s.bound, ctes: s.ctes})
	if err != nil {
		return err
	}
	ts := make([]*types.T, len(first.targets))
	for i := range ts {
		if ts[i] = first.targets[i].col.Type; isUnknown(ts[i]) {
			ts[i] = types.Text
		}
	}
	b.separate(first)
	node, ids, err := b.convert(first, ts)
	if err != nil {
		return err
	}
	e.cte.Plan = node
	for i, id := range ids {
		e.cols = append(e.cols, plan.Column{ID: id, Name: first.targets[i].name, Type: ts[i]})
		if i < len(c.Cols) {
			e.cols[i].Name = c.Cols[i]
		}
	}
	if err := checkCTECols(c, len(ids)); err != nil {
		return err
	}
	e.working, e.cte.Round = true, b.newCol()
	e.outer = []plan.ColRef{{Col: e.cte.Round, T: types.Int8, Name: c.Name}}
	bound := &boundary{within: s.bound, round: e.cte.Round}
	rs := &scope{parent: s.parent, bound: bound, ctes: append(append([]*cteEntry(nil), s.ctes...), e)}
	second, err := b.setOpSide(q.R, rs)
	if err != nil {
		return err
	}
	e.working = false
	if !e.used { // no recursion after all
		return b.plainUnionCTE(q, e, first, second)
	}
	if len(second.targets) != len(ts) {
		return pgerr.New(pgerr.SyntaxError, "each UNION query must have the same number of columns").At(targetPos(second, 0, q.R.Pos))
	}
	if err := recursiveTypes(c, second, ts, first); err != nil {
		return err
	}
	e.cte.Recursive, e.cte.RecursiveCols, err = b.convert(second, ts)
	e.cte.Cols, e.cte.Dedup = ids, !q.All
	return err
}

// recursiveTypes checks that the types of both terms together are those of the first one.
func recursiveTypes(c *ast.CTE, second *queryPlan, ts []*types.T, first *queryPlan) error {
	for i := range ts {
		all, err := coerce.CommonType([]*types.T{ts[i], second.targets[i].expr.Type()}, "UNION")
		if err != nil {
			return pgerr.From(err).At(second.targets[i].pos)
		}
		if !all.Shown().Is(ts[i].Shown()) || all.Typmod != ts[i].Typmod {
			return pgerr.New(pgerr.DatatypeMismatch,
				"recursive query \"%s\" column %d has type %s in non-recursive term but type %s overall",
				c.Name, i+1, types.FormatType(ts[i]), types.FormatType(all)).
				WithHint("Cast the output of the non-recursive term to the correct type.").At(first.targets[i].pos)
		}
		if err := recursiveCollation(c, i, first.targets[i], second.targets[i].expr); err != nil {
			return err
		}
	}
	return nil
}

// recursiveCollation checks that column i has the collation of its first term in both.
func recursiveCollation(c *ast.CTE, i int, first target, second plan.Expr) error {
	if !first.expr.Type().Collatable() {
		return nil
	}
	own := collationOf(first.expr)
	all := own
	all.merge(collationOf(second))
	switch {
	case all.err != nil:
		return all.err
	case own.is == nil || all.is == nil || all.strength == conflictingCollations || all.is.Oid == own.is.Oid:
		return nil
	}
	return pgerr.New(pgerr.CollationMismatch, "recursive query \"%s\" column %d has collation \"%s\" in non-recursive term but collation \"%s\" overall",
		c.Name, i+1, own.is.Name, all.is.Name).
		WithHint("Use the COLLATE clause to set the collation of the non-recursive term.").At(first.pos)
}

// plainUnionCTE finishes WITH RECURSIVE whose UNION does not recurse.
func (b *builder) plainUnionCTE(q *ast.Select, e *cteEntry, l, r *queryPlan) error {
	p, err := b.combine(q, l, r)
	if err != nil {
		return err
	}
	if p, err = b.orderAndLimit(q, &scope{}, p); err != nil {
		return err
	}
	e.cte.Plan = p.node
	for i := range e.cols {
		e.cols[i].ID, e.cols[i].Type = p.targets[i].col.ID, p.targets[i].col.Type
	}
	return nil
}

// cteRef plans a reference to a CTE.
func (b *builder) cteRef(te *ast.TableRef, e *cteEntry, s *scope) (*fromItem, error) {
	if len(e.cols) == 0 && e.cte.Modifies {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "WITH query \"%s\" does not have a RETURNING clause", e.name).At(te.Pos)
	}
	e.used = true
	s.useCTE(e)
	n := &plan.CTEScan{ID: e.cte.ID, Name: e.name, Working: e.working}
	for _, c := range e.cols {
		n.SourceCols = append(n.SourceCols, c.ID)
		out := c
		out.ID = b.newCol()
		if f, ok := b.records[c.ID]; ok {
			b.records[out.ID] = f
		}
		n.Cols = append(n.Cols, out)
	}
	it := colsItem(aliasOf(te), n.Cols)
	it.cte, it.working = true, e.working
	e.hide(it)
	if err := renameCols(it, te.Alias.Cols); err != nil {
		return nil, err
	}
	return &fromItem{node: n, items: []*item{it}}, nil
}
