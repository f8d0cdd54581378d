package vecexpr

import (
	"math"
	"slices"

	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// Frame is what an expression is computed for: rows of a batch.
type Frame struct {
	N    int
	Cols []*vector.Vector
	Sel  vector.Selection // ascending; cut before the first row that fails
	Err  error            // of the row at
	at   uint16
}

// FrameOf returns the frame of all rows of b.
func FrameOf(b *vector.Batch) Frame {
	return Frame{N: b.N, Cols: b.Cols, Sel: b.Sel, Err: b.Err, at: math.MaxUint16}
}

// Fail notes that row i fails. The rows before it are left.
func (f *Frame) Fail(i uint16, err error) {
	k, _ := slices.BinarySearch(f.Sel, i)
	if plant.On(plant.LaterRowFails) {
		k = len(f.Sel)
	}
	f.Sel, f.Err, f.at = f.Sel[:k], err, i
}

// goesOn counts a condition that is about to be computed for the rows of sel, of which there may be
// many thousands in one expression. Once the statement is cancelled, the first of the rows fails.
func (f *Frame) goesOn(st *expr.State, sel vector.Selection) bool {
	if sel = f.Trim(sel); len(sel) == 0 {
		return true
	}
	err := st.Ticks(len(sel))
	if err != nil {
		f.Fail(sel[0], err)
	}
	return err == nil
}

// At returns the position of the row that failed.
func (f *Frame) At() uint16 { return f.at }

// Only returns the frame of some of the rows of f.
func (f *Frame) Only(sel vector.Selection) Frame {
	return Frame{N: f.N, Cols: f.Cols, Sel: sel}
}

// Join takes over what failed in a frame of some of the rows of f.
func (f *Frame) Join(part *Frame) {
	if part.Err != nil {
		f.Fail(part.at, part.Err)
	}
}

// Trim returns the part of sel that is before the row that failed in f.
func (f *Frame) Trim(sel vector.Selection) vector.Selection {
	if f.Err == nil || len(sel) == 0 || sel[len(sel)-1] < f.at || plant.On(plant.LaterRowFails) {
		return sel
	}
	k, _ := slices.BinarySearch(sel, f.at)
	return sel[:k]
}

// Select drops the rows of b for which a condition is not true; nil is true. out has room for
// the rows that stay. The rows behind one for which the condition fails are dropped too.
func Select(b *vector.Batch, p Pred, out vector.Selection) {
	if p == nil || len(b.Sel) == 0 { // at the end there are no columns either
		return
	}
	f := FrameOf(b)
	sel := f.Trim(p.Select(&f, f.Sel, out))
	b.Sel = sel
	if f.Err != nil {
		b.Err = f.Err
	}
}
