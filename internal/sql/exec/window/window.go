package window

import (
	"slices"

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

	rows    rowcontainer.Store // the partition at hand
	ahead   rowcontainer.Store // first row of the next one
	results rowcontainer.Store // the functions' results, row by row
	peers   []int              // peers[i] is the first row equal to row i in the order
	groups  []int              // first rows of the peer groups
	pos     int
	atEnd   bool
	framed  bool // the frames' offsets are known
	rng     rangeEnds
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
	text         rowcontainer.Arena
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
	f := windowFunc{frame: n.Frame}
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
	w.results.Open(&w.run.State, len(w.funcs))
	w.pos, w.atEnd, w.framed = 0, false, false
	return w.src.Start()
}

func (w *windowOp) Close() {
	w.src.Stop()
	w.rows.Close()
	w.ahead.Close()
	w.results.Close()
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
		row := b.Add()
		copy(row, w.rows.Rows[w.pos])
		copy(row[w.width:], w.results.Rows[w.pos])
	}
	return nil
}

// fill reads one partition.
func (w *windowOp) fill() error {
	w.rows.Open(&w.run.State, w.width)
	if w.ahead.Len() > 0 {
		if _, err := w.rows.Add(w.ahead.Rows[0]); err != nil {
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
		if w.rows.Len() > 0 && w.partition.Compare(w.rows.Rows[0], row) != 0 {
			_, err := w.ahead.Add(row)
			return err
		}
		if _, err := w.rows.Add(row); err != nil {
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
	w.peers, w.groups = w.peers[:0], w.groups[:0]
	for i, row := range w.rows.Rows {
		if err := w.run.Tick(); err != nil {
			return err
		}
		if i == 0 || w.order.Compare(w.rows.Rows[i-1], row) != 0 {
			w.groups = append(w.groups, i)
		}
		w.peers = append(w.peers, w.groups[len(w.groups)-1])
	}
	w.results.Open(&w.run.State, len(w.funcs))
	if err := w.results.Acc.Grow(int64(n) * int64(len(w.funcs)) * rowcontainer.DatumSize); err != nil {
		return expr.MemoryError(err)
	}
	flat := make([]types.Datum, n*len(w.funcs))
	k := len(w.funcs)
	for j := range w.funcs {
		f := &w.funcs[j]
		err := f.compute(w, f, func(i int, d types.Datum) error {
			if err := w.run.Tick(); err != nil {
				return err
			}
			var err error
			flat[i*k+j], err = f.text.CopyDatum(d, &w.results.Acc)
			return expr.MemoryError(err)
		})
		if err != nil {
			return err
		}
	}
	for i := range n {
		w.results.Rows = append(w.results.Rows, flat[i*k:(i+1)*k:(i+1)*k])
	}
	return nil
}

// peerEnd returns the row after the last peer of row i.
func (w *windowOp) peerEnd(i int) int {
	g, _ := slices.BinarySearch(w.groups, w.peers[i]+1)
	return w.groupStart(g)
}

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

// group returns the number of row i's peer group.
func (w *windowOp) group(i int) int {
	g, _ := slices.BinarySearch(w.groups, w.peers[i])
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
	for i := range w.rows.Rows {
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
	for i := range w.rows.Rows {
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
		if err := f.agg.Add(w.run, &w.results.Acc, st, w.rows.Rows[lo]); err != nil {
			return err
		}
		if err := w.run.Tick(); err != nil {
			return err
		}
	}
	return nil
}
