package planner

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// outerAggregate finds the enclosing query that an aggregate belongs to: if its
// arguments have columns, but of enclosing queries only, it is one of the
// innermost of those. It returns nil if that is the query of s itself.
func (b *builder) outerAggregate(e *ast.FuncCall, s *scope) *scope {
	if s.parent == nil || s.inAgg || e.WithinGroup || len(e.Args) == 0 && e.Filter == nil || hasQuery(e) {
		return nil
	}
	mark := markOuter(s)
	defer mark.undo()
	inner := *s
	inner.inAgg = true
	list := e.Args
	for i := range e.OrderBy {
		list = append(slices.Clip(list), e.OrderBy[i].X)
	}
	if e.Filter != nil {
		list = append(slices.Clip(list), e.Filter)
	}
	args, _, err := b.exprList(list, &inner)
	if err != nil {
		return nil // said again where it matters
	}
	var ids []plan.ColID
	for _, x := range args {
		plan.Refs(x, func(id plan.ColID) { ids = append(ids, id) })
	}
	crossed := false
	for lv := s; lv != nil && len(ids) > 0; lv = lv.parent {
		for _, id := range ids {
			if !lv.owns(id) {
				continue
			}
			if !crossed {
				return nil
			}
			return lv
		}
		crossed = crossed || lv.bound != nil
	}
	return nil
}

// hasQuery reports whether the arguments contain a subquery.
func hasQuery(e *ast.FuncCall) (found bool) {
	ast.Walk(e, func(n ast.Node) bool {
		if _, ok := n.(*ast.Subquery); ok {
			found = true
		}
		return !found
	})
	return found
}

// aggregateOf plans an aggregate of the enclosing query level and records that
// the queries in between use its result.
func (b *builder) aggregateOf(level *scope, e *ast.FuncCall, name string, s *scope) (plan.Expr, error) {
	x, err := b.aggregateCall(e, name, level)
	if err != nil {
		return nil, err
	}
	ref, ok := x.(*plan.ColRef)
	if !ok {
		return x, nil
	}
	for lv := s; lv != level; lv = lv.parent {
		if lv.bound != nil {
			lv.bound.add(ref)
		}
	}
	return ref, nil
}

// outerMark remembers which outer columns the queries around a scope used.
type outerMark struct {
	bounds []*boundary
	refs   []int
	sels   []*selectState
	subs   []int
}

func markOuter(s *scope) *outerMark {
	m := &outerMark{}
	for lv := s; lv != nil; lv = lv.parent {
		if lv.bound != nil {
			m.bounds, m.refs = append(m.bounds, lv.bound), append(m.refs, len(lv.bound.refs))
		}
		if lv.sel != nil {
			m.sels, m.subs = append(m.sels, lv.sel), append(m.subs, len(lv.sel.subRefs))
		}
	}
	return m
}

// undo forgets what was recorded since.
func (m *outerMark) undo() {
	for i, bd := range m.bounds {
		bd.refs = bd.refs[:m.refs[i]]
	}
	for i, sel := range m.sels {
		sel.subRefs = sel.subRefs[:m.subs[i]]
	}
}
