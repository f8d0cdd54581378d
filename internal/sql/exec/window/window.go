package window

import (
	"slices"
	"unsafe"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/exec/aggregate"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// windowOp computes window functions, one partition after the other. The input
// is sorted by partition, then by the window's order.
type windowOp struct {
	run       *operator.Run
	src       *operator.Source
	partition rowcontainer.Ordering
	order     rowcontainer.Ordering
	funcs     []windowFunc
	width     int // of the input

	rows   rowcontainer.List  // the partition at hand
	ahead  rowcontainer.Store // first row of the next one
	groups []int              // first rows of the peer groups
	near   int                // the peer group that was asked for last
	acc    quota.Account      // of groups, and of what aggregates keep
	pos    int
	atEnd  bool
	framed bool // the frames' offsets are known
	rng    rangeEnds
}

// windowFunc is a compiled window function.
type windowFunc struct {
	compute    func(w *windowOp, f *windowFunc, out func(i int, d types.Datum) error) error
	args       []expr.Func
	agg        *aggregate.Call
	frame      plan.Frame
	start, end expr.Func // offsets
	from, to   int64     // their values
	// fromBy and toBy are the values of RANGE's.
	fromBy, toBy types.Datum
	results      rowcontainer.List // row by row, in one column
	result       types.Row
}

// Compile compiles the window functions over one window.
func Compile(c *operator.Compiler, n *plan.Window) (operator.Operator, error) {
	src, s, err := c.Input(n.Input)
	if err != nil {
		return nil, err
	}
	cols := n.Input.Props().Cols
	w := &windowOp{run: c.Run, src: src, width: len(cols)}
	pos, err := s.Positions(n.PartitionBy)
	if err != nil {
		return nil, err
	}
	w.partition = rowcontainer.Ascending(&c.Run.State, pos, rowcontainer.ColTypes(cols, pos))
	if w.order, err = rowcontainer.NewOrdering(&c.Run.State, n.OrderBy, cols); err != nil {
		return nil, err
	}
	if err := compileRangeEnds(c, n, w, cols); err != nil {
		return nil, err
	}
	for i := range n.Funcs {
		f, err := newWindowFunc(c, &n.Funcs[i], s, cols)
		if err != nil {
			return nil, err
		}
		w.funcs = append(w.funcs, f)
	}
	return w, nil
}

func newWindowFunc(c *operator.Compiler, n *plan.WindowCall, s expr.Scope, cols []plan.Column) (windowFunc, error) {
	f := windowFunc{frame: n.Frame, result: make(types.Row, 1)}
	var err error
	if f.start, err = c.Optional(n.Frame.Start.Offset, nil); err != nil {
		return f, err
	}
	if f.end, err = c.Optional(n.Frame.End.Offset, nil); err != nil {
		return f, err
	}
	if n.Agg != nil {
		a, err := aggregate.NewCall(c, &plan.Agg{Fn: n.Agg, Args: n.Args, Filter: n.Filter}, s, cols)
		f.agg, f.compute = &a, windowAggregate
		return f, err
	}
	var ok bool
	if f.compute, ok = windowFunctions[n.Name]; !ok {
		return f, pgerr.Unsupported("window function %s is not supported", n.Name)
	}
	f.args, err = c.Exprs(n.Args, s)
	return f, err
}

func (w *windowOp) Open() error {
	w.rows.Open(&w.run.State, w.width)
	w.ahead.Open(&w.run.State, w.width)
	w.acc.Close()
	w.acc.Init(w.run.Mem)
	w.pos, w.atEnd, w.framed = 0, false, false
	return w.src.Start()
}

func (w *windowOp) Close() {
	w.src.Stop()
	w.rows.Close()
	w.ahead.Close()
	for i := range w.funcs {
		w.funcs[i].results.Close()
	}
	w.acc.Close()
	w.groups = w.groups[:0]
}

func (w *windowOp) Next(b *rowcontainer.Batch) error {
	b.Clear()
	for w.pos == w.rows.Len() {
		if w.atEnd {
			return nil
		}
		if err := w.fill(); err != nil {
			return err
		}
		if err := w.compute(); err != nil {
			return err
		}
		w.pos = 0
	}
	for ; w.pos < w.rows.Len() && !b.Full(); w.pos++ {
		if err := w.hand(b.Add()); err != nil {
			return err
		}
	}
	return nil
}

// hand makes out the row at pos with the functions' results behind it.
func (w *windowOp) hand(out types.Row) error {
	row, err := w.rows.At(w.pos)
	if err != nil {
		return err
	}
	copy(out, row)
	for i := range w.funcs {
		d, err := w.funcs[i].results.At(w.pos)
		if err != nil {
			return err
		}
		out[w.width+i] = d[0]
	}
	return nil
}

// fill reads one partition.
func (w *windowOp) fill() error {
	w.rows.Open(&w.run.State, w.width)
	if w.ahead.Len() > 0 {
		if err := w.rows.Add(w.ahead.Rows[0]); err != nil {
			return err
		}
		w.ahead.Open(&w.run.State, w.width)
	}
	for {
		row, err := w.src.Row(rowcontainer.BatchRows)
		if err != nil {
			return err
		}
		if row == nil {
			w.atEnd = true
			return nil
		}
		if w.rows.Len() > 0 {
			first, err := w.rows.At(0)
			if err != nil {
				return err
			}
			if w.partition.Compare(first, row) != 0 {
				_, err := w.ahead.Add(row)
				return err
			}
		}
		if err := w.rows.Add(row); err != nil {
			return err
		}
	}
}

// compute runs all functions over the partition.
func (w *windowOp) compute() error {
	n := w.rows.Len()
	if n > 0 && !w.framed {
		for i := range w.funcs {
			if err := w.funcs[i].openFrame(); err != nil {
				return err
			}
		}
		w.framed = true
	}
	if err := w.findGroups(); err != nil {
		return err
	}
	for j := range w.funcs {
		f := &w.funcs[j]
		f.results.Open(&w.run.State, 1)
		err := f.compute(w, f, func(_ int, d types.Datum) error {
			f.result[0] = d
			if err := w.run.Tick(); err != nil {
				return err
			}
			return f.results.Add(f.result)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// findGroups finds the peer groups of the partition.
func (w *windowOp) findGroups() error {
	w.acc.Shrink(w.acc.Used())
	w.groups, w.near = w.groups[:0], 0
	var last types.Row
	for i := range w.rows.Len() {
		if err := w.run.Tick(); err != nil {
			return err
		}
		row, err := w.rows.At(i)
		if err != nil {
			return err
		}
		if i == 0 || w.order.Compare(last, row) != 0 {
			if err := w.acc.Grow(int64(unsafe.Sizeof(i))); err != nil {
				return expr.MemoryError(err)
			}
			w.groups = append(w.groups, i)
		}
		last = row
	}
	return nil
}

// peer returns the first peer of row i.
func (w *windowOp) peer(i int) int { return w.groups[w.group(i)] }

// peerEnd returns the row after the last peer of row i.
func (w *windowOp) peerEnd(i int) int { return w.groupStart(w.group(i) + 1) }

// groupStart returns the first row of peer group g, the number of rows beyond
// the last.
func (w *windowOp) groupStart(g int) int {
	if g < 0 {
		return 0
	}
	if g >= len(w.groups) {
		return w.rows.Len()
	}
	return w.groups[g]
}

// group returns the number of row i's peer group: it mostly is that of the row before, or the next one.
func (w *windowOp) group(i int) int {
	for g := w.near; g < min(w.near+2, len(w.groups)); g++ {
		if w.groups[g] <= i && i < w.groupStart(g+1) {
			w.near = g
			return g
		}
	}
	g, found := slices.BinarySearch(w.groups, i)
	if !found {
		g--
	}
	w.near = g
	return g
}

// windowAggregate computes an aggregate over each row's frame. While frames keep
// their start and only grow, rows are added to one accumulator.
func windowAggregate(w *windowOp, f *windowFunc, out func(int, types.Datum) error) error {
	if f.moving() {
		return windowAggregateMoving(w, f, out)
	}
	st, err := f.agg.NewState(w.run)
	if err != nil {
		return err
	}
	defer st.Close()
	if f.frame.Exclusion != plan.ExcludeNothing {
		return windowAggregateExcluding(w, f, &st, out)
	}
	from, to := 0, 0 // what st holds
	for i := range w.rows.Len() {
		lo, hi, err := w.frameOf(f, i)
		if err != nil {
			return err
		}
		if lo != from || hi < to {
			st.Acc.Reset()
			from, to = lo, lo
		}
		if err := w.accumulate(f, &st, to, hi); err != nil {
			return err
		}
		to = max(to, hi)
		d, err := aggregate.Result(w.run, st.Acc)
		if err != nil {
			return err
		}
		if err := out(i, d); err != nil {
			return err
		}
	}
	return nil
}

// windowAggregateExcluding computes every row's aggregate anew, as the frames
// leave out rows.
func windowAggregateExcluding(w *windowOp, f *windowFunc, st *aggregate.State, out func(int, types.Datum) error) error {
	for i := range w.rows.Len() {
		parts, err := w.segments(f, i)
		if err != nil {
			return err
		}
		st.Acc.Reset()
		for _, p := range parts {
			if err := w.accumulate(f, st, p.lo, p.hi); err != nil {
				return err
			}
		}
		d, err := aggregate.Result(w.run, st.Acc)
		if err != nil {
			return err
		}
		if err := out(i, d); err != nil {
			return err
		}
	}
	return nil
}

// accumulate adds the rows [lo, hi) to an aggregate.
func (w *windowOp) accumulate(f *windowFunc, st *aggregate.State, lo, hi int) error {
	for ; lo < hi; lo++ {
		if err := w.run.Tick(); err != nil {
			return err
		}
		row, err := w.rows.At(lo)
		if err != nil {
			return err
		}
		if err := f.agg.Add(w.run, &w.acc, st, row); err != nil {
			return err
		}
	}
	return nil
}
