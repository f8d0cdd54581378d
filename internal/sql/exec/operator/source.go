package operator

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// demand is what has been compiled of a part of a plan whose consumer may stop before the
// end: its sources.
type demand struct {
	sources []*Source
}

// Partly compiles a part of a plan that is read no further than its consumer needs. If it
// calls volatile functions, its operators ask each other for single rows: what such a call
// does must not happen for rows that nobody reads.
func (c *Compiler) Partly(compile func() error) error {
	outer, d := c.demand, &demand{}
	c.demand = d
	before := c.Volatile
	err := compile()
	if c.demand = outer; c.Volatile > before {
		for _, s := range d.sources {
			s.most = 1
		}
	}
	if outer != nil {
		outer.sources = append(outer.sources, d.sources...)
	}
	return err
}

// ReadPartly reports whether what is compiled may be read in part.
func (c *Compiler) ReadPartly() bool { return c.demand != nil }

// Entirely compiles a part of a plan that is read to its end.
func (c *Compiler) Entirely(compile func() error) error {
	outer, before := c.demand, c.Volatile
	c.demand = nil
	err := compile()
	c.demand, c.Volatile = outer, before
	return err
}

// Source is an operator together with what its consumer needs to drive it: its
// width and a batch of its own.
type Source struct {
	Operator
	run   *Run
	Width int
	Batch rowcontainer.Batch
	Pos   int // next row of batch to hand out, see row
	Done  bool
	most  int // rows to ask for at a time
}

// NewSource returns a source for an operator whose rows have the given width.
func NewSource(r *Run, op Operator, width int) *Source {
	return &Source{run: r, Operator: op, Width: width, most: rowcontainer.BatchRows}
}

// Start opens the operator and forgets what was read from it before.
func (s *Source) Start() error {
	s.Pos, s.Done = 0, false
	s.Batch.Want(s.Width, 0)
	return s.Operator.Open()
}

// Stop closes the operator.
func (s *Source) Stop() {
	s.Operator.Close()
	s.Batch.Release()
	s.Pos = 0
}

// Fetch reads the next batch of up to max rows and reports whether there is any. It counts the
// rows as steps of the statement, so that none reads on that is cancelled.
func (s *Source) Fetch(max int) (bool, error) {
	if s.Done {
		return false, nil
	}
	if err := s.Batch.Err; err != nil {
		return false, err
	}
	s.Batch.Want(s.Width, min(max, s.most, s.run.BatchRows))
	s.Pos = 0
	if err := s.Operator.Next(&s.Batch); err != nil {
		return false, err
	}
	s.Done = s.Batch.Len() == 0
	return !s.Done, s.run.Ticks(s.Batch.Len())
}

// Row returns the next row, nil at the end. Rows that expressions may yield
// have no columns at all are non-nil too.
func (s *Source) Row(max int) (types.Row, error) {
	if s.Pos >= s.Batch.Len() {
		if ok, err := s.Fetch(max); !ok {
			return nil, err
		}
	}
	s.Pos++
	if s.Width == 0 {
		return NoColumns, nil
	}
	return s.Batch.Row(s.Pos - 1), nil
}

// NoColumns is the row of an operator without columns.
var NoColumns = types.Row{}

// Input compiles a child node.
func (c *Compiler) Input(n plan.Node) (*Source, expr.Scope, error) {
	op, err := c.Node(n)
	if err != nil {
		return nil, nil, err
	}
	cols := n.Props().Cols
	src := NewSource(c.Run, op, len(cols))
	if c.demand != nil {
		c.demand.sources = append(c.demand.sources, src)
	}
	return src, expr.ScopeOf(cols), nil
}
