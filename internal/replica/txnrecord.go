package replica

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/raftgroup"
	"github.com/lichendb/lichen/internal/txnintent"
)

// recoverTimeout bounds one recovery.
const recoverTimeout = 5 * time.Second

// enterRecord returns the latched record of a transaction, in its durable state.
func (r *Replica) enterRecord(ctx context.Context, id kvpb.TxnID, anchor []byte, fence raftgroup.Fence) (*txnintent.Record, error) {
	rec, err := r.records.Enter(ctx, id, anchor, time.Now())
	if err != nil {
		return nil, err
	}
	if err := r.syncRecord(rec, fence); err != nil {
		r.records.Leave(rec)
		return nil, err
	}
	return rec, nil
}

// syncRecord finds out the state of a record after a change with an unknown outcome. It proposes an empty
// command: once that is applied, the change has been applied before it or never will be.
func (r *Replica) syncRecord(rec *txnintent.Record, fence raftgroup.Fence) error {
	if rec.Presence != txnintent.Ambiguous {
		return nil
	}
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, hlc.Timestamp{})
	if err := r.group.Propose(fence, b.Bytes()); err != nil {
		return err
	}
	p, ok, err := r.deps.Engine.GetUnversioned(keys.TxnRecord(rec.Anchor, txnintent.RecordID(rec.ID)), nil)
	if err != nil {
		return err
	}
	if !ok {
		rec.Presence = txnintent.Absent
		return nil
	}
	now, err := txnintent.DecodeTxnRecord(p)
	if err != nil {
		return err
	}
	rec.Take(now)
	rec.Presence = txnintent.Stored
	return nil
}

// setRecord writes the outcome of a transaction to its record.
func (r *Replica) setRecord(rec *txnintent.Record, fence raftgroup.Fence, status kvpb.TxnStatus, ts hlc.Timestamp) error {
	next := rec.TxnRecord
	next.Status, next.TS = status, ts
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, ts)
	b.SetRaw(keys.TxnRecord(rec.Anchor, txnintent.RecordID(rec.ID)), next.Encode())
	return r.storeRecord(rec, next, r.group.Propose(fence, b.Bytes()))
}

// storeRecord updates rec after a command that changes the record has ended with err. It returns err.
func (r *Replica) storeRecord(rec *txnintent.Record, next txnintent.TxnRecord, err error) error {
	switch {
	case err == nil:
		rec.Store(next, time.Now())
	case kvpb.Classify(err) == kvpb.ClassAmbiguous:
		rec.Presence = txnintent.Ambiguous
	}
	return err
}

// deleteRecord deletes a record whose transaction has no intents left.
func (r *Replica) deleteRecord(rec *txnintent.Record, fence raftgroup.Fence, d deferral) error {
	ts := rec.TS
	if ts.IsEmpty() { // aborted before any attempt to commit
		ts = r.deps.Clock.Now()
	}
	var b apply.Builder
	b.Reset(rec.ID, txnintent.EndTimestamp(ts, rec.Status == kvpb.TxnAborted))
	b.DeleteRaw(keys.TxnRecord(rec.Anchor, txnintent.RecordID(rec.ID)))
	if err := r.group.proposeDeferrable(d, fence, b.Bytes()); err != nil {
		return err
	}
	rec.Presence = txnintent.Absent
	r.records.Drop(rec)
	return nil
}

// deleteLocalRecord deletes the record of a transaction without intents in other ranges, after those in
// this range were resolved.
func (r *Replica) deleteLocalRecord(ctx context.Context, id kvpb.TxnID) error {
	rec, err := r.records.Find(ctx, id)
	if rec == nil || err != nil {
		return err
	}
	defer r.records.Leave(rec)
	if !rec.Local || rec.Presence != txnintent.Stored {
		return nil
	}
	fence, err := r.admitWrite(ctx, rec.Anchor)
	if err != nil {
		return err
	}
	if len(rec.Span.EndKey) > 0 && !r.holds(rec.Span) {
		return nil // intents that a split moved must be resolved first, which the sweep does (tidy)
	}
	return r.deleteRecord(rec, fence, deferral{})
}

// EndTxn implements kvpb.Committer.
func (r *Replica) EndTxn(ctx context.Context, req *kvpb.EndTxnRequest, resp *kvpb.EndTxnResponse) error {
	*resp = kvpb.EndTxnResponse{}
	d := deferral{allowed: req.Deferrable, flushes: r.group.Queue.Flushes()}
	fence, err := r.admitWrite(ctx, req.Anchor)
	if err != nil {
		return err
	}
	rec, err := r.enterRecord(ctx, req.Txn.ID, req.Anchor, fence)
	if err != nil {
		return err
	}
	defer r.records.Leave(rec)
	known := rec.Presence == txnintent.Stored
	var ended txnintent.Ended
	if !known {
		ended = r.finished.Find(rec.ID)
	}
	step := rec.End(req, ended, !known && r.finished.MayHaveForgotten(req.Since))
	resp.Status, resp.CommitTS, resp.Lowest = step.Status, step.TS, step.MinCommitTS
	switch step.Action {
	case txnintent.AnswerSuperseded:
		return errSuperseded
	case txnintent.AnswerForgotten:
		resp.Forgotten = true
	case txnintent.Delete:
		return r.deleteRecord(rec, fence, d)
	case txnintent.WriteAborted:
		resp.Status = kvpb.TxnAborted
		err = r.abortRecord(rec, fence, step.TS)
	case txnintent.WriteCommitted:
		resp.Status = kvpb.TxnCommitted
		d.allowed = d.allowed && !r.records.Contended(rec)
		err = r.markCommitted(ctx, rec, fence, req.TS, d)
	}
	if err != nil || !known || !resp.Lowest.IsEmpty() {
		return err
	}
	return r.decideByRecord(ctx, rec)
}

// abortRecord writes to a record that its transaction was aborted, at the timestamp of its last attempt or
// at the present time.
func (r *Replica) abortRecord(rec *txnintent.Record, fence raftgroup.Fence, ts hlc.Timestamp) error {
	if rec.Presence == txnintent.Absent {
		ts = r.deps.Clock.Now()
	}
	return r.setRecord(rec, fence, kvpb.TxnAborted, ts)
}

// decideByRecord applies the outcome in a record to the transaction's intents in this range.
func (r *Replica) decideByRecord(ctx context.Context, rec *txnintent.Record) error {
	x := r.intents.Get(rec.ID)
	if x == nil || !rec.Finished() {
		return nil
	}
	return r.decideAndResolve(ctx, x, rec.Status, rec.TS)
}

// markCommitted writes to a record that its transaction has committed at ts. If this range's intents are
// in the state of the last attempt, the same command resolves them, which saves the consensus round of
// resolveIntents. The order of the steps:
//
//  1. TryResolver (in enterStaged) excludes resolveIntents.
//  2. CommitImplicitly precedes the removal of the locks: a reader that finds no lock any more already
//     knows of the commit.
//  3. Resolve follows the application of the command. If the command fails, the intents stay implicitly
//     committed until a push or the sweep reads the record.
func (r *Replica) markCommitted(ctx context.Context, rec *txnintent.Record, fence raftgroup.Fence, ts hlc.Timestamp, d deferral) error {
	x, err := r.enterStaged(ctx, rec)
	if err != nil {
		return err
	}
	if x == nil {
		return r.setRecord(rec, fence, kvpb.TxnCommitted, ts)
	}
	defer r.intents.Leave(x)
	defer x.EndResolver()
	r.intents.Step(x, txnintent.Event{Type: txnintent.CommitImplicitly}) // before the locks go
	next := rec.TxnRecord
	next.Status, next.TS = kvpb.TxnCommitted, ts
	var b apply.Builder
	b.Reset(rec.ID, ts)
	b.SetRaw(keys.TxnRecord(rec.Anchor, txnintent.RecordID(rec.ID)), next.Encode())
	for _, k := range r.intents.State(x).Keys {
		b.DeleteRaw(keys.Lock(k))
	}
	if err := r.storeRecord(rec, next, r.group.proposeDeferrable(d, fence, b.Bytes())); err != nil {
		return err
	}
	r.intents.Step(x, txnintent.Event{Type: txnintent.Resolve, TS: ts})
	return nil
}

// enterStaged returns the intents of a record's transaction in this range, latched and with the caller as
// their resolver. It returns nil unless all of them are staged by the record's attempt.
func (r *Replica) enterStaged(ctx context.Context, rec *txnintent.Record) (*txnintent.Txn, error) {
	x := r.intents.Get(rec.ID)
	if x == nil || len(rec.Keys) == 0 {
		return nil, nil
	}
	if err := r.intents.Latch(ctx, x); err != nil {
		return nil, err
	}
	st := r.intents.State(x)
	ok, err := st.StagedAs(rec.TS, rec.Attempt), error(nil)
	if ok && !st.Applied {
		ok, err = r.allStaged(rec.ID, st.Keys, rec.TS, rec.Attempt)
	}
	if ok && err == nil && x.TryResolver() {
		return x, nil
	}
	r.intents.Leave(x)
	return nil, err
}

// Push implements kvpb.Committer.
func (r *Replica) Push(ctx context.Context, req *kvpb.PushRequest, resp *kvpb.PushResponse) error {
	*resp = kvpb.PushResponse{}
	if r.records.Contend(req.Txn) {
		r.group.Flush()
	}
	fence, err := r.admitWrite(ctx, req.Anchor)
	if err != nil {
		return err
	}
	rec, err := r.enterRecord(ctx, req.Txn, req.Anchor, fence)
	if err != nil {
		return err
	}
	defer r.records.Leave(rec)
	known := rec.Presence == txnintent.Stored
	pusher := txnintent.Pusher{
		TS: req.TS, Waited: req.Waited, GatewayAlive: r.gatewayAlive(rec.ID, rec.Loaded), RecordAge: time.Since(rec.Since),
		AbortAfter: r.commitTimeout(rec.ID, rec.Loaded),
	}
	if !known {
		pusher.Ended = r.finished.Find(rec.ID)
	}
	step := rec.Push(pusher)
	if step.Action == txnintent.Answer {
		resp.Status, resp.CommitTS, resp.Above = step.Status, step.TS, step.PushSucceeded
	} else {
		if err := r.decideRecord(ctx, rec, fence, step); err != nil {
			return err
		}
		resp.Status, resp.CommitTS = rec.Status, rec.TS
	}
	if !known {
		return nil
	}
	return r.decideByRecord(ctx, rec)
}

// decideRecord decides a transaction whose gateway has died or is too slow.
func (r *Replica) decideRecord(ctx context.Context, rec *txnintent.Record, fence raftgroup.Fence, step txnintent.RecordStep) error {
	if step.Action != txnintent.WriteAborted {
		return r.recover(ctx, rec, fence, step.Action == txnintent.RecoverIfStaged)
	}
	err := r.abortRecord(rec, fence, step.TS)
	r.sweepLater()
	return err
}

// recover decides a transaction by a query for all its staged keys. The record stays latched, so that the
// gateway can't end the transaction meanwhile. If onlyStaged is set, it first peeks, and changes nothing
// unless all keys are staged.
func (r *Replica) recover(ctx context.Context, rec *txnintent.Record, fence raftgroup.Fence, onlyStaged bool) error {
	ctx, cancel := context.WithTimeout(ctx, recoverTimeout)
	defer cancel()
	req := kvpb.QueryStagedRequest{Txn: rec.ID, Keys: rec.Keys, TS: rec.TS, Attempt: rec.Attempt}
	var resp kvpb.QueryStagedResponse
	if onlyStaged {
		req.Peek = true
		if err := r.peers().QueryStaged(ctx, &req, &resp); err != nil || !resp.Present {
			return err
		}
		req.Peek = false
	}
	if err := r.peers().QueryStaged(ctx, &req, &resp); err != nil {
		return err
	}
	status := kvpb.TxnAborted
	if resp.Present || plant.On(plant.RecoverIncomplete) {
		status = kvpb.TxnCommitted
	}
	return r.setRecord(rec, fence, status, rec.TS)
}
