package kvpb

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/lock"
)

// Sender executes requests. A replica executes those whose keys lie in its range. dist executes
// any: it splits a request over ranges. Implementations are safe for concurrent use.
type Sender interface {
	// Get reads one key at the transaction's read timestamp.
	Get(ctx context.Context, req *GetRequest, resp *GetResponse) error
	// Scan reads a span at the transaction's read timestamp, up to the limits.
	Scan(ctx context.Context, req *ScanRequest, resp *ScanResponse) error
	// Lock takes a row lock, for which it may wait, and reads the newest committed
	// version of the key.
	Lock(ctx context.Context, req *LockRequest, resp *LockResponse) error
	// LockMany takes those of many row locks that it gets without waiting, and reads the
	// newest committed versions of their keys.
	LockMany(ctx context.Context, req *LockManyRequest, resp *LockManyResponse) error
	// Refresh checks that no version in the spans has a timestamp in (From, To], and
	// prevents that one is written later.
	Refresh(ctx context.Context, req *RefreshRequest) error
	// Reserve asks other transactions to begin no writes in the spans for a while, and waits a moment for
	// those that have begun. It protects nothing.
	Reserve(ctx context.Context, req *ReserveRequest) error
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
	// MayMove: the transaction has not read at ReadTS yet, so that the range may
	// answer at a later timestamp, the response's ReadTS.
	MayMove bool
	// Observed are the transaction's observations of nodes' clocks.
	Observed []Observation
}

// GetResponse carries a value. The range reuses the memory of Value.
type GetResponse struct {
	Value []byte
	TS    hlc.Timestamp // of the version, zero if none
	Found bool
	// ReadTS is the timestamp of the read if it moved, else zero.
	ReadTS hlc.Timestamp
	// Observed is the leader's clock at the arrival of the request, zero if the request
	// has an observation of that node.
	Observed Observation
	// Waited is how long the request has waited for other transactions on another node; 0 within one.
	Waited time.Duration
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
	// ChangedSince, if set, asks for the keys without values that have changed after it, deleted ones
	// included, as the transaction sees them. Keys that have not changed may be among them. Neither
	// Reverse nor Spans is set.
	ChangedSince hlc.Timestamp
	// Observed as in GetRequest.
	Observed []Observation
}

// ScanResponse holds keys and values in one arena.
type ScanResponse struct {
	Arena []byte
	// Offsets has three places in Arena for each row: the start of its key, the start of
	// its value and the end of its value.
	Offsets []uint32
	// Resume is the next request's Start (End, for a reverse scan), nil when the span
	// is done.
	Resume []byte
	// ReadTS is the timestamp of the read if it moved, else zero.
	ReadTS hlc.Timestamp
	// Observed as in GetResponse.
	Observed Observation
	// Traffic is how many bytes the request and its response took between nodes; 0 within one. It isn't sent.
	Traffic int
	// Waited is how long the request has waited for other transactions on another node; 0 within one.
	Waited time.Duration
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

// Take adds a row that was appended to the arena: a key of the given length and its value.
func (r *ScanResponse) Take(arena []byte, key int) {
	k := len(r.Arena)
	r.Arena = arena
	r.Offsets = append(r.Offsets, uint32(k), uint32(k+key), uint32(len(arena)))
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
	r.ReadTS, r.Observed, r.Traffic = hlc.Timestamp{}, Observation{}, 0
}

// LockRequest asks for a row lock.
type LockRequest struct {
	Txn      *TxnMeta
	Key      []byte
	Strength lock.Strength
	Wait     lock.WaitPolicy
	// HoldsLocks: the transaction has locks already, perhaps this one.
	HoldsLocks bool
	// Timeout bounds the wait (lock_timeout); 0: no limit.
	Timeout time.Duration
}

// LockResponse carries the newest committed version of the locked key.
type LockResponse struct {
	Value   []byte
	TS      hlc.Timestamp // of the version (tombstones too), zero if there is none
	Found   bool
	Skipped bool // lock.WaitSkip and another transaction holds the lock
	// Acquired: the transaction did not hold a lock on the key before.
	Acquired bool
	// Resent: the request was sent more than once, so that an earlier attempt may have
	// acquired the lock. dist sets it, ranges don't.
	Resent bool
	// LockTableID identifies the lock table that has the lock: that of a leadership, or of an earlier one that has
	// transferred it. Commit checks it.
	LockTableID uint64
	// Waited is how long the request has waited for other transactions on another node; 0 within one.
	Waited time.Duration
}

// LockManyRequest asks for the row locks of keys, without waiting.
type LockManyRequest struct {
	Txn        *TxnMeta
	Keys       [][]byte // sorted, distinct
	Strength   lock.Strength
	HoldsLocks bool // as LockRequest's
	// Seen: the transaction has read the keys at its read timestamp. The answers have no values of
	// versions up to there.
	Seen bool
}

// LockManyResponse has an answer for each key. Its Skipped is set if the transaction would have to
// wait for that lock.
type LockManyResponse struct{ Locks []LockResponse }

// RefreshRequest asks to move reads from one timestamp to a later one.
type RefreshRequest struct {
	Txn      *TxnMeta
	Spans    []Span
	From, To hlc.Timestamp
}

// ReserveRequest asks for reservations of spans.
type ReserveRequest struct {
	Txn   *TxnMeta
	Spans []Span
	// Hold is how long other transactions are asked to begin no writes there; 0: the transaction gives up all its
	// reservations in the ranges.
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
	// Reads are all spans that a SERIALIZABLE transaction has read, for a refresh if
	// its commit timestamp must move. AllReadsHere: none lie in other ranges.
	Reads        []Span
	AllReadsHere bool
	Locks        [][]byte // locked keys, released with the commit
	// LockTableID is the LockResponse.LockTableID of all locks. If they differ it is 0, and
	// LockTableIDs has that of each lock, parallel to Locks.
	LockTableID  uint64
	LockTableIDs []uint64
	// Spilled: the transaction has spilled writes, which commit too.
	Spilled bool
	Anchor  []byte // the first key that was spilled
	// SpillSpan holds all keys that were spilled.
	SpillSpan Span
	// AtSnapshot is that of the SpillRequest.
	AtSnapshot bool
	// At, if set, is the only timestamp at which the range may commit. If it can't, it
	// does nothing, and the response has Lowest.
	At hlc.Timestamp
	// Resent: the request was sent before and got no answer, so that it may have been
	// applied, or be in flight.
	Resent bool
	// MinTS is a lower bound for the commit timestamp, exclusive: the newest
	// version seen on a locked key.
	MinTS hlc.Timestamp
	// Deadline, if set, is the highest timestamp at which the transaction may commit:
	// the gateway's descriptors of its tables are valid up to then.
	Deadline hlc.Timestamp
	// Renew, if set, returns the present Deadline, since the validity of the descriptors
	// may have been extended since the request was made. It stays at the gateway.
	Renew func() hlc.Timestamp
	// Ingest: the engines ingest the writes, all of which have values, as a table. No other transaction
	// reads or writes the keys before a later commit makes them known. If the keys lie in several
	// ranges, the answer is a SeveralRangesError.
	Ingest bool
}

// RenewDeadline updates the deadline, before another attempt to commit.
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
type CommitResponse struct {
	CommitTS, Lowest hlc.Timestamp
	// Waited is how long the request has waited for other transactions on another node; 0 within one.
	Waited time.Duration
}

// ReleaseRequest gives up locks.
type ReleaseRequest struct {
	Txn   *TxnMeta
	Locks [][]byte
	// Committed: the transaction has committed without a write here. Others must not
	// write, up to its read timestamp, the keys that it has read under the locks.
	Committed bool
	// Abandoned: a commit of the transaction may still be on its way. The range waits
	// for one that has begun, and refuses one that has not.
	Abandoned bool
}

// SpillRequest carries writes of a transaction that outgrew its buffer. They become
// versions at a provisional timestamp, which are invisible to others until the
// transaction commits. A position numbers the transaction's writes.
type SpillRequest struct {
	Txn *TxnMeta
	// Writes are sorted by key, those of one key by position.
	Writes    []Write
	Positions []uint64 // of each write
	// Keep is the lowest position to which the transaction may roll back, or below which it
	// may read. Of each key the range keeps the newest write below Keep, and of the later ones
	// those that no later write of the same statement has replaced. Statement is the position
	// at which the present statement began.
	Keep, Statement uint64
	// Locks are the row locks that the durable locks of the writes replace, LockTableIDs the
	// leaderships that granted them. The spill fails if one is not held any more.
	Locks        [][]byte
	LockTableIDs []uint64
	// Anchor is the first key that the transaction spilled. Its record is there.
	Anchor []byte
	// AtSnapshot: the writes lie at the transaction's snapshot (TxnMeta.SnapshotSpill). There it can
	// commit even if others have changed its reads since.
	AtSnapshot bool
}

// SpilledRequest asks for the transaction's own spilled writes in a span: the newest write of each
// key at a position below Below.
type SpilledRequest struct {
	Txn   *TxnMeta
	Span  Span
	Below uint64
	// MaxBytes bounds a page of the answer; 0: no limit. A page of a reverse request is the last
	// one of the span.
	MaxBytes int
	Reverse  bool
}

// SpilledResponse is a page of the transaction's own writes, always in ascending order of the keys. If
// Resume is set there are more writes: from it on, or before it if the request was Reverse.
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

// UnspillRequest rolls back the spilled writes from position From on, or all of them if Abort is set.
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
	// Unspill rolls them back.
	Unspill(ctx context.Context, req *UnspillRequest) error
}
