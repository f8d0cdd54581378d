package ddl

import (
	"context"
	"slices"
	"strconv"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// addForeignKey adds a foreign key to t, which is a copy that the caller stores,
// and tells the table it refers to, which it returns.
func (e *Env) addForeignKey(ctx context.Context, t *catalog.Table, schema string, c pendingConstraint) (*catalog.ForeignKey, *catalog.Table, error) {
	ref, err := e.referencedTable(ctx, t, schema, c)
	if err != nil {
		return nil, nil, err
	}
	if err := e.sameLifetime(t, ref); err != nil {
		return nil, nil, err
	}
	k := catalog.ForeignKey{
		Table: ref.ID, Full: c.Match == ast.MatchFull, OnUpdate: catalog.RefAction(c.OnUpdate), OnDelete: catalog.RefAction(c.OnDelete),
		Deferrable: c.Deferrable || c.InitiallyDeferred, Deferred: c.InitiallyDeferred,
	}
	if err := foreignKeyColumns(t, ref, &k, c); err != nil {
		return nil, nil, err
	}
	if err := referencedIndex(ref, &k); err != nil {
		return nil, nil, err
	}
	if err := generatedKeys(t, &k); err != nil {
		return nil, nil, err
	}
	if err := nameForeignKey(t, &k, c); err != nil {
		return nil, nil, err
	}
	if err := compatibleKeys(t, ref, &k); err != nil {
		return nil, nil, err
	}
	if k.Oid, err = e.Coll.NewOid(ctx); err != nil {
		return nil, nil, err
	}
	t.ForeignKeys = append(t.ForeignKeys, k)
	link := catalog.Reference{Table: t.ID, Constraint: k.Oid}
	if ref.ID == t.ID {
		t.References = append(t.References, link)
		return &t.ForeignKeys[len(t.ForeignKeys)-1], t, nil
	}
	ref = ref.Clone()
	ref.References = append(ref.References, link)
	return &t.ForeignKeys[len(t.ForeignKeys)-1], ref, e.Coll.Put(ctx, ref)
}

// referencedTable finds and locks the table that a foreign key refers to.
func (e *Env) referencedTable(ctx context.Context, t *catalog.Table, schema string, c pendingConstraint) (*catalog.Table, error) {
	n := c.RefTable
	if n.Table == t.Name && (n.Schema == "" || n.Schema == schema) {
		return t, nil
	}
	ref, index, err := e.lockRelation(ctx, n)
	switch {
	case err != nil:
		return nil, err
	case ref == nil:
		return nil, catalog.UndefinedTable(n.Schema, n.Table)
	case index || ref.Kind != catalog.KindTable || ref.Materialized():
		return nil, pgerr.New(pgerr.WrongObjectType, "referenced relation \"%s\" is not a table", n.Table)
	}
	return ref, nil
}

func foreignKeyColumn(t *catalog.Table, name string) (catalog.ColumnID, error) {
	ord, ok := visibleColumn(t, name)
	if !ok {
		return 0, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" referenced in foreign key constraint does not exist", name)
	}
	if t.Columns[ord].Virtual {
		return 0, pgerr.Unsupported("foreign key constraints on virtual generated columns are not supported")
	}
	return t.Columns[ord].ID, nil
}

// foreignKeyColumns resolves the columns of both sides.
func foreignKeyColumns(t, ref *catalog.Table, k *catalog.ForeignKey, c pendingConstraint) error {
	cols := c.Cols
	if c.column != "" {
		cols = []ast.Name{c.column}
	}
	if len(cols) > maxIndexColumns {
		return pgerr.New(pgerr.TooManyColumns, "cannot have more than %d keys in a foreign key", maxIndexColumns)
	}
	for _, name := range cols {
		id, err := foreignKeyColumn(t, name)
		if err != nil {
			return err
		}
		k.Columns = append(k.Columns, id)
	}
	for _, name := range c.DeleteCols {
		id, err := foreignKeyColumn(t, name)
		if err != nil {
			return err
		}
		if !slices.Contains(k.Columns, id) {
			return pgerr.New(pgerr.InvalidColumnReference, "column \"%s\" referenced in ON DELETE SET action must be part of foreign key", name)
		}
		k.DeleteCols = append(k.DeleteCols, id)
	}
	for _, name := range c.RefCols {
		id, err := foreignKeyColumn(ref, name)
		if err != nil {
			return err
		}
		k.RefColumns = append(k.RefColumns, id)
	}
	if len(c.RefCols) > 0 {
		return nil
	}
	switch pk := ref.PrimaryKey(); {
	case pk == nil:
		return pgerr.New(pgerr.UndefinedObject, "there is no primary key for referenced table \"%s\"", ref.Name)
	case pk.Deferrable:
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "cannot use a deferrable primary key for referenced table \"%s\"", ref.Name)
	}
	for _, col := range ref.Primary().Columns {
		k.RefColumns = append(k.RefColumns, col.Column)
	}
	return nil
}

// invalidForeignKey is 42830.
const invalidForeignKey pgerr.Code = "42830"

// referencedIndex finds the unique index of the referenced columns.
func referencedIndex(ref *catalog.Table, k *catalog.ForeignKey) error {
	for i, id := range k.RefColumns {
		if slices.Contains(k.RefColumns[:i], id) {
			return pgerr.New(invalidForeignKey, "foreign key referenced-columns list must not contain duplicates")
		}
	}
	late := false
	for i := range ref.Indexes {
		ix := &ref.Indexes[i]
		if !ix.DeclaredUnique() || ix.WriteOnly || !ix.Total() || ix.Exclusion || len(ix.Columns) != len(k.RefColumns) {
			continue
		}
		if !slices.ContainsFunc(ix.Columns, func(c catalog.IndexColumn) bool { return !slices.Contains(k.RefColumns, c.Column) }) {
			if late = ix.Deferrable; late {
				continue
			}
			k.RefIndex = ix.Oid
			if len(k.Columns) != len(k.RefColumns) {
				return pgerr.New(invalidForeignKey, "number of referencing and referenced columns for foreign key disagree")
			}
			return nil
		}
	}
	if late {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "cannot use a deferrable unique constraint for referenced table \"%s\"", ref.Name)
	}
	return pgerr.New(invalidForeignKey, "there is no unique constraint matching given keys for referenced table \"%s\"", ref.Name)
}

// generatedKeys refuses actions that would assign to generated columns.
func generatedKeys(t *catalog.Table, k *catalog.ForeignKey) error {
	if !slices.ContainsFunc(k.Columns, func(id catalog.ColumnID) bool { return t.Columns[t.ColumnByID(id)].Generated != "" }) {
		return nil
	}
	event := ""
	switch {
	case k.OnUpdate > catalog.Restrict:
		event = "ON UPDATE"
	case k.OnDelete == catalog.SetNull || k.OnDelete == catalog.SetDefault:
		event = "ON DELETE"
	default:
		return nil
	}
	return pgerr.New(pgerr.SyntaxError, "invalid %s action for foreign key constraint containing generated column", event)
}

// nameForeignKey sets the constraint's name.
func nameForeignKey(t *catalog.Table, k *catalog.ForeignKey, c pendingConstraint) error {
	if k.Name = c.Name; k.Name != "" {
		if constraintExists(t, k.Name) {
			return duplicateConstraint(t, k.Name)
		}
		return nil
	}
	part := columnsPart(columnNames(t, k.Columns))
	k.Name = objectName(t.Name, part, "fkey")
	for n := 1; constraintExists(t, k.Name); n++ {
		k.Name = objectName(t.Name, part, "fkey"+strconv.Itoa(n))
	}
	return nil
}

func columnNames(t *catalog.Table, ids []catalog.ColumnID) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = t.Columns[t.ColumnByID(id)].Name
	}
	return out
}

// compatibleKeys checks that the columns can be compared.
func compatibleKeys(t, ref *catalog.Table, k *catalog.ForeignKey) error {
	for i := range k.Columns {
		a, b := &t.Columns[t.ColumnByID(k.Columns[i])], &ref.Columns[ref.ColumnByID(k.RefColumns[i])]
		if c := a.Type.Collation(); c != nil && c.Nondeterministic {
			return errByteKey(c)
		}
		if _, _, ok := rowcodec.ReferenceCast(a.Type, b.Type); ok {
			continue
		}
		if sharedOperators(a.Type, b.Type) {
			return pgerr.Unsupported("foreign keys from type %s to type %s are not supported", types.FormatType(a.Type), types.FormatType(b.Type))
		}
		return pgerr.New(pgerr.DatatypeMismatch, "foreign key constraint \"%s\" cannot be implemented", k.Name).
			WithDetail("Key columns \"%s\" and \"%s\" are of incompatible types: %s and %s.",
				a.Name, b.Name, types.FormatType(a.Type.WithTypmod(-1)), types.FormatType(b.Type.WithTypmod(-1)))
	}
	return nil
}

// sharedOperators reports whether values of two types are compared although no cast makes one of
// the other without loss.
func sharedOperators(a, b *types.T) bool {
	instant := func(t *types.T) bool { return t.Is(types.Date) || t.Is(types.Timestamp) || t.Is(types.TimestampTZ) }
	return instant(a) && instant(b) || a.Is(types.Float8) && b.Is(types.Float4)
}

// removeForeignKey takes foreign key i out of t, which the caller stores, and tells
// the table it refers to unless that is among those that go anyway.
func (e *Env) removeForeignKey(ctx context.Context, t *catalog.Table, i int, gone map[catalog.ID]bool) error {
	k := t.ForeignKeys[i]
	t.ForeignKeys = slices.Delete(t.ForeignKeys, i, i+1)
	if k.Table == t.ID {
		dropReference(t, t.ID, k.Oid)
		return nil
	}
	if gone[k.Table] {
		return nil
	}
	ref, err := e.lockByID(ctx, k.Table)
	if err != nil {
		return err
	}
	dropReference(ref, t.ID, k.Oid)
	return e.Coll.Put(ctx, ref)
}

func dropReference(t *catalog.Table, from catalog.ID, oid uint32) {
	t.References = slices.DeleteFunc(t.References, func(r catalog.Reference) bool { return r.Table == from && r.Constraint == oid })
}

// lockByID locks a table and returns a copy to change.
func (e *Env) lockByID(ctx context.Context, id catalog.ID) (*catalog.Table, error) {
	if err := e.Coll.LockExclusive(ctx, id); err != nil {
		return nil, err
	}
	t, err := e.Coll.TableByID(ctx, id)
	if err != nil {
		return nil, err
	}
	return t.Clone(), nil
}

// referrer is a foreign key that refers to a table.
type referrer struct {
	table *catalog.Table // that has it
	key   *catalog.ForeignKey
}

// referrers returns the foreign keys that refer to t and satisfy want.
func (e *Env) referrers(ctx context.Context, t *catalog.Table, want func(*catalog.ForeignKey) bool) ([]referrer, error) {
	var out []referrer
	for _, r := range t.References {
		from := t
		if r.Table != t.ID {
			var err error
			if from, err = e.Coll.TableByID(ctx, r.Table); err != nil {
				return nil, err
			}
		}
		if k := from.ForeignKey(r.Constraint); k != nil && want(k) {
			out = append(out, referrer{from, k})
		}
	}
	return out, nil
}

func (e *Env) describeKey(ctx context.Context, r referrer) string {
	return "constraint " + r.key.Name + " on " + e.describe(ctx, r.table)
}

// dropReferrers drops the foreign keys that need something of t, which the caller
// stores, or fails if CASCADE was not given; what is dropped and on name it.
func (e *Env) dropReferrers(ctx context.Context, t *catalog.Table, list []referrer, cascade bool, what, on string) error {
	if len(list) == 0 {
		return nil
	}
	var names []string
	details := ""
	for i, r := range list {
		name := e.describeKey(ctx, r)
		names = append(names, name)
		if i > 0 {
			details += "\n"
		}
		details += name + " depends on " + on
	}
	if !cascade {
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop %s because other objects depend on it", what).
			WithDetail("%s", details).WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	e.cascadeNotice(names)
	oids := make([]uint32, len(list)) // the keys of t itself move as others are dropped
	for i, r := range list {
		oids[i] = r.key.Oid
	}
	for i, r := range list {
		if err := e.dropReferrer(ctx, t, r.table.ID, oids[i]); err != nil {
			return err
		}
	}
	return nil
}

// dropReferrer drops one foreign key of another table, or of t itself, that refers
// to t.
func (e *Env) dropReferrer(ctx context.Context, t *catalog.Table, from catalog.ID, oid uint32) error {
	dropReference(t, from, oid)
	owner := t
	if from != t.ID {
		var err error
		if owner, err = e.lockByID(ctx, from); err != nil {
			return err
		}
	}
	owner.ForeignKeys = slices.DeleteFunc(owner.ForeignKeys, func(k catalog.ForeignKey) bool { return k.Oid == oid })
	if owner == t {
		return nil
	}
	return e.Coll.Put(ctx, owner)
}

// dropIndexReferrers is dropReferrers for what refers to the keys of an index.
func (e *Env) dropIndexReferrers(ctx context.Context, t *catalog.Table, ix *catalog.Index, cascade bool) error {
	oid := ix.Oid
	list, err := e.referrers(ctx, t, func(k *catalog.ForeignKey) bool { return k.RefIndex == oid })
	if err != nil {
		return err
	}
	what := "index " + ast.QuoteIdent(ix.Name)
	if ix.Constraint {
		what = "constraint " + ix.ConstraintName + " on " + e.describe(ctx, t)
	}
	return e.dropReferrers(ctx, t, list, cascade, what, "index "+ast.QuoteIdent(ix.Name))
}
