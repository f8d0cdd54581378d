package planner

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// event is what INSTEAD OF triggers are for.
func (k changeKind) event() ast.TriggerEvents {
	switch k {
	case changeInsert:
		return ast.OnInsert
	case changeUpdate:
		return ast.OnUpdate
	}
	return ast.OnDelete
}

// insteadOf makes of a view whose triggers do what the statement asks for the relation that is changed: its columns are
// those of a table.
func (b *builder) insteadOf(ref *ast.TableRef, t *catalog.Table, kind changeKind) (*changed, error) {
	c := &changed{rel: t, ref: ref}
	c.analyseOnly()
	var err error
	if c.instead, err = b.triggers(t, kind.event(), nil); err != nil {
		return nil, err
	}
	c.use = b.uses(t, kind.takes())
	return c, nil
}

// firesInstead reports whether a view has an INSTEAD OF trigger for what a statement does.
func firesInstead(t *catalog.Table, kind changeKind) bool {
	return t.HasTrigger(ast.TriggerInstead, kind.event(), true)
}

// insertInstead plans an INSERT whose rows the triggers of a view take.
func (b *builder) insertInstead(st *ast.Insert, c *changed, input plan.Node, s *scope) (plan.Node, error) {
	if st.Upsert {
		return nil, pgerr.Unsupported("UPSERT is not supported on a view that has INSTEAD OF triggers").At(st.Pos)
	}
	if err := conflictInstead(st.OnConflict, c); err != nil {
		return nil, err
	}
	n := &plan.Instead{Alias: c.bottom().alias, Input: input, New: plan.IDs(input.Props().Cols), Triggers: c.instead}
	return n, b.returnInstead(n, st.Returning, c, nil, s)
}

// conflictInstead refuses an ON CONFLICT that names what a view does not have. With none of these there is never a conflict: the
// triggers do what they do.
func conflictInstead(oc *ast.OnConflict, c *changed) error {
	switch {
	case oc == nil:
		return nil
	case oc.Constraint != "":
		return pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" for table \"%s\" does not exist", oc.Constraint, c.rel.Name)
	case len(oc.Target) > 0:
		return noArbiter()
	case !oc.DoNothing:
		return noInference(oc)
	}
	return nil
}

// returnInstead plans RETURNING over the row that the triggers return, beside other items.
func (b *builder) returnInstead(n *plan.Instead, list []ast.SelectItem, c *changed, items []*item, s *scope) error {
	if len(list) == 0 {
		return nil
	}
	it, err := b.row(c, n.New)
	if err != nil {
		return err
	}
	n.Cols, n.Returning, err = b.returning(list, append([]*item{it}, items...), s)
	return err
}

// updateInstead plans an UPDATE that the triggers of a view do.
func (b *builder) updateInstead(st *ast.Update, d *dmlSource, s *scope) (plan.Node, error) {
	n := &plan.Instead{Alias: d.bottom().alias, Old: d.row, New: b.freshRow(d.base), Triggers: d.instead}
	if err := b.returnInstead(n, st.Returning, d.changed, d.scope.items[1:], s); err != nil {
		return nil, err
	}
	var err error
	if n.Set, err = b.setClauses(st.Set, d.changed, changeUpdate, d.scope.in(clauseUpdateSet)); err != nil {
		return nil, err
	}
	if err := b.orderAndLimitDML(d, st.OrderBy, st.Limit); err != nil {
		return nil, err
	}
	n.Input = d.node
	return n, nil
}

// deleteInstead plans a DELETE that the triggers of a view do.
func (b *builder) deleteInstead(st *ast.Delete, d *dmlSource, s *scope) (plan.Node, error) {
	n := &plan.Instead{Alias: d.bottom().alias, Old: d.row, Input: d.node, Triggers: d.instead}
	var err error
	if len(st.Returning) > 0 {
		n.Cols, n.Returning, err = b.returning(st.Returning, d.scope.items, s)
	}
	return n, err
}

// sourceRows plans the rows that UPDATE and DELETE look at: those of the table, or of the view whose triggers change
// them.
func (b *builder) sourceRows(c *changed, s *scope) (node plan.Node, row []plan.ColID, err error) {
	if c.instead == nil {
		scan := b.scan(c.base, c.bottom().alias)
		if sc, ok := scan.(*plan.Scan); ok { // what is refused may be no table
			err = b.noteDerived(sc)
		}
		return scan, plan.IDs(scan.Props().Cols), err
	}
	f, err := b.viewRef(c.bottom().ref, c.instead.Table, s)
	if err != nil {
		return nil, nil, err
	}
	it := f.items[0]
	it.use.Needs = 0 // the columns that it reads say what it takes
	for i := range it.cols {
		row = append(row, it.cols[i].col.ID)
	}
	return f.node, row, nil
}
