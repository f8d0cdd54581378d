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

// GatewayIncarnation returns the high half of the ids that a gateway assigns: of its node, and
// of a number that grows with each start of the node.
func GatewayIncarnation(node NodeID, started uint64) uint64 {
	return uint64(node)<<gatewayStartBits | started&(1<<gatewayStartBits-1)
}

// Gateway returns the node of the transaction's gateway.
func (id TxnID) Gateway() NodeID { return NodeID(id.Hi >> gatewayStartBits) }

// GatewayStart returns the number of the gateway's start in which the transaction began.
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

// TxnMeta is the part of a transaction's state that ranges need.
type TxnMeta struct {
	ID        TxnID
	Isolation Isolation
	// ReadTS is the snapshot that plain reads see.
	ReadTS hlc.Timestamp
	// UncertainTS is the end of the uncertainty interval: versions above ReadTS and up to
	// it may have been committed before the transaction began. The interval is empty if
	// it is not above ReadTS.
	UncertainTS hlc.Timestamp
	// StartTS is the transaction's age, by which the victim of a deadlock is chosen.
	StartTS hlc.Timestamp
}

// The timestamp of spilled versions identifies their transaction: its wall time is one that a clock has
// given to one transaction only, and its logical part, which no clock reaches, identifies that clock. So
// readers know from the timestamp alone whose a version is.
const (
	spillMark      = 1 << 31
	spillStoreMark = 1 << 30
)

// SnapshotSpill returns the timestamp of spilled versions of a transaction that has its snapshot for
// itself: the gateway's clock has given it to no other one.
func (t *TxnMeta) SnapshotSpill() hlc.Timestamp {
	return hlc.Timestamp{WallTime: t.ReadTS.WallTime, Logical: spillMark | uint32(t.ID.Gateway())}
}

// StoreSpill returns the timestamp of spilled versions for which the clock of a range's leader, on store
// s, has returned now.
func StoreSpill(now hlc.Timestamp, s StoreID) hlc.Timestamp {
	return hlc.Timestamp{WallTime: now.WallTime, Logical: spillMark | spillStoreMark | uint32(s)&(spillStoreMark-1)}
}

// Observation is a reading of a node's clock after the beginning of a transaction, or of a statement at
// READ COMMITTED. A version that a leadership of that node has committed above it was committed later
// than that beginning (CockroachDB: observed timestamp).
type Observation struct {
	Node NodeID
	TS   hlc.Timestamp
}
