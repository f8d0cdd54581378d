package plan

import (
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Bound is an end of a key range: the tuple of values for the key columns that
// follow the equality prefix. A NULL value makes the range empty.
type Bound struct {
	Values    []Expr
	Inclusive bool
}

// KeyMatch constrains one key column to a set of values. Exactly one of the
// fields is set.
type KeyMatch struct {
	// Values are alternatives (IN list; one for equality). NULLs among them
	// match nothing.
	Values []Expr
	// Array yields an array whose elements are the alternatives (= ANY($1)).
	Array Expr
	// Null matches NULL only (IS NULL).
	Null bool
}

// KeyColumns returns the columns of an index's keys: those declared and, for a
// secondary index that is not unique, the rest of the primary key.
func KeyColumns(t *catalog.Table, ix *catalog.Index) []catalog.IndexColumn {
	if ix.Unique || ix.ID == t.Primary().ID {
		return ix.Columns
	}
	cols := ix.Columns[:len(ix.Columns):len(ix.Columns)]
next:
	for _, k := range t.Primary().Columns {
		for _, c := range cols {
			if c.Column == k.Column {
				continue next
			}
		}
		cols = append(cols, k)
	}
	return cols
}

// Span is a set of keys of an index: the cross product of Eq over its first
// key columns (see KeyColumns), followed by a range over the next. Expressions are over constants,
// parameters, stable functions and outer columns; the executor evaluates them
// once per (re)scan, drops empty and duplicate keys, and visits the keys in
// index order (or its reverse) even over several spans.
//
// Lo and Hi are in terms of values, whatever the key column's direction: Lo is
// the lower bound of the value. With tuples (several Values) all columns
// involved have the same direction. A range with a bound never matches NULL;
// NotNull excludes NULL without a bound.
type Span struct {
	Eq      []KeyMatch
	Lo, Hi  *Bound
	NotNull bool
}

// Locking asks for rows to be locked as they are returned.
type Locking struct {
	Strength lock.Strength
	Wait     lock.WaitPolicy
	// Changes is what the statement does with the rows, "updated" or "deleted": what it calls must not have changed them.
	// "" if it only locks them.
	Changes string
}

// Scan reads an index of a table. Reading a secondary index yields its key
// columns, its stored columns and the primary key; see IndexJoin for the rest.
type Scan struct {
	Base
	Table *catalog.Table
	Index *catalog.Index
	Alias string // the name in the query
	// Hint is the index that the query asks for with t@index, nil for none.
	Hint *catalog.Index
	// Ords are the positions in Table.Columns of Cols.
	Ords []int
	// Spans restrict the keys; nil reads the whole index, an empty non-nil
	// slice nothing.
	Spans []Span
	// Tokens, if set, finds the rows through an inverted index; Index is the primary
	// one then, Spans is nil, and Filter holds all conditions.
	Tokens *TokenScan
	// Filter drops rows; it refers to Cols.
	Filter Expr
	// FilterVectors says that Filter is worth computing as columns, though the scan hands up rows.
	FilterVectors bool
	// Reverse visits keys in descending order.
	Reverse bool
	// Ordered says that the plan relies on the index's order.
	Ordered bool
	// Point says that each span binds every column of a unique index (for a
	// secondary one: to values that are not NULL) to single values: at most one
	// row per combination of alternatives.
	Point bool
	// Cuts, if set, are values of the index's first column between which there are about equally many
	// rows: several workers read the parts at once, and the rows come in no order.
	Cuts []types.Datum
	// Bound limits the rows needed after Filter.
	Bound RowBound
	// Locking, if set, locks each row that passes Filter.
	Locking *Locking
	// Guarded says that Filter holds conditions that come before all others which are not leakproof: the scan is below a
	// Barrier, or was.
	Guarded bool
	// Computed are the expressions, over the table's columns, that hidden columns of
	// its indexes hold; Predicates are those of its partial indexes. Conditions and
	// orders are compared with them; nothing evaluates them.
	Computed   []ComputedCol
	Predicates []IndexPredicate
}

// ComputedCol is a hidden column at Ord of a table, which holds Value. No operator produces
// it; ID is how orders name it.
type ComputedCol struct {
	Ord   int
	ID    ColID
	Value Expr
}

// TokenScan reads an inverted index: of each list of conditions one must hold.
type TokenScan struct {
	Index *catalog.Index
	Conds [][]TokenCond
}

// TokenCond is an operator of the index's operator class between the indexed column and
// a value, which is evaluated as those of a Span are.
type TokenCond struct {
	Op    string
	Value Expr
}

// Virtual reports whether the rows are computed: those that the spans of an index ask for, in no
// order. Every index of a virtual table has all columns; if it hashes none of them, it has one.
func (n *Scan) Virtual() bool { return n.Table.Kind == catalog.KindVirtual }

// Secondary reports whether the scan reads another index than the primary.
func (n *Scan) Secondary() bool {
	return n.Index != n.Table.Primary() && n.Index.ID != n.Table.Primary().ID
}

// IndexJoin fetches, for each row of Input (a Scan of a secondary index of the
// same table), the table's row by primary key. Order is kept, unless Unordered is set.
type IndexJoin struct {
	Base
	Input *Scan
	Table *catalog.Table
	// Key are the columns of Input that form the primary key, in key order.
	Key []ColID
	// Ords are the positions in Table.Columns of Cols. A column that Input
	// produces as well has the same identifier there.
	Ords   []int
	Filter Expr // over Cols
	// Unordered says that nothing above relies on the order of the rows.
	Unordered bool
	// Bound and Locking are as in Scan; Input then has neither.
	Bound   RowBound
	Locking *Locking
}

// VirtualScan reads a relation whose rows are computed and that has no indexes: a sequence,
// or a statement in FROM.
type VirtualScan struct {
	Base
	Table *catalog.Table
	Alias string
	Ords  []int
	// Stmt is the statement whose rows these are, FROM [SHOW ...]; nil for a sequence.
	Stmt   ast.Statement
	Filter Expr
}
