package pgcatalog

import (
	"time"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// writer makes the rows of one relation. A row starts as NULLs, gets its values
// by column name, and is done with.
type writer struct {
	t    *catalog.Table
	ords map[string]int
	row  exec.Row
	eq   []exec.VirtualConstraint
	emit func(exec.Row) error
	err  error
}

// generator produces the rows of a relation.
type generator func(s *snapshot, w *writer) error

// wants reports whether rows whose column has the value v are needed.
func (w *writer) wants(column string, v uint32) bool {
	ord, ok := w.ords[column]
	if !ok {
		return true
	}
	for i := range w.eq {
		if e := &w.eq[i]; e.Ord == ord && !e.Value.IsNull() && e.Value.Family() == types.IntFamily && uint32(e.Value.Int()) != v {
			return false
		}
	}
	return true
}

func (w *writer) set(column string, d types.Datum) {
	if ord, ok := w.ords[column]; ok {
		w.row[ord] = d
	}
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

func (w *writer) time(column string, t time.Time) {
	if !t.IsZero() {
		w.set(column, types.NewTimestampTZ(t.UnixMicro()-946684800_000_000))
	}
}

// done emits the row.
func (w *writer) done() {
	if w.err == nil {
		w.err = w.emit(w.row)
	}
	clear(w.row)
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
