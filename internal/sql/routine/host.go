package routine

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Host is the session that a body's statements run in.
type Host interface {
	// Parse parses SQL under the session's settings.
	Parse(text string) ([]parser.Statement, error)
	// Run runs a statement within the one that runs. A fresh one sees what was written before it; others
	// see what the statement around them sees, and must not write.
	Run(c *call.Context, p *prepared.Statement, params []types.Datum, fresh bool, sink Sink) (Outcome, error)
	// Call runs CALL, a statement within the one that runs; the procedure may end transactions by txn, if that is not nil.
	Call(c *call.Context, p *prepared.Statement, params []types.Datum, fresh bool, sink Sink, txn Transactions) (Outcome, error)
	// OpenCursor makes a cursor of the session, under a name of its own if that is empty, and returns its name.
	OpenCursor(c *call.Context, name string, p *prepared.Statement, params []types.Datum, scroll ast.Tristate, fresh bool) (string, error)
	// LoopCursor calls f with each row of a cursor that is left, which nobody closes meanwhile, and closes the cursor, also after an
	// error of f.
	LoopCursor(c *call.Context, name string, f func(row []types.Datum, cols []plan.Column) error) error
	// Plan returns the plan of a statement, without running it.
	Plan(ctx context.Context, p *prepared.Statement, params []types.Datum) (*plan.Prepared, error)
	// Analyze returns the plan of a statement that nobody is about to run.
	Analyze(ctx context.Context, p *prepared.Statement) (*plan.Prepared, error)
	// Epoch changes when plans made before may not be used any more; Lasts reports whether those of an epoch may be used now.
	Epoch() Epoch
	Lasts(e *Epoch) bool
	// Type resolves the name of a type; of is "type" for that of a column, "rowtype" for that of a relation's rows.
	Type(ctx context.Context, name, of string) (*types.T, error)
	// Signature names a routine and the types of its arguments as lines of context do: with its schema where the search path does not
	// lead to it.
	Signature(ctx context.Context, t *catalog.Table) string
	// Savepoint begins a part of the transaction that can be undone; Release ends it, RollbackTo undoes it.
	Savepoint() (int, error)
	Release(savepoint int)
	RollbackTo(ctx context.Context, savepoint int) error
	// Setting returns the value of a parameter.
	Setting(name string) (string, bool)
	// Notice sends a message to the client.
	Notice(severity string, e *pgerr.Error)
	// WithSettings calls f while parameters have other values.
	WithSettings(ctx context.Context, list []catalog.Setting, f func() error) error
	// AsOwner calls f while statements have the privileges of who owns a routine.
	AsOwner(t *catalog.Table, f func() error) error
	// Translate makes an error of the layers below what clients see.
	Translate(ctx context.Context, err error) error
}

// Epoch is what plans depend on besides what they read.
type Epoch struct {
	Generation uint64         // of the catalog
	Edition    uint64         // what the transaction has changed of it
	Role       privilege.Role // whose privileges were checked
	Path       *string        // the search path, of which no two share an element
}

// Sink takes the rows of a statement; it returns errEnough if it wants no more.
type Sink interface {
	// Columns comes before the first row.
	Columns(cols []plan.Column) error
	// Row takes a row, which is valid during the call only.
	Row(row []types.Datum) error
}

// Outcome is what is known of a statement that has run.
type Outcome struct {
	Rows int64 // that it returned or wrote
	Tag  string
	// Unplanned says that it failed before it ran.
	Unplanned bool
}

// NewQuery returns a statement of a body. key tells it from all others; the parameters have the given types.
func NewQuery(st parser.Statement, key string, params []*types.T, vars *planner.Variables) *prepared.Statement {
	st.SQL = key + "\x00" + st.SQL
	return &prepared.Statement{Text: st.SQL, Stmt: st, Declared: params, NoParams: true, Variables: vars}
}
