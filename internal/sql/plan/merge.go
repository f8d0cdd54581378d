package plan

import "github.com/lichendb/lichen/internal/sql/catalog"

// MergeKind is what an action of MERGE does.
type MergeKind uint8

// The kinds.
const (
	MergeNothing MergeKind = iota
	MergeUpdate
	MergeDelete
	MergeInsert
)

// MergeAction is a WHEN clause: the first one whose condition holds is done.
type MergeAction struct {
	Matched bool
	Cond    Expr // over Input's columns; nil: always
	Kind    MergeKind
	Set     []SetCol // MergeUpdate, over Input's columns
	Values  []Expr   // MergeInsert: a complete row, over Input's columns
	// OldChecks are what policies demand of the row that matches, over Input's columns; NewChecks of the row to store, over New.
	OldChecks, NewChecks []CheckExpr
}

// Merge inserts, changes and deletes rows of a table. Input produces the source's
// rows with the rows of the table that they match; a source row without a match has
// NULLs in Old.
type Merge struct {
	Base
	Table *catalog.Table
	Alias string
	Input Node
	Old   []ColID // columns of Input that hold the table's row
	// Actions in the order of the clauses.
	Actions []MergeAction
	// New are the identifiers of the row to store, for Checks.
	New    []ColID
	Checks []CheckExpr
	// References are the foreign keys of the table; Updated and Deleted those that
	// refer to it, as updates and deletions concern them.
	References []*Reference
	Updated    []*Referrer
	Deleted    []*Referrer
	Derived    *Derived
	// Inserting, Updating and Deleting are the triggers of what it does; nil for none.
	Inserting, Updating, Deleting *Triggers
	Schema                        string
}
