package coord

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/quota"
)

// Options configure a transaction.
type Options struct {
	Isolation kvpb.Isolation
	// ReadOnly transactions refuse writes and record no reads.
	ReadOnly bool
	// AsOf, if set, is the timestamp of all reads; the transaction is read-only.
	AsOf hlc.Timestamp
	// LocksOnly transactions take locks and read nothing: however long they last, no old version is
	// retained for them.
	LocksOnly bool
}

type state uint8

const (
	idle state = iota // no snapshot yet
	active
	spilled
	finished
)

type lockedKey struct {
	key      []byte
	strength lock.Strength
	epoch    uint64 // leadership that granted it
}

// Txn is a transaction at its gateway. One goroutine uses it at a time. After Commit or Rollback,
// Reset makes it a new transaction.
type Txn struct {
	env  *Env
	opts Options
	meta kvpb.TxnMeta

	state state
	seq   int32 // number of the current statement, from 1
	// LockTimeout bounds each wait for a lock; 0 means without limit.
	LockTimeout time.Duration
	// Deadline, if set, is the highest timestamp at which the transaction may
	// commit. Reset clears it.
	Deadline hlc.Timestamp
	// Renew, if set, returns the current Deadline. The commit calls it before each attempt. Reset
	// clears it.
	Renew func() hlc.Timestamp

	buf         Buffer
	heed        context.Context // see Heed
	reads       ReadSet
	locks       []lockedKey
	ambiguous   [][]byte      // see lockFailed
	unknown     bool          // see OutcomeUnknown
	mustRestart bool          // a lock was lost, so it does not help to run a statement again
	prefetched  prefetched    // see LockAhead
	lockKeys    [][]byte      // scratch of commit and release
	epochs      []uint64      // scratch of commit
	hasRead     bool          // something was read at the present read timestamp
	certain     hlc.Timestamp // limit of uncertainty for the statement when it is run again
	observed    []kvpb.Observation
	met         []kvpb.Observation // clock readings of Meet
	renewals    uint8              // of the statement's snapshot
	moved       bool               // the snapshot is not a reading of the gateway's clock
	minTS       hlc.Timestamp      // newest version seen under a lock, or time of a check
	commitTS    hlc.Timestamp
	spill       spillState
	stmtBase    int // writes before the current statement
	charged     int64
	check       check
	reserved    []kvpb.Span // see Reserve

	// Links of the registry of active transactions; guarded by its mutex.
	prev, next *Txn
	registered bool
	locksOnly  bool

	getReq    kvpb.GetRequest
	getResp   kvpb.GetResponse
	scanReq   kvpb.ScanRequest
	page      kvpb.ScanResponse
	own       []ownWrite
	lockReq   kvpb.LockRequest
	lockResp  kvpb.LockResponse
	commitReq kvpb.CommitRequest
	writes    []kvpb.Write
}

// LockResult is what Lock returns.
type LockResult struct {
	// Value is the newest committed value, or the transaction's own; valid as long as Get's.
	Value []byte
	Found bool
	// Changed: the value is newer than the statement's snapshot, so the caller must check
	// predicates again.
	Changed bool
	// Self: the present statement wrote the value, or one after the snapshot in use.
	Self bool
	// Skipped: WaitSkip found the key locked by another transaction.
	Skipped bool
}

// ScanOptions limit one page of a scan. A page may be smaller, even empty with Resume set. It may
// be larger because of the transaction's own writes.
type ScanOptions struct {
	MaxRows  int // 0: no limit
	MaxBytes int // 0: maxPageBytes
	Reverse  bool
}

// maxPageBytes bounds a page of a scan that sets no limit.
const maxPageBytes = 1 << 20

// pageBytes is MaxBytes, or its default.
func (o ScanOptions) pageBytes() int { return cmp.Or(o.MaxBytes, maxPageBytes) }

// New returns a transaction that has not begun.
func New(env *Env) *Txn {
	t := &Txn{env: env}
	t.getReq.Txn, t.scanReq.Txn, t.lockReq.Txn, t.commitReq.Txn = &t.meta, &t.meta, &t.meta, &t.meta
	return t
}

// Reset makes t a new transaction; the old one must have finished.
func (t *Txn) Reset(o Options) {
	must.True(t.state == idle || t.state == finished, "C1: transaction restarted while active")
	t.opts = o
	t.meta = kvpb.TxnMeta{ID: t.env.nextTxnID(), Isolation: o.Isolation}
	t.state, t.seq = idle, 0
	t.minTS, t.commitTS, t.Deadline, t.Renew = hlc.Timestamp{}, hlc.Timestamp{}, hlc.Timestamp{}, nil
	t.buf.Reset()
	t.reads.Reset()
	clear(t.locks)
	t.locks = t.locks[:0]
	t.ambiguous, t.unknown, t.mustRestart, t.moved = nil, false, false, false
	t.prefetched.forget()
	t.spill = spillState{}
	t.check = check{}
	t.certain = hlc.Timestamp{}
	t.observed, t.met = t.observed[:0], t.met[:0]
}

// ID returns the transaction's id.
func (t *Txn) ID() kvpb.TxnID { return t.meta.ID }

// Isolation returns the isolation level.
func (t *Txn) Isolation() kvpb.Isolation { return t.opts.Isolation }

// SetOptions changes the options of a transaction. It returns false if the transaction has read.
func (t *Txn) SetOptions(o Options) bool {
	if t.state != idle {
		return false
	}
	t.opts, t.meta.Isolation = o, o.Isolation
	return true
}

// Begun reports whether the transaction has had a statement; then its options are fixed.
func (t *Txn) Begun() bool { return t.state != idle }

// ReadTimestamp returns the snapshot of the current statement; zero before the first statement.
func (t *Txn) ReadTimestamp() hlc.Timestamp { return t.meta.ReadTS }

// CommitTimestamp returns the commit timestamp; zero if the transaction wrote nothing.
func (t *Txn) CommitTimestamp() hlc.Timestamp { return t.commitTS }

// OutcomeUnknown reports whether Commit has returned an ambiguous error: the commit may have
// happened, or may happen yet, at any timestamp up to its deadline.
func (t *Txn) OutcomeUnknown() bool { return t.unknown }

// HasWrites reports whether the transaction has writes that were not undone.
func (t *Txn) HasWrites() bool { return t.buf.Len() > 0 || t.state == spilled }

// BufferBytes returns the memory that buffered writes occupy.
func (t *Txn) BufferBytes() int64 { return t.buf.Bytes() }

// BeginStatement starts a statement. Its plain reads see all writes of earlier statements and, at
// READ COMMITTED, all commits of others up to now.
func (t *Txn) BeginStatement() {
	t.seq++
	t.renewals = 0
	t.prefetched.forget()
	t.stmtBase = t.spill.base + t.buf.Len()
	switch {
	case t.state == idle:
		t.begin()
	case t.opts.Isolation == kvpb.ReadCommitted && t.opts.AsOf.IsEmpty():
		t.newSnapshot(t.env.Clock.Now())
		if !t.certain.IsEmpty() {
			t.meta.UncertainTS = t.certain
		}
	}
	t.certain = hlc.Timestamp{}
}

// Heed has writes, which have no context of their own, wait for a spill no longer than ctx lives, until
// HeedNothing.
func (t *Txn) Heed(ctx context.Context) { t.heed = ctx }

// HeedNothing has writes wait for a spill as long as it takes.
func (t *Txn) HeedNothing() { t.heed = nil }

func (t *Txn) begin() {
	t.state = active
	if ts := t.opts.AsOf; !ts.IsEmpty() {
		t.meta.StartTS = ts
		t.setReadTS(ts)
	} else {
		ts = t.env.Clock.Now()
		t.meta.StartTS = ts
		t.newSnapshot(ts)
		for _, o := range t.met {
			t.observe(o)
		}
	}
	t.env.register(t)
}

func (t *Txn) remembersReads() bool {
	if t.opts.ReadOnly && t.env.MaxOffset == 0 {
		return false // its snapshot has no reason to move
	}
	return t.opts.Isolation != kvpb.ReadCommitted && t.opts.AsOf.IsEmpty() && !t.check.active
}

// handOver returns the value of a response. A large one belongs to the caller from then on.
func handOver(value *[]byte) []byte {
	v := *value
	if len(v) >= quota.LargeValue {
		*value = nil
	}
	return v
}

// Get reads a key in the statement's snapshot. The value is valid until the
// next call, one of quota.LargeValue bytes or more as long as it is referred to.
func (t *Txn) Get(ctx context.Context, key []byte) (value []byte, found bool, err error) {
	if val, del, _, ok := t.buf.Get(key, t.seq); ok {
		return val, !del, nil
	}
	if t.state == spilled {
		if w, _, ok, err := t.getSpilled(ctx, key, t.seq); ok || err != nil {
			return w.Value, !w.Deleted, err
		}
	}
	if err := t.getStored(ctx, key); err != nil {
		return nil, false, err
	}
	return handOver(&t.getResp.Value), t.getResp.Found, nil
}

// Lock takes a row lock on key, whether or not the key exists. It reads the newest committed value,
// or the transaction's own. Above READ COMMITTED, a version newer than the snapshot moves the
// snapshot; that is a retry error if earlier reads have changed.
func (t *Txn) Lock(ctx context.Context, key []byte, s lock.Strength, w lock.WaitPolicy) (LockResult, error) {
	return t.lock(ctx, key, s, w, false)
}

// LockSeen is Lock of a key that the statement has read in its snapshot: the value is missing if the key has not
// changed.
func (t *Txn) LockSeen(ctx context.Context, key []byte, s lock.Strength, w lock.WaitPolicy) (LockResult, error) {
	return t.lock(ctx, key, s, w, true)
}

func (t *Txn) lock(ctx context.Context, key []byte, s lock.Strength, w lock.WaitPolicy, seen bool) (LockResult, error) {
	if err := t.endSpillOf(key); err != nil {
		return LockResult{}, err
	}
	resp, valued := t.prefetched.find(key, s)
	if resp == nil || !valued && !(seen && resp.TS.LessEq(t.meta.ReadTS)) {
		resp = &t.lockResp
		if err := t.requestLock(ctx, key, s, w); err != nil || resp.Skipped {
			return LockResult{Skipped: err == nil}, err
		}
	}
	// In an earlier statement's snapshot (Use), writes of later statements count as its own.
	if val, del, seq, ok := t.buf.Get(key, math.MaxInt32); ok {
		return LockResult{Value: val, Found: !del, Self: seq >= t.seq}, nil
	}
	if t.state == spilled {
		if w, self, ok, err := t.getSpilled(ctx, key, math.MaxInt32); ok || err != nil {
			return LockResult{Value: w.Value, Found: !w.Deleted, Self: self}, err
		}
	}
	t.minTS = t.minTS.Max(resp.TS)
	res := LockResult{Value: resp.Value, Found: resp.Found}
	if resp == &t.lockResp {
		handOver(&resp.Value)
	}
	if resp.TS.LessEq(t.meta.ReadTS) {
		return res, nil
	}
	res.Changed = true
	if t.opts.Isolation == kvpb.ReadCommitted || t.check.active {
		return res, nil
	}
	if err := t.refresh(ctx, t.env.Clock.Now().Max(resp.TS)); err != nil {
		return LockResult{}, err
	}
	return res, nil
}

// requestLock requests a lock and records it. The response is in t.lockResp.
func (t *Txn) requestLock(ctx context.Context, key []byte, s lock.Strength, w lock.WaitPolicy) error {
	t.lockReq.Key, t.lockReq.Strength, t.lockReq.Wait, t.lockReq.Timeout = key, s, w, t.LockTimeout
	t.lockReq.HoldsLocks = len(t.locks) > 0
	resp := &t.lockResp
	if err := t.env.Sender.Lock(ctx, &t.lockReq, resp); err != nil {
		t.lockFailed(key)
		return err
	}
	if !resp.Skipped && (resp.Acquired || resp.Unsure || len(t.ambiguous) > 0) {
		return t.addLock(key, s, resp)
	}
	return nil
}

// knownLocks is how many of the last locks addLock searches for one that was lost and taken again.
// The commit finds others by their epochs.
const knownLocks = 16

// addLock records a granted lock unless it is recorded already. The lock was granted now, or to an
// earlier attempt whose answer was lost.
func (t *Txn) addLock(key []byte, s lock.Strength, resp *kvpb.LockResponse) error {
	for i := max(0, len(t.locks)-knownLocks); i < len(t.locks); i++ {
		if l := &t.locks[i]; bytes.Equal(l.key, key) {
			if !resp.Acquired {
				return nil // held all along, perhaps through a merge; otherwise the commit detects it by the epoch
			}
			t.mustRestart = true
			return &kvpb.RetryError{Reason: "the range lost the transaction's locks with its leader", Key: cloneKey(key)}
		}
	}
	if ambiguous := t.wasAmbiguous(key); resp.Acquired || resp.Unsure || ambiguous {
		t.locks = append(t.locks, lockedKey{key: t.reads.copyBytes(key), strength: s, epoch: resp.Epoch})
	}
	return nil
}

// lockFailed records that a lock request failed. The lock may have been granted all the same, if
// the answer was lost or late.
func (t *Txn) lockFailed(key []byte) {
	for i := range t.locks {
		if bytes.Equal(t.locks[i].key, key) {
			return // a stronger request: the held lock is released with it
		}
	}
	if !t.isAmbiguous(key) {
		t.ambiguous = append(t.ambiguous, cloneKey(key))
	}
}

func (t *Txn) isAmbiguous(key []byte) bool {
	return slices.ContainsFunc(t.ambiguous, func(k []byte) bool { return bytes.Equal(k, key) })
}

// wasAmbiguous reports whether an earlier request for the key failed, and drops it: the key is now
// known to be locked.
func (t *Txn) wasAmbiguous(key []byte) bool {
	if len(t.ambiguous) == 0 || !t.isAmbiguous(key) {
		return false
	}
	t.ambiguous = slices.DeleteFunc(t.ambiguous, func(k []byte) bool { return bytes.Equal(k, key) })
	return true
}

// ambiguousTimeout bounds the release of locks that may never have been granted.
const ambiguousTimeout = time.Second

// releaseAmbiguous releases the locks that failed requests may have been granted.
func (t *Txn) releaseAmbiguous(ctx context.Context) {
	if len(t.ambiguous) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ambiguousTimeout)
	defer cancel()
	_ = t.env.Sender.Release(ctx, &kvpb.ReleaseRequest{Txn: &t.meta, Locks: t.ambiguous})
	t.ambiguous = nil
}

// refresh moves the snapshot to ts, a new reading of the gateway's clock, if all reads are
// unchanged there.
func (t *Txn) refresh(ctx context.Context, ts hlc.Timestamp) error {
	if t.reads.Len() > 0 {
		if err := t.endSpill(); err != nil { // its versions might count as changes
			return err
		}
		req := kvpb.RefreshRequest{Txn: &t.meta, Spans: t.reads.Spans(), From: t.meta.ReadTS, To: ts}
		if err := t.env.Sender.Refresh(ctx, &req); err != nil {
			return err
		}
	}
	t.setReadTS(ts)
	t.hasRead, t.moved = t.reads.Len() > 0, false
	return nil
}

// Room reserves memory for a write of so many bytes before the caller encodes its value. It returns
// a *quota.ExceededError if there is none.
func (t *Txn) Room(bytes int) error { return t.charge(int64(bytes)) }

// Put writes a key. The caller holds a lock on it, or on a key that covers it, as a row's key
// covers its index entries.
func (t *Txn) Put(key, value []byte) error { return t.write(key, value, false) }

// PutOwned is Put without a copy of a long value, which must not change any more.
func (t *Txn) PutOwned(key, value []byte) error {
	if len(value) <= maxInChunk {
		return t.write(key, value, false)
	}
	if err := t.mayWrite(len(key) + len(value)); err != nil {
		return err
	}
	t.buf.PutOwned(key, value, false, t.seq)
	return t.maybeSpill(context.Background())
}

// Delete deletes a key, under the same condition as Put.
func (t *Txn) Delete(key []byte) error { return t.write(key, nil, true) }

func (t *Txn) write(key, value []byte, del bool) error {
	if err := t.mayWrite(len(key) + len(value)); err != nil {
		return err
	}
	t.buf.Put(key, value, del, t.seq)
	return t.maybeSpill(context.Background())
}

// mayWrite checks that the transaction may write, and reserves memory for so many bytes.
func (t *Txn) mayWrite(bytes int) error {
	must.True(t.state == active || t.state == spilled, "C1: write outside a statement")
	must.True(!t.opts.ReadOnly && t.opts.AsOf.IsEmpty(), "C2: write in a read-only transaction")
	return t.charge(int64(bytes) + entryOverhead + lockOverhead)
}

// Savepoint is a position to which RollbackTo returns.
type Savepoint struct{ writes, reads, locks int }

// Savepoint returns the present position.
func (t *Txn) Savepoint() Savepoint {
	sp := t.StatementStart()
	t.spill.keep, t.spill.kept = min(t.oldestKept(), sp.writes), true
	return sp
}

// StatementStart returns the position at the start of the present statement, before its writes.
func (t *Txn) StatementStart() Savepoint {
	return Savepoint{writes: t.spill.base + t.buf.Len(), reads: t.reads.Len(), locks: len(t.locks)}
}

// RollbackTo undoes all writes since sp and releases the locks taken since. Reads since sp stay
// recorded.
func (t *Txn) RollbackTo(ctx context.Context, sp Savepoint) error {
	if err := t.spillRollback(ctx, sp); err != nil {
		return err
	}
	t.buf.Truncate(min(max(sp.writes-t.spill.base, 0), t.buf.Len()))
	if t.remembersReads() {
		// Without these locks, the keys must stay unchanged like plain reads.
		for i := sp.locks; i < len(t.locks); i++ {
			t.reads.AddKey(t.locks[i].key)
		}
	}
	t.certain = hlc.Timestamp{} // the failed statement is not run again
	t.releaseAmbiguous(ctx)
	return t.releaseLocks(ctx, sp.locks, true)
}

// UndoStatement undoes the current statement, which began at sp, and releases the memory of
// its writes, so that it can run again on the same snapshot. Its locks stay.
func (t *Txn) UndoStatement(ctx context.Context, sp Savepoint) error {
	if err := t.spillRollback(ctx, sp); err != nil {
		return err
	}
	t.buf.Truncate(min(max(sp.writes-t.spill.base, 0), t.buf.Len()))
	t.trim()
	t.reads.Truncate(sp.reads)
	t.renewals = 0
	return nil
}

// RetryStatement prepares the current statement, which began at sp, to run again after a retry
// error: it undoes the statement and moves the snapshot to now. It returns a retry error of the
// whole transaction if results of earlier statements would differ, or if the transaction has to
// end.
func (t *Txn) RetryStatement(ctx context.Context, sp Savepoint, cause error) error {
	_ = t.endSpill() // it may have lost a lock
	if t.mustRestart || t.readsForgotten() {
		return cause
	}
	if err := t.UndoStatement(ctx, sp); err != nil {
		return err
	}
	// The statement need not see commits after its first attempt began. If the limit rose with each
	// attempt, a long read beside writers could be run again for ever.
	t.certain = t.meta.UncertainTS
	return t.refresh(ctx, t.env.Clock.Now())
}

// MoveToPresent moves the snapshot of the current statement to now, before it has read anything. It
// returns cause if earlier statements prevent that.
func (t *Txn) MoveToPresent(ctx context.Context, cause error) error {
	if t.mustRestart || t.readsForgotten() {
		return cause
	}
	return t.refresh(ctx, t.env.Clock.Now())
}

// readsForgotten reports whether earlier statements' reads were not recorded, although their
// results must hold.
func (t *Txn) readsForgotten() bool {
	return t.opts.Isolation != kvpb.ReadCommitted && t.seq > 1 && !t.remembersReads()
}

// releaseLocks releases the locks from position n on.
func (t *Txn) releaseLocks(ctx context.Context, n int, committed bool) error {
	t.prefetched.forget()
	if n >= len(t.locks) {
		return nil
	}
	t.lockKeys = t.lockKeys[:0]
	for i := n; i < len(t.locks); i++ {
		t.lockKeys = append(t.lockKeys, t.locks[i].key)
	}
	clear(t.locks[n:])
	t.locks = t.locks[:n]
	return t.env.Sender.Release(ctx, &kvpb.ReleaseRequest{Txn: &t.meta, Locks: t.lockKeys, Committed: committed})
}

// Commit ends the transaction. After a retry error the transaction has been rolled back; after an
// ambiguous error it may have committed.
func (t *Txn) Commit(ctx context.Context) error {
	if t.state == idle || t.state == finished {
		t.state = finished
		return nil
	}
	defer t.finish()
	defer t.releaseAmbiguous(ctx)
	if !t.HasWrites() {
		return t.releaseLocks(ctx, 0, true)
	}
	spillErr := t.endSpill()
	req := t.buildCommit()
	if spillErr != nil {
		t.abandon(ctx, spillErr)
		return spillErr
	}
	var resp kvpb.CommitResponse
	if err := t.env.Sender.Commit(ctx, req, &resp); err != nil {
		t.unknown = kvpb.Classify(err) == kvpb.ClassAmbiguous
		t.abandon(ctx, err)
		return err
	}
	t.commitTS = resp.CommitTS
	if t.env.MaxOffset > 0 { // another node may have chosen it
		t.env.Clock.Forward(t.commitTS) // later transactions of this gateway see it
	}
	return nil
}

func (t *Txn) buildCommit() *kvpb.CommitRequest {
	t.writes = t.writes[:0]
	for c := t.buf.Seek(nil, t.seq+1); c.Valid(); c.Next() {
		w := kvpb.Write{Key: c.Key()}
		if val, del := c.Value(); !del {
			w.Value = val
		}
		t.writes = append(t.writes, w)
	}
	req := &t.commitReq
	*req = kvpb.CommitRequest{Txn: &t.meta, Writes: t.writes, Deadline: t.Deadline, Renew: t.Renew}
	t.addLocks(req)
	req.Spilled, req.Anchor, req.SpillSpan = t.state == spilled, t.spill.anchor, t.spill.span
	req.AllReadsHere, req.MinTS, req.AtSnapshot = true, t.minTS, t.spillsAtSnapshot()
	if t.opts.Isolation == kvpb.Serializable { // other levels let what was read change before the commit
		req.Reads = t.reads.Spans()
	}
	return req
}

// abandonTimeout bounds the cleanup of a failed commit before its client receives the error.
const abandonTimeout = time.Second

// abandon releases what a transaction holds after its commit failed with err.
func (t *Txn) abandon(ctx context.Context, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTimeout)
	defer cancel()
	if !t.unknown { // else it may have committed
		t.abortSpilled(ctx)
	}
	if len(t.locks) > 0 {
		_ = t.env.Sender.Release(ctx, &kvpb.ReleaseRequest{Txn: &t.meta, Locks: t.commitReq.Locks, Abandoned: true})
	}
}

// addLocks adds the locks to the commit. Their epochs differ only if they are in several ranges.
func (t *Txn) addLocks(req *kvpb.CommitRequest) {
	t.lockKeys, t.epochs = t.lockKeys[:0], t.epochs[:0]
	same := true
	for i := range t.locks {
		t.lockKeys = append(t.lockKeys, t.locks[i].key)
		same = same && t.locks[i].epoch == t.locks[0].epoch
	}
	req.Locks = t.lockKeys
	switch {
	case len(t.locks) == 0:
	case same:
		req.LockEpoch = t.locks[0].epoch
	default:
		for i := range t.locks {
			t.epochs = append(t.epochs, t.locks[i].epoch)
		}
		req.LockEpochs = t.epochs
	}
}

// Rollback undoes the transaction and ends it. It may be called at any time.
func (t *Txn) Rollback(ctx context.Context) {
	if t.state == idle || t.state == finished {
		t.state = finished
		return
	}
	ctx = context.WithoutCancel(ctx)
	t.abortSpilled(ctx)
	t.releaseAmbiguous(ctx)
	_ = t.releaseLocks(ctx, 0, false) // a range that is gone has no locks left
	t.finish()
}

func (t *Txn) finish() {
	t.releaseReserved()
	t.state = finished
	t.prefetched = prefetched{}
	t.drop()
	t.discharge()
	t.forgetSpilled()
	t.env.unregister(t)
}

// keptKeys is the capacity for locks and writes that a transaction keeps for its next use.
const keptKeys = 1024

// drop releases the memory of a large transaction. Its session may stay idle for long, and nothing
// charges for that memory any more.
func (t *Txn) drop() {
	t.buf.Drop()
	clear(t.writes)
	clear(t.own[:cap(t.own)])
	t.commitReq.Writes = nil
	if cap(t.writes) > keptKeys {
		t.writes = nil
	}
	if cap(t.own) > keptKeys {
		t.own = nil
	}
	if cap(t.locks) > keptKeys || cap(t.lockKeys) > keptKeys {
		t.locks, t.lockKeys, t.epochs, t.commitReq.Locks, t.commitReq.LockEpochs = nil, nil, nil, nil, nil
	}
}

// Finished reports whether the transaction has committed or rolled back.
func (t *Txn) Finished() bool { return t.state == finished }

func cloneKey(key []byte) []byte { return append([]byte(nil), key...) }

// Options returns the transaction's options.
func (t *Txn) Options() Options { return t.opts }

// Snapshot is the state that a statement reads. Cursors and portals keep it to read on after later
// statements have begun.
type Snapshot struct {
	seq     int32
	base    int // writes before the statement
	readTS  hlc.Timestamp
	hasRead bool
}

// Snapshot returns the current statement's snapshot.
func (t *Txn) Snapshot() Snapshot {
	t.keepHistory()
	return t.present()
}

func (t *Txn) present() Snapshot {
	return Snapshot{seq: t.seq, base: t.stmtBase, readTS: t.meta.ReadTS, hasRead: t.hasRead}
}

// Use makes the following reads use an earlier statement's snapshot. It returns the present one,
// which the caller restores with Use; nothing may be written in between. At SERIALIZABLE the read
// timestamp stays, since all reads hold at it: it moves only after a refresh.
func (t *Txn) Use(s Snapshot) (present Snapshot) {
	present = t.present()
	back := s.seq > t.seq // back to the present: its reads go on
	t.seq, t.stmtBase = s.seq, s.base
	if t.opts.Isolation == kvpb.ReadCommitted {
		t.setReadTS(s.readTS)
		t.hasRead = s.hasRead || !back
	}
	return present
}
