// Package kvpb holds the types that the key-value layers share: transactions, spans,
// requests and responses between kv, dist and replica, and their errors.
//
// All key-value layers stand above it; it stands on hlc, keys and lock. Requests and
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
//	KV2. The class of an error determines what the caller does: every error type
//	     is a user error, a retry, ambiguous or broken (Classify).
//	KV3. A replica may rely on the rules of a request's type: a request of another
//	     node is validated before it is executed. (GetRequest.Validate and its
//	     namesakes, dist.Serve; TestDamagedRequests in kv)
package kvpb
