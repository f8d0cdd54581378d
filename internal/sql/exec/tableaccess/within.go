package tableaccess

import (
	"context"

	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// WithinTxn is a transaction that knows what statements within the current one have written.
type WithinTxn interface {
	WroteWithin() bool
	WrittenWithin(key []byte) (written, known bool)
	SpilledWithin(ctx context.Context, key []byte) (bool, error)
}

// ErrChangedWithin is 27000 for a row that a function or a trigger has changed before the statement that called it could: what
// it wrote would be lost. done says what the statement does with rows.
func ErrChangedWithin(done string) error {
	return pgerr.New(pgerr.TriggeredDataChangeViolation, "tuple to be %s was already modified by an operation triggered by the current command", done).
		WithHint("Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows.")
}

// SeenWithin returns ErrChangedWithin if a row that the current statement seems to have changed already was changed within
// it.
func SeenWithin(txn Txn, key []byte, done string) error {
	w, ok := txn.(WithinTxn)
	if !ok || done == "" || plant.On(plant.TriggerChangesLost) {
		return nil
	}
	written, known := w.WrittenWithin(key)
	switch {
	case written:
		return ErrChangedWithin(done)
	case !known && w.WroteWithin(): // whose write it is can't be told
		return pgerr.Unsupported("a statement that comes to rows more than once, and calls a function that writes, is not supported in a transaction that has outgrown its memory")
	}
	return nil
}
