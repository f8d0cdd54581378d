package alter

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/backfill"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/ddl/zoneconfig"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// RemoveTable removes a relation's names and descriptor, not its data.
func RemoveTable(ctx context.Context, e *statement.Env, t *catalog.Table) error {
	if err := e.RemoveRelationName(ctx, t, t.StoredName()); err != nil {
		return err
	}
	for i := range t.Indexes {
		if namedIndex(t, i) {
			if err := e.RemoveRelationName(ctx, t, t.Indexes[i].Name); err != nil {
				return err
			}
		}
	}
	if err := relations.RemoveExtended(ctx, e, t.Clone(), func(*catalog.Extended) bool { return true }); err != nil {
		return err
	}
	return e.Coll.Remove(ctx, t.ID)
}

// namedIndex reports whether index i of t has a name of its own in the schema:
// all have, but the primary index on hidden row ids.
func namedIndex(t *catalog.Table, i int) bool {
	return i > 0 || t.HasPrimaryKey()
}

// noSuchType is the error, or the notice, of DROP TYPE or DOMAIN for what is no type that can be
// dropped: a built-in type, the type of a table's rows, an array type, or nothing.
func noSuchType(ctx context.Context, e *statement.Env, st *ast.Drop, n ast.TableName) error {
	if t, ok := types.ByName(n.Table); ok && (n.Schema == "" || n.Schema == "pg_catalog") {
		if st.Kind == ast.ObjDomain {
			return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a domain", t.SQLName)
		}
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop type %s because it is required by the database system", t.SQLName)
	}
	name, owner, err := typeOfAnother(ctx, e, n)
	switch {
	case err != nil:
		return err
	case owner == nil && st.IfExists:
		return missing(ctx, e, n, "type", true)
	case owner == nil:
		return ErrNoType(n)
	case st.Kind == ast.ObjDomain:
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a domain", n.Table)
	}
	what := e.Describe(ctx, owner)
	if owner.HasRows() && strings.HasSuffix(name, "[]") {
		what = "type " + strings.TrimSuffix(name, "[]")
	}
	return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop type %s because %s requires it", name, what).
		WithHint("You can drop %s instead.", what)
}

// typeOfAnother finds what a type belongs to that has no descriptor of its own, and how errors call
// the type: the relation of whose rows it is, or the type of whose arrays. It returns nil if there is no such type.
func typeOfAnother(ctx context.Context, e *statement.Env, n ast.TableName) (name string, owner *catalog.Table, err error) {
	if n.Schema != "" {
		if s, err := e.Coll.FindSchema(ctx, n.Schema); err != nil || s == nil {
			return "", nil, err
		}
	}
	t := TypeNamed(ctx, e, n)
	if t == nil {
		return "", nil, nil
	}
	elem := t
	if t.Def == nil && t.Elem != nil {
		elem = t.Elem
	}
	if owner = e.Coll.PeekByOid(ctx, elem.Oid); owner == nil {
		return "", nil, nil
	}
	return types.FormatType(t), owner, nil
}

// KindOf is the kind of relation that a command about objects of a kind is for.
var KindOf = map[ast.ObjectKind]catalog.Kind{
	ast.ObjTable: catalog.KindTable, ast.ObjView: catalog.KindView, ast.ObjSequence: catalog.KindSequence,
}

// DropRelations is DROP TABLE, VIEW and SEQUENCE.
func DropRelations(ctx context.Context, e *statement.Env, st *ast.Drop) error {
	word := strings.ToLower(st.Kind.String())
	d := newDropper(e, st.Cascade)
	for _, n := range st.Names {
		t, index, err := e.LockRelationTo(ctx, n, e.Drops(ctx))
		if err != nil {
			return err
		}
		if t == nil {
			if err := missing(ctx, e, n, word, st.IfExists); err != nil {
				return err
			}
			continue
		}
		if index || statement.ObjectKind(t) != st.Kind {
			return wrongKind(n, t, index, word)
		}
		d.target(t)
	}
	return d.run(ctx)
}

// missing is the notice or error for an object that does not exist.
func missing(ctx context.Context, e *statement.Env, n ast.TableName, word string, ifExists bool) error {
	if n.Schema != "" {
		s, err := e.Coll.FindSchema(ctx, n.Schema)
		if err != nil {
			return err
		}
		if s == nil {
			if ifExists {
				e.Skip(pgerr.SuccessfulCompletion, "schema \"%s\" does not exist, skipping", n.Schema)
				return nil
			}
			return pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", n.Schema).At(n.Pos)
		}
	}
	code := pgerr.UndefinedTable
	if word == "index" {
		code = pgerr.UndefinedObject
	}
	name := n.Table
	if n.Schema != "" {
		name = n.Schema + "." + name
	}
	if ifExists {
		e.Skip(pgerr.SuccessfulCompletion, "%s \"%s\" does not exist, skipping", word, n.Table)
		return nil
	}
	return pgerr.New(code, "%s \"%s\" does not exist", word, name)
}

// wrongKind says that an object is not what the statement drops, with the hint
// which statement would.
func wrongKind(n ast.TableName, t *catalog.Table, index bool, word string) error {
	article := "a"
	if word == "index" {
		article = "an"
	}
	err := pgerr.New(pgerr.WrongObjectType, "\"%s\" is not %s %s", n.Table, article, word)
	switch {
	case index:
		return err.WithHint("Use DROP INDEX to remove an index.")
	case t.Materialized():
		return err.WithHint("Use DROP MATERIALIZED VIEW to remove a materialized view.")
	case t.IsComposite():
		return err.WithHint("Use DROP TYPE to remove a type.")
	case t.Kind == catalog.KindTable:
		return err.WithHint("Use DROP TABLE to remove a table.")
	case t.Kind == catalog.KindView:
		return err.WithHint("Use DROP VIEW to remove a view.")
	}
	return err.WithHint("Use DROP SEQUENCE to remove a sequence.")
}

// DropSchemas is DROP SCHEMA.
func DropSchemas(ctx context.Context, e *statement.Env, st *ast.Drop) error {
	for _, n := range st.Names {
		s, err := e.LockSchema(ctx, n.Table)
		if err != nil {
			return err
		}
		if s == nil {
			if !st.IfExists {
				return pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", n.Table)
			}
			e.Skip(pgerr.SuccessfulCompletion, "schema \"%s\" does not exist, skipping", n.Table)
			continue
		}
		if err := dropExtensionsIn(ctx, e, s, st.Cascade); err != nil {
			return err
		}
		d := newDropper(e, st.Cascade)
		d.schema = s
		tables, err := e.TablesOf(ctx, s.Database)
		if err != nil {
			return err
		}
		d.extendedIn(tables, s)
		tables = slices.DeleteFunc(slices.Clone(tables), func(t *catalog.Table) bool { return t.Schema != s.ID })
		inside := map[catalog.ID]bool{}
		for _, t := range tables {
			inside[t.ID] = true
		}
		for _, t := range tables {
			if err := e.Coll.LockExclusive(ctx, t.ID); err != nil {
				return err
			}
			// It may have been altered before the lock was granted.
			cur, err := e.Coll.TableByID(ctx, t.ID)
			switch {
			case err != nil:
			case cur.Kind == catalog.KindSequence && inside[cur.Sequence.OwnerTable]: // it goes with its table
				d.target(cur)
			default:
				d.dependent(cur, "schema "+ast.QuoteIdent(s.Name))
			}
		}
		if err := d.runSchema(ctx); err != nil {
			return err
		}
		if err := e.Coll.RemoveName(ctx, catalog.NameKey{Database: s.Database, Name: s.Name}); err != nil {
			return err
		}
		if err := e.Coll.Remove(ctx, s.ID); err != nil {
			return err
		}
	}
	return nil
}

// dropper collects what must go when objects are dropped.
type dropper struct {
	e       *statement.Env
	cascade bool
	schema  *catalog.Schema // that is dropped as a whole
	// extension is the one that is dropped: its types stand for objects.
	extension string
	objects   []*catalog.Table
	in        map[catalog.ID]bool
	explain   []dependency
	columns   []droppedDefault
	keys      []droppedKey
	// policies are those of tables that stay.
	policies  []droppedPolicy
	triggers  []droppedTrigger
	events    []droppedEvent
	castsGone []droppedCast
	extended  []droppedExtended
	also      []string        // what else a notice is to name
	others    []string        // descriptions of what else depends on the objects, and does not go with them
	typed     []typeDependent // of the types of dropped rows
	all       []*catalog.Table
	used      map[uint32]bool // the types that something of all is made of
	casts     []string        // the stored texts of all that may name a type
}

// dependency says that an object must go because of another one.
type dependency struct {
	t  *catalog.Table
	on string
}

// droppedKey is a foreign key that refers to a dropped table.
type droppedKey struct {
	table catalog.ID // that has it
	oid   uint32
	text  string
	on    string
}

// droppedDefault is a default that refers to a dropped sequence.
type droppedDefault struct {
	table  catalog.ID
	column catalog.ColumnID
	text   string
	on     string
}

func newDropper(e *statement.Env, cascade bool) *dropper {
	return &dropper{e: e, cascade: cascade, in: map[catalog.ID]bool{}}
}

// target adds an object that the statement names, or one that goes silently.
func (d *dropper) target(t *catalog.Table) {
	if !d.in[t.ID] {
		d.in[t.ID] = true
		d.objects = append(d.objects, t)
	}
}

// dependent adds an object that goes only with CASCADE.
func (d *dropper) dependent(t *catalog.Table, on string) {
	if !d.in[t.ID] {
		d.target(t)
		d.explain = append(d.explain, dependency{t, on})
	}
}

// runSchema is run for a schema, which may have nothing in it but statistics objects of other schemas' tables.
func (d *dropper) runSchema(ctx context.Context) error {
	if len(d.objects) > 0 || len(d.extended) == 0 {
		return d.run(ctx)
	}
	if err := d.report(ctx); err != nil {
		return err
	}
	return d.drop(ctx, nil)
}

// run finds all dependent objects and drops everything, or says why not.
func (d *dropper) run(ctx context.Context) error {
	if len(d.objects) == 0 {
		return nil
	}
	var err error
	if d.all, err = d.e.TablesOf(ctx, d.objects[0].Database); err != nil {
		return err
	}
	d.used, d.casts = usedTypes(d.all), castTexts(d.all)
	for i := 0; i < len(d.objects); i++ {
		if err := d.expand(ctx, d.objects[i]); err != nil {
			return err
		}
	}
	if err := d.report(ctx); err != nil {
		return err
	}
	return d.drop(ctx, d.objects)
}

// drop drops some objects, and what goes with all that were collected.
func (d *dropper) drop(ctx context.Context, objects []*catalog.Table) error {
	for _, c := range d.columns {
		if err := d.dropDefault(ctx, c); err != nil {
			return err
		}
	}
	for _, k := range d.keys {
		if err := d.dropKey(ctx, k); err != nil {
			return err
		}
	}
	if err := d.dropPolicies(ctx); err != nil {
		return err
	}
	for _, x := range d.triggers {
		if err := d.dropTrigger(ctx, x); err != nil {
			return err
		}
	}
	if err := d.dropEvents(ctx); err != nil {
		return err
	}
	if err := d.dropCasts(ctx); err != nil {
		return err
	}
	if err := d.dropExtended(ctx); err != nil {
		return err
	}
	if err := d.dropTyped(ctx); err != nil {
		return err
	}
	for _, t := range objects {
		if err := dropRelation(ctx, d.e, t, d.in); err != nil {
			return err
		}
	}
	return nil
}

// dropViews drops, with CASCADE, the views that depend on something that is dropped.
func dropViews(ctx context.Context, e *statement.Env, db catalog.ID, on string, cascade bool, depends func(*catalog.View) bool) error {
	all, err := e.TablesOf(ctx, db)
	if err != nil {
		return err
	}
	d := newDropper(e, cascade)
	for _, o := range all {
		if o.View == nil || !depends(o.View) {
			continue
		}
		if err := e.Coll.LockExclusive(ctx, o.ID); err != nil {
			return err
		}
		d.dependent(o, on)
	}
	err = d.run(ctx)
	if pe := new(pgerr.Error); errors.As(err, &pe) && pe.Code == pgerr.DependentObjectsStillExist {
		pe.Message = "cannot drop " + on + " because other objects depend on it"
	}
	return err
}

// expand adds what depends on t.
func (d *dropper) expand(ctx context.Context, t *catalog.Table) error {
	if err := d.belongs(ctx, t); err != nil {
		return err
	}
	e := d.e
	on, ref := e.Describe(ctx, t), storedtext.SequenceRef(t.Oid)
	if t.Kind == catalog.KindRoutine {
		d.triggersOf(ctx, t, on)
		d.eventTriggersOf(t, on)
		if err := d.ofTypes(ctx, t, on); err != nil {
			return err
		}
		return d.callers(ctx, t, on)
	}
	if err := d.ofTypes(ctx, t, on); err != nil {
		return err
	}
	if d.used[t.Oid] || d.named(ctx, t) {
		typed, err := typeDependents(ctx, e, t)
		if err != nil {
			return err
		}
		d.typed = append(d.typed, typed...)
	}
	list, err := relations.Referrers(ctx, e, t, func(k *catalog.ForeignKey) bool { return k.Table == t.ID })
	if err != nil {
		return err
	}
	for _, r := range list {
		if r.Table.ID != t.ID {
			d.keys = append(d.keys, droppedKey{r.Table.ID, r.Key.Oid, relations.DescribeKey(ctx, e, r), on})
		}
	}
	for _, o := range d.all {
		if d.in[o.ID] {
			continue
		}
		d.policiesOf(ctx, o, on, func(p *catalog.Policy) bool { return policyUses(p, t.ID, 0) })
		if o.View != nil && slices.Contains(o.View.Uses, t.ID) {
			if err := e.Coll.LockExclusive(ctx, o.ID); err != nil {
				return err
			}
			d.dependent(o, on)
		}
		if o.Kind == catalog.KindSequence && o.Sequence.OwnerTable == t.ID {
			if err := e.Coll.LockExclusive(ctx, o.ID); err != nil {
				return err
			}
			d.target(o)
		}
		if d.schema != nil && o.Schema == d.schema.ID || !o.Names.Relation(t.Oid) {
			continue
		}
		if o.Kind == catalog.KindTable || o.Kind == catalog.KindView {
			d.defaults(ctx, o, ref, on)
		}
		if err := d.constants(ctx, o, ref, on); err != nil {
			return err
		}
		if ty := o.UserType; o.Kind == catalog.KindType && ty.IsDomain() && strings.Contains(ty.Def.Default, ref) {
			if d.cascade {
				return pgerr.Unsupported("dropping domain %s with the sequence of its default is not supported", ty.SQLName).
					WithHint("Drop the default of the domain first.")
			}
			d.others = append(d.others, "type "+ty.SQLName+" depends on "+on)
		}
	}
	return nil
}

// constants notes the constraints, generated columns and indexes of o that have the relation that ref
// names as a constant.
func (d *dropper) constants(ctx context.Context, o *catalog.Table, ref, on string) error {
	if o.View != nil {
		return nil
	}
	has := func(text string) bool { return strings.Contains(text, ref) }
	for _, text := range readersIn(ctx, d.e, o, has) {
		switch {
		case strings.HasPrefix(text, "default value for "): // see defaults
		case d.cascade:
			return pgerr.Unsupported("dropping %s with a relation that it names is not supported", text).WithHint("Drop it first.")
		default:
			d.others = append(d.others, text+" depends on "+on)
		}
	}
	return nil
}

// defaults notes the defaults of o that have the relation that ref names as a constant.
func (d *dropper) defaults(ctx context.Context, o *catalog.Table, ref, on string) {
	for i := range o.Columns {
		c := &o.Columns[i]
		if strings.Contains(c.Default, ref) {
			text := "default value for column " + c.Name + " of " + d.e.Describe(ctx, o)
			d.columns = append(d.columns, droppedDefault{o.ID, c.ID, text, on})
		}
	}
}

// report fails if something depends on the objects and CASCADE was not given;
// with it, it tells what goes.
func (d *dropper) report(ctx context.Context) error {
	names, details := d.castsReported()
	for _, x := range d.explain {
		name := d.e.Describe(ctx, x.t)
		names = append(names, name)
		details = append(details, name+" depends on "+x.on)
	}
	for _, c := range d.columns {
		if d.in[c.table] {
			continue
		}
		names = append(names, c.text)
		details = append(details, c.text+" depends on "+c.on)
	}
	for _, k := range d.keys {
		if d.in[k.table] {
			continue
		}
		names = append(names, k.text)
		details = append(details, k.text+" depends on "+k.on)
	}
	for _, x := range d.policies {
		if !d.in[x.table] {
			names = append(names, x.text)
			details = append(details, x.text+" depends on "+x.on)
		}
	}
	for _, x := range d.triggers {
		if !d.in[x.table] {
			names = append(names, x.text)
			details = append(details, x.text+" depends on "+x.on)
		}
	}
	for _, x := range d.events {
		names = append(names, x.text)
		details = append(details, x.text+" depends on "+x.on)
	}
	for _, x := range d.typed {
		if !d.in[x.in] {
			names = append(names, x.Text)
			details = append(details, x.Text+" depends on "+x.on)
		}
	}
	moreNames, moreDetails := d.extendedReported()
	names, details = append(names, moreNames...), append(details, moreDetails...)
	names = append(names, d.also...)
	details = append(details, d.others...)
	if len(details) == 0 {
		return nil
	}
	if !d.cascade {
		what := ""
		switch {
		case d.extension != "":
			what = "extension " + ast.QuoteIdent(d.extension)
		case d.schema != nil:
			what = "schema " + ast.QuoteIdent(d.schema.Name)
		default:
			what = d.e.Describe(ctx, d.objects[0])
		}
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop %s because other objects depend on it", what).
			WithDetail("%s", strings.Join(details, "\n")).
			WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	if d.extension != "" && len(d.others) > 0 {
		return undroppable(d.others)
	}
	d.e.CascadeNotice(names)
	return nil
}

// named reports whether a stored text may name the type that t defines.
func (d *dropper) named(ctx context.Context, t *catalog.Table) bool {
	name := statement.QualifiedName(ctx, d.e.Coll, t)
	return slices.ContainsFunc(d.casts, func(s string) bool { return strings.Contains(s, name) })
}

// dropTyped drops the columns, fields and types that go with the types of the objects.
func (d *dropper) dropTyped(ctx context.Context) error {
	outside := func(x typeDependent) bool { return !d.in[x.in] }
	if !slices.ContainsFunc(d.typed, outside) {
		return nil
	}
	for _, t := range d.objects {
		if !d.used[t.Oid] && !d.named(ctx, t) {
			continue
		}
		if err := dropReaders(ctx, d.e, t, d.in); err != nil {
			return err
		}
		users, err := usersOfType(ctx, d.e, t)
		if err != nil {
			return err
		}
		for _, u := range users {
			if d.in[u.ID] {
				continue
			}
			if err := dropTypeUser(ctx, d.e, u, t.Oid); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *dropper) dropDefault(ctx context.Context, c droppedDefault) error {
	if d.in[c.table] {
		return nil
	}
	if err := d.e.Coll.LockExclusive(ctx, c.table); err != nil {
		return err
	}
	t, err := d.e.Coll.TableByID(ctx, c.table)
	if err != nil {
		return err
	}
	t = t.Clone()
	if ord := t.ColumnByID(c.column); ord >= 0 {
		t.Columns[ord].Default = ""
	}
	return d.e.Coll.Put(ctx, t)
}

func (d *dropper) dropKey(ctx context.Context, k droppedKey) error {
	if d.in[k.table] {
		return nil
	}
	t, err := d.e.LockByID(ctx, k.table)
	if err != nil {
		return err
	}
	t.ForeignKeys = slices.DeleteFunc(t.ForeignKeys, func(o catalog.ForeignKey) bool { return o.Oid == k.oid })
	return d.e.Coll.Put(ctx, t)
}

// dropRelation drops one locked relation with its data; gone are the objects
// that go in the same statement.
func dropRelation(ctx context.Context, e *statement.Env, t *catalog.Table, gone map[catalog.ID]bool) error {
	if err := e.CheckUnused(t, "DROP TABLE"); err != nil {
		return err
	}
	if t.Kind == catalog.KindSequence && t.Sequence.OwnerTable != 0 && !gone[t.Sequence.OwnerTable] {
		if err := relations.DisownSequence(ctx, e, t.Clone()); err != nil {
			return err
		}
	}
	if len(t.ForeignKeys) > 0 {
		without := t.Clone()
		for len(without.ForeignKeys) > 0 {
			if err := relations.RemoveForeignKey(ctx, e, without, 0, gone); err != nil {
				return err
			}
		}
	}
	if t.Kind == catalog.KindType {
		if err := removeCastsOf(ctx, e, t, gone); err != nil {
			return err
		}
	}
	if err := RemoveTable(ctx, e, t); err != nil {
		return err
	}
	if t.Kind != catalog.KindTable && t.Kind != catalog.KindSequence {
		return nil
	}
	span := keys.TableSpan(uint64(t.Database), uint64(t.ID))
	if err := zoneconfig.RemoveZones(ctx, e, span); err != nil {
		return err
	}
	return e.Coll.ClearOnCommit(ctx, span)
}

// DropIndexes is DROP INDEX.
func DropIndexes(ctx context.Context, e *statement.Env, st *ast.Drop) error {
	switch {
	case st.Concurrently && len(st.Names) > 1:
		return pgerr.Unsupported("DROP INDEX CONCURRENTLY does not support dropping multiple objects")
	case st.Concurrently && st.Cascade:
		return pgerr.Unsupported("DROP INDEX CONCURRENTLY does not support CASCADE")
	}
	for i, n := range st.Names {
		if i < len(st.Tables) && st.Tables[i].Table != "" && n.Schema == "" {
			n.Schema = st.Tables[i].Schema
		}
		t, index, err := e.LockRelationTo(ctx, n, e.Drops(ctx))
		if err != nil {
			return err
		}
		if t == nil {
			if err := missing(ctx, e, n, "index", st.IfExists); err != nil {
				return err
			}
			continue
		}
		if !index {
			return wrongKind(n, t, false, "index")
		}
		if i < len(st.Tables) && st.Tables[i].Table != "" && st.Tables[i].Table != t.Name {
			return pgerr.New(pgerr.UndefinedObject, "index \"%s\" does not exist", n.Table)
		}
		ix := t.IndexByName(n.Table)
		if ix.Constraint && !(st.Cascade && !ix.Primary) {
			return pgerr.New(pgerr.DependentObjectsStillExist,
				"cannot drop index %s because constraint %s on table %s requires it", ix.Name, ix.ConstraintName, t.Name).
				WithHint("You can drop constraint %s on table %s instead.", ix.ConstraintName, t.Name)
		}
		t = t.Clone()
		if err := relations.DropIndexReferrers(ctx, e, t, ix, st.Cascade); err != nil {
			return err
		}
		if err := removeIndex(ctx, e, t, ix.Name); err != nil {
			return err
		}
		if err := e.Coll.Put(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// removeIndex takes a secondary index out of t, with its name and its data.
func removeIndex(ctx context.Context, e *statement.Env, t *catalog.Table, name string) error {
	i := slices.IndexFunc(t.Indexes, func(ix catalog.Index) bool { return ix.Name == name })
	if err := e.RemoveRelationName(ctx, t, name); err != nil {
		return err
	}
	if err := zoneconfig.RemoveZones(ctx, e, zoneconfig.IndexSpan(t, t.Indexes[i].ID)); err != nil {
		return err
	}
	if err := clearIndex(ctx, e, t, t.Indexes[i].ID); err != nil {
		return err
	}
	t.Indexes = slices.Delete(t.Indexes, i, i+1)
	backfill.DropUnusedExpressions(t)
	return nil
}

func clearIndex(ctx context.Context, e *statement.Env, t *catalog.Table, id catalog.IndexID) error {
	return e.Coll.ClearOnCommit(ctx, keys.IndexSpan(uint64(t.Database), uint64(t.ID), uint64(id)))
}
