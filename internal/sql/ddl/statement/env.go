package statement

import (
	"context"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/noeffect"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// OptimizePlan improves a plan before it runs.
func (e *Env) OptimizePlan(ctx context.Context, p *plan.Prepared) error {
	if e.Optimize == nil {
		return nil
	}
	return e.Optimize(ctx, p)
}

// Env is what one statement works with.
type Env struct {
	// ReadOnly refuses every change.
	ReadOnly bool
	Txn      *kv.Txn
	Coll     *catalog.Collection
	// User owns what is created; SessionUser is who the session belongs to.
	User, SessionUser catalog.Owner
	// Exec is the environment of queries that run as part of the statement; nil
	// parts are as for any execution.
	Exec           *operator.Env
	Format         *types.FormatContext
	DefaultIntSize int
	// DefaultTablespace is where tables and indexes go whose statement names none; "" is
	// pg_default.
	DefaultTablespace string
	// Setting returns the parameter that SET or RESET names, as it spells itself, and the value
	// that SET gives it: what ALTER DATABASE and ALTER ROLE store.
	Setting func(*ast.SetVar) (catalog.Setting, error)
	// ParamTypes are those of the parameters that Exec has for the query of CREATE TABLE AS
	// and SELECT INTO.
	ParamTypes []*types.T
	// Variables are what names in these queries stand for beside columns, nil for none.
	Variables *planner.Variables
	// Query is the query of CREATE TABLE AS, CREATE VIEW and SELECT INTO. It is
	// planned again from its syntax, since views are stored in another form than
	// they are written in.
	Query *plan.Prepared
	// Optimize improves a plan before it runs; nil runs it as planned.
	Optimize func(context.Context, *plan.Prepared) error
	// Presplit takes the splits to make after the commit; nil: ranges are out of
	// reach.
	Presplit func(Presplit)
	// Localities returns where the nodes of the cluster are, as in
	// "region=eu,zone=a"; nil if that is not known.
	Localities func(context.Context) ([]string, error)
	// FamilyPerColumn gives each column of a new table that states no families one of
	// its own, and so each column that is added: for tests.
	FamilyPerColumn bool
	// IngestAlways ingests the entries of new indexes however few they are, so that indexes are built online: for tests.
	IngestAlways bool
	// Filled is called when the rows of a table were written into new indexes, how many they
	// are, and whether the primary index is one of them; nil: nobody wants to know.
	Filled func(t *catalog.Table, rows int64, primary bool)
	// NotInUse returns 55006 if the session goes on using a table that a command is about to
	// change or to drop; nil: it uses none.
	NotInUse func(t *catalog.Table, command string) error
	// PendingTriggers reports whether constraint triggers, or checks, of rows of a table wait for the end of the transaction;
	// nil: none do.
	PendingTriggers func(t *catalog.Table) bool
	// Alone says that the statement is a transaction by itself: what its query reads need be
	// true at one time only, when it began.
	Alone bool
	// Crowded reports whether other sessions of the cluster run statements, or did a moment ago; nil: they may.
	Crowded func() bool
	// CheckRoutine finds errors in the body of a routine that is being made.
	CheckRoutine func(context.Context, *catalog.Table) error
	// Progress takes how many more rows the statement has read, now and then, and may wait if others use the tables
	// meanwhile; nil: nobody wants to know.
	Progress func(ctx context.Context, rows int64, shared bool) error
	// StartJob makes the statement a job, unless it is one, and returns that. shared says that others use the tables. A nil
	// function: there are no jobs.
	StartJob func(ctx context.Context, shared bool) (Job, error)
	// Resume is how the statement goes on from a checkpoint; nil: it never does.
	Resume *Resume
	// As calls f while statements and functions have the privileges of a role; nil: those of the user do.
	As func(role catalog.Owner, f func() error) error
	// Rewriting is called before the rows of a table are written anew, for reasons that are bits as PostgreSQL has them; nil: nobody
	// wants to know.
	Rewriting func(ctx context.Context, t *catalog.Table, reason int) error
	// System returns functions of the system: see SystemRoutines. DescribeBuiltIn names what is built in as messages do.
	System          func(schema, name string) []access.SystemRoutine
	DescribeBuiltIn func(privilege.SystemACL) string
	// Notice sends a notice or warning; nil drops it.
	Notice func(severity string, n *pgerr.Error)

	// dropLeft drops a temporary schema that another session has left; Exec sets it.
	DropLeft func(ctx context.Context, e *Env, schema string) error
	// withoutRows leaves rows alone: nothing reads, verifies or writes them.
	WithoutRows bool
	// unplaced says that errors in expressions have no position: PostgreSQL analyses those of
	// ALTER TABLE without the text of the statement.
	Unplaced bool
	// Later takes what waits for the last command of a statement; nil: nothing waits.
	Later *Later
	// online, if set, has the statement share the tables that it changes, until it settles.
	online *online
}

// CheckUnused returns 55006 if the session uses a table other than for this command.
func (e *Env) CheckUnused(t *catalog.Table, command string) error {
	if e.NotInUse == nil {
		return nil
	}
	return e.NotInUse(t, command)
}

// Tell notes that the statement has read more rows.
func (e *Env) Tell(ctx context.Context, rows int) error {
	if e.Progress == nil {
		return nil
	}
	return e.Progress(ctx, int64(rows), e.Sharing())
}

// Job makes the statement a job, unless it is one, and returns that; nil if it can't be one.
func (e *Env) Job(ctx context.Context) (Job, error) {
	if e.StartJob == nil {
		return nil, nil
	}
	return e.StartJob(ctx, e.Sharing())
}

// Memory is the pool that what the statement collects counts against; nil: none.
func (e *Env) Memory() *quota.Pool {
	if e.Exec == nil {
		return nil
	}
	return e.Exec.Mem
}

// Notify sends a notice or warning.
func (e *Env) Notify(severity string, n *pgerr.Error) {
	if e.Notice != nil {
		e.Notice(severity, n)
	}
}

// Skip sends the NOTICE of IF EXISTS and IF NOT EXISTS.
func (e *Env) Skip(code pgerr.Code, format string, args ...any) {
	e.Notify("NOTICE", pgerr.New(code, format, args...))
}

// NextCommand makes what the statement has written so far visible to its own
// later reads.
func (e *Env) NextCommand() { e.Txn.BeginStatement() }

// Presplit is the split keys that a new table or index is to have
// once its transaction has committed.
type Presplit struct {
	Table catalog.ID
	Keys  [][]byte
	// CopyFrom is the keys of the index that the new one replaces: its range boundaries are
	// made in Scatter too.
	CopyFrom keys.Span
	// Scatter is the keys of the index, to spread over the nodes afterwards.
	Scatter keys.Span
}

// Ignore sends the client a notice that the statement names a feature without effect.
func (e *Env) Ignore(f noeffect.Feature) { e.Notify("NOTICE", f.Notice()) }

// IgnoreConcurrently accepts CONCURRENTLY, if it was written.
func (e *Env) IgnoreConcurrently(written bool) {
	if written {
		e.Ignore(noeffect.Concurrently)
	}
}
