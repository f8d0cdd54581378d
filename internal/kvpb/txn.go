package kvpb

import (
	"fmt"

	"github.com/lichendb/lichen/internal/hlc"
)

// TxnID identifies a transaction across the cluster and for ever; the zero id
// stands for none. Hi comes from the gateway's node and its start, Lo counts.
type TxnID struct{ Hi, Lo uint64 }

// IsZero reports whether id is none.
func (id TxnID) IsZero() bool { return id == TxnID{} }

// String prints both halves in hexadecimal.
func (id TxnID) String() string { return fmt.Sprintf("%x-%x", id.Hi, id.Lo) }

// The high half of a transaction's id names the incarnation of its gateway: the node in
// the top gatewayNodeBits, then when the node started.
const (
	gatewayNodeBits  = 16
	gatewayStartBits = 64 - gatewayNodeBits
)

// GatewayIncarnation returns the high half of the ids that a gateway gives out: node is the
// gateway's node, started a number that grows with each of its starts.
func GatewayIncarnation(node NodeID, started uint64) uint64 {
	return uint64(node)<<gatewayStartBits | started&(1<<gatewayStartBits-1)
}

// Gateway returns the node of the transaction's gateway.
func (id TxnID) Gateway() NodeID { return NodeID(id.Hi >> gatewayStartBits) }

// GatewayStart returns which start of the node's the transaction belongs to.
func (id TxnID) GatewayStart() uint64 { return id.Hi & (1<<gatewayStartBits - 1) }

// Isolation is a transaction's isolation level.
type Isolation uint8

// The isolation levels, strongest first.
const (
	Serializable Isolation = iota
	RepeatableRead
	ReadCommitted
)

// String returns the level's SQL name.
func (i Isolation) String() string {
	switch i {
	case Serializable:
		return "serializable"
	case RepeatableRead:
		return "repeatable read"
	case ReadCommitted:
		return "read committed"
	}
	return fmt.Sprintf("isolation(%d)", uint8(i))
}

// TxnMeta is what a range needs to know of a transaction.
type TxnMeta struct {
	ID        TxnID
	Isolation Isolation
	// ReadTS is the snapshot that plain reads see.
	ReadTS hlc.Timestamp
	// UncertainTS is the limit up to which versions above ReadTS may have been
	// committed before the transaction began; not above ReadTS: none may.
	UncertainTS hlc.Timestamp
	// StartTS orders transactions by age when a deadlock needs a victim.
	StartTS hlc.Timestamp
}

// Spilled versions lie at a time that one clock has given to one transaction, with a logical part that
// no clock counts to and that says whose clock it was: reads tell by the timestamp alone which
// versions are of which transaction.
const (
	spillMark      = 1 << 31
	spillStoreMark = 1 << 30
)

// SnapshotSpill returns where a transaction spills whose snapshot its gateway's clock has given to it
// alone.
func (t *TxnMeta) SnapshotSpill() hlc.Timestamp {
	return hlc.Timestamp{WallTime: t.ReadTS.WallTime, Logical: spillMark | uint32(t.ID.Gateway())}
}

// StoreSpill returns where a transaction spills for which the clock of a range's leader has returned
// now.
func StoreSpill(now hlc.Timestamp, s StoreID) hlc.Timestamp {
	return hlc.Timestamp{WallTime: now.WallTime, Logical: spillMark | spillStoreMark | uint32(s)&(spillStoreMark-1)}
}

// Observation is a reading of a node's clock, from after a transaction, or a statement at READ
// COMMITTED, began. What is committed above it under a leadership of that node was
// committed later.
type Observation struct {
	Node NodeID
	TS   hlc.Timestamp
}
