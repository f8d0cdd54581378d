package exec

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// compiler turns one plan into operators and closures over one run.
type compiler struct {
	run *run
	// outer maps columns of enclosing rows to their slots in run.outer.
	outer map[plan.ColID]int
	// operands counts the slots for operands of CASE; operand is the innermost.
	operand int
	ctes    map[int]*cteState
	depth   int
	demand  *demand // of the innermost consumer that may stop; nil: there is none
	// closers free what operators and expressions keep for a whole execution.
	closers []func()
	profile *Profile // of EXPLAIN ANALYZE, else nil
}

// onClose registers what to do when an execution ends.
func (c *compiler) onClose(f func()) { c.closers = append(c.closers, f) }

// maxDepth bounds how deep plans and expressions may nest.
const maxDepth = 2000

// enter counts nesting and fails before the stack does.
func (c *compiler) enter() error {
	c.depth++
	if c.depth > maxDepth {
		return pgerr.New(pgerr.StatementTooComplex, "statement is nested too deeply")
	}
	return nil
}

func (c *compiler) leave() { c.depth-- }

// scope says where the columns of the current row are.
type scope []plan.ColID

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

func errNoColumn(id plan.ColID) error {
	return pgerr.Assertion("plan refers to column %d, which its input does not produce", id)
}

// outerSlot returns the slot of a column of an enclosing row.
func (c *compiler) outerSlot(id plan.ColID) int {
	if slot, ok := c.outer[id]; ok {
		return slot
	}
	slot := len(c.run.outer)
	c.outer[id] = slot
	c.run.outer = append(c.run.outer, types.Null)
	return slot
}

// outerCopy says which column of the current row goes to which outer slot.
type outerCopy struct{ pos, slot int }

// bindOuter prepares the hand-over of columns of the current row to an inner
// plan. Columns that are not of this row are outer here too, and already in
// their slots.
func (c *compiler) bindOuter(ids []plan.ColID, s scope) []outerCopy {
	var copies []outerCopy
	for _, id := range ids {
		slot := c.outerSlot(id)
		if pos := s.find(id); pos >= 0 {
			copies = append(copies, outerCopy{pos, slot})
		}
	}
	return copies
}

func (r *run) setOuter(copies []outerCopy, row Row) {
	for _, c := range copies {
		r.outer[c.slot] = row[c.pos]
	}
}
