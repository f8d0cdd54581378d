package exec

import (
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// transitionScanOp reads a transition table.
type transitionScanOp struct {
	run  *operator.Run
	name string
	ords []int
	rows []types.Row
}

func (c *compiler) transitionScan(n *plan.TransitionScan) operator.Operator {
	return &transitionScanOp{run: c.Run, name: n.Name, ords: n.Ords}
}

func (s *transitionScanOp) Open() error {
	t := s.run.Builtin.Transition(s.name)
	if t == nil {
		return pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", s.name)
	}
	s.rows = t.Rows
	return nil
}

func (s *transitionScanOp) Close() { s.rows = nil }

func (s *transitionScanOp) Next(b *rowcontainer.Batch) error {
	b.Clear()
	for len(s.rows) > 0 && !b.Full() {
		rowcontainer.CopySlots(b.Add(), s.rows[0], s.ords)
		s.rows = s.rows[1:]
	}
	return nil
}
