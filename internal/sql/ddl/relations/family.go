package relations

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// columnFamily is the family that a column's definition states.
type columnFamily struct {
	column string
	def    *ast.ColumnFamily
}

// families puts the columns of a new table into the families that it states: those of
// the columns' own clauses first, then the FAMILY elements. Other columns are in the
// first one.
func (b *TableBuilder) families() error {
	defs := b.familyDefs
	if len(b.columnFamilies) == 0 && len(defs) == 0 {
		if defs = b.likedFamilies; len(defs) == 0 {
			return nil
		}
	}
	t := b.T
	all := t.StoredColumns()
	t.Families = []catalog.Family{}
	for _, c := range b.columnFamilies {
		f := t.FamilyByName(c.def.Name)
		if c.def.Name == "" || f == nil {
			var err error
			if f, err = AddFamily(t, c.def.Name, c.def.Pos); err != nil {
				return err
			}
		}
		if err := b.place(f, c.column, c.def.Pos); err != nil {
			return err
		}
	}
	for _, d := range defs {
		f, err := AddFamily(t, d.Name, d.Pos)
		if err != nil {
			return err
		}
		for _, name := range d.Cols {
			if err := b.place(f, name, d.Pos); err != nil {
				return err
			}
		}
	}
	for _, id := range all {
		if familyOf(t, id) == nil {
			t.Families[0].Columns = append(t.Families[0].Columns, id)
		}
	}
	for i := range t.Families {
		NameFamily(t, &t.Families[i])
	}
	t.SimplifyFamilies()
	return nil
}

// place puts a column of a new table into a family.
func (b *TableBuilder) place(f *catalog.Family, column string, pos int) error {
	ord, ok := VisibleColumn(b.T, column)
	if !ok {
		return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" named in family does not exist", column).At(pos)
	}
	if b.T.Columns[ord].Virtual {
		return virtualInFamily(column, pos)
	}
	id := b.T.Columns[ord].ID
	if familyOf(b.T, id) != nil {
		return pgerr.New(pgerr.DuplicateColumn, "column \"%s\" is in more than one family", column).At(pos)
	}
	f.Columns = append(f.Columns, id)
	return nil
}

// virtualInFamily refuses a family for a column whose definition says that it is not
// stored.
func virtualInFamily(column string, pos int) error {
	return pgerr.New(pgerr.InvalidTableDefinition, "virtual computed column \"%s\" cannot be part of a family", column).At(pos)
}

// Move puts a column that is not stored yet into another family than the first.
func Move(t *catalog.Table, f *catalog.Family, id catalog.ColumnID) {
	first := &t.Families[0]
	first.Columns = slices.DeleteFunc(first.Columns, func(c catalog.ColumnID) bool { return c == id })
	f.Columns = append(f.Columns, id)
}

// AddFamily adds a family, which stays valid until the next one is added.
func AddFamily(t *catalog.Table, name string, pos int) (*catalog.Family, error) {
	if name != "" && t.FamilyByName(name) != nil {
		return nil, pgerr.New(pgerr.DuplicateObject, "family \"%s\" of relation \"%s\" already exists", name, t.Name).At(pos)
	}
	if t.NextFamilyID >= catalog.MaxFamilies {
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "a table can have at most %d column families, those dropped included", catalog.MaxFamilies).At(pos)
	}
	t.Families = append(t.Families, catalog.Family{ID: t.NextFamilyID, Name: name})
	t.NextFamilyID++
	return &t.Families[len(t.Families)-1], nil
}

// NameFamily gives a family without a name one made of its columns.
func NameFamily(t *catalog.Table, f *catalog.Family) {
	if f.Name != "" {
		return
	}
	parts := []string{"fam", strconv.Itoa(int(f.ID))}
	for _, id := range f.Columns {
		parts = append(parts, t.Columns[t.ColumnByID(id)].Name)
	}
	name := statement.ObjectName(strings.Join(parts, "_"), "", "")
	for n := 1; t.FamilyByName(name) != nil; n++ {
		name = statement.ObjectName(strings.Join(parts, "_"), "", strconv.Itoa(n))
	}
	f.Name = name
}

// familyOf returns the family that a column is in, or nil.
func familyOf(t *catalog.Table, id catalog.ColumnID) *catalog.Family {
	for i := range t.Families {
		if slices.Contains(t.Families[i].Columns, id) {
			return &t.Families[i]
		}
	}
	return nil
}

// spread gives each column of a new table a family of its own, as far as there can be so
// many; with FamilyPerColumn of Env.
func spread(t *catalog.Table) error {
	ids := t.StoredColumns()
	if t.Families != nil || len(ids) < 2 {
		return nil
	}
	t.StateFamilies()
	for _, id := range ids[1:min(len(ids), catalog.MaxFamilies/2)] {
		f, err := AddFamily(t, "", 0)
		if err != nil {
			return err
		}
		Move(t, f, id)
		NameFamily(t, f)
	}
	return nil
}

// IsSpread reports whether each column of t is in a family of its own.
func IsSpread(t *catalog.Table) bool {
	return t.HasFamilies() && !slices.ContainsFunc(t.Families[1:], func(f catalog.Family) bool { return len(f.Columns) > 1 })
}
