package plantest

import (
	"context"
	"fmt"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// firstID is the id of the first relation.
const firstID = 100

// Catalog is a catalog.Resolver over tables made by Exec.
type Catalog struct {
	tables []*catalog.Table
}

var _ catalog.Resolver = (*Catalog)(nil)

// Exec runs CREATE statements.
func (c *Catalog) Exec(sql string) error {
	stmts, err := parser.Parse(sql)
	if err != nil {
		return err
	}
	for _, s := range stmts {
		switch st := s.AST.(type) {
		case *ast.CreateTable:
			err = c.createTable(st)
		case *ast.CreateIndex:
			err = c.createIndex(st)
		case *ast.CreateView:
			err = c.createView(st)
		default:
			err = fmt.Errorf("plantest: %T is not supported", st)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Catalog) add(name string, kind catalog.Kind) *catalog.Table {
	id := firstID + len(c.tables)
	t := &catalog.Table{ID: catalog.ID(id), Oid: uint32(id), Version: 1, Database: 1, Schema: 2, Name: name, Kind: kind}
	c.tables = append(c.tables, t)
	return t
}

func (c *Catalog) createTable(st *ast.CreateTable) error {
	kind := catalog.KindTable
	if st.Name.Schema == "pg_catalog" {
		kind = catalog.KindVirtual
	}
	t := c.add(st.Name.Table, kind)
	for _, d := range st.Defs {
		if col, ok := d.(*ast.ColumnDef); ok {
			if err := c.column(t, col); err != nil {
				return err
			}
		}
	}
	for _, d := range st.Defs {
		switch d := d.(type) {
		case *ast.ColumnDef:
			for _, k := range d.Constraints {
				c.constraint(t, k, []ast.IndexElem{{Column: d.Name}})
			}
		case *ast.Constraint:
			c.constraint(t, d, d.Keys)
		}
	}
	if kind == catalog.KindTable && (len(t.Indexes) == 0 || !t.Indexes[0].Primary) {
		t.Columns = append(t.Columns, catalog.Column{
			ID: catalog.ColumnID(len(t.Columns) + 1), Name: "rowid", Type: types.Int8, NotNull: true, Hidden: true, Default: "1::int8",
		})
		c.primary(t, []ast.IndexElem{{Column: "rowid"}}, false)
	}
	return nil
}

func (c *Catalog) column(t *catalog.Table, d *ast.ColumnDef) error {
	typ, err := planner.ResolveType(d.Type, 4)
	if err != nil {
		return err
	}
	n := len(t.Columns) + 1
	col := catalog.Column{ID: catalog.ColumnID(n), Attnum: int16(n), Name: d.Name, Type: typ}
	for _, k := range d.Constraints {
		switch k.Kind {
		case ast.ConstrNotNull, ast.ConstrPrimaryKey:
			col.NotNull = true
		case ast.ConstrDefault:
			col.Default = ast.Format(k.X)
		case ast.ConstrIdentity:
			col.Identity, col.Default, col.NotNull = 'd', "1", true
			if k.Always {
				col.Identity = 'a'
			}
		}
	}
	t.Columns = append(t.Columns, col)
	return nil
}

func (c *Catalog) constraint(t *catalog.Table, k *ast.Constraint, keys []ast.IndexElem) {
	switch k.Kind {
	case ast.ConstrPrimaryKey:
		c.primary(t, keys, true)
	case ast.ConstrUnique:
		name := t.Name + "_" + keys[0].Column + "_key"
		if k.Name != "" {
			name = k.Name
		}
		ix := c.index(t, name, keys, k.Include)
		ix.Unique, ix.Constraint, ix.ConstraintName = true, true, name
		t.Indexes = append(t.Indexes, ix)
	case ast.ConstrCheck:
		name := k.Name
		if name == "" {
			name = t.Name + "_check"
		}
		t.Checks = append(t.Checks, catalog.Check{Name: name, Expr: ast.Format(k.X)})
	}
}

func (c *Catalog) primary(t *catalog.Table, keys []ast.IndexElem, constraint bool) {
	ix := c.index(t, t.Name+"_pkey", keys, nil)
	ix.Unique, ix.Primary, ix.Constraint, ix.ConstraintName = true, true, constraint, ix.Name
	for _, k := range ix.Columns {
		t.Columns[t.ColumnByID(k.Column)].NotNull = true
	}
	t.Indexes = append([]catalog.Index{ix}, t.Indexes...)
	for i := range t.Indexes {
		t.Indexes[i].ID = catalog.IndexID(i + 1)
	}
}

func (c *Catalog) index(t *catalog.Table, name string, keys []ast.IndexElem, include []ast.Name) catalog.Index {
	ix := catalog.Index{ID: catalog.IndexID(len(t.Indexes) + 1), Name: name}
	for _, k := range keys {
		ord, _ := t.ColumnByName(k.Column)
		desc := k.Dir == ast.DirDesc
		nulls := desc
		if k.Nulls != ast.NullsDefault {
			nulls = k.Nulls == ast.NullsFirst
		}
		ix.Columns = append(ix.Columns, catalog.IndexColumn{Column: t.Columns[ord].ID, Desc: desc, NullsFirst: nulls})
	}
	for _, n := range include {
		ord, _ := t.ColumnByName(n)
		ix.Stored = append(ix.Stored, t.Columns[ord].ID)
	}
	return ix
}

func (c *Catalog) createIndex(st *ast.CreateIndex) error {
	t, err := c.ResolveTable(context.Background(), "", "", st.Table.Name.Table)
	if err != nil {
		return err
	}
	var included []ast.Name
	for _, e := range st.Include {
		included = append(included, e.Column)
	}
	ix := c.index(t, st.Name, st.Keys, included)
	ix.Unique = st.Unique
	t.Indexes = append(t.Indexes, ix)
	return nil
}

func (c *Catalog) createView(st *ast.CreateView) error {
	p, err := planner.Plan(context.Background(), st.Query, &planner.Env{Catalog: c})
	if err != nil {
		return err
	}
	t := c.add(st.Name.Table, catalog.KindView)
	t.View = &catalog.View{Query: ast.Format(st.Query)}
	for i, col := range p.Columns {
		n := i + 1
		name := col.Name
		if i < len(st.Cols) {
			name = st.Cols[i]
		}
		t.Columns = append(t.Columns, catalog.Column{ID: catalog.ColumnID(n), Attnum: int16(n), Name: name, Type: col.Type})
	}
	return nil
}

// ResolveTable implements catalog.Resolver.
func (c *Catalog) ResolveTable(_ context.Context, _, schema, name string) (*catalog.Table, error) {
	for _, t := range c.tables {
		if t.Name == name && (schema == "" || (schema == "pg_catalog") == (t.Kind == catalog.KindVirtual)) {
			return t, nil
		}
	}
	if schema != "" {
		name = schema + "." + name
	}
	return nil, pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", name)
}

// TableByID implements catalog.Resolver.
func (c *Catalog) TableByID(_ context.Context, id catalog.ID) (*catalog.Table, error) {
	if i := int(id) - firstID; i >= 0 && i < len(c.tables) {
		return c.tables[i], nil
	}
	return nil, pgerr.New(pgerr.UndefinedTable, "relation %d does not exist", id)
}

// TableByOid implements catalog.Resolver.
func (c *Catalog) TableByOid(ctx context.Context, oid uint32) (*catalog.Table, error) {
	return c.TableByID(ctx, catalog.ID(oid))
}

// SchemaByID implements catalog.Resolver.
func (c *Catalog) SchemaByID(context.Context, catalog.ID) (*catalog.Schema, error) {
	return &catalog.Schema{ID: 2, Name: "public"}, nil
}

// CurrentDatabase implements catalog.Resolver.
func (c *Catalog) CurrentDatabase() *catalog.Database { return &catalog.Database{ID: 1, Name: "db"} }

// SearchPath implements catalog.Resolver.
func (c *Catalog) SearchPath() []string { return []string{"pg_catalog", "public"} }

// Describe prints an error as the tests expect it.
func Describe(err error) string {
	e := pgerr.From(err)
	s := fmt.Sprintf("ERROR %s: %s", e.Code, e.Message)
	if e.Position > 0 {
		s += fmt.Sprintf(" (at %d)", e.Position)
	}
	if e.Detail != "" {
		s += "\nDETAIL: " + e.Detail
	}
	if e.Hint != "" {
		s += "\nHINT: " + e.Hint
	}
	return strings.TrimSpace(s)
}
