package vector

// BatchRows is the most rows of a batch: positions fit 16 bits, and the vectors of a few columns the
// processor's cache.
const BatchRows = 1024

// Selection lists positions of a batch in ascending order.
type Selection = []uint16

// All selects the first n positions of a batch. It must not be changed.
func All(n int) Selection { return all[:n:n] }

var all = func() (s [BatchRows]uint16) {
	for i := range s {
		s[i] = uint16(i)
	}
	return s
}()

// Batch is up to BatchRows rows as columns.
type Batch struct {
	// N is the number of positions, selected or not.
	N int
	// Sel are the rows: the positions that no filter has dropped.
	Sel  Selection
	Cols []*Vector
	// Err is the error of the row behind those selected: who needs that row fails with it.
	Err error
}

// Valid reports whether the selection is ascending and within the batch.
func (b *Batch) Valid() bool {
	for i, p := range b.Sel {
		if int(p) >= b.N || i > 0 && p <= b.Sel[i-1] {
			return false
		}
	}
	return b.N <= BatchRows
}
