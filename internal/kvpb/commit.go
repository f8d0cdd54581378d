package kvpb

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
)

// Committer is the part of Sender that commits a transaction in several ranges
// (docs/decisions/0007, Commit across ranges). Each request goes to one range:
// the one that holds its keys, or its Anchor.
type Committer interface {
	// Stage makes one range's part of a commit durable and undecided, or confirms
	// that the transaction's locks are held there.
	Stage(ctx context.Context, req *StageRequest, resp *StageResponse) error
	// EndTxn changes the transaction's record, which is in the range of the anchor.
	EndTxn(ctx context.Context, req *EndTxnRequest, resp *EndTxnResponse) error
	// Resolve tells a range what became of the transaction and returns when
	// nothing provisional of it is left there.
	Resolve(ctx context.Context, req *ResolveRequest) error
	// Push asks the range of the anchor what becomes of a transaction whose
	// gateway does not finish it.
	Push(ctx context.Context, req *PushRequest, resp *PushResponse) error
	// QueryStaged asks whether keys are staged, and makes sure that those that are
	// not never will be.
	QueryStaged(ctx context.Context, req *QueryStagedRequest, resp *QueryStagedResponse) error
}

// TxnStatus is what a transaction's record says.
type TxnStatus uint8

// The states of a transaction record.
const (
	// TxnPending: the gateway works on the transaction.
	TxnPending TxnStatus = iota
	// TxnStaging: it is committed if all its keys are staged, or when the gateway
	// says so.
	TxnStaging
	TxnCommitted
	TxnAborted
)

// String returns the state's name.
func (s TxnStatus) String() string {
	switch s {
	case TxnPending:
		return "pending"
	case TxnStaging:
		return "staging"
	case TxnCommitted:
		return "committed"
	}
	return "aborted"
}

// StageRequest asks one range for its part of a commit at TS. Writes are sorted by
// key. A request without Writes, Spilled and Record confirms locks only.
type StageRequest struct {
	Txn *TxnMeta
	TS  hlc.Timestamp
	// Epoch numbers the attempts to commit the transaction, from 1: a later one
	// replaces what an earlier one staged.
	Epoch      uint32
	Anchor     []byte
	Writes     []Write
	Locks      [][]byte
	LockEpochs []uint64 // parallel to Locks
	// Spilled says that what the transaction has spilled here commits too.
	Spilled bool
	// Record says that this range holds the anchor and writes the record. With
	// Keys, all keys staged anywhere, the transaction is committed once they all
	// are there; without them only when EndTxn says so. Span bounds the keys then.
	Record bool
	Keys   [][]byte
	Span   Span
	// Deadline is that of the CommitRequest: no attempt goes beyond it.
	Deadline hlc.Timestamp
	// Recorded says that the record says already that this attempt has begun: nobody
	// commits an earlier one any more.
	Recorded bool
}

// StageResponse answers a StageRequest. If Lowest is set the range can't commit at
// the timestamp and wrote nothing; it could at Lowest. CommitTS is set if the
// transaction turned out to be committed already. Queried says that somebody who recovers
// the commit may have counted what an earlier attempt staged here: nothing was written, and
// nothing will be but of a request that is Recorded.
type StageResponse struct {
	Lowest, CommitTS hlc.Timestamp
	Queried          bool
}

// StagePart is one of several requests to ranges of one node that belong to one commit.
type StagePart struct {
	Sender BatchStager // for the request's range
	Req    *StageRequest
	Resp   StageResponse
	Err    error
}

// BatchStager is a Sender whose replica is on this node.
type BatchStager interface {
	Sender
	// StageBatch is Stage for the parts of a commit in several ranges, in the order of their keys and in a
	// different range each, of which the first is this one.
	StageBatch(ctx context.Context, parts []StagePart)
}

// EndAction is what EndTxn does.
type EndAction uint8

// The changes of a record.
const (
	// EndCommit makes the record COMMITTED.
	EndCommit EndAction = iota
	// EndAbort makes it ABORTED, unless it is COMMITTED.
	EndAbort
	// EndForget deletes it: nothing provisional of the transaction is left.
	EndForget
)

// EndTxnRequest changes a transaction's record, if it is still that of the attempt.
type EndTxnRequest struct {
	Txn    *TxnMeta
	Anchor []byte
	Action EndAction
	TS     hlc.Timestamp
	Epoch  uint32
	// Since is the lowest timestamp at which the transaction may have been committed,
	// zero if a record of it was surely never made.
	Since hlc.Timestamp
	// Deferrable says that the change may be deferred on its way through the log, as long as
	// nobody waits for it.
	Deferrable bool
}

// EndTxnResponse says what the record is now. If Lowest is set, EndCommit came too
// late for its timestamp and the transaction must be staged again. Forgotten says that
// the transaction may have ended long ago, either way: nothing provisional of it is left,
// and the rest of the answer means nothing.
type EndTxnResponse struct {
	Status           TxnStatus
	CommitTS, Lowest hlc.Timestamp
	Forgotten        bool
}

// ResolveRequest says that a transaction committed at TS, or aborted. Keys are its
// staged keys in the range, or Span holds them all; Locks are row locks.
type ResolveRequest struct {
	Txn    TxnID
	Commit bool
	TS     hlc.Timestamp
	Keys   [][]byte
	Span   Span
	Locks  [][]byte
	// Deferrable is that of EndTxnRequest.
	Deferrable bool
}

// PushRequest asks what becomes of a transaction whose lock somebody met. TS is the
// timestamp of a read that waits, zero for other waiters; Waited is for how long
// somebody has waited.
type PushRequest struct {
	Txn    TxnID
	Anchor []byte
	TS     hlc.Timestamp
	Waited time.Duration
}

// PushResponse answers a PushRequest. Above says that a pending transaction will
// not commit at or below the request's TS.
type PushResponse struct {
	Status   TxnStatus
	CommitTS hlc.Timestamp
	Above    bool
}

// QueryStagedRequest asks whether Keys are staged by attempt Epoch at TS.
type QueryStagedRequest struct {
	Txn   TxnID
	Keys  [][]byte
	TS    hlc.Timestamp
	Epoch uint32
	// Peek: keys that are missing may still come.
	Peek bool
}

// QueryStagedResponse says whether all keys are staged.
type QueryStagedResponse struct{ Present bool }
