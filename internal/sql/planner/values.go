package planner

import (
	"slices"
	"strconv"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// values plans VALUES lists as a query.
func (b *builder) values(q *ast.Select, s *scope, opts queryOpts) (*queryPlan, error) {
	vs := s.in(clauseValues)
	var cols [][]plan.Expr // by column, to find common types
	var pos [][]int
	for i, row := range q.Values {
		row, err := b.spread(row, vs)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			cols, pos = make([][]plan.Expr, len(row)), make([][]int, len(row))
		}
		if len(row) != len(cols) {
			return nil, pgerr.New(pgerr.SyntaxError, "VALUES lists must all be the same length").At(rowPos(row, q.Pos))
		}
		exprs, at, err := b.exprList(row, vs)
		if err != nil {
			return nil, err
		}
		for i := range exprs {
			cols[i], pos[i] = append(cols[i], exprs[i]), append(pos[i], at[i])
		}
	}
	n := &plan.Values{RowExprs: make([][]plan.Expr, len(q.Values))}
	p := &queryPlan{node: n}
	for i := range cols {
		t, err := b.valuesType(cols[i], pos[i], opts)
		if err != nil {
			return nil, err
		}
		c := plan.Column{ID: b.newCol(), Name: "column" + strconv.Itoa(i+1), Type: t}
		n.Cols = append(n.Cols, c)
		p.targets = append(p.targets, target{name: c.Name, col: c, pos: pos[i][0], expr: plan.Ref(c)})
		for r := range cols[i] {
			if err := b.step(); err != nil {
				return nil, err
			}
			n.RowExprs[r] = append(n.RowExprs[r], cols[i][r])
		}
	}
	return b.orderAndLimit(q, s, p)
}

func rowPos(row []ast.Expr, pos int) int {
	if len(row) > 0 {
		return row[0].Position()
	}
	return pos
}

// valuesType finds the type of a column of VALUES. A single row of unknown type
// may stay so for the consumer.
func (b *builder) valuesType(exprs []plan.Expr, pos []int, opts queryOpts) (*types.T, error) {
	if opts.keepUnknown {
		known := false
		for _, x := range exprs {
			known = known || !isUnknown(x.Type())
		}
		if !known {
			return types.Unknown, nil
		}
	}
	t, err := b.common(exprs, pos, "VALUES")
	if err != nil {
		return nil, err
	}
	c := collationOfAll(exprs)
	return c.of(t), c.err
}

// orderAndLimit applies ORDER BY, LIMIT and locking clauses to a query that is
// not a simple SELECT: it sorts by output columns only.
func (b *builder) orderAndLimit(q *ast.Select, s *scope, p *queryPlan) (*queryPlan, error) {
	if len(q.Locking) > 0 {
		if q.Op != ast.SetNone {
			return nil, pgerr.New(pgerr.FeatureNotSupported, "%s is not allowed with UNION/INTERSECT/EXCEPT", &q.Locking[0])
		}
		return nil, pgerr.New(pgerr.FeatureNotSupported, "%s cannot be applied to VALUES", &q.Locking[0])
	}
	list := &targetSet{targets: p.targets, visible: len(p.targets)}
	out := &scope{parent: s.parent, bound: s.bound, ctes: s.ctes}
	out.items = []*item{colsItem("", columnsOf(p.targets, nil))}
	out.items[0].relVisible = false
	keys, err := b.orderBy(q.OrderBy, list, out)
	if err != nil {
		return nil, err
	}
	if len(list.targets) > list.visible {
		if q.Op != ast.SetNone && slices.ContainsFunc(keys, func(k sortKey) bool { return k.target >= list.visible }) {
			return nil, pgerr.New(pgerr.FeatureNotSupported, "invalid UNION/INTERSECT/EXCEPT ORDER BY clause").
				WithDetail("Only result column names can be used, not expressions or functions.").
				WithHint("Add the expression/function to every SELECT, or move the UNION into a FROM clause.").
				At(q.OrderBy[0].X.Position())
		}
		p.node = b.project(p.node, list, nil)
		p.targets = list.targets[:list.visible]
	}
	sort := list.sortKeys(keys)
	if len(sort) > 0 {
		n := &plan.Sort{Input: p.node, Keys: sort}
		n.Cols, n.Order = p.node.Props().Cols, sort
		p.node = n
	}
	limit, err := b.limit(q, out, sort)
	p.node = limited(limit, p.node)
	return p, err
}
