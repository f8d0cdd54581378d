package replica

import (
	"context"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/raftgroup"
	"github.com/lichendb/lichen/internal/txnintent"
)

var builders = sync.Pool{New: func() any { return new(apply.Builder) }}

// Commit implements kvpb.Sender.
func (r *Replica) Commit(ctx context.Context, req *kvpb.CommitRequest, resp *kvpb.CommitResponse) error {
	r.stats.Commits.Add(1)
	*resp = kvpb.CommitResponse{}
	id := txnID(req.Txn)
	written := make([][]byte, len(req.Writes))
	for i := range req.Writes {
		written[i] = req.Writes[i].Key
	}
	under, err := r.admitCommit(ctx, req, written)
	if err != nil {
		return err
	}
	var s lockSection
	if err := s.enter(ctx, r); err != nil {
		return err
	}
	defer s.leave()
	if req.Resent {
		leave, err := r.replays.Enter(ctx, req.Txn.ID)
		if err != nil {
			return &kvpb.AmbiguousCommitError{Cause: err}
		}
		defer leave()
	}
	if done, err := r.answerAgain(ctx, req, resp, under); done {
		return err
	}
	if err = r.mayCommit(req); err == nil {
		err = r.commit(ctx, req, resp, under, written)
	}
	if err != nil {
		if r.keepsLocks(err) {
			return err
		}
		if req.Resent { // its gateway hears that it failed: no copy may succeed later
			r.abandoned.Add(req.Txn.ID)
		}
		r.releaseAll(id, req.Locks)
		return err
	}
	if resp.Lowest.IsEmpty() {
		r.releaseAll(id, req.Locks)
	}
	return nil
}

// keepsLocks reports whether a commit that failed with err may be sent again, or may
// happen yet: what waits for it then releases the locks (keepCommit).
func (r *Replica) keepsLocks(err error) bool {
	switch err.(type) {
	case *kvpb.NotLeaderError, *kvpb.RangeMismatchError, *kvpb.UnavailableError:
		return true
	case *kvpb.AmbiguousCommitError:
		return !r.onlyVoter()
	}
	return false
}

func (r *Replica) admitCommit(ctx context.Context, req *kvpb.CommitRequest, written [][]byte) (raftgroup.Fence, error) {
	under, err := r.admitWrite(ctx, written...)
	if err != nil {
		return under, err
	}
	desc := r.Desc()
	for _, k := range req.Locks {
		if !desc.ContainsKey(k) {
			return under, r.mismatch()
		}
	}
	if req.Spilled && !desc.ContainsKey(req.Anchor) {
		return under, r.mismatch()
	}
	return under, nil
}

// mayCommit answers whether a commit that has not happened may happen now. A commit
// that comes again must not be refused so before it was looked for: it may have happened.
func (r *Replica) mayCommit(req *kvpb.CommitRequest) error {
	if !r.gatewayAlive(req.Txn.ID, false) {
		return errGatewayGone
	}
	return r.deps.AdmitWrite()
}

// answerAgain answers a commit that was carried out before. One that comes again
// without having been carried out happens now: if an earlier leader had it, it was
// lost, since this one has applied an entry of its own term. That is only known as long as
// it leads: the copy that was in flight here may have ended with the leadership, and
// happened elsewhere (txnintent, invariant 10).
func (r *Replica) answerAgain(
	ctx context.Context, req *kvpb.CommitRequest, resp *kvpb.CommitResponse, under raftgroup.Fence,
) (done bool, err error) {
	if req.Resent {
		if err := r.awaitCommit(ctx, txnID(req.Txn)); err != nil {
			return true, &kvpb.AmbiguousCommitError{Cause: err}
		}
	}
	end := r.finished.Find(req.Txn.ID)
	if end.Known {
		r.releaseAll(txnID(req.Txn), req.Locks) // it is over, one way or the other
	}
	switch {
	case end.Known && end.Aborted:
		return true, errAborted
	case end.Known:
		resp.CommitTS = end.TS
		return true, nil
	case req.Resent && r.finished.MayHaveForgotten(req.Txn.ReadTS):
		return true, &kvpb.AmbiguousCommitError{Cause: &kvpb.UnavailableError{Reason: "the range has forgotten the commits of that time"}}
	case req.Resent:
		if err := r.stillUnder(under); err != nil {
			return true, err
		}
	}
	return false, nil
}

func (r *Replica) commit(
	ctx context.Context, req *kvpb.CommitRequest, resp *kvpb.CommitResponse, under raftgroup.Fence, written [][]byte,
) error {
	id := txnID(req.Txn)
	if len(req.Locks) > 0 {
		if err := r.checkLocks(id, req.Locks, req.LockEpoch, req.LockEpochs, nil); err != nil {
			return err
		}
	}
	if !r.intents.Empty() {
		if err := r.awaitForeign(ctx, req.Txn.ID, written); err != nil {
			return err
		}
	}
	taken, err := r.deps.LongWrites.enter(ctx, req.Writes)
	if err != nil {
		return err
	}
	defer r.deps.LongWrites.leave(taken)
	if req.Spilled {
		return r.commitSpilled(ctx, req, resp, under, written)
	}
	c := r.beginCommit(id, written)
	defer c.Finish()
	if err := r.refused(req); err != nil {
		return err
	}
	ts, err := r.commitTimestamp(ctx, req, resp, c)
	if err == nil {
		err = kvpb.CheckDeadline(ts.Max(resp.Lowest), req.Deadline)
	}
	if err != nil || !resp.Lowest.IsEmpty() {
		return err
	}
	b := builders.Get().(*apply.Builder)
	defer builders.Put(b)
	b.Reset(req.Txn.ID, ts)
	for i := range req.Writes {
		put(b, &req.Writes[i])
	}
	if b.Len() > apply.MaxCommandBytes {
		return &kvpb.TxnTooLargeError{Bytes: int64(b.Len()), Limit: apply.MaxCommandBytes}
	}
	r.collectInline(b, req.Writes)
	r.protectLockedReads(req, ts)
	if err := r.group.proposeKeeping(under, b.Take(), r.keepCommit(req, written, ts)); err != nil {
		return err
	}
	r.lastWrite.Store(ts.WallTime) // roughly: commits that race are close together
	resp.CommitTS = ts
	return nil
}

var errSpillGone = &kvpb.RetryError{Reason: "the transaction's spilled writes are gone"}

// commitSpilled commits a transaction that has spilled and lies in this range alone.
func (r *Replica) commitSpilled(
	ctx context.Context, req *kvpb.CommitRequest, resp *kvpb.CommitResponse, under raftgroup.Fence, written [][]byte,
) error {
	rec, err := r.records.Find(ctx, req.Txn.ID)
	if err != nil {
		return err
	}
	if rec == nil {
		return errSpillGone
	}
	defer r.records.Leave(rec)
	if err := r.syncRecord(rec, under); err != nil {
		return err
	}
	switch {
	case rec.Presence == txnintent.Absent:
		return errSpillGone
	case rec.Status == kvpb.TxnCommitted:
		resp.CommitTS = rec.TS
		return nil
	case rec.Status != kvpb.TxnPending:
		return errAborted
	}
	x, err := r.intents.Enter(ctx, req.Txn.ID, rec.Anchor, time.Now())
	if err != nil {
		return err
	}
	defer r.intents.Leave(x)
	c := r.beginCommit(txnID(req.Txn), written)
	defer c.Finish()
	if err := r.refused(req); err != nil {
		return err
	}
	ts, err := r.spilledTimestamp(ctx, req, x)
	if err == nil {
		err = kvpb.CheckDeadline(ts, req.Deadline)
	}
	if err != nil {
		return err // what it has spilled goes when its gateway says so
	}
	c.SetTimestamp(ts)
	next := rec.TxnRecord
	next.Status, next.TS = kvpb.TxnCommitted, ts
	next.Span = r.intents.State(x).Span // a split may take some of it elsewhere before it is resolved
	b := builders.Get().(*apply.Builder)
	defer builders.Put(b)
	b.Reset(req.Txn.ID, ts)
	for i := range req.Writes {
		put(b, &req.Writes[i])
	}
	b.SetRaw(keys.TxnRecord(rec.Anchor, txnintent.RecordID(rec.ID)), next.Encode())
	if b.Len() > apply.MaxCommandBytes {
		return &kvpb.TxnTooLargeError{Bytes: int64(b.Len()), Limit: apply.MaxCommandBytes}
	}
	r.protectLockedReads(req, ts)
	if err := r.group.proposeKeeping(under, b.Take(), r.keepCommit(req, written, ts)); err != nil {
		return r.storeRecord(rec, next, err)
	}
	rec.Take(next)
	rec.Local = true
	if r.decide(x, txnintent.Committed, ts) {
		r.resolveLater(x)
	}
	r.lastWrite.Store(ts.WallTime)
	resp.CommitTS = ts
	return nil
}

// commitTimestamp chooses when the transaction commits (concurrency.CommitBounds), and lets readers
// below go on. A request that fixes the timestamp is told the lowest possible one if that is higher.
func (r *Replica) commitTimestamp(
	ctx context.Context, req *kvpb.CommitRequest, resp *kvpb.CommitResponse, c *concurrency.Commit,
) (hlc.Timestamp, error) {
	b := concurrency.CommitBounds{
		Snapshot: req.Txn.ReadTS, Serializable: req.Txn.Isolation == kvpb.Serializable, ReadsElsewhere: !req.AllReadsHere,
		Fixed: req.At, MinTS: req.MinTS,
	}
	if !b.Fixed.IsEmpty() {
		c.SetTimestamp(b.Fixed)
	}
	if b.Serializable || !b.Fixed.IsEmpty() {
		b.Read, b.Threshold = r.latestRead(req), r.Threshold()
	}
	choice, ts, refresh := b.Choose()
	switch choice {
	case concurrency.CommitTooLow:
		resp.Lowest = ts
		return req.At, nil
	case concurrency.CommitNow, concurrency.CommitRestart:
		ts = r.deps.Clock.Now() // known before the refresh, so that readers below it need not wait for that
	}
	if b.Fixed.IsEmpty() {
		c.SetTimestamp(ts)
	}
	if choice == concurrency.CommitRestart {
		return hlc.Timestamp{}, &kvpb.RetryError{Reason: "the commit timestamp moved"}
	}
	if refresh && len(req.Reads) > 0 {
		r.stats.Refreshes.Add(1)
		if err := r.refresh(ctx, req.Txn, req.Reads, req.Txn.ReadTS, ts); err != nil {
			r.stats.RefreshFailures.Add(1)
			return hlc.Timestamp{}, err
		}
	}
	return ts, nil
}

// latestRead returns until when others have read what a commit writes.
func (r *Replica) latestRead(req *kvpb.CommitRequest) (ts hlc.Timestamp) {
	for i := range req.Writes {
		ts = ts.Max(r.reads.GetKey(req.Writes[i].Key, txnID(req.Txn)))
	}
	return ts
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

// keepCommit returns what goes on with a commit whose outcome is not known in time:
// readers wait for it, and its locks are held, until it is known.
func (r *Replica) keepCommit(req *kvpb.CommitRequest, written [][]byte, ts hlc.Timestamp) func() func() {
	if r.onlyVoter() {
		return nil // nobody stops waiting
	}
	return func() func() {
		id, locks := txnID(req.Txn), cloneKeys(req.Locks)
		c := r.commits.Begin(id, cloneKeys(written))
		c.SetTimestamp(ts)
		return func() {
			c.Finish()
			r.releaseAll(id, locks)
		}
	}
}

func (r *Replica) releaseAll(id concurrency.TxnID, keys [][]byte) {
	if len(keys) > 0 {
		r.locks.ReleaseAll(id, keys...)
		r.releaseMoved(id, keys)
		r.releaseSubsumed(id, keys)
	}
}

// Release implements kvpb.Sender.
func (r *Replica) Release(ctx context.Context, req *kvpb.ReleaseRequest) error {
	var s lockSection
	if _, err := s.admit(ctx, r, req.Locks...); err != nil {
		return err
	}
	defer s.leave()
	id := txnID(req.Txn)
	if req.Abandoned {
		if err := r.awaitAbandoned(ctx, req); err != nil {
			return err
		}
	}
	if req.Committed {
		for _, k := range req.Locks {
			r.reads.AddKey(k, req.Txn.ReadTS, id)
		}
	}
	r.releaseAll(id, req.Locks)
	return nil
}
