package exec

import (
	"time"

	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/vector"
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
	return &measuredOp{op: op, meter: p.meter(n)}
}

// measureVectors is measure for operators over columns.
func (p *Profile) measureVectors(n plan.Node, op operator.VectorOperator) operator.VectorOperator {
	return &measuredVectors{op: op, meter: p.meter(n)}
}

func (p *Profile) meter(n plan.Node) meter { return meter{actual: p.actual(n)} }

// actual returns what is measured of a node; nil without a profile.
func (p *Profile) actual(n plan.Node) *plan.Actual {
	if p == nil {
		return nil
	}
	a := p.nodes[n]
	if a == nil {
		a = &plan.Actual{Timing: p.timing}
		p.nodes[n] = a
	}
	return a
}

// meter notes what an operator does.
type meter struct {
	actual *plan.Actual
	loop   time.Duration // that the present run has taken so far
	begun  bool          // the first rows have come, or the end
}

func (m *meter) open(open func() error) error {
	m.actual.Loops++
	m.begun = false
	if !m.actual.Timing {
		return open()
	}
	start := time.Now()
	err := open()
	m.loop = time.Since(start)
	m.actual.Total += m.loop
	return err
}

// next calls fetch, which returns how many rows have come.
func (m *meter) next(fetch func() (int, error)) error {
	if !m.actual.Timing {
		n, err := fetch()
		m.actual.Rows += int64(n)
		return err
	}
	start := time.Now()
	n, err := fetch()
	took := time.Since(start)
	m.loop += took
	m.actual.Total += took
	if !m.begun {
		m.begun = true
		m.actual.Startup += m.loop
	}
	m.actual.Rows += int64(n)
	return err
}

// measuredOp drives an operator.
type measuredOp struct {
	meter
	op operator.Operator
}

func (m *measuredOp) Open() error { return m.open(m.op.Open) }

func (m *measuredOp) Close() {
	if r, ok := m.op.(sortReporter); ok && r.SortMethod().Name != "" {
		m.actual.Sort = r.SortMethod()
	}
	m.noteHash(m.op)
	m.op.Close()
}

// sortReporter is an operator that says how it sorted.
type sortReporter interface{ SortMethod() plan.SortMethod }

func (m *measuredOp) Next(b *rowcontainer.Batch) error {
	return m.next(func() (int, error) {
		err := m.op.Next(b)
		return b.Len(), err
	})
}

// hashReporter is an operator that says how its hash table went through temporary files.
type hashReporter interface{ HashMethod() plan.HashMethod }

// noteHash notes it; op is still open.
func (m *meter) noteHash(op any) {
	if r, ok := op.(hashReporter); ok && r.HashMethod().Batches > 0 {
		m.actual.Hash = r.HashMethod()
	}
}

// measuredVectors drives an operator over columns.
type measuredVectors struct {
	meter
	op operator.VectorOperator
}

func (m *measuredVectors) Open() error { return m.open(m.op.Open) }

func (m *measuredVectors) Close() {
	m.noteHash(m.op)
	m.op.Close()
}

func (m *measuredVectors) Next(b *vector.Batch) error {
	return m.next(func() (int, error) {
		err := m.op.Next(b)
		return len(b.Sel), err
	})
}
