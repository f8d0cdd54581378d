package exec

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/exec/scan"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// filterOp drops rows in place.
type filterOp struct {
	run   *operator.Run
	input operator.Operator
	cond  expr.Pred
}

func (c *compiler) filter(n *plan.Filter) (operator.Operator, error) {
	input, err := c.Node(n.Input)
	if err != nil {
		return nil, err
	}
	cols := n.Input.Props().Cols
	once, rest := scan.SplitOneTime(n.Cond, cols)
	if rest != nil {
		cond, err := c.Pred(rest, expr.ScopeOf(cols))
		if err != nil {
			return nil, err
		}
		input = &filterOp{run: c.Run, input: input, cond: cond}
	}
	return scan.OneTimeFilter(c.Compiler, input, once)
}

func (f *filterOp) Open() error { return f.input.Open() }
func (f *filterOp) Close()      { f.input.Close() }

func (f *filterOp) Next(b *rowcontainer.Batch) error {
	for {
		if err := f.input.Next(b); err != nil || b.Len() == 0 {
			return err
		}
		if err := b.Keep(0, f.cond); err != nil {
			return b.StopAt(b.Len(), err)
		}
		if b.Len() > 0 {
			return nil
		}
		if b.Err != nil {
			return b.Err
		}
		if err := f.run.Canceled(); err != nil {
			return err
		}
	}
}

// projectOp computes expressions.
type projectOp struct {
	src   *operator.Source
	exprs []expr.Func
	// slots, if set, says that all expressions are columns of the input.
	slots []int
}

func (c *compiler) project(n *plan.Project) (operator.Operator, error) {
	src, s, err := c.Input(n.Input)
	if err != nil {
		return nil, err
	}
	p := &projectOp{src: src}
	slots := make([]int, len(n.Exprs))
	for i, e := range n.Exprs {
		ref, ok := e.(*plan.ColRef)
		if !ok || s.Find(ref.Col) < 0 {
			p.exprs, err = c.Exprs(n.Exprs, s)
			return p, err
		}
		slots[i] = s.Find(ref.Col)
	}
	p.slots = slots
	return p, nil
}

func (p *projectOp) Open() error { return p.src.Start() }
func (p *projectOp) Close()      { p.src.Stop() }

func (p *projectOp) Next(b *rowcontainer.Batch) error {
	b.Clear()
	ok, err := p.src.Fetch(b.Max)
	if !ok {
		return err
	}
	for i := 0; i < p.src.Batch.Len(); i++ {
		in, out := p.src.Batch.Row(i), b.Add()
		if p.exprs == nil {
			rowcontainer.CopySlots(out, in, p.slots)
			continue
		}
		for j, f := range p.exprs {
			d, err := f(in)
			if err != nil {
				return b.StopAt(i, err)
			}
			out[j] = d
		}
	}
	return nil
}
