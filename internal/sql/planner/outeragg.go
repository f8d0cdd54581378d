package planner

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// outerAggregate finds the enclosing query that an aggregate belongs to: if its
// arguments have columns, but of enclosing queries only, it is one of the
// innermost of those. It returns nil if that is the query of s itself. Direct
// arguments do not count.
func (b *builder) outerAggregate(e *ast.FuncCall, s *scope) *scope {
	var list []ast.Expr
	if !e.WithinGroup {
		list = append(list, e.Args...)
	}
	for i := range e.OrderBy {
		list = append(list, e.OrderBy[i].X)
	}
	if e.Filter != nil {
		list = append(list, e.Filter)
	}
	return b.outerLevel(e, list, s)
}

// outerLevel finds the enclosing query that columns of a list are of, but none
// of the query of s: the innermost of those. It returns nil if there is none.
// The answer for a node is kept, since calls may be nested deep.
func (b *builder) outerLevel(node ast.Node, list []ast.Expr, s *scope) *scope {
	if s.parent == nil || s.inAgg || len(list) == 0 {
		return nil
	}
	sel, known := b.outward[node]
	if !known {
		level := b.findOuterLevel(list, s)
		if b.outward == nil {
			b.outward = map[ast.Node]*selectState{}
		}
		if b.outward[node] = nil; level != nil {
			b.outward[node] = level.sel // nil where aggregates are refused
		}
		return level
	}
	if sel == nil {
		return nil
	}
	for s != nil && s.sel != sel {
		s = s.parent
	}
	return s
}

// findOuterLevel is outerLevel where the answer is not known yet.
func (b *builder) findOuterLevel(list []ast.Expr, s *scope) *scope {
	mark := markOuter(s)
	defer mark.undo()
	inner := *s
	inner.inAgg = true
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
		if slices.ContainsFunc(ids, lv.owns) || slices.ContainsFunc(ids, lv.aggregates) {
			if !crossed {
				return nil
			}
			return lv
		}
		crossed = crossed || lv.bound != nil
	}
	return nil
}

// aggregates reports whether a column is the result of an aggregate of the
// query of s.
func (s *scope) aggregates(id plan.ColID) bool {
	return s.sel != nil && slices.ContainsFunc(s.sel.aggs, func(a plan.Agg) bool { return a.Out.ID == id })
}

// aggregateOf plans an aggregate of the enclosing query level and records that
// the queries in between use its result.
func (b *builder) aggregateOf(level *scope, e *ast.FuncCall, name string, s *scope) (plan.Expr, error) {
	ref, c, err := b.aggregateHere(e, name, level)
	if err != nil {
		return nil, err
	}
	s.useOuter(ref, level)
	return c.given(ref), nil
}

// useOuter records that the queries from that of s up to level use a column of
// level.
func (s *scope) useOuter(ref *plan.ColRef, level *scope) {
	for ; s != level; s = s.parent {
		s.bound.add(ref)
	}
}

// outerMark remembers which outer columns the queries around a scope used.
type outerMark struct {
	bounds []*boundary
	refs   []int
}

func markOuter(s *scope) *outerMark {
	m := &outerMark{}
	for lv := s; lv != nil; lv = lv.parent {
		for bd := lv.bound; bd != nil; bd = bd.within {
			m.bounds, m.refs = append(m.bounds, bd), append(m.refs, len(bd.refs))
		}
	}
	return m
}

// undo forgets what was recorded since.
func (m *outerMark) undo() {
	for i, bd := range m.bounds {
		bd.refs = bd.refs[:m.refs[i]]
	}
}
