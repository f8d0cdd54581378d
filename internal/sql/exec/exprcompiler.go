package exec

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// exprCompiler turns the expressions of one plan into closures over one state.
type exprCompiler struct {
	state *evalState
	// subquery compiles a query in an expression.
	subquery func(e *plan.Subquery, s scope) (evalFn, error)
	// outer maps columns of enclosing rows to their slots in evalState.outer.
	outer map[plan.ColID]int
	// operand is the slot of the innermost operand of CASE.
	operand int
	depth   int
	// volatile counts the calls of volatile functions that were compiled.
	volatile int
	// closers free what operators and expressions keep for a whole execution.
	closers []func()
}

// newExprCompiler returns a compiler of expressions over a state; subquery compiles the queries
// in them.
func newExprCompiler(state *evalState, subquery func(e *plan.Subquery, s scope) (evalFn, error)) exprCompiler {
	return exprCompiler{state: state, subquery: subquery, outer: map[plan.ColID]int{}}
}

// onClose registers what to do when an execution ends.
func (c *exprCompiler) onClose(f func()) { c.closers = append(c.closers, f) }

// closing returns what was registered for the end of an execution.
func (c *exprCompiler) closing() []func() { return c.closers }

// maxDepth bounds how deep plans and expressions may nest.
const maxDepth = 2000

// enter counts nesting and fails before the stack does.
func (c *exprCompiler) enter() error {
	c.depth++
	if c.depth > maxDepth {
		return pgerr.New(pgerr.StatementTooComplex, "statement is nested too deeply")
	}
	return nil
}

// leave ends what enter began.
func (c *exprCompiler) leave() { c.depth-- }

// scope says where the columns of the current row are.
type scope []plan.ColID

// scopeOf returns the scope of rows of the given columns.
func scopeOf(cols []plan.Column) scope { return plan.IDs(cols) }

// find returns the position of a column, -1 if it is not of this row.
func (s scope) find(id plan.ColID) int { return slices.Index(s, id) }

// positions maps columns to their positions in s.
func (s scope) positions(ids []plan.ColID) ([]int, error) {
	pos := make([]int, len(ids))
	for i, id := range ids {
		if pos[i] = s.find(id); pos[i] < 0 {
			return nil, errNoColumn(id)
		}
	}
	return pos, nil
}

// errNoColumn says that the planner made a mistake.
func errNoColumn(id plan.ColID) error {
	return pgerr.Assertion("plan refers to column %d, which its input does not produce", id)
}

// outerSlot returns the slot of a column of an enclosing row.
func (c *exprCompiler) outerSlot(id plan.ColID) int {
	if slot, ok := c.outer[id]; ok {
		return slot
	}
	slot := len(c.state.outer)
	c.outer[id] = slot
	c.state.outer = append(c.state.outer, types.Null)
	return slot
}

// outerCopy says which column of the current row goes to which outer slot.
type outerCopy struct{ pos, slot int }

// bindOuter prepares the hand-over of columns of the current row to an inner
// plan. Columns that are not of this row are outer here too, and already in
// their slots.
func (c *exprCompiler) bindOuter(ids []plan.ColID, s scope) []outerCopy {
	var copies []outerCopy
	for _, id := range ids {
		slot := c.outerSlot(id)
		if pos := s.find(id); pos >= 0 {
			copies = append(copies, outerCopy{pos, slot})
		}
	}
	return copies
}
