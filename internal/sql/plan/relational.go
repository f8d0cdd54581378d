package plan

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
)

// Values produces constant rows; expressions refer to nothing but outer
// columns. One row without columns is the input of SELECT without FROM.
type Values struct {
	Base
	RowExprs [][]Expr
}

// Filter drops the rows for which Cond is not true.
type Filter struct {
	Base
	Input Node
	Cond  Expr
	// Having says that the condition is the HAVING of the query that groups below.
	Having bool
}

// Barrier passes its input on. Nothing that could tell of a row is computed for those that do not reach it: conditions
// from above move below only if they are leakproof (see builtin.Leakproof). The optimizer drops it once conditions no
// longer move.
type Barrier struct {
	Base
	Input Node
}

// Project computes Exprs; Exprs[i] yields Cols[i]. A ColRef passes a column on
// under the same identifier, or under another one.
type Project struct {
	Base
	Input Node
	Exprs []Expr
	// Called says that Exprs are functions in FROM: they are called though nothing needs the results.
	Called bool
}

// SetFunc is one set-returning call of a ProjectSet.
type SetFunc struct {
	Call *Call
	// Out are the columns that hold its result: one, or one per field for a
	// function that returns records.
	Out []Column
	// Spread says that each result is one composite value, whose fields Out are:
	// a NULL has NULL fields.
	Spread bool
}

// ProjectSet produces, for each row of Input, the rows of Funcs side by side,
// the shorter ones filled with NULLs; no row if all are empty. Cols are
// columns of Input, followed by the Out columns, and the ordinality column.
type ProjectSet struct {
	Base
	Input Node
	Funcs []SetFunc
	// Ordinality, if its ID is set, counts the rows per input row from 1 (int8).
	Ordinality Column
	Alias      string // in FROM, empty in a select list
}

// GroupBy groups rows by the columns Keys (NULLs are equal) and computes
// aggregates. Cols are the keys' values, followed by the Out columns of Aggs
// and of Groupings. Without Sets the keys above are the columns Keys.
type GroupBy struct {
	Base
	Input Node
	Keys  []ColID
	Aggs  []Agg
	// Sets, if not nil, are grouping sets: positions in Keys. Rows are grouped
	// by each of them in turn, with the other keys NULL. An empty set is one
	// group even for no input.
	Sets      [][]int
	Groupings []GroupingCall
	// Scalar marks aggregation without GROUP BY: one row even for no input.
	Scalar bool
	// Ordered says that equal keys are adjacent in the input.
	Ordered bool
	Phase   GroupPhase
}

// GroupPhase says which part of a grouping a GroupBy does.
type GroupPhase uint8

// The phases.
const (
	WholeGroups GroupPhase = iota
	// PartialGroups groups some of the rows: each of several nodes does. The same keys may come again.
	PartialGroups
	// FinalGroups puts partial groups together: see Agg.Of.
	FinalGroups
)

// Gather has Input run where its rows are: parts of it on the nodes that serve the ranges of its Scan, or here. Input is
// a chain of operators of one input down to the Scan, and each of them may compute parts of its rows by itself. The rows come
// in no order.
type Gather struct {
	Base
	Input Node
}

// Scan returns the scan at the end of the chain.
func (n *Gather) Scan() *Scan {
	in := n.Input
	for {
		if s, ok := in.(*Scan); ok {
			return s
		}
		in = Children(in)[0]
	}
}

// GroupingCall is GROUPING(...): a number with a bit per argument, the last one
// lowest, that is set where the grouping set does not include the key.
type GroupingCall struct {
	Keys []int // positions in GroupBy.Keys
	Out  Column
}

// Outputs returns the columns n produces, given those of its keys.
func (n *GroupBy) Outputs(keys []Column) []Column {
	out := make([]Column, 0, len(keys)+len(n.Aggs)+len(n.Groupings))
	out = append(out, keys...)
	for i := range n.Aggs {
		out = append(out, n.Aggs[i].Out)
	}
	for i := range n.Groupings {
		out = append(out, n.Groupings[i].Out)
	}
	return out
}

// Distinct removes duplicates of Keys (all columns for DISTINCT, the listed
// ones for DISTINCT ON), keeping the first of each.
type Distinct struct {
	Base
	Input Node
	Keys  []ColID
	On    bool
	// Ordered says that duplicates are adjacent in the input.
	Ordered bool
}

// Sort sorts its input. The first Presorted keys hold already.
type Sort struct {
	Base
	Input     Node
	Keys      []SortKey
	Presorted int
	// Bound, if its Count is set, makes it a top-k sort.
	Bound RowBound
}

// Limit returns Count rows after skipping Offset. Both are evaluated once and
// are int8; nil or NULL means all, and 0.
type Limit struct {
	Base
	Input         Node
	Count, Offset Expr
	// WithTies also returns rows that compare equal to the last on TiesKeys.
	WithTies bool
	TiesKeys []SortKey
}

// SetOpKind is the kind of a set operation.
type SetOpKind uint8

// The set operations.
const (
	Union SetOpKind = iota
	Intersect
	Except
)

// SetOp combines two inputs by position: LeftCols[i] and RightCols[i] feed
// Cols[i], which has an identifier of its own. Without All, duplicates are
// removed.
type SetOp struct {
	Base
	Kind                SetOpKind
	All                 bool
	Left, Right         Node
	LeftCols, RightCols []ColID
}

// Window computes window functions over partitions of its input, which is
// sorted by PartitionBy, then OrderBy. Cols are the input's columns followed
// by the Funcs' Out columns. Several windows are several nodes.
type Window struct {
	Base
	Input       Node
	PartitionBy []ColID
	OrderBy     []SortKey
	Funcs       []WindowCall
	// RangeKey is the column that frames of RANGE with offsets compare: that of
	// ORDER BY, or of a type to which offsets can be added; 0 if there are none.
	// RangeAdd and RangeSub compute a frame's ends where the executor does not
	// know how: for other than integers, floats and times of day.
	RangeKey           ColID
	RangeAdd, RangeSub *call.Overload
}

// CTE is a materialised common table expression.
type CTE struct {
	ID   int
	Name string
	Plan Node
	// Materialized was asked for: it must not be inlined.
	Materialized bool
	// Cols are the columns of Plan that a recursive CTE's rounds hand on, in
	// order.
	Cols []ColID
	// Recursive, if set, is evaluated again and again: in it, a CTEScan with
	// Working set reads the rows of the previous round. Plan is then the first
	// round. Dedup drops rows seen in earlier rounds (UNION without ALL).
	Recursive Node
	Dedup     bool
	// RecursiveCols are the columns of Recursive that feed Cols.
	RecursiveCols []ColID
	// Round stands for the previous round: queries within Recursive that read its rows
	// through another CTE have Round among their outer columns.
	Round ColID
	// Outer are the columns of enclosing rows that the CTE's rows depend on: it is
	// evaluated anew for each of them.
	Outer []ColID
	// Modifies marks a data-modifying statement: it runs to completion even if
	// nothing reads it.
	Modifies bool
}

// With evaluates its CTEs on demand, each at most once for given values of its Outer
// columns, and Body.
type With struct {
	Base
	CTEs []*CTE
	Body Node
}

// CTEScan reads a CTE: SourceCols[i] of its plan yields Cols[i].
type CTEScan struct {
	Base
	ID         int
	Name       string
	SourceCols []ColID
	Working    bool
}

// LockTarget is a table whose rows a LockRows locks.
type LockTarget struct {
	Locking
	// Scan is the scan (a Scan, or IndexJoin's Input) that read the rows: it
	// gives table and alias.
	Scan *Scan
	// Key are the input's columns that hold the primary key, in key order.
	// NULLs (an outer join's missing row) lock nothing.
	Key []ColID
	// Row are the input's columns that come from the table, with positions in
	// Table.Columns: what changes when a row is re-read after waiting.
	Row  []ColID
	Ords []int
}

// LockRows locks the rows it returns. When a row changed while waiting (READ
// COMMITTED), its columns are re-read and the row is returned only if Recheck
// (over Input's columns, nil is true) still holds.
type LockRows struct {
	Base
	Input   Node
	Targets []LockTarget
	Recheck Expr
}

// Table returns the table whose rows are locked.
func (t *LockTarget) Table() *catalog.Table { return t.Scan.Table }
