package concurrency

import (
	"fmt"

	"github.com/lichendb/lichen/internal/hlc"
)

// TxnID identifies a transaction (or another holder of locks, such as a
// session). It is unique in the cluster; the zero value means "none".
type TxnID struct{ Hi, Lo uint64 }

// IsZero reports whether id names no transaction.
func (id TxnID) IsZero() bool { return id == TxnID{} }

// Less orders ids; the order has no meaning but breaks ties the same way everywhere.
func (id TxnID) Less(o TxnID) bool {
	return id.Hi < o.Hi || (id.Hi == o.Hi && id.Lo < o.Lo)
}

// String prints the id as 32 hexadecimal digits.
func (id TxnID) String() string { return fmt.Sprintf("%016x%016x", id.Hi, id.Lo) }

// Holder is a transaction as the lock table and the waits-for graph see it:
// its id and when it began, by which the victim of a deadlock is chosen.
type Holder struct {
	ID    TxnID
	Start hlc.Timestamp
}

// youngerThan reports whether h dies before o in a deadlock: it began later,
// or at the same time with the larger id.
func (h Holder) youngerThan(o Holder) bool {
	if c := h.Start.Compare(o.Start); c != 0 {
		return c > 0
	}
	return o.ID.Less(h.ID)
}
