package catalog

import (
	"slices"

	"github.com/lichendb/lichen/internal/keys"
)

// FamilyID identifies a column family within its table. Ids are never reused.
type FamilyID uint8

const (
	// MaxFamilies bounds the families that a table ever has: their ids take one
	// byte at the end of a key.
	MaxFamilies = 240
	// DefaultFamilyName is the name of the family of a table that states none.
	DefaultFamilyName = "primary"
)

// Family is a column family: the columns of a row that are stored together, in a pair of
// their own.
type Family struct {
	ID      FamilyID
	Name    string
	Columns []ColumnID
	// Lost says that columns of the family were dropped, so that rows may have a pair of
	// it even if all its columns are NULL. A family that lost all its columns is kept,
	// without a name, until the rows are written anew.
	Lost bool `json:",omitempty"`
}

// HasFamilies reports whether the rows of t are stored in several families.
func (t *Table) HasFamilies() bool { return len(t.Families) > 1 }

// FamilyByName returns the named family, or nil. The table must have stated its families.
func (t *Table) FamilyByName(name string) *Family {
	for i := range t.Families {
		if f := &t.Families[i]; f.Name == name && (f.ID == 0 || len(f.Columns) > 0) {
			return f
		}
	}
	return nil
}

// StoredColumns returns the columns that rows hold.
func (t *Table) StoredColumns() (out []ColumnID) {
	for i := range t.Columns {
		if !t.Columns[i].Virtual {
			out = append(out, t.Columns[i].ID)
		}
	}
	return out
}

// StateFamilies lists the one family of a table that states none.
func (t *Table) StateFamilies() {
	if t.Families != nil {
		return
	}
	f := Family{ID: FamilyID(keys.DefaultFamily), Name: DefaultFamilyName, Columns: t.StoredColumns()}
	t.Families, t.NextFamilyID = []Family{f}, f.ID+1
}

// SimplifyFamilies forgets the families of a table that are what they are by default.
func (t *Table) SimplifyFamilies() {
	if len(t.Families) == 1 && t.NextFamilyID == 1 && t.Families[0].Name == DefaultFamilyName {
		t.Families, t.NextFamilyID = nil, 0
	}
}

// RemoveColumns takes columns away, also from their families.
func (t *Table) RemoveColumns(drop func(c *Column) bool) {
	gone := map[ColumnID]bool{}
	t.Columns = slices.DeleteFunc(t.Columns, func(c Column) bool {
		gone[c.ID] = drop(&c)
		return gone[c.ID]
	})
	for i := range t.Families {
		f := &t.Families[i]
		n := len(f.Columns)
		f.Columns = slices.DeleteFunc(f.Columns, func(id ColumnID) bool { return gone[id] })
		f.Lost = f.Lost || f.ID != 0 && len(f.Columns) < n
	}
}

// RowsRewritten notes that all rows are written anew: none holds a column that was dropped, or lacks one.
func (t *Table) RowsRewritten() {
	for i := range t.Columns {
		t.Columns[i].Missing = nil
	}
	t.Families = slices.DeleteFunc(t.Families, func(f Family) bool { return f.ID != 0 && len(f.Columns) == 0 })
	for i := range t.Families {
		t.Families[i].Lost = false
	}
}

func (t *Table) cloneFamilies() {
	t.Families = slices.Clone(t.Families)
	for i := range t.Families {
		t.Families[i].Columns = slices.Clone(t.Families[i].Columns)
	}
}

// checkFamilies verifies that each column that rows hold is in one family.
func (t *Table) checkFamilies(columns map[ColumnID]bool) error {
	if t.Families == nil {
		return nil
	}
	in := make(map[ColumnID]bool, len(columns))
	for i := range t.Families {
		f := &t.Families[i]
		if (f.ID == 0) != (i == 0) || i > 0 && f.ID <= t.Families[i-1].ID || f.ID >= t.NextFamilyID || f.ID >= MaxFamilies {
			return corrupt(t.ID, "family id %d is out of place", f.ID)
		}
		for _, c := range f.Columns {
			if !columns[c] || in[c] {
				return corrupt(t.ID, "column %d of family %d is missing or in another family", c, f.ID)
			}
			in[c] = true
		}
	}
	for i := range t.Columns {
		if c := &t.Columns[i]; in[c.ID] == c.Virtual {
			return corrupt(t.ID, "column %d is not where it belongs among the families", c.ID)
		}
	}
	return nil
}
