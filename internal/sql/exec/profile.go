package exec

import (
	"time"

	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// Profile is what was measured of the nodes of a plan while its program ran. Only
// programs of CompileProfiled have one: others pay nothing for it.
type Profile struct {
	timing bool
	nodes  map[plan.Node]*plan.Actual
}

// CompileProfiled is CompileNode for EXPLAIN ANALYZE: the program measures each node,
// with timing also how long it takes.
func CompileProfiled(root plan.Node, columns []plan.Column, timing bool) (*Program, *Profile, error) {
	p := &Profile{timing: timing, nodes: map[plan.Node]*plan.Actual{}}
	pr, err := compileProgram(root, columns, p, nil)
	return pr, p, err
}

// Of returns what was measured of a node; nil if it has no operator of its own.
func (p *Profile) Of(n plan.Node) *plan.Actual { return p.nodes[n] }

// measure puts what counts and times between an operator and its consumer.
func (p *Profile) measure(n plan.Node, op operator.Operator) operator.Operator {
	a := p.nodes[n]
	if a == nil {
		a = &plan.Actual{Timing: p.timing}
		p.nodes[n] = a
	}
	return &measuredOp{op: op, actual: a}
}

// measuredOp drives an operator and notes what it does.
type measuredOp struct {
	op     operator.Operator
	actual *plan.Actual
	loop   time.Duration // that the present run has taken so far
	begun  bool          // the first rows have come, or the end
}

func (m *measuredOp) Open() error {
	m.actual.Loops++
	m.begun = false
	if !m.actual.Timing {
		return m.op.Open()
	}
	start := time.Now()
	err := m.op.Open()
	m.loop = time.Since(start)
	m.actual.Total += m.loop
	return err
}

func (m *measuredOp) Next(b *rowcontainer.Batch) error {
	if !m.actual.Timing {
		err := m.op.Next(b)
		m.actual.Rows += int64(b.Len())
		return err
	}
	start := time.Now()
	err := m.op.Next(b)
	took := time.Since(start)
	m.loop += took
	m.actual.Total += took
	if !m.begun {
		m.begun = true
		m.actual.Startup += m.loop
	}
	m.actual.Rows += int64(b.Len())
	return err
}

func (m *measuredOp) Close() { m.op.Close() }
