package exec

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// valuesOp produces constant rows.
type valuesOp struct {
	run   *run
	width int
	cells []valueCell // row by row
	rows  int
	pos   int
}

// valueCell is a constant, or an expression if fn is set: large INSERTs consist
// of constants, which need no closure each.
type valueCell struct {
	d  types.Datum
	fn expr.Func
}

func (c *compiler) values(n *plan.Values) (operator, error) {
	v := &valuesOp{run: c.run, width: len(n.Cols), rows: len(n.RowExprs)}
	v.cells = make([]valueCell, 0, v.width*v.rows)
	for _, row := range n.RowExprs {
		if len(row) != v.width {
			return nil, pgerr.Assertion("row of %d values for %d columns", len(row), v.width)
		}
		for _, e := range row {
			if k, ok := e.(*plan.Const); ok {
				v.cells = append(v.cells, valueCell{d: k.D})
				continue
			}
			fn, err := c.Expr(e, nil)
			if err != nil {
				return nil, err
			}
			v.cells = append(v.cells, valueCell{fn: fn})
		}
	}
	return v, nil
}

func (v *valuesOp) open() error { v.pos = 0; return nil }
func (v *valuesOp) close()      {}

func (v *valuesOp) next(b *Batch) error {
	b.clear()
	for ; v.pos < v.rows && !b.full(); v.pos++ {
		row := b.add()
		for i := range row {
			cell := &v.cells[v.pos*v.width+i]
			row[i] = cell.d
			if cell.fn == nil {
				continue
			}
			d, err := cell.fn(nil)
			if err != nil {
				return b.stopAt(b.n-1, err)
			}
			row[i] = d
		}
	}
	return nil
}

// filterOp drops rows in place.
type filterOp struct {
	run   *run
	input operator
	cond  expr.Pred
}

func (c *compiler) filter(n *plan.Filter) (operator, error) {
	input, err := c.node(n.Input)
	if err != nil {
		return nil, err
	}
	cols := n.Input.Props().Cols
	once, rest := oneTime(n.Cond, cols)
	if rest != nil {
		cond, err := c.Pred(rest, expr.ScopeOf(cols))
		if err != nil {
			return nil, err
		}
		input = &filterOp{run: c.run, input: input, cond: cond}
	}
	return c.gated(input, once, nil)
}

func (f *filterOp) open() error { return f.input.open() }
func (f *filterOp) close()      { f.input.close() }

func (f *filterOp) next(b *Batch) error {
	for {
		if err := f.input.next(b); err != nil || b.n == 0 {
			return err
		}
		if err := b.keep(0, f.cond); err != nil {
			return b.stopAt(b.n, err)
		}
		if b.n > 0 {
			return nil
		}
		if b.err != nil {
			return b.err
		}
		if err := f.run.Canceled(); err != nil {
			return err
		}
	}
}

// projectOp computes expressions.
type projectOp struct {
	src   *source
	exprs []expr.Func
	// slots, if set, says that all expressions are columns of the input.
	slots []int
}

func (c *compiler) project(n *plan.Project) (operator, error) {
	src, s, err := c.input(n.Input)
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

func (p *projectOp) open() error { return p.src.start() }
func (p *projectOp) close()      { p.src.stop() }

func (p *projectOp) next(b *Batch) error {
	b.clear()
	ok, err := p.src.fetch(b.max)
	if !ok {
		return err
	}
	for i := 0; i < p.src.batch.n; i++ {
		in, out := p.src.batch.Row(i), b.add()
		if p.exprs == nil {
			copySlots(out, in, p.slots)
			continue
		}
		for j, f := range p.exprs {
			d, err := f(in)
			if err != nil {
				return b.stopAt(i, err)
			}
			out[j] = d
		}
	}
	return nil
}

// limitOp passes on some of its input's rows.
type limitOp struct {
	input         operator
	locks         bool // the input locks rows: it is opened, which checks that it may, even for none
	count, offset expr.Func
	skip, left    int64
	ties          *tieBreaker
}

func (c *compiler) limit(n *plan.Limit) (operator, error) {
	var input operator
	err := c.partly(func() (err error) {
		input, err = c.node(n.Input)
		return err
	})
	if err != nil {
		return nil, err
	}
	l := &limitOp{input: input, locks: locks(n.Input)}
	if l.count, err = c.Optional(n.Count, nil); err != nil {
		return nil, err
	}
	if l.offset, err = c.Optional(n.Offset, nil); err != nil {
		return nil, err
	}
	if n.WithTies {
		l.ties, err = c.tieBreaker(n)
	}
	return l, err
}

func (l *limitOp) open() error {
	var err error
	if l.skip, err = count(l.offset, 0); err != nil {
		return err
	}
	if l.skip < 0 {
		return pgerr.New(pgerr.InvalidRowCountInResultOffsetClause, "OFFSET must not be negative")
	}
	if l.left, err = count(l.count, math.MaxInt64); err != nil {
		return err
	}
	if l.left < 0 {
		return pgerr.New(pgerr.InvalidRowCountInLimitClause, "LIMIT must not be negative")
	}
	if l.ties != nil {
		l.ties.open()
	}
	if l.left == 0 && !l.locks {
		return nil
	}
	return l.input.open()
}

// locks reports whether a plan locks rows.
func locks(n plan.Node) (found bool) {
	plan.Walk(n, func(n plan.Node) bool {
		switch n := n.(type) {
		case *plan.Scan:
			found = found || n.Locking != nil
		case *plan.IndexJoin:
			found = found || n.Locking != nil
		case *plan.LockRows:
			found = true
		}
		return !found
	})
	return found
}

func (l *limitOp) close() {
	l.input.close()
	if l.ties != nil {
		l.ties.close()
	}
}

func (l *limitOp) next(b *Batch) error {
	want := b.max
	defer func() { b.max = want }()
	for l.left > 0 {
		b.max = int(min(int64(want), l.left))
		if l.skip > 0 {
			b.max = int(min(BatchRows, addSaturating(l.skip, int64(b.max))))
		}
		if err := l.input.next(b); err != nil || b.n == 0 {
			l.left = 0
			return err
		}
		if l.skip >= int64(b.n) {
			if l.skip -= int64(b.n); b.err != nil {
				return b.err
			}
			continue
		}
		if l.skip > 0 {
			b.shift(int(l.skip))
			l.skip = 0
		}
		err := l.cut(b)
		if l.left == 0 {
			b.err = nil // behind the rows that are wanted
		}
		return err
	}
	b.clear()
	return nil
}

// cut takes the rows that are left to return from b.
func (l *limitOp) cut(b *Batch) error {
	if l.ties != nil {
		return l.ties.cut(l, b)
	}
	if int64(b.n) > l.left {
		b.truncate(int(l.left))
	}
	l.left -= int64(b.n)
	return nil
}

func addSaturating(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// shift removes the first n rows.
func (b *Batch) shift(n int) {
	copy(b.data, b.data[n*b.width:b.n*b.width])
	b.n -= n
}

// tieBreaker implements FETCH FIRST ... WITH TIES.
type tieBreaker struct {
	order rowOrdering
	last  rowStore // one row: the last within the count
	run   *run
	width int
}

func (c *compiler) tieBreaker(n *plan.Limit) (*tieBreaker, error) {
	t := &tieBreaker{run: c.run, width: len(n.Input.Props().Cols)}
	var err error
	t.order, err = c.ordering(n.TiesKeys, n.Input.Props().Cols)
	return t, err
}

func (t *tieBreaker) open()  { t.last.open(t.run, t.width) }
func (t *tieBreaker) close() { t.last.close() }

// cut keeps rows up to the count and those that equal the last one. l.left stays
// at 1 while ties may follow.
func (t *tieBreaker) cut(l *limitOp, b *Batch) error {
	for i := 0; i < b.n; i++ {
		row := b.Row(i)
		if t.last.len() > 0 {
			if t.order.compare(t.last.rows[0], row) != 0 {
				l.left = 0
				b.truncate(i)
				return nil
			}
			continue
		}
		if l.left > 1 {
			l.left--
			continue
		}
		if _, err := t.last.add(row); err != nil {
			return err
		}
	}
	return nil
}

// copyRowsOp reads the rows that the client sends.
type copyRowsOp struct{ run *run }

func (c *compiler) copyRows(*plan.CopyRows) (operator, error) { return &copyRowsOp{run: c.run}, nil }

func (o *copyRowsOp) open() error {
	if o.run.env.Copy == nil {
		return pgerr.Assertion("no source of rows for COPY")
	}
	return nil
}

func (o *copyRowsOp) close() {}

// next reads one row: the source keeps no more than that.
func (o *copyRowsOp) next(b *Batch) error {
	b.clear()
	ok, err := o.run.env.Copy.NextRow(b.add())
	if !ok {
		b.drop()
	}
	return err
}
