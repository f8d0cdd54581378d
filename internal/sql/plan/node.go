package plan

// Node is an operator of a plan.
type Node interface {
	// Props returns the properties every operator has.
	Props() *Base
}

// Base holds the properties every operator has.
type Base struct {
	// Cols are the columns the operator produces, in order.
	Cols []Column
	// Order is the order in which rows are known to come, most significant key
	// first; empty if unknown.
	Order []SortKey
	// Rows is the estimated number of rows; Startup and Total are estimated
	// costs in PostgreSQL's units (one sequential page read = 1). They are zero
	// until costed.
	Rows           float64
	Startup, Total float64
	// Vectorized says that the rows are worth computing as columns.
	Vectorized bool
}

// Props implements Node.
func (p *Base) Props() *Base { return p }

// RowBound says that no more than Count rows after skipping Offset are needed;
// nil expressions stand for "all" and 0. It is a hint for the operator: a
// Limit above still applies it exactly. A NULL count means all.
type RowBound struct{ Count, Offset Expr }
