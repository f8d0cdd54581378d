package planner

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// sortKey is an ORDER BY item resolved to an entry of the select list.
type sortKey struct {
	target           int
	by               int // the entry that holds what is compared: sort keys, or target itself
	desc, nullsFirst bool
}

// sortKeys turns resolved items into keys over the projected columns.
func (l *targetSet) sortKeys(keys []sortKey) []plan.SortKey {
	var out []plan.SortKey
next:
	for _, k := range keys {
		id := l.targets[k.by].col.ID
		for i := range out {
			if out[i].Col == id { // a repeated key changes nothing
				continue next
			}
		}
		out = append(out, plan.SortKey{Col: id, Desc: k.desc, NullsFirst: k.nullsFirst})
	}
	return out
}

// direction resolves ASC, DESC, USING and NULLS.
func direction(o *ast.OrderItem) (desc, nullsFirst bool, err error) {
	desc = o.Dir == ast.DirDesc
	switch o.Using.Name {
	case "", "<":
	case ">":
		desc = true
	default:
		return false, false, pgerr.New(pgerr.WrongObjectType, "operator %s is not a valid ordering operator", o.Using.Name).
			WithHint("Ordering operators must be \"<\" or \">\" members of btree operator families.").At(o.Pos)
	}
	nullsFirst = desc
	switch o.Nulls {
	case ast.NullsFirst:
		nullsFirst = true
	case ast.NullsLast:
		nullsFirst = false
	}
	return desc, nullsFirst, nil
}

// orderBy resolves ORDER BY against the select list, adding hidden entries.
func (b *builder) orderBy(items []ast.OrderItem, l *targetSet, s *scope) ([]sortKey, error) {
	var keys []sortKey
	for i := range items {
		o := &items[i]
		t, err := b.listEntry(o.X, l, s.in(clauseOrderBy))
		if err != nil {
			return nil, err
		}
		if err := b.sortable(l, t); err != nil {
			return nil, err
		}
		desc, nulls, err := direction(o)
		if err != nil {
			return nil, err
		}
		x, err := b.ordering(l.targets[t].expr)
		if err != nil {
			return nil, err
		}
		by := t
		if x != l.targets[t].expr {
			by = l.add(x, o.X.Position())
		}
		keys = append(keys, sortKey{t, by, desc, nulls})
	}
	return keys, nil
}

// sortable settles the type of an entry that is sorted by and checks that the type has an order.
func (b *builder) sortable(l *targetSet, i int) error { return b.settle(l, i, orderable) }

// groupable settles the type of an entry that is grouped by and checks that its values can be
// told apart.
func (b *builder) groupable(l *targetSet, i int) error { return b.settle(l, i, distinguishable) }

func (b *builder) settle(l *targetSet, i int, check func(t *types.T, pos int) error) error {
	t := &l.targets[i]
	var err error
	if t.expr, err = b.coerceText(t.expr, t.pos); err != nil {
		return err
	}
	return check(t.expr.Type(), t.pos)
}

// distinguish settles the type of an entry whose duplicates are removed, and what tells its
// values apart.
func (b *builder) distinguish(l *targetSet, i int) error {
	if err := b.groupable(l, i); err != nil {
		return err
	}
	x, err := b.identity(l.targets[i].expr)
	if err != nil {
		return err
	}
	if hasSortKey(x) {
		same := l.add(x, l.targets[i].pos)
		l.targets[i].same = same
	}
	return nil
}

// orderable checks that values of type t can be sorted.
func orderable(t *types.T, pos int) error {
	if types.HasOrder(t) {
		return nil
	}
	return pgerr.New(pgerr.UndefinedFunction, "could not identify an ordering operator for type %s", t.SQLName).
		WithHint("Use an explicit ordering operator or modify the query.").At(pos)
}

// distinguishable checks that values of type t can be told apart.
func distinguishable(t *types.T, pos int) error {
	if types.HasEquality(t) {
		return nil
	}
	return pgerr.New(pgerr.UndefinedFunction, "could not identify an equality operator for type %s", t.SQLName).At(pos)
}

// listEntry resolves an item of ORDER BY, GROUP BY or DISTINCT ON to an entry of
// the select list by SQL-92's rules (output name, ordinal), else as an
// expression.
func (b *builder) listEntry(e ast.Expr, l *targetSet, s *scope) (int, error) {
	switch e := e.(type) {
	case *ast.ColumnRef:
		if e.Table == "" && !e.Star && !(s.clause == clauseGroupBy && hasColumn(s, e.Column)) {
			i, err := l.byName(e, s.clause)
			if i >= 0 || err != nil {
				return i, err
			}
		}
	case *ast.IntLit:
		if e.Val < 1 || e.Val > int64(l.visible) {
			return 0, pgerr.New(pgerr.InvalidColumnReference, "%s position %d is not in select list", clauseNames[s.clause], e.Val).At(e.Pos)
		}
		return int(e.Val) - 1, nil
	case *ast.StrLit, *ast.NumLit, *ast.BoolLit, *ast.NullLit:
		return 0, pgerr.New(pgerr.SyntaxError, "non-integer constant in %s", clauseNames[s.clause]).At(e.Position())
	}
	x, err := b.typed(e, s)
	if err != nil {
		return 0, err
	}
	return l.add(x, e.Position()), nil
}

// byName finds the visible entry of a name, -1 if there is none.
func (l *targetSet) byName(e *ast.ColumnRef, c clause) (int, error) {
	found := -1
	for i := 0; i < l.visible; i++ {
		if l.targets[i].name != e.Column {
			continue
		}
		if found >= 0 && !plan.ExprEqual(l.targets[found].expr, l.targets[i].expr) {
			return -1, pgerr.New(pgerr.AmbiguousColumn, "%s \"%s\" is ambiguous", clauseNames[c], e.Column).At(e.Pos)
		}
		if found < 0 {
			found = i
		}
	}
	return found, nil
}

// hasColumn reports whether an input column of this query has the name.
func hasColumn(s *scope, name ast.Name) bool {
	for _, it := range s.items {
		if !it.colsVisible {
			continue
		}
		for i := range it.cols {
			if it.cols[i].name == name {
				return true
			}
		}
	}
	return false
}

// distinctKeys checks DISTINCT against ORDER BY and returns the entries of
// DISTINCT ON.
func (b *builder) distinctKeys(q *ast.Select, l *targetSet, keys []sortKey, s *scope) ([]int, error) {
	if !q.Distinct {
		return nil, nil
	}
	if len(q.DistinctOn) == 0 {
		for i, k := range keys {
			if k.target >= l.visible {
				return nil, pgerr.New(pgerr.InvalidColumnReference, "for SELECT DISTINCT, ORDER BY expressions must appear in select list").
					At(q.OrderBy[i].X.Position())
			}
		}
		for i := 0; i < l.visible; i++ {
			if err := b.distinguish(l, i); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	var on []int
	for _, e := range q.DistinctOn {
		t, err := b.listEntry(e, l, s.in(clauseDistinctOn))
		if err != nil {
			return nil, err
		}
		if err := b.distinguish(l, t); err != nil {
			return nil, err
		}
		if !containsInt(on, t) {
			on = append(on, t)
		}
	}
	// The leading ORDER BY keys must be exactly these. What comes again sorts nothing.
	var order []int
	for _, k := range keys {
		if !containsInt(order, k.target) {
			order = append(order, k.target)
		}
	}
	for _, t := range order[:min(len(order), len(on))] {
		if !containsInt(on, t) {
			return nil, distinctOnMismatch(q)
		}
	}
	return on, nil
}

func distinctOnMismatch(q *ast.Select) error {
	return pgerr.New(pgerr.InvalidColumnReference, "SELECT DISTINCT ON expressions must match initial ORDER BY expressions").
		At(q.DistinctOn[0].Position())
}

func containsInt(list []int, x int) bool {
	for _, v := range list {
		if v == x {
			return true
		}
	}
	return false
}

// limit plans LIMIT and OFFSET; nil if all rows pass.
func (b *builder) limit(q *ast.Select, s *scope, sort []plan.SortKey) (*plan.Limit, error) {
	if q.Limit == nil && q.Offset == nil {
		return nil, nil
	}
	n := &plan.Limit{WithTies: q.WithTies}
	var err error
	if n.Count, err = b.limitExpr(q.Limit, "LIMIT", s); err != nil {
		return nil, err
	}
	if n.Offset, err = b.limitExpr(q.Offset, "OFFSET", s); err != nil {
		return nil, err
	}
	switch {
	case q.WithTies && len(sort) == 0:
		return nil, pgerr.New(pgerr.SyntaxError, "WITH TIES cannot be specified without ORDER BY clause")
	case q.WithTies && isNull(n.Count):
		return nil, pgerr.New(pgerr.InvalidRowCountInLimitClause, "row count cannot be null in FETCH FIRST ... WITH TIES clause")
	case q.WithTies:
		n.TiesKeys = sort
	case n.Offset == nil && unlimited(n.Count):
		return nil, nil
	}
	return n, nil
}

// limited puts a limit, if there is one, above a node.
func limited(limit *plan.Limit, node plan.Node) plan.Node {
	if limit == nil {
		return node
	}
	limit.Input = node
	limit.Cols, limit.Order = node.Props().Cols, node.Props().Order
	return limit
}

// unlimited reports whether a LIMIT of count is none: LIMIT ALL is LIMIT NULL.
func unlimited(count plan.Expr) bool { return count == nil || isNull(count) }

// isNull reports whether an expression is the constant NULL.
func isNull(x plan.Expr) bool {
	c, ok := x.(*plan.Const)
	return ok && c.D.IsNull()
}

func (b *builder) limitExpr(e ast.Expr, what string, s *scope) (plan.Expr, error) {
	if e == nil {
		return nil, nil
	}
	ls := s.in(clauseLimit)
	ls.sel = nil
	x, err := b.expr(e, ls)
	if err != nil {
		return nil, err
	}
	y, ok, err := b.coerce(x, types.Int8, plan.CastAssignment, e.Position())
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "argument of %s must be type bigint, not type %s", what, x.Type().Shown().SQLName).At(e.Position())
	}
	return y, constantOf(y, s, what, e.Position())
}

// constantOf checks that x does not refer to the rows of the query itself.
func constantOf(x plan.Expr, s *scope, what string, pos int) error {
	local := false
	plan.Refs(x, func(id plan.ColID) {
		for _, it := range s.items {
			for i := range it.cols {
				local = local || it.cols[i].col.ID == id
			}
		}
	})
	if local {
		return pgerr.New(pgerr.InvalidColumnReference, "argument of %s must not contain variables", what).At(pos)
	}
	return nil
}
