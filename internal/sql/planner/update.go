package planner

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// dmlSource plans what UPDATE and DELETE share: the target table joined with
// further tables, the condition, and the dialect's ORDER BY and LIMIT.
type dmlSource struct {
	*changed
	scan  plan.Node
	scope *scope
	node  plan.Node
}

func (b *builder) dmlSource(ref *ast.TableRef, kind changeKind, from []ast.TableExpr, where ast.Expr, s *scope) (*dmlSource, error) {
	c, err := b.changeable(ref, kind)
	if err != nil {
		return nil, err
	}
	scan := b.scan(c.base, c.bottom().alias)
	if err := b.noteDerived(scan.(*plan.Scan)); err != nil {
		return nil, err
	}
	if err := b.indexHint(ref, scan); err != nil {
		return nil, err
	}
	it, err := b.row(c, plan.IDs(scan.Props().Cols))
	if err != nil {
		return nil, err
	}
	d := &dmlSource{changed: c, scan: scan}
	d.scope = &scope{parent: s.parent, bound: s.bound, ctes: s.ctes, items: []*item{it}}
	acc := &fromItem{node: scan}
	quals, err := b.quals(c, plan.IDs(scan.Props().Cols))
	if err != nil {
		return nil, err
	}
	for _, q := range quals {
		acc.node = filter(acc.node, q)
	}
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
	d.node, err = b.limit(&ast.Select{Limit: limit}, d.scope, d.node, nil)
	return err
}

// update plans UPDATE.
func (b *builder) update(st *ast.Update, s *scope) (plan.Node, error) {
	d, err := b.dmlSource(st.Table, changeUpdate, st.From, st.Where, s)
	if err != nil {
		return nil, err
	}
	set, err := b.setClauses(st.Set, d.changed, changeUpdate, d.scope.in(clauseUpdateSet))
	if err != nil {
		return nil, err
	}
	if err := b.orderAndLimitDML(d, st.OrderBy, st.Limit); err != nil {
		return nil, err
	}
	n := &plan.Update{Table: d.base, Alias: d.bottom().alias, Input: d.node, Set: set, Old: plan.IDs(d.scan.Props().Cols)}
	if err := b.finishUpdate(n); err != nil {
		return nil, err
	}
	views, err := b.viewChecks(d.changed, n.New)
	if err != nil {
		return nil, err
	}
	n.Checks = append(n.Checks, views...)
	if len(st.Returning) > 0 {
		it, err := b.row(d.changed, n.New)
		if err != nil {
			return nil, err
		}
		items := append([]*item{it}, d.scope.items[1:]...)
		if n.Cols, n.Returning, err = b.returning(st.Returning, items, s); err != nil {
			return nil, err
		}
	}
	return n, nil
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
	n := &plan.Delete{Table: d.base, Alias: d.bottom().alias, Input: d.node, Old: plan.IDs(d.scan.Props().Cols)}
	if err := b.finishDelete(n); err != nil {
		return nil, err
	}
	if len(st.Returning) > 0 {
		n.Cols, n.Returning, err = b.returning(st.Returning, d.scope.items, s)
	}
	return n, err
}

// setClauses plans the assignments of UPDATE and ON CONFLICT DO UPDATE.
func (b *builder) setClauses(list []ast.SetClause, c *changed, kind changeKind, s *scope) ([]plan.SetCol, error) {
	var out []plan.SetCol
	t := c.shown
	assign := func(target *ast.Target, value func(c *catalog.Column) (plan.Expr, error)) error {
		at, ord, err := c.column(target.Column, target.Pos, kind)
		if err != nil {
			return err
		}
		for i, have := range out {
			if have.Ord == ord && len(target.Path) > 0 { // another part of it
				v, err := b.partValue(target, &t.Columns[ord], have.Value, s, value)
				out[i].Value = v
				return err
			}
			if have.Ord == ord {
				return pgerr.New(pgerr.SyntaxError, "multiple assignments to same column \"%s\"", c.sameColumn(target.Column, ord))
			}
		}
		if len(target.Path) > 0 {
			old, err := b.columnNow(&t.Columns[ord], s, target.Pos)
			if err != nil {
				return err
			}
			v, err := b.partValue(target, &t.Columns[ord], old, s, value)
			out = append(out, plan.SetCol{Ord: ord, Value: v})
			return err
		}
		v, err := value(c.assigned(at, ord))
		if err != nil {
			return err
		}
		out = append(out, plan.SetCol{Ord: ord, Value: v})
		return nil
	}
	for i := range list {
		sc := &list[i]
		if !sc.Multi {
			if err := noPartDefault(&sc.Targets[0], sc.X); err != nil {
				return nil, err
			}
			err := assign(&sc.Targets[0], func(c *catalog.Column) (plan.Expr, error) { return b.setValue(sc.X, c, s) })
			if err != nil {
				return nil, err
			}
			continue
		}
		if err := b.multiSet(sc, s, assign); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// setValue plans the value of an assignment.
func (b *builder) setValue(x ast.Expr, c *catalog.Column, s *scope) (plan.Expr, error) {
	if _, ok := x.(*ast.DefaultExpr); ok {
		return b.defaultExpr(c)
	}
	if c.Generated != "" {
		return nil, pgerr.New(codeGeneratedAlways, "column \"%s\" can only be updated to DEFAULT", c.Name).
			WithDetail("Column \"%s\" is a generated column.", c.Name)
	}
	if c.Identity == 'a' {
		return nil, pgerr.New(codeGeneratedAlways, "column \"%s\" can only be updated to DEFAULT", c.Name).
			WithDetail("Column \"%s\" is an identity column defined as GENERATED ALWAYS.", c.Name)
	}
	v, err := b.expr(x, s)
	if err != nil {
		return nil, err
	}
	return b.assign(v, c, x.Position())
}

// multiSet plans (a, b) = (x, y) and (a, b) = (SELECT ...).
func (b *builder) multiSet(sc *ast.SetClause, s *scope, assign func(*ast.Target, func(*catalog.Column) (plan.Expr, error)) error) error {
	var values []plan.Expr
	var exprs []ast.Expr
	switch x := sc.X.(type) {
	case *ast.Row:
		var err error
		if exprs, err = b.spread(x.Elems, s); err != nil {
			return err
		}
	case *ast.Subquery:
		v, err := b.rowValue(x, len(sc.Targets), s)
		if err != nil {
			if pgerr.CodeOf(err) == pgerr.SyntaxError {
				return pgerr.New(pgerr.SyntaxError, "number of columns does not match number of values").At(x.Pos)
			}
			return err
		}
		values = v
	default:
		return pgerr.New(pgerr.FeatureNotSupported, "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression").At(sc.X.Position())
	}
	if len(exprs)+len(values) != len(sc.Targets) {
		return pgerr.New(pgerr.SyntaxError, "number of columns does not match number of values").At(sc.X.Position())
	}
	for i := range sc.Targets {
		if exprs != nil {
			if err := noPartDefault(&sc.Targets[i], exprs[i]); err != nil {
				return err
			}
		}
		err := assign(&sc.Targets[i], func(c *catalog.Column) (plan.Expr, error) {
			if values != nil {
				return b.assign(values[i], c, sc.X.Position())
			}
			return b.setValue(exprs[i], c, s)
		})
		if err != nil {
			return err
		}
	}
	return nil
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
