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
	// Resolve resolves the transaction's intents in a range, whose outcome the request
	// carries. It returns when none is left there.
	Resolve(ctx context.Context, req *ResolveRequest) error
	// Push asks the range of the anchor for the outcome of a transaction that blocks
	// somebody, and decides it if the gateway does not.
	Push(ctx context.Context, req *PushRequest, resp *PushResponse) error
	// QueryStaged asks whether keys are staged. It prevents that the missing ones are
	// staged later.
	QueryStaged(ctx context.Context, req *QueryStagedRequest, resp *QueryStagedResponse) error
}

// TxnStatus is the state of a transaction's record.
type TxnStatus uint8

// The states of a transaction record.
const (
	// TxnPending: the transaction runs.
	TxnPending TxnStatus = iota
	// TxnStaging: the transaction has committed if all its keys are staged (implicitly
	// committed). A record without a list of keys waits for EndCommit.
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
	// Attempt numbers the attempts to commit the transaction, from 1. A later attempt
	// replaces the staged intents of an earlier one.
	Attempt      uint32
	Anchor       []byte
	Writes       []Write
	Locks        [][]byte
	LockTableIDs []uint64 // parallel to Locks
	// Spilled: the transaction's spilled intents in this range commit too.
	Spilled bool
	// Record: this range holds the anchor, and writes the record. Keys are all keys
	// that the attempt stages in any range; the transaction is implicitly committed
	// once all are staged. If there are too many, Keys is empty, Span holds them all,
	// and the transaction commits by EndTxn only.
	Record bool
	Keys   [][]byte
	Span   Span
	// Deadline is that of the CommitRequest: no attempt goes beyond it.
	Deadline hlc.Timestamp
	// Recorded: the record is of this attempt already, so that no recovery commits an
	// earlier one.
	Recorded bool
}

// StageResponse answers a StageRequest.
type StageResponse struct {
	// Lowest, if set, is the lowest timestamp at which the range could commit. It can't at
	// that of the request, and wrote nothing.
	Lowest hlc.Timestamp
	// CommitTS is set if the transaction has committed before.
	CommitTS hlc.Timestamp
	// Queried: a recovery may have counted the intents of an earlier attempt here. The range
	// wrote nothing, and refuses every later attempt that is not Recorded.
	Queried bool
	// Waited is how long the request has waited for other transactions on another node; 0 within one.
	Waited time.Duration
}

// StagePart is one request of a commit whose parts are on one node.
type StagePart struct {
	Sender BatchStager // for the request's range
	Req    *StageRequest
	Resp   StageResponse
	Err    error
}

// BatchStager is a Sender whose replica is on this node.
type BatchStager interface {
	Sender
	// StageBatch is Stage for the parts of a commit in several ranges of this node. Each is in another
	// range, in the order of the keys; the first one is in this range.
	StageBatch(ctx context.Context, parts []StagePart)
}

// EndAction is a change of a record by EndTxn.
type EndAction uint8

// The changes of a record.
const (
	// EndCommit makes the record COMMITTED.
	EndCommit EndAction = iota
	// EndAbort makes it ABORTED, unless it is COMMITTED.
	EndAbort
	// EndForget deletes it: all intents of the transaction are resolved.
	EndForget
)

// EndTxnRequest changes a transaction's record, if it is still that of the attempt.
type EndTxnRequest struct {
	Txn     *TxnMeta
	Anchor  []byte
	Action  EndAction
	TS      hlc.Timestamp
	Attempt uint32
	// Since is the lowest timestamp at which the transaction may have committed, zero if
	// it certainly never had a record.
	Since hlc.Timestamp
	// Deferrable: the command may be a deferred proposal.
	Deferrable bool
}

// EndTxnResponse carries the present state of the record.
type EndTxnResponse struct {
	Status   TxnStatus
	CommitTS hlc.Timestamp
	// Lowest is set if EndCommit came too late for its timestamp: the transaction must be
	// staged again, at Lowest or above.
	Lowest hlc.Timestamp
	// Forgotten: the transaction may have ended long ago, by a commit or an abort. It has no
	// intents any more, and the other fields mean nothing.
	Forgotten bool
}

// ResolveRequest carries the outcome of a transaction: it committed at TS, or aborted. Keys are its
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

// PushRequest asks for the outcome of a transaction whose intent blocks somebody. TS is the
// timestamp of a blocked read, zero if it is no read. Waited is the longest time that somebody
// has waited.
type PushRequest struct {
	Txn    TxnID
	Anchor []byte
	TS     hlc.Timestamp
	Waited time.Duration
}

// PushResponse answers a PushRequest. Above: the transaction is pending, and will not commit at
// or below the request's TS.
type PushResponse struct {
	Status   TxnStatus
	CommitTS hlc.Timestamp
	Above    bool
}

// QueryStagedRequest asks whether Keys are staged by an attempt at TS.
type QueryStagedRequest struct {
	Txn     TxnID
	Keys    [][]byte
	TS      hlc.Timestamp
	Attempt uint32
	// Peek only looks: it does not prevent that missing keys are staged later.
	Peek bool
}

// QueryStagedResponse says whether all keys are staged.
type QueryStagedResponse struct{ Present bool }
