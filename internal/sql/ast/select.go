package ast

import (
	"strings"

	"github.com/lichendb/lichen/internal/lock"
)

// SetOp is the set operation of a Select.
type SetOp uint8

// The set operations.
const (
	SetNone SetOp = iota
	SetUnion
	SetIntersect
	SetExcept
)

// Select is a query: a simple SELECT, VALUES (when Values is set), or a set
// operation of L and R (when Op is set). The fields from OrderBy on, and With,
// belong to the whole in every case. TABLE t comes as SELECT * FROM t.
type Select struct {
	Loc
	With *With

	// Set operation.
	Op   SetOp
	All  bool
	L, R *Select

	// VALUES lists.
	Values [][]Expr

	// Simple SELECT.
	Distinct   bool
	DistinctOn []Expr // with Distinct: DISTINCT ON (...)
	Items      []SelectItem
	Into       *IntoClause
	From       []TableExpr
	Where      Expr
	GroupBy    []Expr // *GroupingSet among them
	// GroupDistinct is GROUP BY DISTINCT.
	GroupDistinct bool
	Having        Expr
	Windows       []*WindowSpec

	OrderBy []OrderItem
	// Limit is nil when there is none, NULL for LIMIT ALL.
	Limit    Expr
	Offset   Expr
	WithTies bool
	Locking  []LockingClause
	// AsOf is the expression of AS OF SYSTEM TIME.
	AsOf Expr
}

// SelectItem is one output column: an expression with an optional name.
type SelectItem struct {
	X     Expr
	Alias Name // "" when not written
}

// IntoClause is SELECT INTO [TEMPORARY|UNLOGGED] table.
type IntoClause struct {
	Name        TableName
	Persistence Persistence
}

// Direction is ASC or DESC.
type Direction uint8

// The directions; DirDefault (not written) sorts ascending.
const (
	DirDefault Direction = iota
	DirAsc
	DirDesc
)

// NullsOrder is NULLS FIRST or NULLS LAST.
type NullsOrder uint8

// The null orders; NullsDefault is last when ascending, first when descending.
const (
	NullsDefault NullsOrder = iota
	NullsFirst
	NullsLast
)

// OrderItem is one item of ORDER BY.
type OrderItem struct {
	Loc
	X     Expr
	Dir   Direction
	Nulls NullsOrder
	// Using is the operator of ORDER BY x USING op; Name "" otherwise.
	Using Operator
}

// LockingClause is FOR UPDATE|... [OF tables] [NOWAIT|SKIP LOCKED].
type LockingClause struct {
	Loc
	Strength lock.Strength
	Of       []TableName // empty for all tables
	Wait     lock.WaitPolicy
}

// String returns FOR and the strength, as messages name the clause.
func (c *LockingClause) String() string { return "FOR " + strings.ToUpper(c.Strength.String()) }

// With is a WITH clause.
type With struct {
	Loc
	Recursive bool
	CTEs      []*CTE
}

// Materialize is the [NOT] MATERIALIZED of a CTE.
type Materialize uint8

// The materialisation choices.
const (
	MaterializeDefault Materialize = iota
	MaterializeAlways
	MaterializeNever
)

// CTE is one common table expression. Stmt is a *Select or a data-modifying
// statement.
type CTE struct {
	Loc
	Name        Name
	Cols        []Name
	Materialize Materialize
	Stmt        Statement
	Search      *SearchClause
	Cycle       *CycleClause
}

// SearchClause is SEARCH DEPTH|BREADTH FIRST BY cols SET col.
type SearchClause struct {
	Loc
	Breadth bool
	By      []Name
	Set     Name
}

// CycleClause is CYCLE cols SET mark [TO v DEFAULT d] USING path.
type CycleClause struct {
	Loc
	Cols    []Name
	Mark    Name
	Value   Expr // nil when not written
	Default Expr
	Path    Name
}

func (*Select) stmtNode() {}
