package rowcontainer

import (
	"errors"
	"sync"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Limits of batches.
const (
	// BatchRows is the most rows one batch holds.
	BatchRows = 1024
	// keepDatums is the capacity beyond which a batch gives its memory back when
	// its program closes.
	keepDatums = 1024
)

// Batch is what operators hand upwards: up to BatchRows rows in one flat slice.
// Rows, and the memory their strings refer to, stay intact until the operator
// that filled the batch is asked for more.
type Batch struct {
	width int
	n     int
	Max   int // the most rows the consumer wants; operators may return fewer
	data  []types.Datum
	// err is what the operator met behind the rows: the consumer gets it in place of
	// the rows after them, if it asks for these.
	Err error
}

// Len returns the number of rows.
func (b *Batch) Len() int { return b.n }

// Row returns row i.
func (b *Batch) Row(i int) types.Row {
	return b.data[i*b.width : (i+1)*b.width : (i+1)*b.width]
}

// Want empties b and says how many rows of which width are wanted.
func (b *Batch) Want(width, max int) { b.width, b.n, b.Max, b.Err = width, 0, max, nil }

// Clear empties b and leaves what is wanted.
func (b *Batch) Clear() { b.n = 0 }

// Full reports whether no more rows are wanted.
func (b *Batch) Full() bool { return b.n >= b.Max }

// Room returns how many more rows are wanted.
func (b *Batch) Room() int { return b.Max - b.n }

// Add appends a row with undefined contents. It invalidates rows got before.
func (b *Batch) Add() types.Row {
	need := (b.n + 1) * b.width
	if need > cap(b.data) {
		grown := takeDatums(max(need, 2*cap(b.data)))
		copy(grown, b.data[:b.n*b.width])
		b.data = grown
	}
	b.data = b.data[:cap(b.data)]
	b.n++
	return b.Row(b.n - 1)
}

// AddCopy appends a copy of row.
func (b *Batch) AddCopy(row types.Row) { copy(b.Add(), row) }

// DropLast removes the last row.
func (b *Batch) DropLast() { b.n-- }

// Keep drops the rows from position first on that fn, which is asked once for each of them in
// order, does not want. After an error b has those before it.
func (b *Batch) Keep(first int, fn func(row types.Row) (bool, error)) error {
	kept := first
	for i := first; i < b.n; i++ {
		row := b.Row(i)
		ok, err := fn(row)
		if err != nil {
			b.Truncate(kept)
			return err
		}
		if !ok {
			continue
		}
		if kept != i {
			copy(b.Row(kept), row)
		}
		kept++
	}
	b.Truncate(kept)
	return nil
}

// Truncate keeps the first n rows.
func (b *Batch) Truncate(n int) { b.n = n }

// StopAt ends b before the row at position n, which can't be computed: what came before
// it is returned first. Other errors, after which a statement may be run again, come
// without rows.
func (b *Batch) StopAt(n int, err error) error {
	var final *pgerr.Error
	if n == 0 || !errors.As(err, &final) {
		return err
	}
	b.n, b.Err = n, err
	return nil
}

// Release gives back the memory of a batch that had grown.
func (b *Batch) Release() {
	if cap(b.data) > keepDatums {
		leaveDatums(b.data)
		b.data = nil
	}
	b.n = 0
}

const maxSharedDatums = 64 << 10

var sharedDatums sync.Pool // of *[]types.Datum

// takeDatums returns memory for more than keepDatums datums.
func takeDatums(n int) []types.Datum {
	if n > keepDatums {
		if q, ok := sharedDatums.Get().(*[]types.Datum); ok {
			if cap(*q) >= n {
				return *q
			}
		}
	}
	return make([]types.Datum, n)
}

// leaveDatums takes memory back that nobody refers to.
func leaveDatums(d []types.Datum) {
	if cap(d) <= maxSharedDatums {
		d = d[:cap(d)]
		clear(d)
		sharedDatums.Put(&d)
	}
}

// DropFirst removes the first n rows.
func (b *Batch) DropFirst(n int) {
	copy(b.data, b.data[n*b.width:b.n*b.width])
	b.n -= n
}
