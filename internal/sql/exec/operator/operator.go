package operator

import (
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/vector"
)

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

// VectorOperator is an Operator that hands its rows up as columns. Its consumer reads it to the
// end: rows are computed that a consumer which stops would not ask for.
type VectorOperator interface {
	Open() error
	// Next fills b; a batch without positions is the end. After a batch with an error it is not
	// called again. The vectors live until the next call of Next, Open or Close.
	Next(b *vector.Batch) error
	Close()
}
