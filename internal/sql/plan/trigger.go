package plan

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Trigger is a trigger of the table whose rows a statement changes, or of the view.
type Trigger struct {
	*catalog.Trigger
	Table  *catalog.Table
	Schema string         // its schema's name
	Fn     *catalog.Table // the function
	// When, if set, must be true for the trigger to fire. It is over the identifiers of Triggers.
	When Expr
}

// Triggers are those that one kind of change fires, in the order of their names.
type Triggers struct {
	Event ast.TriggerEvents // one
	Table *catalog.Table
	// Old and New are the identifiers by which conditions know the rows, one per Table.Columns.
	Old, New []ColID
	// Row is the type of the rows as functions see them: of the columns at Ords of Table.Columns.
	Row  *types.T
	Ords []int

	BeforeStatement, BeforeRow, InsteadOf, AfterRow, AfterStatement []*Trigger
	// OldTable and NewTable say that some of them read what was changed: REFERENCING.
	OldTable, NewTable bool
}

// Any reports whether there is a trigger; t may be nil.
func (t *Triggers) Any() bool { return t != nil }

// Rows reports whether triggers fire for rows, or read them; t may be nil.
func (t *Triggers) Rows() bool {
	return t != nil && (len(t.BeforeRow)+len(t.AfterRow)+len(t.InsteadOf) > 0 || t.OldTable || t.NewTable)
}

// ChangesRows reports whether triggers may change the rows that are stored; t may be nil.
func (t *Triggers) ChangesRows() bool { return t != nil && len(t.BeforeRow) > 0 }

// OnlyBeforeRows reports whether there are triggers before rows, and no others.
func (t *Triggers) OnlyBeforeRows() bool {
	return t.ChangesRows() && len(t.BeforeStatement)+len(t.AfterRow)+len(t.AfterStatement) == 0 && !t.OldTable && !t.NewTable
}

// TransitionScan reads a table of rows that the statement has changed which fired a trigger, in its function: Ords are
// the positions of Cols in a row.
type TransitionScan struct {
	Base
	Name  string
	Alias string
	Ords  []int
}

// Instead has the INSTEAD OF triggers of a view do to its rows what a statement asks for. Input produces the rows: new
// ones, those of an INSERT, stand one to one for the view's columns.
type Instead struct {
	Base  // Cols: RETURNING, else empty
	Alias string
	Input Node
	// Old are the columns of Input that hold the existing row, nil for INSERT.
	Old []ColID
	Set []SetCol // of an UPDATE, over Input's columns
	// New are the identifiers of the row that the triggers return, for Returning: Input's of an INSERT.
	New       []ColID
	Returning *Returning
	Triggers  *Triggers
}

// Verb is what EXPLAIN calls the statement.
func (n *Instead) Verb() string {
	switch n.Triggers.Event {
	case ast.OnInsert:
		return "Insert"
	case ast.OnUpdate:
		return "Update"
	}
	return "Delete"
}
