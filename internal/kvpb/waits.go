package kvpb

import "github.com/lichendb/lichen/internal/hlc"

// WaitsRequest asks a node for the waits of transactions there. If the node is the gateway of one, it
// also asks for the nodes that have not answered its lock requests.
type WaitsRequest struct {
	Txns []TxnID
	// Exact asks for all blockers of these transactions' waits, and for no other waits. Without it
	// the answer also has the waits of the blockers, and of theirs.
	Exact bool
}

// WaitsResponse answers a WaitsRequest.
type WaitsResponse struct {
	Waits       []Wait
	RemoteWaits []RemoteWait
	// Ended are the requested transactions whose gateway is the answering node, and which have
	// ended.
	Ended []TxnID
}

// Wait is one wait for a lock on the answering node.
type Wait struct {
	Txn      TxnID
	StartTS  hlc.Timestamp
	Number   uint64 // no other wait on the node has had it
	Blockers []TxnID
}

// RemoteWait says that a node has not answered a lock request of a transaction's gateway yet.
type RemoteWait struct {
	Txn  TxnID
	Node NodeID
}
