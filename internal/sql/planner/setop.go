package planner

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/coerce"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

var setOpNames = [...]string{ast.SetUnion: "UNION", ast.SetIntersect: "INTERSECT", ast.SetExcept: "EXCEPT"}

var setOpKinds = [...]plan.SetOpKind{ast.SetUnion: plan.Union, ast.SetIntersect: plan.Intersect, ast.SetExcept: plan.Except}

// setOp plans UNION, INTERSECT and EXCEPT.
func (b *builder) setOp(q *ast.Select, s *scope, opts queryOpts) (*queryPlan, error) {
	l, err := b.setOpSide(q.L, s)
	if err != nil {
		return nil, err
	}
	r, err := b.setOpSide(q.R, s)
	if err != nil {
		return nil, err
	}
	p, err := b.combine(q, l, r)
	if err != nil {
		return nil, err
	}
	return b.orderAndLimit(q, s, p)
}

// setOpSide plans one side in a scope of its own at the same level.
func (b *builder) setOpSide(q *ast.Select, s *scope) (*queryPlan, error) {
	side := &scope{parent: s.parent, bound: s.bound, ctes: s.ctes}
	return b.queryBody(q, side, queryOpts{keepUnknown: true})
}

// combine makes the SetOp of two planned sides.
func (b *builder) combine(q *ast.Select, l, r *queryPlan) (*queryPlan, error) {
	name := setOpNames[q.Op]
	if len(l.targets) != len(r.targets) {
		return nil, pgerr.New(pgerr.SyntaxError, "each %s query must have the same number of columns", name).At(targetPos(r, 0, q.R.Pos))
	}
	ts := make([]*types.T, len(l.targets))
	for i := range ts {
		t, err := coerce.CommonType([]*types.T{l.targets[i].expr.Type(), r.targets[i].expr.Type()}, name)
		if err != nil {
			return nil, pgerr.From(err).At(r.targets[i].pos)
		}
		c := collationOf(l.targets[i].expr)
		c.merge(collationOf(r.targets[i].expr))
		if ts[i] = t.WithCollation(nil); t.Collatable() && !isUnknown(t) {
			if c.err != nil {
				return nil, c.err
			}
			ts[i] = c.of(t)
		}
		if !q.All || q.Op != ast.SetUnion {
			if err := b.setOpCollation(&c, t); err != nil {
				return nil, err
			}
		}
	}
	n := &plan.SetOp{Kind: setOpKinds[q.Op], All: q.All}
	var err error
	if n.Left, n.LeftCols, err = b.convert(l, ts); err != nil {
		return nil, err
	}
	if n.Right, n.RightCols, err = b.convert(r, ts); err != nil {
		return nil, err
	}
	p := &queryPlan{node: n}
	for i := range ts {
		if !q.All || q.Op != ast.SetUnion { // literals are read before
			if err := distinguishable(ts[i], l.targets[i].pos); err != nil {
				return nil, err
			}
		}
		c := plan.Column{ID: b.newCol(), Name: l.targets[i].name, Type: ts[i]}
		n.Cols = append(n.Cols, c)
		p.targets = append(p.targets, target{name: c.Name, col: c, pos: l.targets[i].pos, expr: plan.Ref(c)})
	}
	return p, nil
}

// targetPos is where target i of a query is, pos if it has none.
func targetPos(q *queryPlan, i, pos int) int {
	if i < len(q.targets) {
		return q.targets[i].pos
	}
	return pos
}

// convert makes the targets of q have the given types and returns their
// columns. Constants in a projection are converted in place.
func (b *builder) convert(q *queryPlan, ts []*types.T) (plan.Node, []plan.ColID, error) {
	ids := make([]plan.ColID, len(ts))
	p := &plan.Project{Input: q.node}
	changed := false
	for i := range ts {
		t := &q.targets[i]
		if done, err := b.convertLiteral(q.node, t, ts[i]); err != nil {
			return nil, nil, err
		} else if done {
			p.Cols, p.Exprs = append(p.Cols, t.col), append(p.Exprs, t.ref())
			ids[i] = t.col.ID
			continue
		}
		x, err := b.coerceArg(t.ref(), ts[i], t.pos)
		if err != nil {
			return nil, nil, err
		}
		c := t.col
		if _, plainRef := x.(*plan.ColRef); !plainRef {
			c = plan.Column{ID: b.newCol(), Name: t.name, Type: ts[i]}
			changed = true
		}
		ids[i] = c.ID
		p.Cols, p.Exprs = append(p.Cols, c), append(p.Exprs, x)
	}
	if !changed {
		return q.node, ids, nil
	}
	return p, ids, nil
}

// convertLiteral gives a target of unknown type its type where it is computed,
// so that a literal is read once, at plan time, and a parameter is inferred.
func (b *builder) convertLiteral(n plan.Node, t *target, to *types.T) (bool, error) {
	if !isUnknown(t.col.Type) {
		return false, nil
	}
	done := false
	switch n := n.(type) {
	case *plan.Project:
		i := plan.FindCol(n.Cols, t.col.ID)
		if i < 0 || !isLiteral(n.Exprs[i]) {
			return false, nil
		}
		x, err := b.coerceUnknown(n.Exprs[i], to.WithTypmod(-1), plan.CastImplicit, t.pos)
		if err != nil {
			return false, err
		}
		n.Exprs[i], n.Cols[i].Type, done = x, x.Type(), true
	case *plan.Values:
		i := plan.FindCol(n.Cols, t.col.ID)
		if i < 0 {
			return false, nil
		}
		for _, row := range n.RowExprs {
			x, err := b.coerceArg(row[i], to.WithTypmod(-1), t.pos)
			if err != nil {
				return false, err
			}
			row[i] = x
		}
		n.Cols[i].Type, done = to.WithTypmod(-1), true
	}
	if done {
		t.col.Type = to.WithTypmod(-1)
	}
	return done, nil
}

func isLiteral(e plan.Expr) bool {
	switch e.(type) {
	case *plan.Const, *plan.Param:
		return true
	}
	return false
}
