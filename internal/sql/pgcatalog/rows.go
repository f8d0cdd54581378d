package pgcatalog

import (
	"time"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/types"
)

// writer makes the rows of one relation. A row starts as NULLs, gets its values
// by column name, and is done with.
type writer struct {
	t    *catalog.Table
	ords map[string]int
	row  types.Row
	// last is the column that was set last, -1 at the beginning of a row, and follow has
	// at last+1 the one that was set after it before: rows are mostly made alike.
	last   int
	follow []int
	need   []bool // nil: all columns
	// key is what rows must have in the columns of index, which are at keyOrds, to be
	// emitted; nil for all rows.
	index   *catalog.Index
	keyOrds []int
	key     types.Row
	within  *operator.ValueRange // which the column at keyOrds[0] has to lie in, nil for none
	tests   []operator.ColumnTest
	emit    func(types.Row) error
	err     error
}

func newWriter(req *operator.VirtualRequest, emit func(types.Row) error) *writer {
	t := req.Table
	w := &writer{t: t, ords: builtIns().ords[t.ID], row: make(types.Row, len(t.Columns)), last: -1, follow: make([]int, len(t.Columns)+1), need: req.Need, index: req.Index, tests: req.Tests, emit: emit}
	if req.Index != nil {
		for _, c := range req.Index.Columns {
			w.keyOrds = append(w.keyOrds, t.ColumnByID(c.Column))
		}
	}
	return w
}

// generator produces the rows of a relation: all of what the lists of the snapshot have.
type generator func(s *snapshot, w *writer) error

// wants reports whether rows whose column has the value v are needed.
func (w *writer) wants(column string, v uint32) bool {
	for i, d := range w.key {
		if w.t.Columns[w.keyOrds[i]].Name == column && !d.IsNull() && d.Int() != int64(v) {
			return false
		}
	}
	return true
}

// wantsText is wants of a column of texts that no index has: rows with the value v may be
// left out if the filter would drop them.
func (w *writer) wantsText(column, v string) bool {
	for _, t := range w.tests {
		if w.t.Columns[t.Ord].Name == column && !t.Passes(types.NewString(v)) {
			return false
		}
	}
	return true
}

// needs reports whether a column is needed: what it takes time to compute may be left out
// otherwise.
func (w *writer) needs(column string) bool {
	ord, ok := w.ords[column]
	return ok && (w.need == nil || w.need[ord])
}

// computes reports whether a column is needed in the row at hand, whose columns of the key
// have been set: what takes time is not computed for a row that done drops.
func (w *writer) computes(column string) bool { return w.needs(column) && w.matches() }

func (w *writer) set(column string, d types.Datum) {
	ord := w.follow[w.last+1]
	if w.t.Columns[ord].Name != column {
		var ok bool
		if ord, ok = w.ords[column]; !ok {
			return
		}
		w.follow[w.last+1] = ord
	}
	w.row[ord], w.last = d, ord
}

func (w *writer) str(column, v string)           { w.set(column, types.NewString(v)) }
func (w *writer) oid(column string, v uint32)    { w.set(column, types.NewInt(int64(v))) }
func (w *writer) num(column string, v int64)     { w.set(column, types.NewInt(v)) }
func (w *writer) float(column string, v float64) { w.set(column, types.NewFloat(v)) }
func (w *writer) flag(column string, v bool)     { w.set(column, types.NewBool(v)) }

// text sets a column to a text, NULL if it is empty.
func (w *writer) text(column, v string) {
	if v != "" {
		w.str(column, v)
	}
}

// microsTo2000 is when timestamps begin to count, in microseconds since 1970.
const microsTo2000 = 946684800_000_000

func (w *writer) time(column string, t time.Time) {
	if !t.IsZero() {
		w.set(column, types.NewTimestampTZ(t.UnixMicro()-microsTo2000))
	}
}

// done emits the row.
func (w *writer) done() {
	if w.err == nil && w.matches() {
		w.err = w.emit(w.row)
	}
	clear(w.row)
	w.last = -1
}

// ended reports whether no more rows are wanted: making them would be in vain.
func (w *writer) ended() bool { return w.err != nil }

// matches reports whether the row has the key.
func (w *writer) matches() bool {
	for i, d := range w.key {
		if x := w.row[w.keyOrds[i]]; x.IsNull() != d.IsNull() || !d.IsNull() && types.Compare(x, d) != 0 {
			return false
		}
	}
	if w.within == nil {
		return true
	}
	x := w.row[w.keyOrds[0]]
	return !x.IsNull() && w.within.Contains(x)
}

// oids and ints make array values.
func oids(v []uint32) types.Datum {
	elems := make([]types.Datum, len(v))
	for i, o := range v {
		elems[i] = types.NewInt(int64(o))
	}
	return types.NewArray(elems)
}

func ints(v []int64) types.Datum {
	elems := make([]types.Datum, len(v))
	for i, n := range v {
		elems[i] = types.NewInt(n)
	}
	return types.NewArray(elems)
}

// vector makes an int2vector or oidvector: an array that counts from 0.
func vector(v []int64) types.Datum {
	elems := make([]types.Datum, len(v))
	for i, n := range v {
		elems[i] = types.NewInt(n)
	}
	if len(elems) == 0 {
		return types.NewArray(nil)
	}
	return types.NewArrayDims([]types.ArrayDim{{Len: int32(len(elems)), Lower: 0}}, elems)
}

func yesNo(b bool) string {
	if b {
		return "YES"
	}
	return "NO"
}

func texts(v []string) types.Datum {
	elems := make([]types.Datum, len(v))
	for i, s := range v {
		elems[i] = types.NewString(s)
	}
	return types.NewArray(elems)
}
