package kvpb

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/lock"
)

// Sender executes requests: a replica those of its range, dist any. A request's
// keys must lie in the range it is sent to; dist splits what does not.
// Implementations are safe for concurrent use.
type Sender interface {
	// Get reads one key at the transaction's read timestamp.
	Get(ctx context.Context, req *GetRequest, resp *GetResponse) error
	// Scan reads a span at the transaction's read timestamp, up to the limits.
	Scan(ctx context.Context, req *ScanRequest, resp *ScanResponse) error
	// Lock takes a row lock, waiting for it if asked to, and reads the newest
	// committed version of the key.
	Lock(ctx context.Context, req *LockRequest, resp *LockResponse) error
	// LockMany takes the row locks of many keys, as far as nobody stands in their way, and
	// reads the newest committed version of each.
	LockMany(ctx context.Context, req *LockManyRequest, resp *LockManyResponse) error
	// Refresh checks that nothing in the spans changed in (From, To] and makes
	// sure that nothing will.
	Refresh(ctx context.Context, req *RefreshRequest) error
	// Commit makes the writes durable and visible at one timestamp in one
	// consensus round and releases the transaction's locks in this range.
	Commit(ctx context.Context, req *CommitRequest, resp *CommitResponse) error
	// Release gives up locks without writing anything.
	Release(ctx context.Context, req *ReleaseRequest) error
	Committer
	Spiller
}

// GetRequest asks for one key.
type GetRequest struct {
	Txn *TxnMeta
	Key []byte
	// MayMove says that the transaction has read nothing at ReadTS: the range may
	// answer at a later timestamp, which the response names.
	MayMove bool
	// Observed are the nodes' clocks as the transaction has found them.
	Observed []Observation
}

// GetResponse carries a value; Value is appended to from [:0].
type GetResponse struct {
	Value []byte
	TS    hlc.Timestamp // of the version, zero if none
	Found bool
	// ReadTS is the timestamp of the read if it moved, else zero.
	ReadTS hlc.Timestamp
	// Observed is the leader's clock when the read came, zero if the request named it.
	Observed Observation
}

// ScanRequest asks for the keys of [Start, End).
type ScanRequest struct {
	Txn        *TxnMeta
	Start, End []byte
	MaxKeys    int // 0: no limit
	MaxBytes   int // 0: no limit; at least one key is returned
	Reverse    bool
	MayMove    bool // as GetRequest's
	// Spans, if there are any, narrow the request to the keys of [Start, End) that
	// lie in them. They are sorted and disjoint, some of them lie in [Start, End),
	// and Reverse is not set.
	Spans []Span
	// ChangedSince, if set, asks for the keys, without values, of which a version that the transaction sees is
	// later, deleted ones included. Keys that have not changed may be among them. Neither Reverse nor
	// Spans is set.
	ChangedSince hlc.Timestamp
	// Observed as in GetRequest.
	Observed []Observation
}

// ScanResponse holds keys and values in one arena.
type ScanResponse struct {
	Arena []byte
	// Offsets holds, per row, where its key starts, its value starts and its
	// value ends in Arena.
	Offsets []uint32
	// Resume is the key to continue at, nil when the span is done: the next
	// Start (or End, exclusive, for a reverse scan).
	Resume []byte
	// ReadTS is the timestamp of the read if it moved, else zero.
	ReadTS hlc.Timestamp
	// Observed as in GetResponse.
	Observed Observation
}

// Len returns the number of rows.
func (r *ScanResponse) Len() int { return len(r.Offsets) / 3 }

// Key returns the key of row i.
func (r *ScanResponse) Key(i int) []byte {
	return r.Arena[r.Offsets[3*i]:r.Offsets[3*i+1]:r.Offsets[3*i+1]]
}

// Value returns the value of row i.
func (r *ScanResponse) Value(i int) []byte {
	return r.Arena[r.Offsets[3*i+1]:r.Offsets[3*i+2]:r.Offsets[3*i+2]]
}

// Append adds a row.
func (r *ScanResponse) Append(key, value []byte) {
	k := uint32(len(r.Arena))
	r.Arena = append(r.Arena, key...)
	v := uint32(len(r.Arena))
	r.Arena = append(r.Arena, value...)
	r.Offsets = append(r.Offsets, k, v, uint32(len(r.Arena)))
}

// Truncate forgets the rows from position n on.
func (r *ScanResponse) Truncate(n int) {
	if n < r.Len() {
		r.Arena, r.Offsets = r.Arena[:r.Offsets[3*n]], r.Offsets[:3*n]
	}
}

// Reset empties the response and keeps its memory.
func (r *ScanResponse) Reset() {
	r.Arena, r.Offsets, r.Resume = r.Arena[:0], r.Offsets[:0], nil
	r.ReadTS, r.Observed = hlc.Timestamp{}, Observation{}
}

// LockRequest asks for a row lock.
type LockRequest struct {
	Txn      *TxnMeta
	Key      []byte
	Strength lock.Strength
	Wait     lock.WaitPolicy
	// HoldsLocks says that the transaction has locks already, perhaps this one.
	HoldsLocks bool
	// Timeout is lock_timeout: how long to wait; 0 means without limit.
	Timeout time.Duration
}

// LockResponse carries the newest committed version of the locked key.
type LockResponse struct {
	Value   []byte
	TS      hlc.Timestamp // of the version (tombstones too), zero if there is none
	Found   bool
	Skipped bool // lock.WaitSkip and another transaction holds the lock
	// Acquired says that the transaction did not hold a lock on the key before.
	Acquired bool
	// Unsure says that the request was sent more than once: an earlier attempt may have
	// acquired the lock. Ranges don't set it.
	Unsure bool
	// Epoch is the leadership under which the lock was granted; Commit checks it.
	Epoch uint64
}

// LockManyRequest asks for the row locks of keys, without waiting.
type LockManyRequest struct {
	Txn        *TxnMeta
	Keys       [][]byte // sorted, distinct
	Strength   lock.Strength
	HoldsLocks bool // as LockRequest's
	// Seen says that the transaction has read the keys at its read timestamp: the answers have no values
	// of versions up to there.
	Seen bool
}

// LockManyResponse has an answer for each key. Skipped says that the transaction would have
// to wait for that lock.
type LockManyResponse struct{ Locks []LockResponse }

// RefreshRequest asks to move reads from one timestamp to a later one.
type RefreshRequest struct {
	Txn      *TxnMeta
	Spans    []Span
	From, To hlc.Timestamp
	// Hold, if positive, moves nothing: it asks that for so long nobody else begins to write in
	// the spans, as far as that can be had. If negative, the transaction no longer wants that of any
	// span of the ranges.
	Hold time.Duration
}

// Write is one key's new value; a nil Value deletes the key.
type Write struct {
	Key, Value []byte
}

// CommitRequest asks for a one-phase commit. Writes are sorted by key, one per key.
type CommitRequest struct {
	Txn    *TxnMeta
	Writes []Write
	// Reads are all spans that a SERIALIZABLE transaction has read, for the case
	// that its commit timestamp must move; AllReadsHere says that none lie in
	// other ranges.
	Reads        []Span
	AllReadsHere bool
	Locks        [][]byte // locked keys, released with the commit
	// LockEpoch is the LockResponse.Epoch of all locks; where they differ it is 0
	// and LockEpochs has each one's, parallel to Locks.
	LockEpoch  uint64
	LockEpochs []uint64
	// Spilled says that the transaction has spilled writes, which commit too.
	Spilled bool
	Anchor  []byte // the first key that was spilled
	// SpillSpan holds all keys that were spilled.
	SpillSpan Span
	// AtSnapshot is that of the SpillRequest.
	AtSnapshot bool
	// At, if set, is the only timestamp at which the range may commit: if it can't,
	// it does nothing and the response has Lowest.
	At hlc.Timestamp
	// Resent says that the request was sent before and got no answer: it may have
	// been carried out, or be in flight.
	Resent bool
	// MinTS is a lower bound for the commit timestamp, exclusive: the newest
	// version seen on a locked key.
	MinTS hlc.Timestamp
	// Deadline, if set, is the highest timestamp at which the transaction may
	// commit: what it knows of its tables is known to hold up to then.
	Deadline hlc.Timestamp
	// Renew, if set, returns the present Deadline: what is known of the tables may have
	// been confirmed since the request was made. It stays at the gateway.
	Renew func() hlc.Timestamp
	// Ingest says that nobody writes the keys beside the transaction, or reads them, before another transaction
	// makes them known by its commit: the writes, all of which have values, go into the engines as
	// a table. Keys of several ranges are a SeveralRangesError.
	Ingest bool
}

// RenewDeadline brings the deadline up to date, before another attempt to commit.
func (r *CommitRequest) RenewDeadline() {
	if r.Renew != nil {
		r.Deadline = r.Renew()
	}
}

// CheckDeadline returns a retry error if ts lies above a deadline that is set.
func CheckDeadline(ts, deadline hlc.Timestamp) error {
	if deadline.IsEmpty() || ts.LessEq(deadline) {
		return nil
	}
	return &RetryError{Reason: "the commit was delayed until its table definitions might have changed"}
}

// CommitResponse carries the commit timestamp, or, if the request had At, the
// lowest timestamp at which the range could commit.
type CommitResponse struct{ CommitTS, Lowest hlc.Timestamp }

// ReleaseRequest gives up locks. Committed says that the transaction committed
// without writing here: what it saw under the locks must stay as it is up to
// its read timestamp.
type ReleaseRequest struct {
	Txn       *TxnMeta
	Locks     [][]byte
	Committed bool
	// Abandoned says that a commit of the transaction may be on its way still: the
	// range waits for one that has begun, and refuses one that has not.
	Abandoned bool
}

// SpillRequest carries writes of a transaction that outgrew its buffer: they
// become versions at a provisional timestamp, invisible to others until the
// transaction commits. Position numbers the transaction's writes.
type SpillRequest struct {
	Txn *TxnMeta
	// Writes are sorted by key, those of one key by position.
	Writes    []Write
	Positions []uint64 // of each write
	// Keep is the lowest position that the transaction may return to, or read below:
	// of each key, the newest write below it is kept, and all later ones but those that
	// the same statement has replaced. Statement is where the present one began.
	Keep, Statement uint64
	// Locks are the row locks that the durable locks of the writes replace, LockEpochs the
	// leaderships that granted them: they must be held still.
	Locks      [][]byte
	LockEpochs []uint64
	// Anchor is the first key that the transaction spilled: its record is there.
	Anchor []byte
	// AtSnapshot says that the writes are to lie where the transaction can commit though others have
	// changed since what it read (TxnMeta.SnapshotSpill).
	AtSnapshot bool
}

// SpilledRequest asks for what the transaction itself has spilled in a span: the
// newest write of each key at a position below Below.
type SpilledRequest struct {
	Txn   *TxnMeta
	Span  Span
	Below uint64
	// MaxBytes bounds a page of the answer; 0: no limit. In reverse it is the last
	// page of the span.
	MaxBytes int
	Reverse  bool
}

// SpilledResponse is a page of the transaction's own writes, in key order also in reverse.
// With Resume set there are more: from there on, or in reverse before it.
type SpilledResponse struct {
	Writes []SpilledWrite
	Resume []byte
}

// SpilledWrite is one write of a SpilledResponse.
type SpilledWrite struct {
	Key, Value []byte
	Deleted    bool
	Position   uint64
}

// UnspillRequest undoes the spilled writes from position From on; with Abort, the
// whole transaction.
type UnspillRequest struct {
	Txn    *TxnMeta
	Anchor []byte // the first key that was spilled
	From   uint64
	Abort  bool
	Span   Span // holds all keys that were spilled
}

// Spiller is the part of Sender that serves transactions too large for their
// gateway's memory.
type Spiller interface {
	// Spill stores uncommitted writes.
	Spill(ctx context.Context, req *SpillRequest) error
	// Spilled reads a page of them back.
	Spilled(ctx context.Context, req *SpilledRequest) (SpilledResponse, error)
	// Unspill undoes them.
	Unspill(ctx context.Context, req *UnspillRequest) error
}
