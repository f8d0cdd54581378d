package window

import (
	"math"
	"sort"

	"github.com/cockroachdb/apd/v3"

	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// openFrame evaluates the offsets of the frame.
func (f *windowFunc) openFrame() error {
	if err := f.openOffset(f.start, "starting", &f.from, &f.fromBy); err != nil {
		return err
	}
	return f.openOffset(f.end, "ending", &f.to, &f.toBy)
}

func (f *windowFunc) openOffset(fn expr.Func, what string, rows *int64, by *types.Datum) error {
	if fn == nil {
		return nil
	}
	d, err := fn(nil)
	if err != nil {
		return err
	}
	if d.IsNull() {
		return pgerr.New(pgerr.NullValueNotAllowed, "frame %s offset must not be null", what)
	}
	if f.frame.Mode == plan.FrameRange {
		if *by = d; negativeOffset(d) {
			return pgerr.New("22013", "invalid preceding or following size in window function")
		}
		return nil
	}
	if *rows = d.Int(); *rows < 0 {
		return pgerr.New("22013", "frame %s offset must not be negative", what)
	}
	return nil
}

// negativeOffset reports whether an offset of RANGE is negative or no number.
func negativeOffset(d types.Datum) bool {
	switch d.Family() {
	case types.IntFamily:
		return d.Int() < 0
	case types.FloatFamily:
		return d.Float() < 0 || math.IsNaN(d.Float())
	case types.IntervalFamily:
		return types.CompareIntervals(d.Interval(), types.IntervalValue{}) < 0
	}
	var x apd.Decimal
	v := d.Decimal(&x)
	return v.Form == apd.NaN || v.Negative && !v.IsZero()
}

// rangeEnds finds the ends of frames of RANGE with offsets.
type rangeEnds struct {
	pos      int // the column that is compared
	family   types.Family
	cmp      expr.CompareFunc
	add, sub expr.BinaryFunc
}

func compileRangeEnds(c *operator.Compiler, n *plan.Window, w *windowOp, cols []plan.Column) error {
	if n.RangeKey == 0 {
		return nil
	}
	pos := plan.FindCol(cols, n.RangeKey)
	if pos < 0 {
		return expr.ErrNoColumn(n.RangeKey)
	}
	t := cols[pos].Type
	w.rng = rangeEnds{pos: pos, family: t.Family, cmp: c.CompareOf(t)}
	if n.RangeAdd == nil {
		return nil
	}
	var err error
	if w.rng.add, err = c.Binary(n.RangeAdd, t, n.RangeAdd.Args[1]); err != nil {
		return err
	}
	w.rng.sub, err = c.Binary(n.RangeSub, t, n.RangeSub.Args[1])
	return err
}

// rangeEnd is where a frame of RANGE ends: at a value, or beyond all values.
type rangeEnd struct {
	at  types.Datum
	inf int  // -1, 1: below or above everything
	all bool // infinity less infinity: every number is inside
}

// end returns base with offset added or, with sub, subtracted.
func (r *rangeEnds) end(base, offset types.Datum, sub bool) (rangeEnd, error) {
	sign := int64(1)
	if sub {
		sign = -1
	}
	switch r.family {
	case types.IntFamily:
		x, y := base.Int(), sign*offset.Int()
		v := x + y
		if (v > x) != (y > 0) && y != 0 {
			return rangeEnd{inf: int(sign)}, nil
		}
		return rangeEnd{at: types.NewInt(v)}, nil
	case types.FloatFamily:
		v := base.Float() + float64(sign)*offset.Float()
		return rangeEnd{at: types.NewFloat(v), all: math.IsNaN(v) && !isNaN(base)}, nil
	case types.TimeFamily: // does not wrap around; months and days do not count
		x, y := base.Int(), sign*offset.Interval().Micros
		v := x + y
		if (v > x) != (y > 0) && y != 0 {
			return rangeEnd{inf: int(sign)}, nil
		}
		return rangeEnd{at: types.NewTime(v)}, nil
	}
	op := r.add
	if sub {
		op = r.sub
	}
	v, err := op(base, offset)
	if err != nil || r.family != types.DecimalFamily {
		return rangeEnd{at: v}, err
	}
	return rangeEnd{at: v, all: isNaN(v) && !isNaN(base)}, nil
}

// inside reports whether v is not beyond an end: not above it or, without
// less, not below.
func (r *rangeEnds) inside(v types.Datum, e rangeEnd, less bool) bool {
	switch {
	case e.all:
		return !less || !isNaN(v)
	case e.inf != 0:
		return (e.inf > 0) == less
	case less:
		return r.cmp(v, e.at) <= 0
	}
	return r.cmp(v, e.at) >= 0
}

func isNaN(d types.Datum) bool {
	if d.Family() == types.FloatFamily {
		return math.IsNaN(d.Float())
	}
	var x apd.Decimal
	return d.Decimal(&x).Form == apd.NaN
}

// segment is the rows [lo, hi) of a partition.
type segment struct{ lo, hi int }

// segments returns the rows of row i's frame that are not excluded.
func (w *windowOp) segments(f *windowFunc, i int) ([3]segment, error) {
	lo, hi, err := w.frameOf(f, i)
	if err != nil {
		return [3]segment{}, err
	}
	out, outEnd, here := i, i+1, segment{}
	switch f.frame.Exclusion {
	case plan.ExcludeNothing:
		return [3]segment{{lo, hi}}, nil
	case plan.ExcludeGroup, plan.ExcludeTies:
		out, outEnd = w.peer(i), w.peerEnd(i)
		if f.frame.Exclusion == plan.ExcludeTies && lo <= i && i < hi {
			here = segment{i, i + 1}
		}
	}
	return [3]segment{{lo, min(hi, out)}, here, {max(lo, outEnd), hi}}, nil
}

// frameOf returns the rows [lo, hi) of row i's frame, whatever it excludes.
func (w *windowOp) frameOf(f *windowFunc, i int) (lo, hi int, err error) {
	if f.frame.Mode == plan.FrameRange && f.start != nil {
		lo, err = w.rangeEdge(f, i, f.fromBy, f.frame.Start.Kind == plan.OffsetPreceding, false)
	} else {
		lo = w.edge(f, i, f.frame.Start.Kind, f.from, false)
	}
	if err != nil {
		return 0, 0, err
	}
	if f.frame.Mode == plan.FrameRange && f.end != nil {
		hi, err = w.rangeEdge(f, i, f.toBy, f.frame.End.Kind == plan.OffsetPreceding, true)
	} else {
		hi = w.edge(f, i, f.frame.End.Kind, f.to, true)
	}
	return lo, max(lo, hi), err
}

// rangeEdge returns an end of a frame of RANGE with an offset. NULLs are a group
// of their own, at the partition's begin or end.
func (w *windowOp) rangeEdge(f *windowFunc, i int, offset types.Datum, preceding, end bool) (int, error) {
	key := &w.order[0]
	row, err := w.rows.At(i)
	if err != nil {
		return 0, err
	}
	cur := row[w.rng.pos]
	if cur.IsNull() {
		if end {
			return w.peerEnd(i), nil
		}
		return w.peer(i), nil
	}
	sub, less := preceding != key.Desc, end != key.Desc
	e, err := w.rng.end(cur, offset, sub)
	if err != nil {
		return 0, err
	}
	edge := sort.Search(w.rows.Len(), func(k int) bool {
		row, failed := w.rows.At(k)
		if failed != nil {
			err = failed
			return true
		}
		v := row[w.rng.pos]
		if v.IsNull() {
			return !key.NullsFirst // those in front come before the frame
		}
		return w.rng.inside(v, e, less) != end
	})
	return edge, err
}

// edge returns one end of a frame: its first row, or with end the row after its
// last.
func (w *windowOp) edge(f *windowFunc, i int, kind plan.FrameBoundKind, offset int64, end bool) int {
	n := w.rows.Len()
	off := int(min(offset, int64(n)+1))
	switch kind {
	case plan.UnboundedPreceding:
		return 0
	case plan.UnboundedFollowing:
		return n
	case plan.OffsetPreceding:
		off = -off
	case plan.CurrentRow:
		off = 0
	}
	if f.frame.Mode == plan.FrameRows {
		if end {
			off++
		}
		return min(n, max(0, i+off))
	}
	if f.frame.Mode == plan.FrameRange {
		if end {
			return w.peerEnd(i)
		}
		return w.peer(i)
	}
	if end {
		off++
	}
	return w.groupStart(w.group(i) + off)
}
