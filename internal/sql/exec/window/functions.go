package window

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// windowCompute computes a window function for all rows of a partition.
type windowCompute = func(w *windowOp, f *windowFunc, out func(int, types.Datum) error) error

// windowFunctions are the functions that exist for windows only.
var windowFunctions = map[string]windowCompute{
	"row_number": perRow(func(w *windowOp, i int) types.Datum { return types.NewInt(int64(i + 1)) }),
	"rank":       perRow(func(w *windowOp, i int) types.Datum { return types.NewInt(int64(w.peer(i) + 1)) }),
	"dense_rank": perRow(func(w *windowOp, i int) types.Datum { return types.NewInt(int64(w.group(i) + 1)) }),
	"percent_rank": perRow(func(w *windowOp, i int) types.Datum {
		if w.rows.Len() <= 1 {
			return types.NewFloat(0)
		}
		return types.NewFloat(float64(w.peer(i)) / float64(w.rows.Len()-1))
	}),
	"cume_dist": perRow(func(w *windowOp, i int) types.Datum {
		return types.NewFloat(float64(w.peerEnd(i)) / float64(w.rows.Len()))
	}),
	"ntile": ntile,
	"lag": func(w *windowOp, f *windowFunc, out func(int, types.Datum) error) error {
		return shifted(w, f, -1, out)
	},
	"lead":        func(w *windowOp, f *windowFunc, out func(int, types.Datum) error) error { return shifted(w, f, 1, out) },
	"first_value": firstValue,
	"last_value":  lastValue,
	"nth_value":   nthValue,
}

func perRow(fn func(w *windowOp, i int) types.Datum) windowCompute {
	return func(w *windowOp, _ *windowFunc, out func(int, types.Datum) error) error {
		for i := range w.rows.Len() {
			if err := out(i, fn(w, i)); err != nil {
				return err
			}
		}
		return nil
	}
}

// ntile cuts the partition into buckets of nearly equal size, the larger first. How many is what
// the first row says for which that is not NULL; the rows before it have no bucket, and the
// buckets begin at that row.
func ntile(w *windowOp, f *windowFunc, out func(int, types.Datum) error) error {
	n, first := int64(w.rows.Len()), 0
	buckets := types.Null
	for i := range w.rows.Len() {
		if buckets.IsNull() {
			row, err := w.rows.At(i)
			if err != nil {
				return err
			}
			if buckets, err = f.args[0](row); err != nil {
				return err
			}
			if !buckets.IsNull() && buckets.Int() <= 0 {
				return pgerr.New("22014", "argument of ntile must be greater than zero")
			}
			first = i
		}
		v := types.Null
		if !buckets.IsNull() {
			v = types.NewInt(bucketOf(int64(i-first), n, buckets.Int()))
		}
		if err := out(i, v); err != nil {
			return err
		}
	}
	return nil
}

// bucketOf is the bucket, counted from 1, of the i-th of n rows.
func bucketOf(i, n, buckets int64) int64 {
	size, larger := n/buckets, n%buckets
	if i < larger*(size+1) {
		return i/(size+1) + 1
	}
	return (i-larger)/size + 1
}

// shifted is lag and lead: the value of another row of the partition.
func shifted(w *windowOp, f *windowFunc, sign int64, out func(int, types.Datum) error) error {
	n := int64(w.rows.Len())
	for i := range w.rows.Len() {
		row, err := w.rows.At(i)
		if err != nil {
			return err
		}
		off := types.NewInt(1)
		if len(f.args) > 1 {
			if off, err = f.args[1](row); err != nil {
				return err
			}
		}
		v := types.Null
		if !off.IsNull() {
			at := int64(i) + sign*max(-n, min(n, off.Int()))
			switch {
			case at >= 0 && at < n:
				v, err = w.argAt(f, int(at))
			case len(f.args) > 2:
				v, err = f.args[2](row)
			}
		}
		if err == nil {
			err = out(i, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ofFrame yields the first argument at a row of the frame: the one that pick
// returns for the number of rows in it, counted from 0; NULL if there is no such
// row.
func ofFrame(w *windowOp, f *windowFunc, out func(int, types.Datum) error, pick func(i, n int) (int, error)) error {
	for i := range w.rows.Len() {
		parts, err := w.segments(f, i)
		if err != nil {
			return err
		}
		n := 0
		for _, p := range parts {
			n += max(p.hi-p.lo, 0)
		}
		k, err := pick(i, n)
		if err != nil {
			return err
		}
		v := types.Null
		if k >= 0 && k < n {
			if v, err = w.argAt(f, rowAt(parts, k)); err != nil {
				return err
			}
		}
		if err := out(i, v); err != nil {
			return err
		}
	}
	return nil
}

// argAt computes a function's first argument of row i.
func (w *windowOp) argAt(f *windowFunc, i int) (types.Datum, error) {
	row, err := w.rows.At(i)
	if err != nil {
		return types.Null, err
	}
	return f.args[0](row)
}

// rowAt returns the k-th row of segments.
func rowAt(parts [3]segment, k int) int {
	for _, p := range parts {
		n := max(p.hi-p.lo, 0)
		if k < n {
			return p.lo + k
		}
		k -= n
	}
	return -1
}

func firstValue(w *windowOp, f *windowFunc, out func(int, types.Datum) error) error {
	return ofFrame(w, f, out, func(_, _ int) (int, error) { return 0, nil })
}

func lastValue(w *windowOp, f *windowFunc, out func(int, types.Datum) error) error {
	return ofFrame(w, f, out, func(_, n int) (int, error) { return n - 1, nil })
}

func nthValue(w *windowOp, f *windowFunc, out func(int, types.Datum) error) error {
	return ofFrame(w, f, out, func(i, n int) (int, error) {
		row, err := w.rows.At(i)
		if err != nil {
			return -1, err
		}
		d, err := f.args[1](row)
		if err != nil || d.IsNull() {
			return -1, err
		}
		if d.Int() <= 0 {
			return 0, pgerr.New("22016", "argument of nth_value must be greater than zero")
		}
		return int(min(d.Int()-1, int64(n))), nil
	})
}
