package kvpb

import "github.com/lichendb/lichen/internal/hlc"

// WaitsRequest asks a node for what transactions wait for there, and, if it is their
// gateway, on which node it waits for their locks.
type WaitsRequest struct {
	Txns []TxnID
	// Exact asks for all blockers of these transactions' waits and for no others;
	// otherwise the answer goes on with the waits of those who block.
	Exact bool
}

// WaitsResponse answers a WaitsRequest.
type WaitsResponse struct {
	Waits       []Wait
	RemoteWaits []RemoteWait
	// Over are those of the transactions asked for of which the answering node was the
	// gateway, and which have ended.
	Over []TxnID
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
