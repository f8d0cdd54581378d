package exec

import (
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/exec/mutation"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// Part is a part of another node's plan, compiled for one execution.
type Part struct {
	run     operator.Run
	op      operator.VectorOperator
	closers []func()
}

// CompilePart compiles a chain of operators whose scan reads spans, as plan.Gather describes it.
func CompilePart(root plan.Node, spans []kvpb.Span) (*Part, error) {
	p := &Part{}
	c := newCompiler(&p.run, nil, mutation.NewStatement(&p.run, compileAction))
	c.Give((&plan.Gather{Input: root}).Scan(), &operator.Spans{List: spans})
	var err error
	p.op, err = c.compileVectors(root)
	p.closers = c.Closing()
	return p, err
}

// Run executes the part and passes its rows to sink.
func (p *Part) Run(env *operator.Env, sink func(*vector.Batch) error) error {
	r := &p.run
	r.Bind(env.Ctx, env)
	if r.BatchRows = env.BatchRows; r.BatchRows == 0 {
		r.BatchRows = rowcontainer.BatchRows
	}
	defer func() {
		p.op.Close()
		for _, f := range p.closers {
			f()
		}
		r.Unbind()
	}()
	if err := p.op.Open(); err != nil {
		return err
	}
	var b vector.Batch
	for {
		err := p.op.Next(&b)
		if err == nil {
			err = r.Builtin.Stopped() // a comparison may have been cut short
		}
		if err != nil || b.N == 0 {
			return err
		}
		if len(b.Sel) > 0 {
			if err := sink(&b); err != nil {
				return err
			}
		}
		if b.Err != nil {
			return b.Err
		}
		if err := r.Canceled(); err != nil {
			return err
		}
	}
}
