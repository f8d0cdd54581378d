package replica

import (
	"context"
	"sync"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/raftgroup"
)

var builders = sync.Pool{New: func() any { return new(apply.Builder) }}

// commit is the commit of a transaction that has written in this range only. It needs no staging:
// the command that writes the versions decides the transaction. The leader
//
//  1. admits the request (admit, lockSection) and, if it was sent again, answers what became of an
//     earlier copy (answerEarlier),
//  2. checks the transaction's locks, and waits until intents of others have left its keys and its
//     writes have room (checkLocks, awaitWrites),
//  3. announces the keys: readers that come from now on wait (beginCommit),
//  4. chooses the timestamp above all earlier reads of the keys (chooseTimestamp),
//  5. proposes the command, and releases the locks when it is applied.
//
// A commit that fails before 5 has had no effect. If the outcome of 5 is not known in time, the
// keys stay announced and locked until it is (keep).
type commit struct {
	r       *Replica
	req     *kvpb.CommitRequest
	resp    *kvpb.CommitResponse
	id      concurrency.TxnID
	written [][]byte        // in the request's memory
	fence   raftgroup.Fence // the leadership, and the bounds, that admitted it
}

// Commit implements kvpb.Sender.
func (r *Replica) Commit(ctx context.Context, req *kvpb.CommitRequest, resp *kvpb.CommitResponse) (err error) {
	r.stats.Commits.Add(1)
	*resp = kvpb.CommitResponse{}
	c := commit{r: r, req: req, resp: resp, id: txnID(req.Txn), written: make([][]byte, len(req.Writes))}
	for i := range req.Writes {
		c.written[i] = req.Writes[i].Key
	}
	if c.fence, err = c.admit(ctx); err != nil {
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
	if done, err := c.answerEarlier(ctx); done {
		return err
	}
	err = c.run(ctx)
	c.releaseLocks(err)
	return err
}

// admit checks that the replica leads and holds all keys and locks of the request.
func (c *commit) admit(ctx context.Context) (raftgroup.Fence, error) {
	fence, err := c.r.admitWrite(ctx, c.written...)
	if err != nil {
		return fence, err
	}
	desc := c.r.Desc()
	for _, k := range c.req.Locks {
		if !desc.ContainsKey(k) {
			return fence, c.r.mismatch()
		}
	}
	if c.req.Spilled && !desc.ContainsKey(c.req.Anchor) {
		return fence, c.r.mismatch()
	}
	return fence, nil
}

func (c *commit) run(ctx context.Context) error {
	// Not earlier: a request that is refused here has not happened, one that was sent again may have.
	if !c.r.gatewayAlive(c.req.Txn.ID, false) {
		return errGatewayGone
	}
	if err := c.r.deps.AdmitWrite(); err != nil {
		return err
	}
	if len(c.req.Locks) > 0 {
		if err := c.r.checkLocks(c.id, c.req.Locks, c.req.LockEpoch, c.req.LockEpochs, nil); err != nil {
			return err
		}
	}
	room, err := c.r.awaitWrites(ctx, c.req.Txn.ID, c.written, c.req.Writes)
	if err != nil {
		return err
	}
	defer c.r.deps.LongWrites.leave(room)
	if c.req.Spilled {
		return c.commitSpilled(ctx)
	}
	announced := c.r.beginCommit(c.id, c.written)
	defer announced.Finish()
	if err := c.superseded(); err != nil {
		return err
	}
	ts, err := c.chooseTimestamp(ctx, announced)
	if err == nil {
		err = kvpb.CheckDeadline(ts.Max(c.resp.Lowest), c.req.Deadline)
	}
	if err != nil || !c.resp.Lowest.IsEmpty() {
		return err
	}
	return c.propose(ts)
}

// propose writes the versions at ts and waits until they are applied.
func (c *commit) propose(ts hlc.Timestamp) error {
	r := c.r
	b := c.build(ts)
	defer builders.Put(b)
	if err := checkSize(b); err != nil {
		return err
	}
	r.collectInline(b, c.req.Writes)
	c.protectLockedReads(ts)
	if err := r.group.proposeKeeping(c.fence, b.Take(), c.keep(ts)); err != nil {
		return err
	}
	c.committed(ts)
	return nil
}

// build begins the command: the request's writes at ts. The caller puts it back into builders.
func (c *commit) build(ts hlc.Timestamp) *apply.Builder {
	b := builders.Get().(*apply.Builder)
	b.Reset(c.req.Txn.ID, ts)
	for i := range c.req.Writes {
		put(b, &c.req.Writes[i])
	}
	return b
}

// checkSize returns TxnTooLargeError if the command is too long for raft.
func checkSize(b *apply.Builder) error {
	if b.Len() > apply.MaxCommandBytes {
		return &kvpb.TxnTooLargeError{Bytes: int64(b.Len()), Limit: apply.MaxCommandBytes}
	}
	return nil
}

// committed answers the request.
func (c *commit) committed(ts hlc.Timestamp) {
	c.r.lastWrite.Store(ts.WallTime) // roughly: commits that race are close together
	c.resp.CommitTS = ts
}

// superseded refuses a commit that was announced if another copy of the request, or the end of
// its gateway, has taken its place.
func (c *commit) superseded() error {
	switch id := c.req.Txn.ID; {
	case c.r.abandoned.Has(id):
		return errAborted
	case !c.req.Resent && c.r.replays.Replayed.Has(id):
		return errReplayed
	}
	return nil
}

// chooseTimestamp chooses when the transaction commits (concurrency.CommitBounds), and lets readers
// below go on. A request that fixes the timestamp is told the lowest possible one if that is higher.
func (c *commit) chooseTimestamp(ctx context.Context, announced *concurrency.Commit) (hlc.Timestamp, error) {
	r, req := c.r, c.req
	b := concurrency.CommitBounds{
		Snapshot: req.Txn.ReadTS, Serializable: req.Txn.Isolation == kvpb.Serializable, ReadsElsewhere: !req.AllReadsHere,
		Fixed: req.At, MinTS: req.MinTS,
	}
	if !b.Fixed.IsEmpty() {
		announced.SetTimestamp(b.Fixed)
	}
	if b.Serializable || !b.Fixed.IsEmpty() {
		b.Read, b.Threshold = c.latestRead(), r.Threshold()
	}
	choice, ts, refresh := b.Choose()
	switch choice {
	case concurrency.CommitTooLow:
		c.resp.Lowest = ts
		return req.At, nil
	case concurrency.CommitNow, concurrency.CommitRestart:
		ts = r.deps.Clock.Now() // known before the refresh, so that readers below it need not wait for that
	}
	if b.Fixed.IsEmpty() {
		announced.SetTimestamp(ts)
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

// latestRead returns the timestamp of the last read that others made of the keys.
func (c *commit) latestRead() (ts hlc.Timestamp) {
	for _, k := range c.written {
		ts = ts.Max(c.r.reads.GetKey(k, c.id))
	}
	return ts
}

// protectLockedReads keeps what the transaction saw under locks, and did not
// write, as it is up to its commit: its locks did so until now.
func (c *commit) protectLockedReads(ts hlc.Timestamp) {
	if c.req.Txn.Isolation != kvpb.Serializable || len(c.req.Locks) <= 1 {
		return // a transaction's only lock is on the row it wrote
	}
	for _, k := range c.req.Locks {
		c.r.reads.AddKey(k, ts, c.id)
	}
}

// keep returns what a proposal calls if its outcome is not known in time: the keys stay announced
// and the locks held until the function that this returns is called, with the outcome known.
func (c *commit) keep(ts hlc.Timestamp) func() (known func()) {
	r, req, written := c.r, c.req, c.written
	if r.onlyVoter() {
		return nil // nobody stops waiting
	}
	return func() func() {
		id, locks := txnID(req.Txn), cloneKeys(req.Locks)
		announced := r.commits.Begin(id, cloneKeys(written))
		announced.SetTimestamp(ts)
		return func() {
			announced.Finish()
			r.releaseAll(id, locks)
		}
	}
}

// releaseLocks releases the locks of a commit that ended with err, unless it goes on.
func (c *commit) releaseLocks(err error) {
	switch {
	case err != nil && c.mayHappenYet(err), err == nil && !c.resp.Lowest.IsEmpty():
		return
	case err != nil && c.req.Resent: // its gateway hears that it failed: no copy may succeed later
		c.r.abandoned.Add(c.req.Txn.ID)
	}
	c.r.releaseAll(c.id, c.req.Locks)
}

// mayHappenYet reports whether a commit that failed with err will be sent again, or was proposed and
// may be applied: the locks are released then (keep).
func (c *commit) mayHappenYet(err error) bool {
	switch err.(type) {
	case *kvpb.NotLeaderError, *kvpb.RangeMismatchError, *kvpb.UnavailableError:
		return true
	case *kvpb.AmbiguousCommitError:
		return !c.r.onlyVoter()
	}
	return false
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
