package replica

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/raftgroup"
	"github.com/lichendb/lichen/internal/trace"
)

var builders = sync.Pool{New: func() any { return new(apply.Builder) }}

// commit is the commit of a transaction that has written in this range only (a one-phase commit). It
// needs no staging: the command that writes the versions decides the transaction. The leader
//
//  1. admits the request (admit, lockSection); for a request that was sent again it answers with the
//     outcome of an earlier copy (answerEarlier),
//  2. checks the transaction's locks, and acquires room for its writes (checkLocks, enterLongWrites),
//  3. announces the keys: later readers wait (beginCommit). If another transaction's command in flight, or
//     its intents, are in the way, it waits and begins again (checkConflicts, awaitFree),
//  4. chooses a timestamp above all earlier reads of the keys (chooseTimestamp),
//  5. proposes the command, and releases the locks when it is applied.
//
// A commit that fails before step 5 has no effect. If step 5 times out, the keys stay announced and
// locked until the outcome is known (onAbandon).
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

// admit checks that the replica leads, and that the range holds the keys and locks of the request, its
// spilled writes, and its reads if the gateway says so. The gateway may not know of a split yet.
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
	if span := c.req.SpillSpan; c.req.Spilled && (!desc.ContainsKey(c.req.Anchor) || len(span.Key) > 0 && !c.r.holds(span)) {
		return fence, c.r.mismatch()
	}
	if c.req.AllReadsHere && slices.ContainsFunc(c.req.Reads, func(s kvpb.Span) bool { return !c.r.holds(s) }) {
		return fence, c.r.mismatch()
	}
	return fence, nil
}

func (c *commit) run(ctx context.Context) error {
	for {
		again, err := c.r.awaitFree(ctx, c.attempt(ctx))
		if !again {
			return err
		}
	}
}

// attempt returns busyKeys if it has to begin again.
func (c *commit) attempt(ctx context.Context) error {
	// This follows answerEarlier: an error says that the commit has not happened, but an earlier copy of
	// the request may have committed.
	if !c.r.gatewayAlive(c.req.Txn.ID, false) {
		return errGatewayGone
	}
	if err := c.r.deps.AdmitWrite(); err != nil {
		return err
	}
	if len(c.req.Locks) > 0 {
		if err := c.r.checkLocks(c.id, c.req.Locks, c.req.LockTableID, c.req.LockTableIDs, nil); err != nil {
			return err
		}
	}
	room, err := c.r.enterLongWrites(ctx, c.req.Writes)
	if err != nil {
		return err
	}
	defer c.r.deps.LongWrites.Leave(room)
	if c.req.Spilled {
		return c.commitSpilled(ctx)
	}
	announced := c.r.beginCommit(c.id, c.written)
	defer announced.Finish()
	if err := cmp.Or(c.superseded(), c.r.checkConflicts(announced, c.written)); err != nil {
		return err
	}
	ts, err := c.chooseTimestamp(ctx, announced)
	if err == nil {
		err = kvpb.CheckDeadline(ts.Max(c.resp.Lowest), c.req.Deadline)
	}
	if err != nil || !c.resp.Lowest.IsEmpty() {
		return err
	}
	span := trace.Begin(ctx, "replicate")
	err = c.propose(ts)
	span.End(err)
	return err
}

// propose writes the versions at ts and waits until they are applied.
func (c *commit) propose(ts hlc.Timestamp) error {
	r := c.r
	b := c.build(ts)
	defer builders.Put(b)
	if err := checkSize(b); err != nil {
		return err
	}
	if !c.req.Ingest { // else there are no earlier versions
		r.collectInline(b, c.req.Writes)
	}
	c.protectLockedReads(ts)
	command := b.Take()
	if c.req.Ingest {
		r.tables.Prepare(r.deps.Engine, command)
		defer r.tables.Drop(command)
	}
	if err := r.group.proposeOrAbandon(c.fence, command, c.onAbandon(ts)); err != nil {
		return err
	}
	c.committed(ts)
	return nil
}

// build begins the command: the request's writes at ts. The caller puts it back into builders.
func (c *commit) build(ts hlc.Timestamp) *apply.Builder {
	b := builders.Get().(*apply.Builder)
	b.Reset(c.req.Txn.ID, ts)
	if c.req.Ingest {
		b.Table()
	}
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
	c.r.lastWrite.Store(ts.WallTime) // roughly the newest: commits that race are close together
	c.resp.CommitTS = ts
}

// superseded refuses an announced commit if its transaction was abandoned or another copy of the
// request has arrived.
func (c *commit) superseded() error {
	switch id := c.req.Txn.ID; {
	case c.r.abandoned.Has(id):
		return errAborted
	case !c.req.Resent && c.r.replays.Replayed.Has(id):
		return errReplayed
	}
	return nil
}

// chooseTimestamp chooses the commit timestamp (concurrency.CommitBounds) and lets readers below it
// continue. If the request fixes a timestamp that is too low, the response contains the lowest possible one.
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
		b.Read, b.Threshold = r.reads.GetKeys(c.written, c.id), r.Threshold()
	}
	choice, ts, refresh := b.Choose()
	switch choice {
	case concurrency.CommitTooLow:
		c.resp.Lowest = ts
		return req.At, nil
	case concurrency.CommitNow, concurrency.CommitRestart:
		ts = r.deps.Clock.Now() // chosen before the refresh, so that readers below it do not wait for the refresh
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

// protectLockedReads enters locked keys into the timestamp cache. Rows that the transaction locked but did
// not write must not change before its commit timestamp, and its locks are about to go. Those that it wrote have a
// version at that timestamp, which says so.
func (c *commit) protectLockedReads(ts hlc.Timestamp) {
	if c.req.Txn.Isolation != kvpb.Serializable {
		return
	}
	at := 0 // locks mostly are in the order of the keys
	for _, k := range c.req.Locks {
		if at == len(c.written) || !bytes.Equal(c.written[at], k) {
			var wrote bool
			if at, wrote = slices.BinarySearchFunc(c.written, k, bytes.Compare); !wrote {
				c.r.reads.AddKey(k, ts, c.id)
				continue
			}
		}
		at++
	}
}

// onAbandon returns the OnAbandon of the commit's proposal: the keys stay announced, and locked, until the
// outcome is known.
func (c *commit) onAbandon(ts hlc.Timestamp) func() (known func()) {
	return c.r.keepAnnounced(c.id, c.written, ts, c.req.Locks)
}

// releaseLocks releases the locks of a commit that ended with err, unless it may still happen.
func (c *commit) releaseLocks(err error) {
	switch {
	case err != nil && c.mayHappenYet(err), err == nil && !c.resp.Lowest.IsEmpty():
		return
	case err != nil && c.req.Resent: // the gateway learns that the commit failed: no copy may succeed later
		c.r.abandoned.Add(c.req.Txn.ID)
	}
	c.r.releaseAll(c.id, c.req.Locks)
}

// mayHappenYet reports whether a commit that failed with err will be sent again, or was proposed and may
// still be applied. In the second case onAbandon releases the locks when the outcome is known.
func (c *commit) mayHappenYet(err error) bool {
	switch err.(type) {
	case *kvpb.NotLeaderError, *kvpb.RangeMismatchError, *kvpb.UnavailableError:
		return true
	case *kvpb.AmbiguousCommitError:
		return !c.r.onlyVoter()
	}
	return false
}
