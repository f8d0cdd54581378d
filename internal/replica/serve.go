package replica

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/eval"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
)

// How long a transaction waits for a lock before it looks for a deadlock, and
// how often it looks again.
const (
	deadlockFirst = 10 * time.Millisecond
	deadlockAgain = 100 * time.Millisecond
)

func txnID(t *kvpb.TxnMeta) concurrency.TxnID { return concurrency.TxnID(t.ID) }

// awaitKey waits for commits in flight that a read of key must see. The caller
// has put the read into the timestamp cache before, so that a commit that is not
// in flight yet lands after it (invariant R7).
func (r *Replica) awaitKey(ctx context.Context, t *kvpb.TxnMeta, key []byte) error {
	for {
		c := r.commits.BlockingRead(txnID(t), key, t.ReadTS)
		if c == nil {
			return nil
		}
		select {
		case <-c.Changed():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Get implements kvpb.Sender.
func (r *Replica) Get(ctx context.Context, req *kvpb.GetRequest, resp *kvpb.GetResponse) error {
	r.stats.Gets.Add(1)
	r.reads.AddKey(req.Key, req.Txn.ReadTS, txnID(req.Txn))
	if err := r.awaitKey(ctx, req.Txn, req.Key); err != nil {
		return err
	}
	v, err := r.spillView(ctx, req.Txn.ID, req.Key, nil, req.Txn.ReadTS)
	if err != nil {
		return err
	}
	if v != nil {
		err = eval.GetVisible(r.deps.Engine, req, v.hidden, resp)
	} else {
		err = eval.Get(r.deps.Engine, req, resp)
	}
	if err != nil {
		return err
	}
	return r.checkThreshold(req.Txn.ReadTS)
}

// Scan implements kvpb.Sender.
func (r *Replica) Scan(ctx context.Context, req *kvpb.ScanRequest, resp *kvpb.ScanResponse) error {
	r.stats.Scans.Add(1)
	t := req.Txn
	r.reads.AddSpan(req.Start, req.End, t.ReadTS, txnID(t))
	for {
		c := r.commits.BlockingScan(txnID(t), req.Start, req.End, t.ReadTS)
		if c == nil {
			break
		}
		select {
		case <-c.Changed():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	v, err := r.spillView(ctx, t.ID, req.Start, req.End, t.ReadTS)
	if err != nil {
		return err
	}
	if v != nil {
		err = eval.ScanVisible(ctx, r.deps.Engine, req, v.hidden, resp)
	} else {
		err = eval.Scan(ctx, r.deps.Engine, req, resp)
	}
	if err != nil {
		return err
	}
	return r.checkThreshold(t.ReadTS)
}

// checkThreshold runs after a read (invariant R8): a version that was missed
// because it was being collected lies below the threshold, which was raised
// before.
func (r *Replica) checkThreshold(ts hlc.Timestamp) error {
	if th := *r.threshold.Load(); ts.Less(th) {
		return &kvpb.SnapshotTooOldError{ReadTS: ts, Threshold: th}
	}
	return nil
}

// Lock implements kvpb.Sender.
func (r *Replica) Lock(ctx context.Context, req *kvpb.LockRequest, resp *kvpb.LockResponse) error {
	r.stats.Locks.Add(1)
	resp.Value, resp.TS, resp.Found, resp.Skipped, resp.Acquired = resp.Value[:0], hlc.Timestamp{}, false, false, false
	id := txnID(req.Txn)
	strength := concurrency.Strength(req.Strength)
	held := concurrency.None
	if req.HoldsLocks {
		held = r.locks.Holds(req.Key, id)
	}
	resp.Acquired = held == concurrency.None
	if err := r.acquire(ctx, req, strength, held); err != nil {
		if errors.Is(err, errSkipLocked) {
			resp.Skipped, resp.Acquired = true, false
			return nil
		}
		return err
	}
	resp.Epoch = r.epoch
	err := r.latest(ctx, req, resp)
	if err != nil && resp.Acquired {
		r.locks.Release(id, req.Key)
	}
	if errors.Is(err, errSkipLocked) {
		resp.Skipped, resp.Acquired = true, false
		return nil
	}
	return err
}

// latest reads the newest committed version of a key whose lock is held. A large
// transaction that has spilled the key holds it by a durable lock.
func (r *Replica) latest(ctx context.Context, req *kvpb.LockRequest, resp *kvpb.LockResponse) error {
	if r.spills.active.Load() == 0 {
		return eval.Latest(r.deps.Engine, req.Key, resp)
	}
	if err := r.awaitSpill(ctx, req); err != nil {
		return err
	}
	return r.latestVisible(req, resp)
}

var errSkipLocked = errors.New("replica: lock skipped")

func (r *Replica) acquire(ctx context.Context, req *kvpb.LockRequest, s, held concurrency.Strength) error {
	h := concurrency.Holder{ID: txnID(req.Txn), Start: req.Txn.StartTS}
	if req.Wait != kvpb.WaitBlock {
		blocker, err := r.locks.TryAcquire(req.Key, h, s)
		switch {
		case err != nil:
			return lockError(err)
		case blocker.IsZero():
			return nil
		case req.Wait == kvpb.WaitSkip:
			return errSkipLocked
		}
		return &kvpb.LockNotAvailableError{}
	}
	w, err := r.locks.Acquire(req.Key, h, s)
	if err != nil {
		return lockError(err)
	}
	if w == nil {
		return nil
	}
	r.stats.LockWaits.Add(1)
	return r.wait(ctx, req, h, held, w)
}

func lockError(err error) error {
	var full *concurrency.LimitError
	if errors.As(err, &full) {
		return &kvpb.TooManyLocksError{Limit: int(full.Limit)}
	}
	return err
}

// Refresh implements kvpb.Sender.
func (r *Replica) Refresh(ctx context.Context, req *kvpb.RefreshRequest) error {
	r.stats.Refreshes.Add(1)
	err := r.refresh(ctx, req.Txn, req.Spans, req.From, req.To)
	if err != nil {
		r.stats.RefreshFailures.Add(1)
	}
	return err
}

// refresh moves reads from one timestamp to another. Commits of others that are
// in flight over the spans and not surely later count as changes: to wait for
// them could mean two commits waiting for each other.
func (r *Replica) refresh(ctx context.Context, t *kvpb.TxnMeta, spans []kvpb.Span, from, to hlc.Timestamp) error {
	id := txnID(t)
	for _, s := range spans {
		var c *concurrency.Commit
		if len(s.EndKey) == 0 {
			r.reads.AddKey(s.Key, to, id)
			c = r.commits.BlockingRead(id, s.Key, to)
		} else {
			r.reads.AddSpan(s.Key, s.EndKey, to, id)
			c = r.commits.BlockingScan(id, s.Key, s.EndKey, to)
		}
		if c != nil || r.spills.changed(t.ID, s, from, to) {
			return &kvpb.RetryError{Reason: "could not serialize access due to read/write dependencies among transactions", Key: s.Key}
		}
	}
	return eval.Refresh(ctx, r.deps.Engine, spans, from, to, r.spills.undecided())
}

var builders = sync.Pool{New: func() any { return new(apply.Builder) }}

// Commit implements kvpb.Sender.
func (r *Replica) Commit(ctx context.Context, req *kvpb.CommitRequest, resp *kvpb.CommitResponse) error {
	r.stats.Commits.Add(1)
	id := txnID(req.Txn)
	defer r.releaseAll(id, req.Locks)
	if req.LockEpoch != 0 && req.LockEpoch != r.epoch {
		return &kvpb.RetryError{Reason: "the range lost the transaction's locks with its leader"}
	}
	if err := r.deps.AdmitWrite(); err != nil {
		return err
	}
	written := make([][]byte, len(req.Writes))
	for i := range req.Writes {
		written[i] = req.Writes[i].Key
	}
	c := r.commits.Begin(id, written)
	defer c.Finish()
	var s *spill
	var ts hlc.Timestamp
	var err error
	if req.Spilled {
		ts, s, err = r.commitSpill(ctx, req)
		if err == nil {
			c.SetTimestamp(ts)
		}
	} else {
		ts, err = r.commitTimestamp(ctx, req, c)
	}
	if err != nil {
		if s != nil {
			r.decide(s, spillAborted, ts)
		}
		return err
	}
	b := builders.Get().(*apply.Builder)
	defer builders.Put(b)
	b.Reset(req.Txn.ID, ts)
	for i := range req.Writes {
		if w := &req.Writes[i]; w.Value == nil {
			b.Tombstone(w.Key)
		} else {
			b.Put(w.Key, w.Value)
		}
	}
	if b.Len() > apply.MaxCommandBytes {
		return &kvpb.TxnTooLargeError{Bytes: int64(b.Len()), Limit: apply.MaxCommandBytes}
	}
	if s != nil {
		b.SetRaw(keys.TxnRecord(s.anchor, recordID(s.id)), s.encode(spillCommitted, ts))
	}
	r.collectInline(b, req.Writes)
	if err := r.group.propose(b.Bytes()); err != nil {
		return err
	}
	if s != nil {
		r.decide(s, spillCommitted, ts)
	}
	r.protectLockedReads(req, ts)
	r.lastWrite.Store(ts.WallTime) // roughly: commits that race are close together
	resp.CommitTS = ts
	return nil
}

// commitTimestamp chooses when the transaction commits: at its snapshot if no
// other transaction has read its keys since, otherwise now, provided that all it
// read is still true. Below SERIALIZABLE there is nothing to keep true.
func (r *Replica) commitTimestamp(
	ctx context.Context, req *kvpb.CommitRequest, c *concurrency.Commit,
) (hlc.Timestamp, error) {
	t := req.Txn
	if t.Isolation != kvpb.Serializable {
		now := r.deps.Clock.Now()
		c.SetTimestamp(now)
		return now, nil
	}
	ts := t.ReadTS
	move := ts.LessEq(req.MinTS)
	for i := 0; i < len(req.Writes) && !move; i++ {
		move = ts.LessEq(r.reads.GetKey(req.Writes[i].Key, txnID(t)))
	}
	if !move {
		c.SetTimestamp(ts)
		return ts, nil
	}
	// Known before the refresh, so that readers below it need not wait for that.
	now := r.deps.Clock.Now()
	c.SetTimestamp(now)
	if !req.AllReadsHere {
		return hlc.Timestamp{}, &kvpb.RetryError{Reason: "the commit timestamp moved"}
	}
	if len(req.Reads) > 0 {
		r.stats.Refreshes.Add(1)
		if err := r.refresh(ctx, t, req.Reads, t.ReadTS, now); err != nil {
			r.stats.RefreshFailures.Add(1)
			return hlc.Timestamp{}, err
		}
	}
	return now, nil
}

// protectLockedReads keeps what the transaction saw under locks, and did not
// write, as it is up to its commit: its locks did so until now.
func (r *Replica) protectLockedReads(req *kvpb.CommitRequest, ts hlc.Timestamp) {
	if req.Txn.Isolation != kvpb.Serializable || len(req.Locks) <= 1 {
		return // a transaction's only lock is on the row it wrote
	}
	for _, k := range req.Locks {
		r.reads.AddKey(k, ts, txnID(req.Txn))
	}
}

func (r *Replica) releaseAll(id concurrency.TxnID, keys [][]byte) {
	if len(keys) > 0 {
		r.locks.ReleaseAll(id, keys...)
	}
}

// Release implements kvpb.Sender.
func (r *Replica) Release(_ context.Context, req *kvpb.ReleaseRequest) error {
	id := txnID(req.Txn)
	if req.Committed {
		for _, k := range req.Locks {
			r.reads.AddKey(k, req.Txn.ReadTS, id)
		}
	}
	r.releaseAll(id, req.Locks)
	return nil
}
