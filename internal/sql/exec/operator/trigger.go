package operator

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Triggers calls the functions of triggers.
type Triggers interface {
	// Replica reports whether session_replication_role is replica.
	Replica() bool
	// Computes reports whether the function of a trigger for rows does nothing but compute what it returns: that
	// changes nothing, and depends on nothing but the row and what holds for the whole statement.
	Computes(c *call.Context, f *Firing) bool
	// Fire calls the function of a trigger, which sets what it returns in f. c is the context of the statement that fires it.
	Fire(c *call.Context, f *Firing) error
}

// Firing is a trigger that fires, for a row or a statement.
type Firing struct {
	*plan.Trigger
	Event ast.TriggerEvents
	// Row is the type of the rows Old and New, which are nil where there is none.
	Row      *types.T
	Old, New types.Row
	// Returned is the row that the function has returned, if HasReturned.
	Returned    types.Row
	HasReturned bool
	// Tables are the transition tables that the trigger names.
	Tables []call.Transition
}
