package catalog

import "slices"

// RefAction is what a foreign key does when the row it refers to goes or changes
// its key.
type RefAction uint8

// The referential actions.
const (
	NoAction RefAction = iota
	Restrict
	Cascade
	SetNull
	SetDefault
)

// ForeignKey is a FOREIGN KEY constraint of the table that holds it.
type ForeignKey struct {
	Oid  uint32
	Name string
	// Columns refer to RefColumns of Table, one to one. RefIndex is the oid of the
	// unique index of Table that has just these columns in its key.
	Columns    []ColumnID
	Table      ID
	RefColumns []ColumnID
	RefIndex   uint32
	// Full is MATCH FULL: either all columns are NULL or none.
	Full     bool
	OnUpdate RefAction
	OnDelete RefAction
	// DeleteCols are those that ON DELETE SET NULL and SET DEFAULT set; none: all.
	DeleteCols []ColumnID
	// Deferrable constraints may be checked at the end of the transaction, which
	// is what happens by default if Deferred is set.
	Deferrable bool
	Deferred   bool
	// NotValid says that rows from before the constraint were never verified.
	NotValid bool
	// Unchecked says that rows which the table gets are not checked: DISABLE TRIGGER.
	Unchecked bool `json:",omitempty"`
	Comment   string
}

// Reference says that a foreign key of another table, or of this one, refers to
// the table that holds it.
type Reference struct {
	Table      ID
	Constraint uint32 // oid of the ForeignKey
	// Ignored says that changes of this table have no consequences for rows that refer to it:
	// DISABLE TRIGGER.
	Ignored bool `json:",omitempty"`
}

// ForeignKey returns the foreign key with an oid, nil if there is none.
func (t *Table) ForeignKey(oid uint32) *ForeignKey {
	for i := range t.ForeignKeys {
		if t.ForeignKeys[i].Oid == oid {
			return &t.ForeignKeys[i]
		}
	}
	return nil
}

// ForeignKeyByName returns the position of the named foreign key, -1 if absent.
func (t *Table) ForeignKeyByName(name string) int {
	return slices.IndexFunc(t.ForeignKeys, func(k ForeignKey) bool { return k.Name == name })
}

// IndexByOid returns the index with an oid, nil if there is none.
func (t *Table) IndexByOid(oid uint32) *Index {
	for i := range t.Indexes {
		if t.Indexes[i].Oid == oid {
			return &t.Indexes[i]
		}
	}
	return nil
}

func (t *Table) cloneForeignKeys() {
	t.References = slices.Clone(t.References)
	t.ForeignKeys = slices.Clone(t.ForeignKeys)
	for i := range t.ForeignKeys {
		k := &t.ForeignKeys[i]
		k.Columns, k.RefColumns, k.DeleteCols = slices.Clone(k.Columns), slices.Clone(k.RefColumns), slices.Clone(k.DeleteCols)
	}
}

// checkForeignKey verifies what the layers above take for granted.
func (t *Table) checkForeignKey(k *ForeignKey, columns map[ColumnID]bool) error {
	if len(k.Columns) == 0 || len(k.Columns) != len(k.RefColumns) {
		return corrupt(t.ID, "foreign key %d has %d columns for %d", k.Oid, len(k.Columns), len(k.RefColumns))
	}
	for _, c := range k.Columns {
		if !columns[c] {
			return corrupt(t.ID, "foreign key %d has no column %d", k.Oid, c)
		}
	}
	for _, c := range k.DeleteCols {
		if !slices.Contains(k.Columns, c) {
			return corrupt(t.ID, "foreign key %d does not have column %d", k.Oid, c)
		}
	}
	return nil
}
