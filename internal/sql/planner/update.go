package planner

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// dmlSource plans what UPDATE and DELETE share: the target table joined with
// further tables, the condition, and the dialect's ORDER BY and LIMIT.
type dmlSource struct {
	*changed
	scan  plan.Node
	row   []plan.ColID // of scan's columns, the relation's row
	scope *scope
	node  plan.Node
	wall  *plan.Barrier // over the scan, nil if nothing restricts its rows
}

func (b *builder) dmlSource(ref *ast.TableRef, kind changeKind, from []ast.TableExpr, where ast.Expr, s *scope) (*dmlSource, error) {
	c, err := b.changeable(ref, kind)
	if err != nil {
		return nil, err
	}
	scan, row, err := b.sourceRows(c, s)
	if err != nil {
		return nil, err
	}
	if err := b.indexHint(ref, scan); err != nil {
		return nil, err
	}
	it, err := b.row(c, row)
	if err != nil {
		return nil, err
	}
	d := &dmlSource{changed: c, scan: scan, row: row}
	d.scope = &scope{parent: s.parent, bound: s.bound, ctes: s.ctes, items: []*item{it}}
	quals, err := b.quals(c, row)
	if err != nil {
		return nil, err
	}
	below, quals, err := b.changedRows(d, kind, quals)
	if err != nil {
		return nil, err
	}
	acc := &fromItem{node: below}
	it.closed = true
	for _, te := range from {
		f, err := b.tableExpr(te, d.scope)
		if err != nil {
			return nil, err
		}
		if err := checkAliases(d.scope.items, f.items); err != nil {
			return nil, err
		}
		d.scope.items = append(d.scope.items, f.items...)
		acc = crossJoin(acc, f)
	}
	it.closed = false
	d.node = acc.node
	if where != nil {
		var cond plan.Expr
		if k, ok := where.(*ast.CurrentOf); ok && c.view != nil {
			return nil, pgerr.Unsupported("WHERE CURRENT OF on a view is not implemented")
		} else if ok {
			cond, err = b.currentOf(k, c.base, scan.Props().Cols)
		} else {
			cond, err = b.boolExpr(where, "WHERE", d.scope.in(clauseWhere))
		}
		if err != nil {
			return nil, err
		}
		d.node = filter(d.node, cond)
	}
	for _, q := range slices.Backward(quals) { // behind the statement's condition, that of the view that is named first, as in PostgreSQL
		d.node = filter(d.node, q)
	}
	return d, nil
}

// orderAndLimitDML applies the dialect's ORDER BY and LIMIT of UPDATE and
// DELETE.
func (b *builder) orderAndLimitDML(d *dmlSource, order []ast.OrderItem, limit ast.Expr) error {
	if len(order) == 0 && limit == nil {
		return nil
	}
	list := &targetSet{}
	keys, err := b.orderBy(order, list, d.scope)
	if err != nil {
		return err
	}
	for _, c := range d.node.Props().Cols {
		list.add(plan.Ref(c), 0)
	}
	d.node = b.project(d.node, list, nil)
	if sort := list.sortKeys(keys); len(sort) > 0 {
		n := &plan.Sort{Input: d.node, Keys: sort}
		n.Cols, n.Order = d.node.Props().Cols, sort
		d.node = n
	}
	n, err := b.limit(&ast.Select{Limit: limit}, d.scope, nil)
	d.node = limited(n, d.node)
	return err
}

// update plans UPDATE.
func (b *builder) update(st *ast.Update, s *scope) (plan.Node, error) {
	d, err := b.dmlSource(st.Table, changeUpdate, st.From, st.Where, s)
	if err != nil {
		return nil, err
	}
	if d.instead != nil {
		return b.updateInstead(st, d, s)
	}
	n := &plan.Update{Table: d.base, Alias: d.bottom().alias, Old: d.row}
	if len(st.Returning) > 0 { // which PostgreSQL analyses before SET
		n.New = b.updatedRow(n, assignedTo(st.Set, d.changed))
		it, err := b.row(d.changed, n.New)
		if err != nil {
			return nil, err
		}
		items := append([]*item{it}, d.scope.items[1:]...)
		if n.Cols, n.Returning, err = b.returning(st.Returning, items, s); err != nil {
			return nil, err
		}
	}
	if n.Set, err = b.setClauses(st.Set, d.changed, changeUpdate, d.scope.in(clauseUpdateSet)); err != nil {
		return nil, err
	}
	if err := b.orderAndLimitDML(d, st.OrderBy, st.Limit); err != nil {
		return nil, err
	}
	n.Input = d.node
	if b.refusal != nil { // there may be no table to complete n for
		return n, nil
	}
	if err := b.finishUpdate(n); err != nil {
		return nil, err
	}
	views, err := b.viewChecks(d.changed, n.New)
	if err != nil {
		return nil, err
	}
	n.Checks = append(n.Checks, views...)
	policies, err := b.updateGuarded(d, n.New)
	n.Checks = append(n.Checks, policies...)
	return n, err
}

// assignedTo returns the columns that SET assigns to, without values. Those that do not
// exist are left out: setClauses reports them.
func assignedTo(list []ast.SetClause, c *changed) []plan.SetCol {
	var out []plan.SetCol
	for i := range list {
		for j := range list[i].Targets {
			if at, ok := c.rel.ColumnByName(list[i].Targets[j].Column); ok && c.ord(at) >= 0 {
				out = append(out, plan.SetCol{Ord: c.ord(at)})
			}
		}
	}
	return out
}

// affected keeps the checks that an assignment to the given columns can break.
func affected(checks []plan.CheckExpr, t *catalog.Table, set []plan.SetCol) []plan.CheckExpr {
	var out []plan.CheckExpr
	for i := range checks {
		for _, sc := range set {
			if checks[i].Domain.Name != "" {
				if checks[i].Ord == sc.Ord {
					out = append(out, checks[i])
					break
				}
				continue
			}
			if containsID(t.Checks[i].Columns, t.Columns[sc.Ord].ID) || len(t.Checks[i].Columns) == 0 {
				out = append(out, checks[i])
				break
			}
		}
	}
	return out
}

// delete plans DELETE.
func (b *builder) delete(st *ast.Delete, s *scope) (plan.Node, error) {
	d, err := b.dmlSource(st.Table, changeDelete, st.Using, st.Where, s)
	if err != nil {
		return nil, err
	}
	if err := b.orderAndLimitDML(d, st.OrderBy, st.Limit); err != nil {
		return nil, err
	}
	if d.instead != nil {
		return b.deleteInstead(st, d, s)
	}
	n := &plan.Delete{Table: d.base, Alias: d.bottom().alias, Input: d.node, Old: d.row}
	if err := b.finishDelete(n); err != nil {
		return nil, err
	}
	if len(st.Returning) > 0 {
		if n.Cols, n.Returning, err = b.returning(st.Returning, d.scope.items, s); err != nil {
			return nil, err
		}
	}
	return n, b.readChanged(d)
}

// assignment is a target of SET with the expression for it, analysed but not yet converted to
// the target's type. DEFAULT has no value.
type assignment struct {
	target *ast.Target
	value  plan.Expr
	pos    int
}

// setClauses plans the assignments of UPDATE and ON CONFLICT DO UPDATE: all expressions first,
// then the targets, each with the conversion to its type.
func (b *builder) setClauses(list []ast.SetClause, c *changed, kind changeKind, s *scope) ([]plan.SetCol, error) {
	values, err := b.setValues(list, s)
	if err != nil {
		return nil, err
	}
	out := make([]plan.SetCol, 0, len(values))
	for i := range values {
		a := &values[i]
		at, ord, err := b.assignedColumn(c, a.target, kind)
		if err != nil {
			return nil, err
		}
		c.writes(at, privilege.Update)
		have := slices.IndexFunc(out, func(sc plan.SetCol) bool { return sc.Ord == ord })
		switch {
		case len(a.target.Path) > 0:
			if have < 0 {
				old, err := b.columnNow(&c.shown.Columns[ord], s, a.target.Pos)
				if err != nil {
					return nil, err
				}
				have, out = len(out), append(out, plan.SetCol{Ord: ord, Value: old})
			}
			out[have].Value, err = b.setPart(a, &c.shown.Columns[ord], out[have].Value, s)
		case have >= 0:
			b.refuse(pgerr.New(pgerr.SyntaxError, "multiple assignments to same column \"%s\"", c.sameColumn(a.target.Column, ord)))
			_, err = b.setValue(a, c, at, ord)
		default:
			out = append(out, plan.SetCol{Ord: ord})
			out[len(out)-1].Value, err = b.setValue(a, c, at, ord)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// assignedColumn finds the column that a target of SET names: its position in the relation and
// in the table.
func (b *builder) assignedColumn(c *changed, target *ast.Target, kind changeKind) (at, ord int, err error) {
	if at, err = c.column(target.Column, target.Pos); err != nil {
		return 0, 0, err
	}
	if err := c.assignable(at, kind); err != nil {
		b.refuse(err)
		c.analyseOnly()
	}
	return at, c.ord(at), nil
}

// setValue converts what is assigned to a column.
func (b *builder) setValue(a *assignment, ch *changed, at, ord int) (plan.Expr, error) {
	c, defaults := ch.assigned(at, ord)
	if a.value == nil && defaults {
		return b.defaultExpr(c)
	}
	if c.Generated != "" {
		b.refuse(pgerr.New(codeGeneratedAlways, "column \"%s\" can only be updated to DEFAULT", c.Name).
			WithDetail("Column \"%s\" is a generated column.", c.Name))
	} else if c.Identity == 'a' {
		b.refuse(pgerr.New(codeGeneratedAlways, "column \"%s\" can only be updated to DEFAULT", c.Name).
			WithDetail("Column \"%s\" is an identity column defined as GENERATED ALWAYS.", c.Name))
	}
	if a.value == nil {
		return b.defaultExpr(c)
	}
	return b.assign(a.value, c, a.pos)
}

// setPart is the new value of a column of which a part is assigned.
func (b *builder) setPart(a *assignment, c *catalog.Column, old plan.Expr, s *scope) (plan.Expr, error) {
	if a.value == nil {
		return nil, noPartDefault(a.target)
	}
	return b.partValue(a.target, c, old, s, func(c *catalog.Column) (plan.Expr, error) { return b.assign(a.value, c, a.pos) })
}

// setValues analyses the expressions of SET.
func (b *builder) setValues(list []ast.SetClause, s *scope) ([]assignment, error) {
	out := make([]assignment, 0, len(list))
	for i := range list {
		sc := &list[i]
		if sc.Multi {
			values, err := b.multiSet(sc, s)
			if err != nil {
				return nil, err
			}
			out = append(out, values...)
			continue
		}
		a, err := b.assignment(&sc.Targets[0], sc.X, s)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

func (b *builder) assignment(target *ast.Target, x ast.Expr, s *scope) (assignment, error) {
	v, err := b.valueOrDefault(x, s)
	return assignment{target, v, x.Position()}, err
}

// valueOrDefault analyses an expression; DEFAULT is nil.
func (b *builder) valueOrDefault(x ast.Expr, s *scope) (plan.Expr, error) {
	if _, ok := x.(*ast.DefaultExpr); ok {
		return nil, nil
	}
	return b.expr(x, s)
}

// multiSet analyses (a, b) = (x, y) and (a, b) = (SELECT ...).
func (b *builder) multiSet(sc *ast.SetClause, s *scope) ([]assignment, error) {
	switch x := sc.X.(type) {
	case *ast.Row:
		return b.rowSet(sc, x, s)
	case *ast.Subquery:
		q, err := b.rowQuery(x, len(sc.Targets), x.Pos, s)
		if err != nil {
			if pgerr.CodeOf(err) == pgerr.SyntaxError {
				return nil, pgerr.New(pgerr.SyntaxError, "number of columns does not match number of values").At(x.Pos)
			}
			return nil, err
		}
		values := b.rowValue(q, s)
		out := make([]assignment, len(values))
		for i := range values {
			out[i] = assignment{&sc.Targets[i], values[i], sc.X.Position()}
		}
		return out, nil
	}
	return nil, pgerr.New(pgerr.FeatureNotSupported, "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression").At(sc.X.Position())
}

// rowSet analyses (a, b) = (x, y).
func (b *builder) rowSet(sc *ast.SetClause, row *ast.Row, s *scope) ([]assignment, error) {
	elems, err := b.spread(row.Elems, s)
	if err != nil {
		return nil, err
	}
	out := make([]assignment, len(elems))
	for i, x := range elems {
		if out[i], err = b.assignment(nil, x, s); err != nil {
			return nil, err
		}
	}
	if len(out) != len(sc.Targets) {
		return nil, pgerr.New(pgerr.SyntaxError, "number of columns does not match number of values").At(sc.X.Position())
	}
	for i := range out {
		out[i].target = &sc.Targets[i]
	}
	return out, nil
}

// withOnUpdate adds the values that columns of a changed row get by ON UPDATE, unless they
// are assigned to.
func (b *builder) withOnUpdate(t *catalog.Table, set []plan.SetCol) ([]plan.SetCol, error) {
	for ord := range t.Columns {
		c := &t.Columns[ord]
		if c.OnUpdate == "" || slices.ContainsFunc(set, func(sc plan.SetCol) bool { return sc.Ord == ord }) {
			continue
		}
		x, err := b.defaultExpr(&catalog.Column{Name: c.Name, Type: c.Type, Default: c.OnUpdate})
		if err != nil {
			return nil, err
		}
		set = append(slices.Clip(set), plan.SetCol{Ord: ord, Value: x})
	}
	return set, nil
}
