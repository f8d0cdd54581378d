package plan

import "github.com/lichendb/lichen/internal/sql/catalog"

// Derived is what a table computes from each of its rows: generated columns, the
// expressions and the predicates of its indexes. Expressions are over Cols, one per
// Table.Columns.
type Derived struct {
	Cols []ColID
	// Columns are the generated columns and those that stand for expressions.
	Columns []SetCol
	// Predicates are those of the partial indexes.
	Predicates []IndexPredicate
}

// IndexPredicate is the predicate of a partial index.
type IndexPredicate struct {
	Index catalog.IndexID
	Cond  Expr
}
