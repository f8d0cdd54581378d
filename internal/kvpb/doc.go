// Package kvpb holds the words the key-value layers share: transactions, spans,
// requests and responses between kv, dist and replica, and their errors.
//
// Above it stand all key-value layers; it is a leaf over hlc. Requests and
// responses are plain structs that their caller owns and reuses, so that a
// local request costs no allocation.
//
// Read in this order: txn.go (TxnID, Isolation, Strength), span.go, request.go
// (Sender and the request types), commit.go (those of commits in several ranges), feed.go,
// validate.go, waits.go, closed.go, errors.go.
//
// Invariants:
//
//	KV1. A response's buffers belong to the caller of the request; a callee
//	     appends to them and keeps no reference.
//	KV2. An error says what the caller must do: every error type here is a
//	     user error, a retry, ambiguous or broken (Classify).
//	KV3. A replica may rely on what a request's type promises: a request of another
//	     node is validated before it is executed. (Validate, dist.Serve;
//	     TestDamagedRequests in kv)
package kvpb
