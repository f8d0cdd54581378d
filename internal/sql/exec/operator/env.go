package operator

import (
	"context"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/tableaccess"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/tempstore"
)

// Env is what one execution of a Program works with. The session owns it and
// may reuse it for the next execution.
type Env struct {
	Ctx     context.Context
	Txn     tableaccess.Txn
	Builtin *call.Context
	Params  []types.Datum
	// Mem is the statement's memory pool; nil means no limit.
	Mem *quota.Pool
	// Temp has the files of operators that need more than WorkMem bytes or than Mem gives; nil: they
	// get as much as Mem has, and fail then.
	Temp    *tempstore.Store
	WorkMem int64
	// Virtual computes the rows of KindVirtual tables; nil if there are none.
	Virtual VirtualProvider
	// Statements runs the statements of FROM [SHOW ...]; nil if there are none.
	Statements StatementProvider
	// Copy yields the rows of a plan.CopyRows; nil otherwise.
	Copy RowSource
	// Loads lets an INSERT of many rows write them beside the transaction; nil: they are written in it.
	Loads Loads
	// BatchRows bounds the rows of a batch; 0 means the constant BatchRows.
	BatchRows int
	// ParallelWorkers is how many goroutines read a table at once at most, of those that Workers has; 0
	// and nil: one.
	ParallelWorkers int
	Workers         *Workers
	// Fragments has other nodes run parts of plans; nil: all is run here.
	Fragments Fragments
	// ReadOnly makes writes and row locks fail with 25006, but for the tables that
	// Writable tells; nil stands for none.
	ReadOnly bool
	Writable func(*catalog.Table) bool
	// Constraints says when deferrable constraints are checked; nil: at once.
	Constraints ConstraintMode
	// Triggers calls the functions of triggers; nil where rows are changed that have none.
	Triggers Triggers
	// Shown says what errors may show the user of a table's rows; nil: all.
	Shown func(*catalog.Table) access.Shown
}

// ShownOf is Shown, which may be nil.
func (e *Env) ShownOf(t *catalog.Table) access.Shown {
	if e.Shown == nil {
		return access.Shown{}
	}
	return e.Shown(t)
}

// MayWrite returns 25006 if the statement may not do what to the rows of t.
func (e *Env) MayWrite(t *catalog.Table, what string) error {
	if !e.ReadOnly || e.Writable != nil && e.Writable(t) {
		return nil
	}
	return pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute %s in a read-only transaction", what)
}

// RowSource yields rows one at a time.
type RowSource interface {
	// NextRow fills row and reports whether there was one. The datums must stay
	// intact until the next call.
	NextRow(row types.Row) (bool, error)
	// Forget forgets where in the data the rows up to now stood.
	Forget()
	// FailedAt says that the n-th row since Forget, from 0, could not be stored: errors are about it.
	FailedAt(n int)
	// Number returns the number of the n-th row since Forget, from 0: numbers rise from row to row.
	Number(n int) int64
	// FailedAtNumber says that errors are about the row of that number, or of an unknown one if it is 0.
	FailedAtNumber(number int64)
}

// VirtualRequest says which rows of a virtual table are wanted, and what of them.
type VirtualRequest struct {
	Table *catalog.Table
	// Need tells, by position in Table.Columns, which columns matter; what the others hold
	// does not. Nil means all.
	Need []bool
	// Index and Keys ask for the rows that have one of the keys, each given once, in the
	// columns of the index; Index and Ranges for those whose value in its first column lies in
	// one of some disjoint ranges; a nil Index for all rows.
	Index  *catalog.Index
	Keys   []types.Row
	Ranges []ValueRange
	// Tests are conditions of the filter that drops rows afterwards: a row that does not
	// meet one of them need not be made, but may be.
	Tests []ColumnTest
}

// ColumnTest is a condition on one column.
type ColumnTest struct {
	Ord int // the position in Table.Columns
	// Passes reports whether a row with the value d in the column may meet the condition.
	Passes func(d types.Datum) bool
}

// ValueRange are the values, NULL excepted, between two; NULL is no bound.
type ValueRange struct {
	Lo, Hi                 types.Datum
	LoExcluded, HiExcluded bool
}

// Contains reports whether d, which is not NULL, lies in the range.
func (r *ValueRange) Contains(d types.Datum) bool {
	if !r.Lo.IsNull() {
		if c := types.Compare(d, r.Lo); c < 0 || c == 0 && r.LoExcluded {
			return false
		}
	}
	if !r.Hi.IsNull() {
		if c := types.Compare(d, r.Hi); c > 0 || c == 0 && r.HiExcluded {
			return false
		}
	}
	return true
}

// VirtualProvider computes the rows of virtual tables.
type VirtualProvider interface {
	// VirtualRows calls emit for every row that is asked for, with one datum per column
	// of the table; emit keeps no reference to the slice. An error of emit ends the call.
	VirtualRows(ctx context.Context, req *VirtualRequest, emit func(types.Row) error) error
}

// StatementProvider runs statements that stand in FROM.
type StatementProvider interface {
	// StatementRows calls emit for every row of a statement that planner.Env.Source
	// gave columns for; emit keeps no reference to the slice.
	StatementRows(ctx context.Context, stmt ast.Statement, emit func(types.Row) error) error
}

// Run is the state of the current execution, shared by the operators and
// expressions of a Program. They are compiled against its address.
type Run struct {
	expr.State
	Env *Env
	Txn tableaccess.Txn
	// batchRows is the most rows that a source asks its operator for.
	BatchRows int
}

// Bind prepares for an execution in an environment.
func (r *Run) Bind(ctx context.Context, env *Env) {
	r.Env, r.Txn = env, env.Txn
	r.State.Bind(ctx, env.Builtin, env.Params, env.Mem)
	r.State.BindTemp(env.Temp, env.WorkMem)
}

// Unbind lets go of what belongs to an execution.
func (r *Run) Unbind() {
	r.Env, r.Txn = nil, nil
	r.State.Unbind()
}
