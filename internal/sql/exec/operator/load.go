package operator

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/catalog"
)

// Loads lets an INSERT of many rows write them beside its transaction.
type Loads interface {
	// Begin begins to fill a table that has no rows; nil: its rows are to be written as any others.
	Begin(ctx context.Context, t *catalog.Table) (Load, error)
}

// Load fills the indexes of a table anew beside the transaction. Keys are those of the present indexes.
type Load interface {
	// Add takes an entry of the index at a position. It may return the error of an earlier entry, as Verify and Finish
	// do: a DuplicateEntry if there are several with a key that is unique. row is the number of the entry's row.
	Add(index int, key, value []byte, unique bool, row int64) error
	// Verify looks for duplicates among the entries up to now.
	Verify() error
	// Finish makes the entries those of the table, which has got so many rows. It returns false if others use the
	// table or have written to it meanwhile: then the entries are in Each only.
	Finish(ctx context.Context, rows int64) (bool, error)
	// Each calls f with the entries of the primary index, in order.
	Each(ctx context.Context, f func(key, value []byte) error) error
	// Close must be called in the end.
	Close()
}

// DuplicateEntry says that an entry has the same key as one of an earlier row.
type DuplicateEntry struct {
	Index      int
	Key, Value []byte
	Row        int64
}

// Error implements error.
func (e *DuplicateEntry) Error() string { return "two rows have the same key" }
