package plan

import "github.com/lichendb/lichen/internal/sql/catalog"

// Reference is a foreign key as both sides of it see it: the columns of the
// referencing table at Ords stand one to one for those of the referenced table at
// RefOrds, which are the key of its unique index Index.
type Reference struct {
	Key     *catalog.ForeignKey
	Table   *catalog.Table // that refers
	Schema  string         // its schema's name
	Ords    []int
	Ref     *catalog.Table // that is referred to
	Index   *catalog.Index // of Ref
	RefOrds []int
}

// Referrer is a foreign key of another table that refers to the rows that a
// statement deletes or changes.
type Referrer struct {
	*Reference
	// Action is what to do with the rows that refer to a key that goes. NoAction
	// and Restrict verify that there is none; for the others Cascade does it.
	Action  catalog.RefAction
	Cascade *Cascade
}

// Cascade is the statement that a referential action consists of: a Delete or
// Update whose input is Rows. Plans of cascades may refer to one another in
// circles.
type Cascade struct {
	Root Node
	Rows *ReferringRows
}

// ReferringRows produces the rows that refer to keys, which the executor hands it
// when it runs a cascade: all columns of the table and, if there are more Cols, the
// values that the key's columns changed to.
type ReferringRows struct {
	Base
	Reference *Reference
}
