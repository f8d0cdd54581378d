package operator

import (
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// Compiler turns nodes of one plan into operators over one run. Each kind of operator has a
// function that compiles its nodes; it gets the operators below from node and input.
type Compiler struct {
	expr.Compiler
	Run     *Run
	compile func(n plan.Node) (Operator, error)
	// Vectors compiles a node to an operator that hands up columns.
	Vectors func(n plan.Node) (VectorOperator, error)
	// Actual returns what EXPLAIN ANALYZE shows of a node for an operator that does its work without
	// one for the node; nil where nothing is measured.
	Actual func(n plan.Node) *plan.Actual
	demand *demand // of the innermost consumer that may stop; nil: there is none
	given  map[*plan.Scan]*Spans
}

// Spans are the keys that a scan reads in place of those of its plan: sorted, disjoint. They may be others each time
// the scan is opened.
type Spans struct{ List []kvpb.Span }

// Give has a scan, which is compiled afterwards, read the keys of s.
func (c *Compiler) Give(n *plan.Scan, s *Spans) {
	if c.given == nil {
		c.given = map[*plan.Scan]*Spans{}
	}
	c.given[n] = s
}

// Given returns the keys that a scan reads in place of those of its plan; nil: it has its own.
func (c *Compiler) Given(n *plan.Scan) *Spans { return c.given[n] }

// NewCompiler returns a compiler that compiles nodes and queries in expressions by the given
// functions.
func NewCompiler(r *Run, compile func(n plan.Node) (Operator, error), subquery func(e *plan.Subquery, s expr.Scope) (expr.Func, error)) *Compiler {
	return &Compiler{Compiler: expr.NewCompiler(&r.State, subquery), Run: r, compile: compile}
}

// Node compiles a plan node to an operator.
func (c *Compiler) Node(n plan.Node) (Operator, error) {
	if err := c.Enter(); err != nil {
		return nil, err
	}
	defer c.Leave()
	return c.compile(n)
}
