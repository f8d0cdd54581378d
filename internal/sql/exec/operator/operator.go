package operator

import "github.com/lichendb/lichen/internal/sql/exec/rowcontainer"

// Operator is a running plan node. One goroutine drives it: open, next until no
// rows come, close. open on an open operator starts it again from the beginning
// (with other values of outer columns, perhaps); close is allowed at any time,
// also twice.
type Operator interface {
	Open() error
	// next empties b and fills it with up to b.max rows; none means the end.
	// It is not called again after the end, nor after Batch.err. The rows live until
	// the next call of next, open or close.
	Next(b *rowcontainer.Batch) error
	Close()
}

// Modifier is an operator that writes. Without RETURNING it does all its work in
// the first call of next, which yields no row.
type Modifier interface {
	Operator
	Affected() int64
}
