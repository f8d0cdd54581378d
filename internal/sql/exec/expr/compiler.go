package expr

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Compiler turns the expressions of one plan into closures over one state.
type Compiler struct {
	state *State
	// subquery compiles a query in an expression.
	subquery func(e *plan.Subquery, s Scope) (Func, error)
	// outer maps columns of enclosing rows to their slots in State.outer.
	outer map[plan.ColID]int
	// operand is the slot of the innermost operand of CASE.
	operand int
	depth   int
	// volatile counts the calls of volatile functions that were compiled.
	Volatile int
	// closers free what operators and expressions keep for a whole execution.
	closers []func()
}

// NewCompiler returns a compiler of expressions over a state; subquery compiles the queries
// in them; nil if there are none.
func NewCompiler(state *State, subquery func(e *plan.Subquery, s Scope) (Func, error)) Compiler {
	return Compiler{state: state, subquery: subquery, outer: map[plan.ColID]int{}}
}

// State returns the state that the closures are compiled against.
func (c *Compiler) State() *State { return c.state }

// OnClose registers what to do when an execution ends.
func (c *Compiler) OnClose(f func()) { c.closers = append(c.closers, f) }

// Closing returns what was registered for the end of an execution.
func (c *Compiler) Closing() []func() { return c.closers }

// maxDepth bounds how deep plans and expressions may nest: deeper than a text that the parser takes,
// so that only views within views and the like meet it.
const maxDepth = 6000

// Enter counts nesting and fails before the stack does.
func (c *Compiler) Enter() error {
	c.depth++
	if c.depth > maxDepth {
		return pgerr.New(pgerr.StatementTooComplex, "statement is nested too deeply")
	}
	return nil
}

// Leave ends what enter began.
func (c *Compiler) Leave() { c.depth-- }

// Scope says where the columns of the current row are.
type Scope []plan.ColID

// ScopeOf returns the scope of rows of the given columns.
func ScopeOf(cols []plan.Column) Scope { return plan.IDs(cols) }

// Find returns the position of a column, -1 if it is not of this row.
func (s Scope) Find(id plan.ColID) int { return slices.Index(s, id) }

// Positions maps columns to their positions in s.
func (s Scope) Positions(ids []plan.ColID) ([]int, error) {
	pos := make([]int, len(ids))
	for i, id := range ids {
		if pos[i] = s.Find(id); pos[i] < 0 {
			return nil, ErrNoColumn(id)
		}
	}
	return pos, nil
}

// ErrNoColumn says that the planner made a mistake.
func ErrNoColumn(id plan.ColID) error {
	return pgerr.Assertion("plan refers to column %d, which its input does not produce", id)
}

// outerSlot returns the slot of a column of an enclosing row.
func (c *Compiler) outerSlot(id plan.ColID) int {
	if slot, ok := c.outer[id]; ok {
		return slot
	}
	slot := len(c.state.outer)
	c.outer[id] = slot
	c.state.outer = append(c.state.outer, types.Null)
	return slot
}

// OuterCopy says which column of the current row goes to which outer slot.
type OuterCopy struct{ pos, slot int }

// BindOuter prepares the hand-over of columns of the current row to an inner
// plan. Columns that are not of this row are outer here too, and already in
// their slots.
func (c *Compiler) BindOuter(ids []plan.ColID, s Scope) []OuterCopy {
	var copies []OuterCopy
	for _, id := range ids {
		slot := c.outerSlot(id)
		if pos := s.Find(id); pos >= 0 {
			copies = append(copies, OuterCopy{pos, slot})
		}
	}
	return copies
}
