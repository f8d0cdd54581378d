package planner

import (
	"slices"

	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// cascadeKey names a cascade: a foreign key, and what happened to what it refers to.
type cascadeKey struct {
	constraint uint32
	deleted    bool
}

// tableByID returns a table that the plan depends on.
func (b *builder) tableByID(id catalog.ID) (*catalog.Table, error) {
	t, err := b.env.Catalog.TableByID(b.ctx, id)
	if err != nil {
		return nil, err
	}
	b.noteTable(t)
	return t, nil
}

// schemaName returns the name of a table's schema.
func (b *builder) schemaName(t *catalog.Table) (string, error) {
	s, err := b.env.Catalog.SchemaByID(b.ctx, t.Schema)
	if err != nil {
		return "", err
	}
	return s.Name, nil
}

// reference describes a foreign key of t that refers to ref.
func (b *builder) reference(t *catalog.Table, k *catalog.ForeignKey, ref *catalog.Table) (*plan.Reference, error) {
	r := &plan.Reference{Key: k, Table: t, Ref: ref, Index: ref.IndexByOid(k.RefIndex)}
	if r.Index == nil {
		return nil, pgerr.New(pgerr.DataCorrupted, "foreign key \"%s\" of table \"%s\" refers to an index that is gone", k.Name, t.Name)
	}
	for i := range k.Columns {
		ord, refOrd := t.ColumnByID(k.Columns[i]), ref.ColumnByID(k.RefColumns[i])
		if refOrd < 0 {
			return nil, pgerr.New(pgerr.DataCorrupted, "foreign key \"%s\" of table \"%s\" refers to a column that is gone", k.Name, t.Name)
		}
		r.Ords, r.RefOrds = append(r.Ords, ord), append(r.RefOrds, refOrd)
	}
	var err error
	r.Schema, err = b.schemaName(t)
	return r, err
}

// sets reports whether an assignment touches one of the columns; a nil set stands
// for a whole row.
func sets(set []plan.SetCol, ords []int) bool {
	for _, s := range set {
		if containsInt(ords, s.Ord) {
			return true
		}
	}
	return set == nil
}

// references returns the foreign keys of t that an assignment can break.
func (b *builder) references(t *catalog.Table, set []plan.SetCol) ([]*plan.Reference, error) {
	var out []*plan.Reference
	for i := range t.ForeignKeys {
		k := &t.ForeignKeys[i]
		if k.Unchecked || b.env.Replica {
			continue
		}
		ref := t
		if k.Table != t.ID {
			var err error
			if ref, err = b.tableByID(k.Table); err != nil {
				return nil, err
			}
		}
		r, err := b.reference(t, k, ref)
		if err != nil {
			return nil, err
		}
		if sets(set, r.Ords) {
			out = append(out, r)
		}
	}
	return out, nil
}

// referrers returns the foreign keys that refer to t, as far as an assignment
// changes what they refer to; a nil set stands for a deletion.
func (b *builder) referrers(t *catalog.Table, set []plan.SetCol) ([]*plan.Referrer, error) {
	var out []*plan.Referrer
	for _, in := range t.References {
		if in.Ignored || b.env.Replica {
			continue
		}
		child := t
		if in.Table != t.ID {
			var err error
			if child, err = b.tableByID(in.Table); err != nil {
				return nil, err
			}
		}
		k := child.ForeignKey(in.Constraint)
		if k == nil {
			return nil, pgerr.New(pgerr.DataCorrupted, "table \"%s\" does not have foreign key %d", child.Name, in.Constraint)
		}
		ref, err := b.reference(child, k, t)
		if err != nil {
			return nil, err
		}
		if !sets(set, ref.RefOrds) {
			continue
		}
		r := &plan.Referrer{Reference: ref, Action: k.OnUpdate}
		if set == nil {
			r.Action = k.OnDelete
		}
		if r.Action > catalog.Restrict {
			if r.Cascade, err = b.cascade(ref, r.Action, set == nil); err != nil {
				return nil, err
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// cascade plans a referential action.
func (b *builder) cascade(r *plan.Reference, action catalog.RefAction, deleted bool) (*plan.Cascade, error) {
	key := cascadeKey{r.Key.Oid, deleted}
	if c := b.cascades[key]; c != nil {
		return c, nil
	}
	if b.cascades == nil {
		b.cascades = map[cascadeKey]*plan.Cascade{}
	}
	rows := &plan.ReferringRows{Reference: r}
	c := &plan.Cascade{Rows: rows}
	b.cascades[key] = c // now, as it may lead to itself
	for i := range r.Table.Columns {
		col := &r.Table.Columns[i]
		rows.Cols = append(rows.Cols, plan.Column{ID: b.newCol(), Name: col.Name, Type: col.Type, NotNull: col.NotNull})
	}
	old := plan.IDs(rows.Cols)
	if deleted && action == catalog.Cascade {
		n := &plan.Delete{Table: r.Table, Alias: r.Table.Name, Input: rows, Old: old}
		c.Root = n
		return c, b.finishDelete(n)
	}
	set, err := b.cascadeSet(r, rows, action, deleted)
	if err != nil {
		return nil, err
	}
	n := &plan.Update{Table: r.Table, Alias: r.Table.Name, Input: rows, Set: set, Old: old}
	c.Root = n
	return c, b.finishUpdate(n)
}

// cascadeSet plans the assignments of a referential action.
func (b *builder) cascadeSet(r *plan.Reference, rows *plan.ReferringRows, action catalog.RefAction, deleted bool) ([]plan.SetCol, error) {
	var set []plan.SetCol
	for i, ord := range r.Ords {
		c := &r.Table.Columns[ord]
		if deleted && len(r.Key.DeleteCols) > 0 && !containsID(r.Key.DeleteCols, c.ID) {
			continue
		}
		var value plan.Expr
		var err error
		switch action {
		case catalog.SetDefault:
			value, err = b.defaultExpr(c)
		case catalog.Cascade:
			src := &r.Ref.Columns[r.RefOrds[i]]
			col := plan.Column{ID: b.newCol(), Name: src.Name, Type: src.Type}
			rows.Cols = append(rows.Cols, col)
			value, err = b.assign(plan.Ref(col), c, 0)
		default:
			value = plan.NewNull(c.Type)
		}
		if err != nil {
			return nil, err
		}
		set = append(set, plan.SetCol{Ord: ord, Value: value})
	}
	return set, nil
}

// finishUpdate completes an Update whose input and assignments are planned.
func (b *builder) finishUpdate(n *plan.Update) error {
	var err error
	if n.Set, err = b.withOnUpdate(n.Table, n.Set); err != nil {
		return err
	}
	if n.New == nil {
		n.New = b.updatedRow(n, n.Set)
	}
	set := generatedBy(n.Table, n.Set)
	if n.Triggers, err = b.triggers(n.Table, ast.OnUpdate, n.Set); err != nil {
		return err
	}
	if n.Triggers.ChangesRows() && !plant.On(plant.TriggerKeysUnwatched) {
		set = allColumns(n.Table)
	}
	checks, err := b.checks(n.Table, n.New)
	if err != nil {
		return err
	}
	n.Checks = affected(checks, n.Table, set)
	if n.References, err = b.references(n.Table, set); err != nil {
		return err
	}
	if n.Referrers, err = b.referrers(n.Table, set); err != nil {
		return err
	}
	if n.Derived, err = b.derived(n.Table); err != nil {
		return err
	}
	n.Schema, err = b.schemaName(n.Table)
	return err
}

// updatedRow returns the row that n makes: columns that set assigns to, and those that follow
// from these, have identifiers of their own.
func (b *builder) updatedRow(n *plan.Update, set []plan.SetCol) []plan.ColID {
	row := slices.Clone(n.Old)
	renew := func(ord int) {
		if row[ord] == n.Old[ord] {
			row[ord] = b.newCol()
		}
	}
	any := n.Table.HasTrigger(ast.TriggerBefore, ast.OnUpdate, true) // which may change any column
	for ord := range n.Table.Columns {
		if any {
			renew(ord)
		}
		if n.Table.Columns[ord].OnUpdate != "" {
			renew(ord)
			set = append(set[:len(set):len(set)], plan.SetCol{Ord: ord})
		}
	}
	for _, sc := range generatedBy(n.Table, set) {
		renew(sc.Ord)
	}
	return row
}

// finishDelete completes a Delete whose input is planned.
func (b *builder) finishDelete(n *plan.Delete) error {
	var err error
	if n.Referrers, err = b.referrers(n.Table, nil); err != nil {
		return err
	}
	if n.Derived, err = b.derived(n.Table); err != nil {
		return err
	}
	if n.Triggers, err = b.triggers(n.Table, ast.OnDelete, nil); err != nil {
		return err
	}
	n.Schema, err = b.schemaName(n.Table)
	return err
}

// finishInsert completes an Insert: its foreign keys and those that refer to it.
func (b *builder) finishInsert(n *plan.Insert) error {
	var err error
	if n.References, err = b.references(n.Table, nil); err != nil {
		return err
	}
	if n.Triggers, err = b.triggers(n.Table, ast.OnInsert, nil); err != nil {
		return err
	}
	if oc := n.OnConflict; oc != nil && oc.Update && oc.Set != nil {
		if n.Updates, err = b.triggers(n.Table, ast.OnUpdate, oc.Set); err != nil {
			return err
		}
		set := generatedBy(n.Table, oc.Set)
		if n.Updates.ChangesRows() {
			set = allColumns(n.Table)
		}
		if n.Referrers, err = b.referrers(n.Table, set); err != nil {
			return err
		}
	}
	if n.Derived, err = b.derived(n.Table); err != nil {
		return err
	}
	n.Schema, err = b.schemaName(n.Table)
	return err
}
