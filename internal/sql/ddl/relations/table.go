package relations

import (
	"context"
	"slices"
	"strconv"

	"github.com/lichendb/lichen/internal/sql/ddl/noeffect"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/ddl/zoneconfig"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// maxColumns bounds the columns of a table, as in PostgreSQL.
const maxColumns = 1600

// CreateTable is CREATE TABLE.
func CreateTable(ctx context.Context, e *statement.Env, st *ast.CreateTable) error {
	if err := checkTableOptions(e, st); err != nil {
		return err
	}
	b, err := NewTable(ctx, e, st.Name, st.Persistence, st.IfNotExists)
	if err != nil || b == nil {
		return err
	}
	if b.Taken != nil {
		return b.columnsFirst(ctx, st.Defs)
	}
	if b.T.Options, err = TableOptions(e, st.With); err != nil {
		return err
	}
	if err := OnCommit(e, b.T, b.Schema.Temp != nil, st.OnCommit, st.Pos); err != nil {
		return err
	}
	defs, err := withExpiry(b.T.Options, st.Name.Table, st.Defs)
	if err != nil {
		return err
	}
	for _, d := range defs {
		if err := b.define(ctx, d); err != nil {
			return err
		}
	}
	if _, err := CheckExpiry(ctx, e, b.T); err != nil {
		return err
	}
	ts, err := b.choosePlace(ctx, st.Tablespace)
	if err != nil {
		return err
	}
	if err := b.create(ctx); err != nil {
		return err
	}
	if err := placeTable(ctx, e, b.T, ts); err != nil {
		return err
	}
	return zoneconfig.Presplit(ctx, e, b.T, b.T.Primary(), st.SplitInto, st.SplitAt)
}

func checkTableOptions(e *statement.Env, st *ast.CreateTable) error {
	switch {
	case len(st.OfType) > 0:
		return pgerr.Unsupported("typed tables are not supported").At(st.Pos)
	case st.PartitionOf != nil || st.PartitionBy != nil:
		return pgerr.Unsupported("partitioned tables are not supported").At(st.Pos)
	case len(st.Inherits) > 0:
		return pgerr.Unsupported("table inheritance is not supported").At(st.Pos)
	}
	if st.Persistence == ast.Unlogged {
		e.Ignore(noeffect.Unlogged)
	}
	return CheckTableMethod(st.Using)
}

// CheckTableMethod refuses access methods other than heap.
func CheckTableMethod(name ast.Name) error {
	if name != "" && name != "heap" {
		return pgerr.New(pgerr.UndefinedObject, "access method \"%s\" does not exist", name)
	}
	return nil
}

// TableBuilder collects the definition of a new table.
type TableBuilder struct {
	e      *statement.Env
	Schema *catalog.Schema
	T      *catalog.Table
	// constraints and indexes are made once all columns are known.
	constraints []PendingConstraint
	indexes     []pendingIndex
	splits      []zoneconfig.PendingSplit
	generated   []PendingGenerated
	// taken is the error of a name that something has, with which nothing can be built.
	Taken error
	// What the definition says about families.
	columnFamilies []columnFamily
	familyDefs     []*ast.FamilyDef
	likedExtended  []catalog.Extended // of LIKE, with the part of their names that the columns are
	likedFamilies  []*ast.FamilyDef   // of LIKE, which any other statement about families outweighs
}

// PendingConstraint is a constraint that waits for all columns of its table.
type PendingConstraint struct {
	*ast.Constraint
	Column string // of a column constraint
}

// NewTable starts the definition of a table. It returns nil if the name is
// taken and that is fine; otherwise the builder knows the error of a taken name.
func NewTable(ctx context.Context, e *statement.Env, name ast.TableName, p ast.Persistence, ifNotExists bool) (*TableBuilder, error) {
	schema, err := e.TargetFor(ctx, name, p)
	if err != nil {
		return nil, err
	}
	exists, err := e.NameExists(ctx, schema.Name, name.Table)
	if err != nil {
		return nil, err
	}
	if exists && ifNotExists {
		e.Skip(pgerr.DuplicateTable, "relation \"%s\" already exists, skipping", name.Table)
		return nil, nil
	}
	t := &catalog.Table{
		Database: schema.Database, Schema: schema.ID, Name: name.Table, Owner: e.User, Kind: catalog.KindTable,
		NextColumnID: 1, NextIndexID: catalog.PrimaryIndexID, NextAttnum: 1, ACL: e.DefaultACL(schema.Database, schema.ID, privilege.Table),
	}
	if t.ID, err = e.Coll.NewID(ctx); err != nil {
		return nil, err
	}
	if t.Oid, err = e.Coll.NewOid(ctx); err != nil {
		return nil, err
	}
	// The name first: a concurrent creation waits here rather than later.
	if err := e.AddRelation(ctx, t, t.Name, false); err != nil {
		if ifNotExists && pgerr.CodeOf(err) == pgerr.DuplicateTable {
			e.Skip(pgerr.DuplicateTable, "relation \"%s\" already exists, skipping", name.Table)
			return nil, nil
		}
		if code := pgerr.CodeOf(err); code != pgerr.DuplicateTable && code != pgerr.DuplicateObject {
			return nil, err
		}
		return &TableBuilder{e: e, Schema: schema, T: t, Taken: err}, nil
	}
	return &TableBuilder{e: e, Schema: schema, T: t}, nil
}

// columnsFirst is the error for a table whose name is taken: what is wrong with its columns and
// keys comes before that, what is wrong with its expressions after.
func (b *TableBuilder) columnsFirst(ctx context.Context, defs []ast.TableDef) error {
	for _, d := range defs {
		if c, ok := d.(*ast.ColumnDef); ok {
			d = withoutValues(c)
		}
		if err := b.define(ctx, d); err != nil {
			return err
		}
	}
	primary := false
	for _, c := range b.constraints {
		switch c.Kind {
		case ast.ConstrPrimaryKey:
			if primary {
				return TwoPrimaryKeys(b.T).At(c.Pos)
			}
			primary = true
		case ast.ConstrUnique:
		default:
			continue
		}
		if _, err := b.keyConstraint(ctx, c); err != nil && pgerr.CodeOf(err) != pgerr.UndefinedObject { // no operator class
			return err
		}
	}
	return b.Taken
}

// withoutValues is a column with NULL for its default.
func withoutValues(d *ast.ColumnDef) *ast.ColumnDef {
	c := *d
	c.Constraints = nil
	for _, k := range d.Constraints {
		if k.Kind == ast.ConstrDefault || k.Kind == ast.ConstrOnUpdate {
			null := *k
			null.X = &ast.NullLit{Loc: k.Loc}
			k = &null
		}
		c.Constraints = append(c.Constraints, k)
	}
	return &c
}

// define adds an element of the column list.
func (b *TableBuilder) define(ctx context.Context, d ast.TableDef) error {
	switch d := d.(type) {
	case *ast.ColumnDef:
		return b.column(ctx, d)
	case *ast.Constraint:
		b.constraints = append(b.constraints, PendingConstraint{Constraint: d})
	case *ast.InlineIndex:
		p, err := inlineIndex(b.e, d)
		if err != nil {
			return err
		}
		b.indexes = append(b.indexes, p)
	case *ast.LikeClause:
		return b.like(ctx, d)
	case *ast.FamilyDef:
		b.familyDefs = append(b.familyDefs, d)
	default:
		return pgerr.Unsupported("this element of CREATE TABLE is not supported").At(d.Position())
	}
	return nil
}

// column adds a column.
func (b *TableBuilder) column(ctx context.Context, d *ast.ColumnDef) error {
	def, err := DefineColumn(ctx, b.e, b.T, d)
	if err != nil {
		return err
	}
	if def.Sequence != nil {
		if err := OwnedSequence(ctx, b.e, b.T, b.Schema.Name, def, b.T.NextColumnID); err != nil {
			return err
		}
	}
	return b.addColumn(def)
}

func (b *TableBuilder) addColumn(def *ColumnDef) error {
	if err := AppendColumn(b.T, &def.Col); err != nil {
		return err
	}
	if def.Generated != nil {
		b.generated = append(b.generated, PendingGenerated{def.Col.Name, def.Generated})
	}
	if def.Family != nil {
		b.columnFamilies = append(b.columnFamilies, columnFamily{def.Col.Name, def.Family})
	}
	for _, c := range def.Constraints {
		b.constraints = append(b.constraints, PendingConstraint{Constraint: c, Column: def.Col.Name})
	}
	return nil
}

// checkColumnName refuses the names of PostgreSQL's system columns, which clients
// may ask for.
func checkColumnName(name string) error {
	switch name {
	case "tableoid", "cmax", "xmax", "cmin", "xmin", "ctid":
		return pgerr.New(pgerr.DuplicateColumn, "column name \"%s\" conflicts with a system column name", name)
	}
	return nil
}

// AppendColumn gives a column its ids and adds it to t.
func AppendColumn(t *catalog.Table, c *catalog.Column) error {
	if _, ok := t.ColumnByName(c.Name); ok {
		return pgerr.New(pgerr.DuplicateColumn, "column \"%s\" specified more than once", c.Name)
	}
	if err := checkColumnName(c.Name); err != nil {
		return err
	}
	if !c.Hidden && (visible(t) >= maxColumns || t.NextAttnum >= 32000) {
		return pgerr.New(pgerr.TooManyColumns, "tables can have at most %d columns", maxColumns)
	}
	c.ID = t.NextColumnID
	t.NextColumnID++
	if !c.Hidden {
		c.Attnum = t.NextAttnum
		t.NextAttnum++
	}
	t.Columns = append(t.Columns, *c)
	if t.Families != nil && !c.Virtual {
		t.Families[0].Columns = append(t.Families[0].Columns, c.ID)
	}
	return nil
}

// visible counts the columns that users know of.
func visible(t *catalog.Table) int {
	n := 0
	for i := range t.Columns {
		if !t.Columns[i].Hidden {
			n++
		}
	}
	return n
}

// hiddenAttnum is the attribute number of hidden columns: system columns are
// negative, and catalogs list only positive ones.
const hiddenAttnum = -100

// AddRowID gives t a hidden column of row ids, which becomes the key of its
// primary index ix.
func AddRowID(ctx context.Context, e *statement.Env, t *catalog.Table) (catalog.Index, error) {
	name := "rowid"
	for n := 1; ; n++ {
		if _, ok := t.ColumnByName(name); !ok {
			break
		}
		name = statement.ObjectName("rowid", "", strconv.Itoa(n))
	}
	var err error
	if t.RowIDOid, err = e.Coll.NewOid(ctx); err != nil {
		return catalog.Index{}, err
	}
	c := catalog.Column{
		Name: name, Type: types.Int8, NotNull: true, Hidden: true, Attnum: hiddenAttnum, Default: storedtext.NextvalOf(t.RowIDOid),
	}
	if err := AppendColumn(t, &c); err != nil {
		return catalog.Index{}, err
	}
	ix := catalog.Index{Unique: true, Primary: true, Columns: []catalog.IndexColumn{{Column: c.ID}}}
	if ix.ID, err = TakeIndexID(ctx, e, t); err != nil {
		return ix, err
	}
	if t.RowIDStorage, err = TakeIndexID(ctx, e, t); err != nil {
		return ix, err
	}
	if ix.Oid, err = e.Coll.NewOid(ctx); err != nil {
		return ix, err
	}
	ix.Name = statement.ObjectName(t.Name, "", "rowid") // not in the name space
	return ix, nil
}

// RemoveRowID takes the hidden column away again.
func RemoveRowID(t *catalog.Table) {
	t.RemoveColumns(func(c *catalog.Column) bool { return c.Hidden && !c.Virtual })
	t.RowIDOid, t.RowIDStorage = 0, 0
}

// create completes the definition and stores the table.
func (b *TableBuilder) create(ctx context.Context) error {
	if err := b.families(); err != nil {
		return err
	}
	for _, g := range b.generated {
		if err := Generate(ctx, b.e, b.T, g, b.generated...); err != nil {
			return err
		}
	}
	if err := b.primaryKey(ctx); err != nil {
		return err
	}
	if b.e.FamilyPerColumn {
		if err := spread(b.T); err != nil {
			return err
		}
	}
	isKey := func(c PendingConstraint) bool { return c.Kind == ast.ConstrForeignKey }
	for _, c := range b.constraints {
		if isKey(c) {
			continue
		}
		if err := b.constraint(ctx, c); err != nil {
			return err
		}
	}
	for _, p := range b.indexes {
		ix, err := newIndex(ctx, b.e, b.T, b.Schema.Name, p)
		if err != nil {
			return err
		}
		if err := b.addIndex(ctx, ix); err != nil {
			return err
		}
	}
	for _, c := range b.constraints {
		if !isKey(c) {
			continue
		}
		if err := b.constraint(ctx, c); err != nil { // it may need the table's own keys
			return err
		}
	}
	if err := b.addExtended(ctx); err != nil {
		return err
	}
	if err := storedtext.CheckExprs(ctx, b.e, b.T); err != nil {
		return err
	}
	if err := b.computeConstants(ctx); err != nil {
		return err
	}
	if err := b.e.Coll.Put(ctx, b.T); err != nil {
		return err
	}
	for _, s := range b.splits {
		i := slices.IndexFunc(b.T.Indexes, func(ix catalog.Index) bool { return ix.ID == s.Index })
		if err := zoneconfig.Presplit(ctx, b.e, b.T, &b.T.Indexes[i], s.Into, nil); err != nil {
			return err
		}
	}
	return nil
}

// computeConstants computes those of generated columns and of partial indexes.
func (b *TableBuilder) computeConstants(ctx context.Context) error {
	parts := DerivedParts{bare: true}
	for _, g := range b.generated {
		ord, _ := b.T.ColumnByName(g.Column)
		parts.Columns = append(parts.Columns, b.T.Columns[ord].ID)
	}
	for i := range b.T.Indexes {
		if ix := &b.T.Indexes[i]; !ix.Total() {
			parts.predicates = append(parts.predicates, ix.ID)
		}
	}
	if len(parts.Columns)+len(parts.predicates) == 0 {
		return nil
	}
	return ComputeConstants(ctx, b.e, b.T, parts)
}

// addIndex adds a finished index to the table and takes its name.
func (b *TableBuilder) addIndex(ctx context.Context, ix catalog.Index) error {
	b.T.Indexes = append(b.T.Indexes, ix)
	return b.e.AddRelation(ctx, b.T, ix.Name, true)
}

// primaryKey makes the primary index: of the declared key, or of row ids.
func (b *TableBuilder) primaryKey(ctx context.Context) error {
	pk := -1
	for i, c := range b.constraints {
		if c.Kind != ast.ConstrPrimaryKey {
			continue
		}
		if pk >= 0 {
			return TwoPrimaryKeys(b.T).At(c.Pos)
		}
		pk = i
	}
	if pk < 0 || Deferrable(b.constraints[pk].Constraint) {
		// A key that several rows may have for a while can't be where they are stored.
		ix, err := AddRowID(ctx, b.e, b.T)
		b.T.Indexes = []catalog.Index{ix}
		if pk < 0 || err != nil {
			return err
		}
	}
	c := b.constraints[pk]
	ix, err := b.keyConstraint(ctx, c)
	if err != nil {
		return err
	}
	b.constraints = slices.Delete(b.constraints, pk, pk+1)
	SetNotNull(b.T, ix.Columns)
	if err := b.addIndex(ctx, ix); err != nil {
		return err
	}
	b.splitLater(&ix, c)
	return nil
}

// keyConstraint makes the index of a constraint; a column that does not exist is told at the
// place of the constraint.
func (b *TableBuilder) keyConstraint(ctx context.Context, c PendingConstraint) (catalog.Index, error) {
	ix, err := KeyConstraint(ctx, b.e, b.T, b.Schema.Name, c)
	if pgerr.CodeOf(err) == pgerr.UndefinedColumn {
		err = pgerr.From(err).At(c.Pos)
	}
	return ix, err
}

// TwoPrimaryKeys says that t would have two primary keys.
func TwoPrimaryKeys(t *catalog.Table) *pgerr.Error {
	return pgerr.New(pgerr.InvalidTableDefinition, "multiple primary keys for table \"%s\" are not allowed", t.Name)
}

func (b *TableBuilder) splitLater(ix *catalog.Index, c PendingConstraint) {
	if c.SplitInto != nil {
		b.splits = append(b.splits, zoneconfig.PendingSplit{Index: ix.ID, Into: c.SplitInto})
	}
}

// constraint adds any other constraint.
func (b *TableBuilder) constraint(ctx context.Context, c PendingConstraint) error {
	switch c.Kind {
	case ast.ConstrCheck:
		return AddCheck(ctx, b.e, b.T, c)
	case ast.ConstrUnique, ast.ConstrExclude:
		ix, err := b.keyConstraint(ctx, c)
		if err != nil {
			return err
		}
		if c.Name == "" && c.Kind == ast.ConstrUnique && b.covered(&ix) {
			return nil // PostgreSQL too makes one index for a repeated constraint
		}
		if err := b.addIndex(ctx, ix); err != nil {
			return err
		}
		b.splitLater(&ix, c)
		return nil
	case ast.ConstrForeignKey:
		_, _, err := AddForeignKey(ctx, b.e, b.T, b.Schema.Name, c)
		return err
	}
	return UnsupportedConstraint(c.Constraint)
}

// covered reports whether a constraint on the same columns is there already.
func (b *TableBuilder) covered(ix *catalog.Index) bool {
	return slices.ContainsFunc(b.T.Indexes, func(o catalog.Index) bool {
		return o.Constraint && !o.Exclusion && o.NullsNotDistinct == ix.NullsNotDistinct &&
			o.Deferrable == ix.Deferrable && o.Deferred == ix.Deferred && slices.Equal(o.Columns, ix.Columns) && slices.Equal(o.Stored, ix.Stored)
	})
}

// SetNotNull makes columns of a key NOT NULL.
func SetNotNull(t *catalog.Table, cols []catalog.IndexColumn) {
	for _, c := range cols {
		t.Columns[t.ColumnByID(c.Column)].NotNull = true
	}
}
