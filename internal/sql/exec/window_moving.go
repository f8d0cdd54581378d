package exec

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// movingFrame aggregates over frames whose ends only move forward, with a constant number
// of steps per row. It divides a frame at a row: for each row before that it has the
// aggregate of the rows from there to the division, for all rows behind it one aggregate.
// Where the frame's start passes the division, what is in the frame then becomes the front.
// Frames are put together from parts, for which the aggregate must not depend on how its
// rows are grouped: sums of floats do.
type movingFrame struct {
	w     *windowOp
	f     *windowFunc
	front []aggState // of the rows [base, mid)
	base  int
	mid   int
	back  aggState // the rows [mid, end)
	end   int
	whole call.Accumulator // scratch
}

// moving reports whether a function's frames can be aggregated by movingFrame.
func (f *windowFunc) moving() bool {
	return f.agg.fn.OrderIndependent && f.frame.Exclusion == plan.ExcludeNothing && f.frame.Start.Kind != plan.UnboundedPreceding
}

func (w *windowOp) newMovingFrame(f *windowFunc) (*movingFrame, error) {
	m := &movingFrame{w: w, f: f, whole: f.agg.fn.New(f.agg.types)}
	var err error
	m.back, err = f.agg.newState(w.run)
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
		if err := m.turn(lo, mid); err != nil {
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
		if err := m.whole.Merge(m.front[lo-m.base].acc); err != nil {
			return types.Null, err
		}
	}
	if err := m.whole.Merge(m.back.acc); err != nil {
		return types.Null, err
	}
	return m.w.run.aggregate(m.whole)
}

// turn makes the rows [lo, mid) the front.
func (m *movingFrame) turn(lo, mid int) error {
	m.base, m.mid, m.end = lo, mid, mid
	m.back.acc.Reset()
	if err := m.room(mid - lo); err != nil {
		return err
	}
	for i := mid - 1; i >= lo; i-- {
		st := &m.front[i-lo]
		st.acc.Reset()
		if err := m.w.accumulate(m.f, st, i, i+1); err != nil {
			return err
		}
		if i+1 < mid {
			if err := st.acc.Merge(m.front[i+1-lo].acc); err != nil {
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
	if err := m.w.results.acc.Grow(int64(more) * accumulatorSize); err != nil {
		return expr.MemoryError(err)
	}
	for range more {
		st, err := m.f.agg.newState(m.w.run)
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
	defer m.back.close()
	for i := range w.rows.rows {
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
