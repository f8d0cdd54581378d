package window

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/exec/aggregate"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// movingFrame aggregates over frames whose ends only move forward, with a constant number
// of steps per row: the two-stacks algorithm for sliding windows. It divides the frame at the row
// mid. front holds, for each row before mid, the aggregate from that row up to mid; back is
// the aggregate of all rows behind mid. The frame's aggregate is one of the front merged with back.
// Once the frame's start passes mid, the front is used up, and the rows of the frame become it.
//
// The aggregate must not depend on how its rows are grouped: sums of floats do.
type movingFrame struct {
	w     *windowOp
	f     *windowFunc
	front []aggregate.State // of the rows [base, mid)
	base  int
	mid   int
	back  aggregate.State // the rows [mid, end)
	end   int
	whole call.Accumulator // scratch
}

// moving reports whether a function's frames can be aggregated by movingFrame.
func (f *windowFunc) moving() bool {
	return f.agg.Fn.Associative && f.frame.Exclusion == plan.ExcludeNothing && f.frame.Start.Kind != plan.UnboundedPreceding
}

func (w *windowOp) newMovingFrame(f *windowFunc) (*movingFrame, error) {
	m := &movingFrame{w: w, f: f, whole: f.agg.Fn.New(f.agg.Types)}
	var err error
	m.back, err = f.agg.NewState(w.run)
	return m, err
}

// result returns the aggregate of the rows [lo, hi). An end that lies before where it was,
// as with infinite offsets, costs adding up the frame anew.
func (m *movingFrame) result(lo, hi int) (types.Datum, error) {
	mid := max(lo, m.end)
	if hi < m.end || lo < m.base {
		mid = lo
	}
	if mid == lo || lo >= m.mid {
		if err := m.flip(lo, mid); err != nil {
			return types.Null, err
		}
	}
	if hi > m.end {
		if err := m.w.accumulate(m.f, &m.back, m.end, hi); err != nil {
			return types.Null, err
		}
		m.end = hi
	}
	m.whole.Reset()
	if lo < m.mid {
		if err := m.whole.Merge(m.front[lo-m.base].Acc); err != nil {
			return types.Null, err
		}
	}
	if err := m.whole.Merge(m.back.Acc); err != nil {
		return types.Null, err
	}
	return aggregate.Result(m.w.run, m.whole)
}

// flip makes the rows [lo, mid) the front.
func (m *movingFrame) flip(lo, mid int) error {
	m.base, m.mid, m.end = lo, mid, mid
	m.back.Acc.Reset()
	if err := m.room(mid - lo); err != nil {
		return err
	}
	for i := mid - 1; i >= lo; i-- {
		st := &m.front[i-lo]
		st.Acc.Reset()
		if err := m.w.accumulate(m.f, st, i, i+1); err != nil {
			return err
		}
		if i+1 < mid {
			if err := st.Acc.Merge(m.front[i+1-lo].Acc); err != nil {
				return err
			}
		}
	}
	return nil
}

// room makes sure that there are states for n rows of the front.
func (m *movingFrame) room(n int) error {
	more := n - len(m.front)
	if more <= 0 {
		return nil
	}
	if err := m.w.acc.Grow(int64(more) * accumulatorSize); err != nil {
		return expr.MemoryError(err)
	}
	for range more {
		st, err := m.f.agg.NewState(m.w.run)
		if err != nil {
			return err
		}
		m.front = append(m.front, st)
	}
	return nil
}

// accumulatorSize is what the state of an aggregate is counted as.
const accumulatorSize = 128

// windowAggregateMoving computes an aggregate over frames that move.
func windowAggregateMoving(w *windowOp, f *windowFunc, out func(int, types.Datum) error) error {
	m, err := w.newMovingFrame(f)
	if err != nil {
		return err
	}
	defer m.back.Close()
	for i := range w.rows.Len() {
		lo, hi, err := w.frameOf(f, i)
		if err != nil {
			return err
		}
		d, err := m.result(lo, hi)
		if err != nil {
			return err
		}
		if err := out(i, d); err != nil {
			return err
		}
	}
	return nil
}
