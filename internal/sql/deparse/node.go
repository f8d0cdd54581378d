package deparse

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
)

// kind is what a node is, as far as printing tells them apart.
type kind uint8

const (
	word       kind = iota // text as it is: a column, VALUE, CURRENT_DATE
	constant               // of datum
	call                   // of a function, aggregate or window function: syntax is its tree
	special                // like a call: COALESCE, GREATEST, NULLIF, ROW, ARRAY, GROUPING; text is what stands before the arguments
	grammar                // a call with a grammar of its own
	operator               // text with one or two operands
	quantified             // args[0] text (args[1])
	test                   // args[0] text: IS NULL and its kin
	distinct               // args[0] IS DISTINCT FROM args[1]
	rowCompare             // two rows
	and
	or
	not
	convert // a cast of args[0] to typ
	collate // args[0] COLLATE text
	caseOf
	field     // (args[0]).text
	subscript // args[0][...]
	subquery  // query
	named     // text => args[0]
)

// node is an expression as PostgreSQL would hold it.
type node struct {
	kind kind
	typ  *types.T
	text string
	args []*node
	// datum is a constant's value unless it is null; literal one of unknown type.
	datum   types.Datum
	null    bool
	literal string
	// implicit marks a cast that nobody wrote, way how one converts.
	implicit bool
	way      way
	// column is the name of a column; row marks a whole row, of table if it is one.
	column string
	row    bool
	table  *catalog.Table
	number bool // of an output
	cast   bool // a row that was converted to a composite type
	// variadic marks a call whose last argument is the array of a variadic parameter.
	variadic bool
	syntax   *ast.FuncCall
	whens    []when // caseOf, whose operand is args[0] if there is one
	els      *node
	index    []index
	sub      *sublink
}

type when struct{ cond, result *node }

// index is a subscript; lo is nil where there is no slice.
type index struct {
	slice  bool
	lo, hi *node
}

// sublink is a query in an expression.
type sublink struct {
	query *ast.Select
	array bool
	left  []*node // what its rows are compared with
	row   bool    // left is a row
	// mid stands between left and the query, such as " IN "; paren is set where the
	// query has parentheses of its own.
	mid   string
	paren bool
}

func (n *node) unknown() bool { return n.typ == nil || n.typ.Oid == types.Unknown.Oid }

// looksLikeCall reports whether a key of an index needs no parentheses.
func (n *node) looksLikeCall() bool {
	switch n.kind {
	case call, grammar:
		return true
	case special:
		return n.text != "ROW(" && n.text != "ARRAY["
	}
	return false
}
