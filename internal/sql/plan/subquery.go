package plan

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

// SubqueryKind says what a subquery in an expression yields.
type SubqueryKind uint8

// The kinds of subqueries.
const (
	// ScalarSubquery yields the single column of the single row, NULL for no
	// row; more than one row is error 21000.
	ScalarSubquery SubqueryKind = iota
	// ExistsSubquery yields whether there is a row.
	ExistsSubquery
	// AnySubquery is Left op ANY (subquery), IN included; with Not it is
	// negated (NOT IN).
	AnySubquery
	// AllSubquery is Left op ALL (subquery).
	AllSubquery
	// ArraySubquery is ARRAY(subquery).
	ArraySubquery
	// RowSubquery yields the single row as a record, NULL for no row. Each FieldSelect of it takes
	// its field once per enclosing row, and all of them take it of one execution.
	RowSubquery
	// CompareSubquery is Left op (subquery) of several columns and one row, NULL for no row.
	CompareSubquery
)

// Subquery is a query in an expression.
type Subquery struct {
	Kind SubqueryKind
	Plan Node
	// Outer lists the columns of the enclosing row that Plan refers to, in the
	// order of first use; empty means that it is evaluated at most once per
	// execution of the statement.
	Outer []ColRef
	T     *types.T
	// Left, Ops and Cmps are for AnySubquery, AllSubquery and CompareSubquery. Left has one
	// expression per compared column and is evaluated in the enclosing row.
	// Cmps has the right side of each comparison: an expression over the
	// subquery's columns (a ColRef, or a Cast of one).
	Left []Expr
	Ops  []*call.Overload
	Cmps []Expr
	// OpName is the operator as written ("=", "<", ...).
	OpName string
	// Eqs are, for "<", "<=", ">" and ">=" of rows, the equality operators of
	// all columns but the last: the first that differ decide.
	Eqs []*call.Overload
	Not bool
	// ID numbers the subquery for EXPLAIN ("SubPlan 1").
	ID int
	// Source is the query as it was written, Level the query whose expression it is, 0 where
	// that cannot group: two of one text in one level are the same (ExprEqual).
	Source *ast.Select
	Level  int
}

// Type implements Expr.
func (e *Subquery) Type() *types.T { return e.T }

// Agg is one aggregate call of a GroupBy.
type Agg struct {
	Fn *call.Aggregate
	// Args are evaluated for every input row; none for count(*).
	Args     []Expr
	Distinct bool
	// OrderBy lists keys over the columns of the input.
	OrderBy []SortKey
	// Filter excludes rows where it is not true; nil for none.
	Filter Expr
	// Out is the column that holds the result.
	Out Column
	// Of is set in FinalGroups where Args are the partial state of the aggregate, a count and a sum: the types of the
	// arguments that it was computed from.
	Of []*types.T
}

// FrameMode is the unit of a window frame.
type FrameMode uint8

// The frame modes.
const (
	FrameRange FrameMode = iota
	FrameRows
	FrameGroups
)

// FrameBoundKind is one end of a window frame.
type FrameBoundKind uint8

// The frame ends.
const (
	UnboundedPreceding FrameBoundKind = iota
	OffsetPreceding
	CurrentRow
	OffsetFollowing
	UnboundedFollowing
)

// FrameBound is one end of a window frame; Offset is set for the two Offset
// kinds and is evaluated once.
type FrameBound struct {
	Kind   FrameBoundKind
	Offset Expr
}

// FrameExclusion says which rows a frame leaves out.
type FrameExclusion uint8

// The frame exclusions.
const (
	ExcludeNothing FrameExclusion = iota
	ExcludeCurrentRow
	ExcludeGroup // the current row and its peers
	ExcludeTies  // the current row's peers
)

// Frame is a window frame.
type Frame struct {
	Mode       FrameMode
	Start, End FrameBound
	Exclusion  FrameExclusion
}

// WindowCall is one window function over the window of its Window node: an
// aggregate (Agg) or one of the built-in window functions (Name: row_number,
// rank, dense_rank, percent_rank, cume_dist, ntile, lag, lead, first_value,
// last_value, nth_value).
type WindowCall struct {
	Name   string
	Agg    *call.Aggregate
	Args   []Expr
	Filter Expr // aggregates only
	Frame  Frame
	Out    Column
}
