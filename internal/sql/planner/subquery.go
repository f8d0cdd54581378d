package planner

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// subqueryPlan plans a query nested in an expression of s.
func (b *builder) subqueryPlan(q *ast.Select, s *scope, opts queryOpts) (*queryPlan, []plan.ColRef, error) {
	inner := s.child()
	p, err := b.query(q, inner, opts)
	if err != nil {
		return nil, nil, err
	}
	return p, inner.outer(), nil
}

// newSubquery makes the expression in s that query q, planned as p, is part of.
func (b *builder) newSubquery(kind plan.SubqueryKind, q *ast.Select, p *queryPlan, outer []plan.ColRef, t *types.T, s *scope) *plan.Subquery {
	b.nextSub++
	x := &plan.Subquery{Kind: kind, Plan: p.visible(), Outer: outer, T: t, ID: b.nextSub, Source: q}
	if s.sel != nil {
		x.Level = s.sel.level
	}
	return x
}

// subqueryExpr plans (SELECT ...), EXISTS and ARRAY(SELECT ...).
func (b *builder) subqueryExpr(e *ast.Subquery, s *scope) (plan.Expr, error) {
	p, outer, err := b.subqueryPlan(e.Query, s, queryOpts{})
	if err != nil {
		return nil, err
	}
	if e.Kind == ast.SubqueryExists {
		if !countsRows(p.node, false) {
			p.node, p.targets = unprojected(p.node), nil
		}
		return b.newSubquery(plan.ExistsSubquery, e.Query, p, outer, types.Bool, s), nil
	}
	if len(p.targets) != 1 {
		return nil, pgerr.New(pgerr.SyntaxError, "subquery must return only one column").At(e.Pos)
	}
	t := p.targets[0].col.Type
	if e.Kind == ast.SubqueryScalar {
		return b.newSubquery(plan.ScalarSubquery, e.Query, p, outer, t, s), nil
	}
	at, ok := types.ArrayOf(t)
	if !ok {
		return nil, pgerr.New(pgerr.UndefinedObject, "could not find array type for data type %s", t.SQLName).At(e.Pos)
	}
	return b.newSubquery(plan.ArraySubquery, e.Query, p, outer, at.WithCollation(t.Collation()), s), nil
}

// countsRows reports whether a query has more than FROM, WHERE, GROUP BY, DISTINCT, ORDER BY and a
// constant LIMIT: then PostgreSQL computes the select list of EXISTS, else nobody does. listed tells
// that n is below that.
func countsRows(n plan.Node, listed bool) bool {
	switch n := n.(type) {
	case *plan.With:
		return countsRows(n.Body, listed)
	case *plan.Sort:
		return countsRows(n.Input, listed)
	case *plan.Distinct:
		return !listed && countsRows(n.Input, listed)
	case *plan.Project:
		return !listed && countsRows(n.Input, true)
	case *plan.Filter:
		_, having := n.Input.(*plan.GroupBy)
		return listed && having
	case *plan.GroupBy:
		return listed && (n.Scalar || len(n.Aggs) > 0 || n.Sets != nil)
	case *plan.Limit:
		return !listed && (n.Offset != nil || !isPositive(n.Count) || countsRows(n.Input, listed))
	case *plan.ProjectSet: // over nothing it is a function in FROM
		_, function := n.Input.(*plan.Values)
		return listed && !function
	case *plan.Window:
		return listed
	case *plan.SetOp, *plan.LockRows:
		return !listed
	}
	return false
}

// isPositive reports whether a LIMIT is a constant above 0, or NULL.
func isPositive(count plan.Expr) bool {
	if c, ok := count.(*plan.Cast); ok {
		count = c.Arg
	}
	c, ok := count.(*plan.Const)
	return ok && (c.D.IsNull() || c.D.Family() == types.IntFamily && c.D.Int() > 0)
}

// unprojected drops what computes the columns of a query that only has to have a row.
func unprojected(n plan.Node) plan.Node {
	switch n := n.(type) {
	case *plan.Project:
		return n.Input
	case *plan.Sort:
		return unprojected(n.Input)
	case *plan.Distinct:
		return unprojected(n.Input)
	case *plan.Limit: // of one row or more
		return unprojected(n.Input)
	}
	return n
}

// quantifiedQuery plans L op ANY|ALL (query), IN and NOT IN. The query's errors come before those of
// its left side, as in PostgreSQL.
func (b *builder) quantifiedQuery(l ast.Expr, op ast.Operator, all, not bool, q *ast.Select, at int, s *scope) (plan.Expr, error) {
	p, outer, err := b.subqueryPlan(q, s, queryOpts{})
	if err != nil {
		return nil, err
	}
	left, err := b.leftRow(l, s)
	if err != nil {
		return nil, err
	}
	switch n := len(p.targets); {
	case n < len(left):
		return nil, pgerr.New(pgerr.SyntaxError, "subquery has too few columns").At(at)
	case n > len(left):
		return nil, pgerr.New(pgerr.SyntaxError, "subquery has too many columns").At(at)
	}
	kind := plan.AnySubquery
	if all {
		kind = plan.AllSubquery
	}
	sub := b.newSubquery(kind, q, p, outer, types.Bool, s)
	sub.Not = not
	return sub, b.compareColumns(sub, op, left, p.targets, at)
}

// compareColumns makes a subquery compare a row with its columns.
func (b *builder) compareColumns(sub *plan.Subquery, op ast.Operator, left []plan.Expr, targets []target, at int) error {
	if sub.OpName = op.Name; op.Name == "!=" {
		sub.OpName = "<>"
	}
	for i := range left {
		fn, x, y, err := b.compareOp(op, left[i], targets[i].ref(), at)
		if err != nil {
			return err
		}
		if len(left) > 1 && !isComparison(op.Name) {
			return pgerr.Unsupported("could not determine interpretation of row comparison operator %s", op.Name).At(at)
		}
		if ordered := op.Name != "=" && op.Name != "<>" && op.Name != "!="; ordered && i < len(left)-1 {
			eq, _, _, err := b.compareOp(ast.Operator{Name: "="}, left[i], targets[i].ref(), at)
			if err != nil {
				return err
			}
			if eq, err = b.equalityOf(eq, x, at); err != nil {
				return err
			}
			sub.Eqs = append(sub.Eqs, eq)
		}
		sub.Ops, sub.Left, sub.Cmps = append(sub.Ops, fn), append(sub.Left, x), append(sub.Cmps, y)
	}
	return nil
}

// leftRow plans the left side of a quantified comparison.
func (b *builder) leftRow(l ast.Expr, s *scope) ([]plan.Expr, error) {
	if row, ok := l.(*ast.Row); ok {
		return b.rowFields(row, s)
	}
	x, err := b.expr(l, s)
	if err != nil {
		return nil, err
	}
	if row, ok := x.(*plan.RowCtor); ok && row.Names == nil { // a relation's row is one value
		return row.Fields, nil
	}
	if c, ok := x.(*plan.Cast); ok && c.T.Fields() != nil && c.T.Shown() == c.T {
		if row, ok := c.Arg.(*plan.RowCtor); ok && row.Names == nil {
			return b.castFields(row, c.T, l.Position())
		}
	}
	return []plan.Expr{x}, nil
}

// castFields casts the fields of a row to those of a composite type.
func (b *builder) castFields(row *plan.RowCtor, t *types.T, pos int) ([]plan.Expr, error) {
	var out []plan.Expr
	for i, f := range t.Fields() {
		x, err := b.explicitCast(row.Fields[i], f.Type, pos, pos)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// rowSubquery plans (a, b) = (SELECT x, y ...), the query first, unless stars hide how many columns it has to have.
func (b *builder) rowSubquery(e *ast.BinaryOp, l *ast.Row, q *ast.Subquery, s *scope) (plan.Expr, error) {
	var right *rowQuery
	var err error
	if n := len(l.Elems); n > 1 && !slices.ContainsFunc(l.Elems, isStar) {
		if right, err = b.rowQuery(q, n, e.Pos, s); err != nil {
			return nil, err
		}
	}
	left, err := b.rowFields(l, s)
	if err != nil {
		return nil, err
	}
	if len(left) == 1 {
		r, err := b.subqueryExpr(q, s)
		if err != nil {
			return nil, err
		}
		return b.operator(e.Op, []plan.Expr{left[0], r}, []int{e.L.Position(), e.R.Position()}, e.Pos)
	}
	if right == nil {
		if right, err = b.rowQuery(q, len(left), e.Pos, s); err != nil {
			return nil, err
		}
	}
	if len(right.outer) == 0 || !isComparison(e.Op.Name) { // an index may find the values of a query that runs once
		return b.rowCompare(e.Op, left, b.rowValue(right, s), e.Pos)
	}
	sub := b.newSubquery(plan.CompareSubquery, q.Query, right.queryPlan, right.outer, types.Bool, s)
	return sub, b.compareColumns(sub, e.Op, left, right.targets, e.Pos)
}

// rowQuery is a query that yields one row.
type rowQuery struct {
	*queryPlan
	source *ast.Select
	outer  []plan.ColRef
}

// rowQuery plans a query that yields one row of n columns. An error for another number of columns
// is at a position.
func (b *builder) rowQuery(q *ast.Subquery, n, at int, s *scope) (*rowQuery, error) {
	p, outer, err := b.subqueryPlan(q.Query, s, queryOpts{})
	if err != nil {
		return nil, err
	}
	switch {
	case len(p.targets) < n:
		return nil, pgerr.New(pgerr.SyntaxError, "subquery has too few columns").At(at)
	case len(p.targets) > n:
		return nil, pgerr.New(pgerr.SyntaxError, "subquery has too many columns").At(at)
	}
	return &rowQuery{queryPlan: p, source: q.Query, outer: outer}, nil
}

// rowValue returns the columns of a query's row as expressions.
func (b *builder) rowValue(q *rowQuery, s *scope) []plan.Expr {
	sub := b.newSubquery(plan.RowSubquery, q.source, q.queryPlan, q.outer, types.Record, s)
	out := make([]plan.Expr, len(q.targets))
	for i, t := range q.targets {
		out[i] = &plan.FieldSelect{Arg: sub, Field: i, Name: t.name, T: t.col.Type}
	}
	return out
}
