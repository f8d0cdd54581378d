package plan

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/builtin/catalogfuncs"
	"github.com/lichendb/lichen/internal/sql/catalog"
)

// CheckExpr is a CHECK constraint to verify for a new row: it fails if Cond is
// false (NULL passes), with error 23514 naming the constraint.
type CheckExpr struct {
	Name string
	// View is the view whose WITH CHECK OPTION this is: it fails, with 44000, unless
	// Cond is true when the row is written.
	View string
	// Policy, if set, is the policy of row-level security that this is, named Name unless several are meant: it fails,
	// with 42501, unless Cond is true. All other checks come later.
	Policy *PolicyRule
	// Domain is the domain whose constraint this is, unnamed for one of the table; a
	// constraint without a name is its NOT NULL.
	Domain catalogfuncs.DomainName
	Ord    int  // of the column, for a domain's constraint
	Cond   Expr // over the statement's New columns
}

// PolicyRule says which condition of a policy a check is.
type PolicyRule struct {
	Table string
	// OfUsing: it is about a row that is there. OfTarget: MERGE found that. Seen: the row that is written must be visible.
	OfUsing, OfTarget, Seen bool
}

// SetCol assigns Value (already cast to the column's type) to the column at
// position Ord of Table.Columns.
type SetCol struct {
	Ord   int
	Value Expr
}

// Returning computes a RETURNING list: Exprs[i] yields the node's Cols[i].
// Exprs refer to the New columns (Old ones for DELETE) and, for UPDATE and
// DELETE, to the columns of Input.
type Returning struct{ Exprs []Expr }

// Insert writes rows. Input produces complete rows: its columns stand one to
// one for Table.Columns (hidden ones too), defaults and casts applied. NOT NULL
// constraints are the executor's to check, by the descriptor.
type Insert struct {
	Base  // Cols: RETURNING, else empty
	Table *catalog.Table
	Input Node
	// New are the identifiers of the row as it is stored, one per Table.Columns,
	// for Checks and Returning. Without ON CONFLICT DO UPDATE they are Input's.
	New        []ColID
	Checks     []CheckExpr
	OnConflict *OnConflict
	Returning  *Returning
	// Upsert marks the UPSERT statement: OnConflict replaces every written
	// column, so a table without secondary indexes may be written blindly.
	Upsert bool
	// References are the foreign keys of the table. Referrers are those that refer
	// to it, if ON CONFLICT DO UPDATE can change what they refer to.
	References []*Reference
	Referrers  []*Referrer
	// Derived is what is computed from the rows, nil for nothing. Generated columns
	// come from it, whatever Input or OnConflict say of them.
	Derived *Derived
	// Triggers are those of insertions, Updates those of what ON CONFLICT DO UPDATE changes; nil for none.
	Triggers *Triggers
	Updates  *Triggers
	// Schema is the name of the table's schema, for errors.
	Schema string
	// Use is what the statement does with the table: of a failing row errors show the columns that it gives values.
	Use *access.Use
}

// OnConflict says what to do if a row with the same key exists.
type OnConflict struct {
	// Arbiters are the unique indexes that decide; empty (DO NOTHING without a
	// target) means all.
	Arbiters []*catalog.Index
	// Update is false for DO NOTHING.
	Update bool
	// Old are the identifiers of the existing row, one per Table.Columns. The
	// proposed row ("excluded") has those of Input.
	Old []ColID
	Set []SetCol // over Old and Input's columns
	// Where, if set, must be true for the update to happen.
	Where Expr
	// OldChecks are what policies demand of the existing row, NewChecks of what it becomes.
	OldChecks, NewChecks []CheckExpr
}

// Update changes rows. Input produces each row to change once or more: a row
// that comes again is skipped.
type Update struct {
	Base  // Cols: RETURNING, else empty
	Table *catalog.Table
	Alias string
	Input Node
	// Old are the columns of Input that hold the existing row, one per
	// Table.Columns.
	Old []ColID
	Set []SetCol // over Input's columns
	// New are the identifiers of the updated row, one per Table.Columns, for
	// Checks and Returning: unchanged columns keep their Old identifier.
	New       []ColID
	Checks    []CheckExpr
	Returning *Returning
	// References are the foreign keys of the table that the assignments can break,
	// Referrers those that refer to columns that they change.
	References []*Reference
	Referrers  []*Referrer
	Derived    *Derived
	Triggers   *Triggers
	Schema     string // of the table, for errors
}

// ChangesKey reports whether an assignment touches a column of a unique key, which
// other rows may refer to, or may take a row out of the rows that are to have
// different keys.
func (n *Update) ChangesKey() bool {
	// What changes has another identifier afterwards, generated columns too.
	changes := func(id catalog.ColumnID) bool {
		ord := n.Table.ColumnByID(id)
		return n.New[ord] != n.Old[ord]
	}
	for i := range n.Table.Indexes {
		ix := &n.Table.Indexes[i]
		if !ix.DeclaredUnique() {
			continue
		}
		if slices.ContainsFunc(ix.Columns, func(c catalog.IndexColumn) bool { return changes(c.Column) }) ||
			ix.Deferrable && slices.ContainsFunc(ix.WhereColumns, changes) {
			return true
		}
	}
	return false
}

// Delete deletes rows. Input produces each row once or more.
type Delete struct {
	Base  // Cols: RETURNING, else empty
	Table *catalog.Table
	Alias string
	Input Node
	// Old are the columns of Input that hold the row, one per Table.Columns.
	Old       []ColID
	Returning *Returning
	Referrers []*Referrer
	Derived   *Derived
	Triggers  *Triggers
	Schema    string // of the table, for errors
}

// Verb is what errors say that the statement does with a row which a trigger has changed: with triggers before the row,
// PostgreSQL says the same as of an update.
func (n *Delete) Verb() string {
	if n.Triggers.ChangesRows() {
		return "updated"
	}
	return "deleted"
}

// CopyRows stands for the rows that the client sends with COPY FROM: the
// executor feeds it. Cols are the listed columns, already of their types.
type CopyRows struct {
	Base
	Ords []int // positions in the table's columns
	// OneByOne: between this and the INSERT rows are dropped. Then only the row that was read last
	// has a known place in the data, for errors.
	OneByOne bool
}
