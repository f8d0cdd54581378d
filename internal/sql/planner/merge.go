package planner

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// merge plans MERGE: the source joined with the table, and what to do with each row.
func (b *builder) merge(st *ast.Merge, s *scope) (plan.Node, error) {
	if err := reachable(st.When); err != nil {
		return nil, err
	}
	t, err := b.resolveTable(st.Table.Name)
	if err != nil {
		return nil, err
	}
	if t.Kind == catalog.KindView {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "cannot execute MERGE on relation \"%s\"", t.Name).
			WithDetail("This operation is not supported for views.")
	}
	if err := checkWritable(t, st.Table.Name, "merge into"); err != nil {
		return nil, err
	}
	scan := b.scan(t, aliasOf(st.Table))
	if err := b.noteDerived(scan.(*plan.Scan)); err != nil {
		return nil, err
	}
	target := tableItem(t, aliasOf(st.Table), scan.Props().Cols, scan)
	target.named(st.Table, t)
	u := b.uses(t, 0)
	target.readsAs(u)
	if err := b.computeItem(target); err != nil {
		return nil, err
	}
	both := &scope{parent: s.parent, bound: s.bound, ctes: s.ctes, beside: []*item{target}}
	src, err := b.tableExpr(st.Using, both)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(src.items, func(it *item) bool { return it.relVisible && it.alias == target.alias }) {
		return nil, pgerr.New(pgerr.DuplicateAlias, "name \"%s\" specified more than once", aliasOf(st.Table)).
			WithDetail("The name is used both as MERGE target table and data source.")
	}
	both.items, both.beside = append([]*item{target}, src.items...), nil
	on, err := b.boolExpr(st.On, "JOIN/ON", both.in(clauseJoin))
	if err != nil {
		return nil, err
	}
	kind := plan.InnerJoin
	for i := range st.When {
		if !st.When[i].Matched {
			kind = plan.LeftJoin
		}
	}
	g, wall, err := b.mergeRows(t, st.Table.Name, scan)
	if err != nil {
		return nil, err
	}
	join := &plan.Join{Kind: kind, Left: src.node, Right: wall, On: on}
	join.Cols = append(append(join.Cols, src.node.Props().Cols...), scan.Props().Cols...)
	n := &plan.Merge{Table: t, Alias: aliasOf(st.Table), Input: join, Old: plan.IDs(scan.Props().Cols), New: b.freshRow(t)}
	source := &scope{parent: s.parent, bound: s.bound, ctes: s.ctes, items: src.items, beside: []*item{target}}
	if err := b.mergeActions(st, n, u, both, source); err != nil {
		return nil, err
	}
	if err := b.mergeGuarded(n, g, u, wall); err != nil {
		return nil, err
	}
	return n, b.finishMerge(n)
}

// reachable checks that no WHEN clause follows one that takes all rows.
func reachable(list []ast.MergeWhen) error {
	always := map[bool]bool{}
	for i := range list {
		w := &list[i]
		if always[w.Matched] {
			return pgerr.New(pgerr.SyntaxError, "unreachable WHEN clause specified after unconditional WHEN clause")
		}
		always[w.Matched] = w.Cond == nil
	}
	return nil
}

// mergeActions plans the WHEN clauses.
func (b *builder) mergeActions(st *ast.Merge, n *plan.Merge, u *use, both, source *scope) error {
	c := changedTable(n.Table, st.Table)
	c.use = u
	for i := range st.When {
		w := &st.When[i]
		s := source
		if w.Matched {
			s = both
		}
		a := plan.MergeAction{Matched: w.Matched, Kind: plan.MergeKind(w.Action)}
		var err error
		if w.Cond != nil {
			if a.Cond, err = b.boolExpr(w.Cond, "WHEN", s.in(clauseWhere)); err != nil {
				return err
			}
		}
		switch w.Action {
		case ast.MergeUpdate:
			a.Set, err = b.setClauses(w.Set, c, changeUpdate, s.in(clauseUpdateSet))
			if err == nil {
				a.Set, err = b.withOnUpdate(n.Table, a.Set)
			}
		case ast.MergeDelete:
			u.Needs |= privilege.Delete
		case ast.MergeInsert:
			u.Needs |= privilege.Insert
			a.Values, err = b.mergeValues(w, c, s.in(clauseValues))
		}
		if err != nil {
			return err
		}
		n.Actions = append(n.Actions, a)
	}
	return nil
}

// mergeValues plans the row of an INSERT action.
func (b *builder) mergeValues(w *ast.MergeWhen, c *changed, s *scope) ([]plan.Expr, error) {
	ins := &ast.Insert{Loc: w.Loc, Table: &ast.TableRef{}, Cols: w.Cols, Overriding: w.Overriding}
	c.inserts(ins)
	targets, err := insertTargets(ins, c)
	if err != nil {
		return nil, err
	}
	values, err := b.rowValues(nil, w.Values, s)
	if err != nil {
		return nil, err
	}
	if w.Values == nil {
		targets = nil
	} else if len(values) > len(targets) {
		return nil, checkCount(ins, len(targets), len(values), values[len(targets)].pos)
	} else if err := checkCount(ins, len(targets), len(values), w.Pos); err != nil {
		return nil, err
	}
	row := make([]plan.Expr, len(c.base.Columns))
	for i := range values {
		if row[targets[i]], err = b.insertItem(ins, c, targets, i, &values[i], row[targets[i]], s); err != nil {
			return nil, err
		}
	}
	return row, b.fillIn(ins, c, row, make([]plan.Expr, len(row)))
}

// finishMerge adds what the table demands of its rows.
func (b *builder) finishMerge(n *plan.Merge) error {
	var err error
	if n.Checks, err = b.checks(n.Table, n.New); err != nil {
		return err
	}
	if n.References, err = b.references(n.Table, nil); err != nil {
		return err
	}
	if err := b.mergeTriggers(n); err != nil {
		return err
	}
	for i := range n.Actions {
		switch a := &n.Actions[i]; a.Kind {
		case plan.MergeUpdate:
			set := generatedBy(n.Table, a.Set)
			if n.Updating.ChangesRows() {
				set = allColumns(n.Table)
			}
			more, err := b.referrers(n.Table, set)
			if err != nil {
				return err
			}
			n.Updated = addReferrers(n.Updated, more)
		case plan.MergeDelete:
			if n.Deleted, err = b.referrers(n.Table, nil); err != nil {
				return err
			}
		}
	}
	if n.Derived, err = b.derived(n.Table); err != nil {
		return err
	}
	n.Schema, err = b.schemaName(n.Table)
	return err
}

// mergeTriggers adds the triggers of what the actions do.
func (b *builder) mergeTriggers(n *plan.Merge) (err error) {
	var set []plan.SetCol
	kinds := map[plan.MergeKind]bool{}
	for i := range n.Actions {
		kinds[n.Actions[i].Kind] = true
		set = append(set, n.Actions[i].Set...)
	}
	if kinds[plan.MergeInsert] {
		if n.Inserting, err = b.triggers(n.Table, ast.OnInsert, nil); err != nil {
			return err
		}
	}
	if kinds[plan.MergeUpdate] {
		if n.Updating, err = b.triggers(n.Table, ast.OnUpdate, set); err != nil {
			return err
		}
	}
	if kinds[plan.MergeDelete] {
		n.Deleting, err = b.triggers(n.Table, ast.OnDelete, nil)
	}
	return err
}

// addReferrers adds those that are not there yet.
func addReferrers(list, more []*plan.Referrer) []*plan.Referrer {
next:
	for _, r := range more {
		for _, have := range list {
			if have.Key.Oid == r.Key.Oid {
				continue next
			}
		}
		list = append(list, r)
	}
	return list
}
