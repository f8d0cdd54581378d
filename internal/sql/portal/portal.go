package portal

import (
	"time"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Portal is a statement that runs, at once or a number of rows at a time: one that was bound in
// the extended protocol, or a cursor. They share their names: Execute reads from a cursor, and
// FETCH from what was bound.
type Portal struct {
	Name string
	// Connection is free for the connection that serves the session.
	Connection any

	statement *prepared.Statement
	params    []types.Datum
	cols      []plan.Column
	created   time.Time // of a named one
	held      int64     // bytes accounted for
	number    int       // of the session's portals, for savepoints

	suspended Execution // set while it is suspended
	sent      int64     // rows that Execute has sent
	done      bool
	// cursor is set of a cursor, once FETCH has read from the portal, and once the rows
	// of a statement are stored that runs to its end at the first Execute.
	cursor *Cursor
	tag    string // of the statement whose rows are stored
	pinned bool
}

// Pin keeps statements from closing the portal, through which a routine loops, until Unpin.
func (p *Portal) Pin() { p.pinned = true }

// Unpin lets statements close it again.
func (p *Portal) Unpin() { p.pinned = false }

// MayClose returns 24000 if the portal is pinned.
func (p *Portal) MayClose() error {
	if p.pinned {
		return pgerr.New(pgerr.InvalidCursorState, "cannot drop pinned portal \"%s\"", p.Name)
	}
	return nil
}

// Execution is a statement that was suspended after some of its rows.
type Execution interface {
	// Close gives up what it has.
	Close()
	// Run returns what a cursor goes on with.
	Run() Run
}

// Run is a program that runs.
type Run struct {
	Plan     *prepared.Plan
	Program  *exec.Program
	Env      *operator.Env
	Snapshot kv.Snapshot
}

// OfCursor returns the portal of a cursor that was declared.
func OfCursor(name string, p *prepared.Statement, params []types.Datum, c *Cursor) *Portal {
	return &Portal{Name: name, statement: p, params: params, cursor: c}
}

// Statement returns the statement that the portal runs.
func (p *Portal) Statement() *prepared.Statement { return p.statement }

// Params returns the values of its parameters.
func (p *Portal) Params() []types.Datum { return p.params }

// Columns describe the rows that the portal returns; nil if it returns none.
func (p *Portal) Columns() []plan.Column { return p.cols }

// SetColumns says what the rows of the portal are.
func (p *Portal) SetColumns(cols []plan.Column) { p.cols = cols }

// Created returns when a named portal was made.
func (p *Portal) Created() time.Time { return p.created }

// Cursor returns the cursor that reads from the portal; nil if there is none.
func (p *Portal) Cursor() *Cursor { return p.cursor }

// SetCursor gives the portal a cursor.
func (p *Portal) SetCursor(c *Cursor) { p.cursor = c }

// Tag returns the command tag of a statement whose rows are stored, "" for any other.
func (p *Portal) Tag() string { return p.tag }

// Done reports whether Execute has run the statement to its end.
func (p *Portal) Done() bool { return p.done }

// Suspended reports whether Execute has stopped after some rows.
func (p *Portal) Suspended() bool { return p.suspended != nil }

// Resume returns the suspended execution, which goes on; nil if there is none.
func (p *Portal) Resume() Execution {
	x := p.suspended
	p.suspended = nil
	return x
}

// Scans reports whether the portal's query reads a table, and goes on as its rows are asked for.
func (p *Portal) Scans(table catalog.ID) bool {
	switch {
	case p.suspended != nil:
		return scans(p.suspended.Run().Plan, table)
	case p.cursor != nil && !p.cursor.held:
		return scans(p.cursor.plan, table)
	}
	return false
}

func scans(p *prepared.Plan, table catalog.ID) (found bool) {
	if p == nil {
		return false
	}
	plan.EveryNode(p.Prep.Root, func(n plan.Node) {
		switch n := n.(type) {
		case *plan.Scan:
			found = found || n.Table.ID == table
		case *plan.VirtualScan:
			found = found || n.Table != nil && n.Table.ID == table
		}
	})
	return found
}

// Suspend keeps an execution that has sent so many rows.
func (p *Portal) Suspend(x Execution, sent int64) {
	p.suspended = x
	p.sent += sent
}

// End says that the execution is over after so many rows.
func (p *Portal) End(sent int64) {
	p.suspended, p.done = nil, true
	p.sent += sent
}

// Store keeps the rows of a statement that has run to its end, and its command tag.
func (p *Portal) Store(rows *rowcontainer.Buffer, tag string) {
	p.done, p.tag = true, tag
	p.cursor = Stored(p.statement, rows, 0)
}

// ContinueByCursor lets FETCH read what Execute has left.
func (p *Portal) ContinueByCursor() {
	if x := p.Resume(); x != nil {
		p.cursor = Continued(p.statement, x.Run(), p.sent)
		return
	}
	p.cursor = Stored(p.statement, nil, p.sent+1)
}

// CannotRun says that the portal can't be run (any more).
func (p *Portal) CannotRun() error {
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "portal \"%s\" cannot be run", p.Name)
}

// close ends what runs.
func (p *Portal) close() {
	if x := p.Resume(); x != nil {
		x.Close()
	}
	if p.cursor != nil {
		p.cursor.close()
		p.cursor = nil
	}
	p.done = true
}
