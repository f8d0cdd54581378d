package ddl

import (
	"context"
	"slices"
	"strconv"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// maxColumns bounds the columns of a table, as in PostgreSQL.
const maxColumns = 1600

// createTable is CREATE TABLE.
func (e *Env) createTable(ctx context.Context, st *ast.CreateTable) error {
	if err := e.checkTableOptions(st); err != nil {
		return err
	}
	b, err := e.newTable(ctx, st.Name, st.Persistence, st.IfNotExists)
	if err != nil || b == nil {
		return err
	}
	if b.taken != nil {
		return b.columnsFirst(ctx, st.Defs)
	}
	if b.t.Options, err = e.tableOptions(st.With); err != nil {
		return err
	}
	if err := e.onCommit(b.t, b.schema.Temp != nil, st.OnCommit, st.Pos); err != nil {
		return err
	}
	for _, d := range st.Defs {
		if err := b.define(ctx, d); err != nil {
			return err
		}
	}
	ts, err := b.choosePlace(ctx, st.Tablespace)
	if err != nil {
		return err
	}
	if err := b.create(ctx); err != nil {
		return err
	}
	if err := e.placeTable(ctx, b.t, ts); err != nil {
		return err
	}
	return e.presplit(ctx, b.t, b.t.Primary(), st.SplitInto, st.SplitAt)
}

func (e *Env) checkTableOptions(st *ast.CreateTable) error {
	switch {
	case len(st.OfType) > 0:
		return pgerr.Unsupported("typed tables are not supported").At(st.Pos)
	case st.PartitionOf != nil || st.PartitionBy != nil:
		return pgerr.Unsupported("partitioned tables are not supported").At(st.Pos)
	case len(st.Inherits) > 0:
		return pgerr.Unsupported("table inheritance is not supported").At(st.Pos)
	}
	if st.Persistence == ast.Unlogged {
		e.ignore(noUnlogged)
	}
	return checkTableMethod(st.Using)
}

func checkTableMethod(name ast.Name) error {
	if name != "" && name != "heap" {
		return pgerr.New(pgerr.UndefinedObject, "access method \"%s\" does not exist", name)
	}
	return nil
}

// tableBuilder collects the definition of a new table.
type tableBuilder struct {
	e      *Env
	schema *catalog.Schema
	t      *catalog.Table
	// constraints and indexes are made once all columns are known.
	constraints []pendingConstraint
	indexes     []pendingIndex
	splits      []pendingSplit
	generated   []pendingGenerated
	// taken is the error of a name that something has, with which nothing can be built.
	taken error
	// What the definition says about families.
	columnFamilies []columnFamily
	familyDefs     []*ast.FamilyDef
	likedFamilies  []*ast.FamilyDef // of LIKE, which any other statement about families outweighs
}

type pendingConstraint struct {
	*ast.Constraint
	column string // of a column constraint
}

// newTable starts the definition of a table. It returns nil if the name is
// taken and that is fine; otherwise the builder knows the error of a taken name.
func (e *Env) newTable(ctx context.Context, name ast.TableName, p ast.Persistence, ifNotExists bool) (*tableBuilder, error) {
	schema, err := e.targetFor(ctx, name, p)
	if err != nil {
		return nil, err
	}
	exists, err := e.nameExists(ctx, schema.Name, name.Table)
	if err != nil {
		return nil, err
	}
	if exists && ifNotExists {
		e.skip(pgerr.DuplicateTable, "relation \"%s\" already exists, skipping", name.Table)
		return nil, nil
	}
	t := &catalog.Table{
		Database: schema.Database, Schema: schema.ID, Name: name.Table, Owner: e.User, Kind: catalog.KindTable,
		NextColumnID: 1, NextIndexID: catalog.PrimaryIndexID, NextAttnum: 1,
	}
	if t.ID, err = e.Coll.NewID(ctx); err != nil {
		return nil, err
	}
	if t.Oid, err = e.Coll.NewOid(ctx); err != nil {
		return nil, err
	}
	// The name first: a concurrent creation waits here rather than later.
	if err := e.addRelation(ctx, t, t.Name, false); err != nil {
		if ifNotExists && pgerr.CodeOf(err) == pgerr.DuplicateTable {
			e.skip(pgerr.DuplicateTable, "relation \"%s\" already exists, skipping", name.Table)
			return nil, nil
		}
		if code := pgerr.CodeOf(err); code != pgerr.DuplicateTable && code != pgerr.DuplicateObject {
			return nil, err
		}
		return &tableBuilder{e: e, schema: schema, t: t, taken: err}, nil
	}
	return &tableBuilder{e: e, schema: schema, t: t}, nil
}

// columnsFirst is the error for a table whose name is taken: what is wrong with its columns and
// keys comes before that, what is wrong with its expressions after.
func (b *tableBuilder) columnsFirst(ctx context.Context, defs []ast.TableDef) error {
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
				return twoPrimaryKeys(b.t).At(c.Pos)
			}
			primary = true
		case ast.ConstrUnique:
		default:
			continue
		}
		if _, err := b.keyConstraint(ctx, c); err != nil {
			return err
		}
	}
	return b.taken
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
func (b *tableBuilder) define(ctx context.Context, d ast.TableDef) error {
	switch d := d.(type) {
	case *ast.ColumnDef:
		return b.column(ctx, d)
	case *ast.Constraint:
		b.constraints = append(b.constraints, pendingConstraint{Constraint: d})
	case *ast.InlineIndex:
		p, err := b.e.inlineIndex(d)
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
func (b *tableBuilder) column(ctx context.Context, d *ast.ColumnDef) error {
	def, err := b.e.defineColumn(ctx, b.t, d)
	if err != nil {
		return err
	}
	if def.sequence != nil {
		if err := b.e.ownedSequence(ctx, b.t, b.schema.Name, def, b.t.NextColumnID); err != nil {
			return err
		}
	}
	return b.addColumn(def)
}

func (b *tableBuilder) addColumn(def *columnDef) error {
	if err := appendColumn(b.t, &def.col); err != nil {
		return err
	}
	if def.generated != nil {
		b.generated = append(b.generated, pendingGenerated{def.col.Name, def.generated})
	}
	if def.family != nil {
		b.columnFamilies = append(b.columnFamilies, columnFamily{def.col.Name, def.family})
	}
	for _, c := range def.constraints {
		b.constraints = append(b.constraints, pendingConstraint{Constraint: c, column: def.col.Name})
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

// appendColumn gives a column its ids and adds it to t.
func appendColumn(t *catalog.Table, c *catalog.Column) error {
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

// addRowID gives t a hidden column of row ids, which becomes the key of its
// primary index ix.
func (e *Env) addRowID(ctx context.Context, t *catalog.Table) (catalog.Index, error) {
	name := "rowid"
	for n := 1; ; n++ {
		if _, ok := t.ColumnByName(name); !ok {
			break
		}
		name = objectName("rowid", "", strconv.Itoa(n))
	}
	var err error
	if t.RowIDOid, err = e.Coll.NewOid(ctx); err != nil {
		return catalog.Index{}, err
	}
	c := catalog.Column{
		Name: name, Type: types.Int8, NotNull: true, Hidden: true, Attnum: hiddenAttnum, Default: nextvalOf(t.RowIDOid),
	}
	if err := appendColumn(t, &c); err != nil {
		return catalog.Index{}, err
	}
	ix := catalog.Index{Unique: true, Primary: true, Columns: []catalog.IndexColumn{{Column: c.ID}}}
	if ix.ID, err = e.takeIndexID(ctx, t); err != nil {
		return ix, err
	}
	if t.RowIDStorage, err = e.takeIndexID(ctx, t); err != nil {
		return ix, err
	}
	if ix.Oid, err = e.Coll.NewOid(ctx); err != nil {
		return ix, err
	}
	ix.Name = objectName(t.Name, "", "rowid") // not in the name space
	return ix, nil
}

// removeRowID takes the hidden column away again.
func removeRowID(t *catalog.Table) {
	t.RemoveColumns(func(c *catalog.Column) bool { return c.Hidden && !c.Virtual })
	t.RowIDOid, t.RowIDStorage = 0, 0
}

// create completes the definition and stores the table.
func (b *tableBuilder) create(ctx context.Context) error {
	if err := b.families(); err != nil {
		return err
	}
	for _, g := range b.generated {
		if err := b.e.generate(ctx, b.t, g, b.generated...); err != nil {
			return err
		}
	}
	if err := b.primaryKey(ctx); err != nil {
		return err
	}
	if b.e.FamilyPerColumn {
		if err := spread(b.t); err != nil {
			return err
		}
	}
	isKey := func(c pendingConstraint) bool { return c.Kind == ast.ConstrForeignKey }
	for _, c := range b.constraints {
		if isKey(c) {
			continue
		}
		if err := b.constraint(ctx, c); err != nil {
			return err
		}
	}
	for _, p := range b.indexes {
		ix, err := b.e.newIndex(ctx, b.t, b.schema.Name, p)
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
	if err := b.e.checkExprs(ctx, b.t); err != nil {
		return err
	}
	if err := b.computeConstants(ctx); err != nil {
		return err
	}
	if err := b.e.Coll.Put(ctx, b.t); err != nil {
		return err
	}
	for _, s := range b.splits {
		i := slices.IndexFunc(b.t.Indexes, func(ix catalog.Index) bool { return ix.ID == s.index })
		if err := b.e.presplit(ctx, b.t, &b.t.Indexes[i], s.into, nil); err != nil {
			return err
		}
	}
	return nil
}

// computeConstants computes those of generated columns and of partial indexes.
func (b *tableBuilder) computeConstants(ctx context.Context) error {
	parts := derivedParts{bare: true}
	for _, g := range b.generated {
		ord, _ := b.t.ColumnByName(g.column)
		parts.columns = append(parts.columns, b.t.Columns[ord].ID)
	}
	for i := range b.t.Indexes {
		if ix := &b.t.Indexes[i]; !ix.Total() {
			parts.predicates = append(parts.predicates, ix.ID)
		}
	}
	if len(parts.columns)+len(parts.predicates) == 0 {
		return nil
	}
	return b.e.computeConstants(ctx, b.t, parts)
}

// addIndex adds a finished index to the table and takes its name.
func (b *tableBuilder) addIndex(ctx context.Context, ix catalog.Index) error {
	b.t.Indexes = append(b.t.Indexes, ix)
	return b.e.addRelation(ctx, b.t, ix.Name, true)
}

// primaryKey makes the primary index: of the declared key, or of row ids.
func (b *tableBuilder) primaryKey(ctx context.Context) error {
	pk := -1
	for i, c := range b.constraints {
		if c.Kind != ast.ConstrPrimaryKey {
			continue
		}
		if pk >= 0 {
			return twoPrimaryKeys(b.t).At(c.Pos)
		}
		pk = i
	}
	if pk < 0 || deferrable(b.constraints[pk].Constraint) {
		// A key that several rows may have for a while can't be where they are stored.
		ix, err := b.e.addRowID(ctx, b.t)
		b.t.Indexes = []catalog.Index{ix}
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
	setNotNull(b.t, ix.Columns)
	if err := b.addIndex(ctx, ix); err != nil {
		return err
	}
	b.splitLater(&ix, c)
	return nil
}

// keyConstraint makes the index of a constraint; a column that does not exist is told at the
// place of the constraint.
func (b *tableBuilder) keyConstraint(ctx context.Context, c pendingConstraint) (catalog.Index, error) {
	ix, err := b.e.keyConstraint(ctx, b.t, b.schema.Name, c)
	if pgerr.CodeOf(err) == pgerr.UndefinedColumn {
		err = pgerr.From(err).At(c.Pos)
	}
	return ix, err
}

func twoPrimaryKeys(t *catalog.Table) *pgerr.Error {
	return pgerr.New(pgerr.InvalidTableDefinition, "multiple primary keys for table \"%s\" are not allowed", t.Name)
}

func (b *tableBuilder) splitLater(ix *catalog.Index, c pendingConstraint) {
	if c.SplitInto != nil {
		b.splits = append(b.splits, pendingSplit{ix.ID, c.SplitInto})
	}
}

// constraint adds any other constraint.
func (b *tableBuilder) constraint(ctx context.Context, c pendingConstraint) error {
	switch c.Kind {
	case ast.ConstrCheck:
		return b.e.addCheck(ctx, b.t, c)
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
		_, _, err := b.e.addForeignKey(ctx, b.t, b.schema.Name, c)
		return err
	}
	return unsupportedConstraint(c.Constraint)
}

// covered reports whether a constraint on the same columns is there already.
func (b *tableBuilder) covered(ix *catalog.Index) bool {
	return slices.ContainsFunc(b.t.Indexes, func(o catalog.Index) bool {
		return o.Constraint && !o.Exclusion && o.NullsNotDistinct == ix.NullsNotDistinct &&
			o.Deferrable == ix.Deferrable && o.Deferred == ix.Deferred && slices.Equal(o.Columns, ix.Columns) && slices.Equal(o.Stored, ix.Stored)
	})
}

func setNotNull(t *catalog.Table, cols []catalog.IndexColumn) {
	for _, c := range cols {
		t.Columns[t.ColumnByID(c.Column)].NotNull = true
	}
}
