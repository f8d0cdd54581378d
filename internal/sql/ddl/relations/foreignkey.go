package relations

import (
	"context"
	"slices"
	"strconv"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// AddForeignKey adds a foreign key to t, which is a copy that the caller stores,
// and tells the table it refers to, which it returns.
func AddForeignKey(ctx context.Context, e *statement.Env, t *catalog.Table, schema string, c PendingConstraint) (*catalog.ForeignKey, *catalog.Table, error) {
	ref, err := referencedTable(ctx, e, t, schema, c)
	if err != nil {
		return nil, nil, err
	}
	if err := sameLifetime(e, t, ref); err != nil {
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
	if err := CompatibleKeys(t, ref, &k); err != nil {
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
func referencedTable(ctx context.Context, e *statement.Env, t *catalog.Table, schema string, c PendingConstraint) (*catalog.Table, error) {
	n := c.RefTable
	if n.Table == t.Name && (n.Schema == "" || n.Schema == schema) {
		return t, nil
	}
	ref, index, err := e.LockRelationTo(ctx, n, func(t *catalog.Table) error { return mayRefer(e, t, c.RefCols) })
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

// mayRefer returns 42501 unless the user may refer to a table, or to the columns of it that are named.
func mayRefer(e *statement.Env, t *catalog.Table, columns []ast.Name) error {
	me := e.Coll.Me()
	if has, _ := access.OnTable(me, t, privilege.References); has != 0 {
		return nil
	}
	for _, name := range columns {
		i, ok := t.ColumnByName(name)
		if !ok {
			continue // which is another error
		}
		if has, _ := access.OnColumn(me, t, i, privilege.References); has == 0 {
			return access.DeniedRelation(t)
		}
	}
	if len(columns) > 0 {
		return nil
	}
	if pk := t.PrimaryKey(); pk != nil {
		for _, c := range pk.Columns {
			if has, _ := access.OnColumn(me, t, t.ColumnByID(c.Column), privilege.References); has == 0 {
				return access.DeniedRelation(t)
			}
		}
		return nil
	}
	return access.DeniedRelation(t)
}

func foreignKeyColumn(t *catalog.Table, name string) (catalog.ColumnID, error) {
	ord, ok := VisibleColumn(t, name)
	if !ok {
		return 0, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" referenced in foreign key constraint does not exist", name)
	}
	if t.Columns[ord].Virtual {
		return 0, pgerr.Unsupported("foreign key constraints on virtual generated columns are not supported")
	}
	return t.Columns[ord].ID, nil
}

// foreignKeyColumns resolves the columns of both sides.
func foreignKeyColumns(t, ref *catalog.Table, k *catalog.ForeignKey, c PendingConstraint) error {
	cols := c.Cols
	if c.Column != "" {
		cols = []ast.Name{c.Column}
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
func nameForeignKey(t *catalog.Table, k *catalog.ForeignKey, c PendingConstraint) error {
	if k.Name = c.Name; k.Name != "" {
		if ConstraintExists(t, k.Name) {
			return DuplicateConstraint(t, k.Name)
		}
		return nil
	}
	part := statement.ColumnsPart(columnNames(t, k.Columns))
	k.Name = statement.ObjectName(t.Name, part, "fkey")
	for n := 1; ConstraintExists(t, k.Name); n++ {
		k.Name = statement.ObjectName(t.Name, part, "fkey"+strconv.Itoa(n))
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

// CompatibleKeys checks that the columns can be compared.
func CompatibleKeys(t, ref *catalog.Table, k *catalog.ForeignKey) error {
	for i := range k.Columns {
		a, b := &t.Columns[t.ColumnByID(k.Columns[i])], &ref.Columns[ref.ColumnByID(k.RefColumns[i])]
		if c := a.Type.Collation(); c != nil && c.Nondeterministic {
			return storedtext.ErrByteKey(c)
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

// RemoveForeignKey takes foreign key i out of t, which the caller stores, and tells
// the table it refers to unless that is among those that go anyway.
func RemoveForeignKey(ctx context.Context, e *statement.Env, t *catalog.Table, i int, gone map[catalog.ID]bool) error {
	k := t.ForeignKeys[i]
	t.ForeignKeys = slices.Delete(t.ForeignKeys, i, i+1)
	if k.Table == t.ID {
		dropReference(t, t.ID, k.Oid)
		return nil
	}
	if gone[k.Table] {
		return nil
	}
	ref, err := e.LockByID(ctx, k.Table)
	if err != nil {
		return err
	}
	dropReference(ref, t.ID, k.Oid)
	return e.Coll.Put(ctx, ref)
}

func dropReference(t *catalog.Table, from catalog.ID, oid uint32) {
	t.References = slices.DeleteFunc(t.References, func(r catalog.Reference) bool { return r.Table == from && r.Constraint == oid })
}

// Referrer is a foreign key that refers to a table.
type Referrer struct {
	Table *catalog.Table // that has it
	Key   *catalog.ForeignKey
}

// Referrers returns the foreign keys that refer to t and satisfy want.
func Referrers(ctx context.Context, e *statement.Env, t *catalog.Table, want func(*catalog.ForeignKey) bool) ([]Referrer, error) {
	var out []Referrer
	for _, r := range t.References {
		from := t
		if r.Table != t.ID {
			var err error
			if from, err = e.Coll.TableByID(ctx, r.Table); err != nil {
				return nil, err
			}
		}
		if k := from.ForeignKey(r.Constraint); k != nil && want(k) {
			out = append(out, Referrer{from, k})
		}
	}
	return out, nil
}

// DescribeKey names a foreign key in messages about dependencies.
func DescribeKey(ctx context.Context, e *statement.Env, r Referrer) string {
	return "constraint " + r.Key.Name + " on " + e.Describe(ctx, r.Table)
}

// DropReferrers drops the foreign keys that need something of t, which the caller
// stores, or fails if CASCADE was not given; what is dropped and on name it.
func DropReferrers(ctx context.Context, e *statement.Env, t *catalog.Table, list []Referrer, cascade bool, what, on string) error {
	if len(list) == 0 {
		return nil
	}
	var names []string
	details := ""
	for i, r := range list {
		name := DescribeKey(ctx, e, r)
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
	e.CascadeNotice(names)
	oids := make([]uint32, len(list)) // the keys of t itself move as others are dropped
	for i, r := range list {
		oids[i] = r.Key.Oid
	}
	for i, r := range list {
		if err := dropReferrer(ctx, e, t, r.Table.ID, oids[i]); err != nil {
			return err
		}
	}
	return nil
}

// dropReferrer drops one foreign key of another table, or of t itself, that refers
// to t.
func dropReferrer(ctx context.Context, e *statement.Env, t *catalog.Table, from catalog.ID, oid uint32) error {
	dropReference(t, from, oid)
	owner := t
	if from != t.ID {
		var err error
		if owner, err = e.LockByID(ctx, from); err != nil {
			return err
		}
	}
	owner.ForeignKeys = slices.DeleteFunc(owner.ForeignKeys, func(k catalog.ForeignKey) bool { return k.Oid == oid })
	if owner == t {
		return nil
	}
	return e.Coll.Put(ctx, owner)
}

// DropIndexReferrers is DropReferrers for what refers to the keys of an index.
func DropIndexReferrers(ctx context.Context, e *statement.Env, t *catalog.Table, ix *catalog.Index, cascade bool) error {
	oid := ix.Oid
	list, err := Referrers(ctx, e, t, func(k *catalog.ForeignKey) bool { return k.RefIndex == oid })
	if err != nil {
		return err
	}
	what := "index " + ast.QuoteIdent(ix.Name)
	if ix.Constraint {
		what = "constraint " + ix.ConstraintName + " on " + e.Describe(ctx, t)
	}
	return DropReferrers(ctx, e, t, list, cascade, what, "index "+ast.QuoteIdent(ix.Name))
}
