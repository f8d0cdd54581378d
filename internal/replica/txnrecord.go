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

// enterRecord returns the record of a transaction as it stands, latched.
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

// syncRecord finds out what a record says after a change of it of which the outcome was not
// known: an entry behind it in the log tells.
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

// setRecord makes a record say what became of its transaction.
func (r *Replica) setRecord(rec *txnintent.Record, fence raftgroup.Fence, status kvpb.TxnStatus, ts hlc.Timestamp) error {
	next := rec.TxnRecord
	next.Status, next.TS = status, ts
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, ts)
	b.SetRaw(keys.TxnRecord(rec.Anchor, txnintent.RecordID(rec.ID)), next.Encode())
	return r.storeRecord(rec, next, r.group.Propose(fence, b.Bytes()))
}

// storeRecord notes what a command that was to change a record has come to.
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

// deleteLocalRecord deletes the record of a transaction that had no intents in other ranges,
// when none is left in this one.
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
		return nil // what a split took elsewhere has to go first: the sweep sees to it (tidy)
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

// abortRecord makes a record say that its transaction was aborted, at its last attempt, or now.
func (r *Replica) abortRecord(rec *txnintent.Record, fence raftgroup.Fence, ts hlc.Timestamp) error {
	if rec.Presence == txnintent.Absent {
		ts = r.deps.Clock.Now()
	}
	return r.setRecord(rec, fence, kvpb.TxnAborted, ts)
}

// decideByRecord tells this range's intents of a transaction what its record says.
func (r *Replica) decideByRecord(ctx context.Context, rec *txnintent.Record) error {
	x := r.intents.Get(rec.ID)
	if x == nil || !rec.Finished() {
		return nil
	}
	return r.decideAndResolve(ctx, x, rec.Status, rec.TS)
}

// markCommitted makes a record say that its transaction has committed at ts. If this range's
// intents are as the last attempt staged them, the same command removes their locks.
//
// resolveIntents (resolve.go) would do that in a command of its own; here one consensus round is
// saved. txnintent decides both ways by the same events. TryResolver keeps resolveIntents away.
// CommitImplicitly comes before the locks go: a reader that finds a lock gone knows of the commit.
// Resolve says that the command was applied. If it fails, the intents stay, implicitly committed,
// until a push or the sweep learns what the record says.
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
	r.intents.Step(x, txnintent.Event{Type: txnintent.CommitImplicitly}) // before its locks go
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

// enterStaged returns this range's intents of the transaction of a record, latched and not
// being resolved by anybody else, if they are staged as the record says with a durable lock
// for each key; otherwise nil.
func (r *Replica) enterStaged(ctx context.Context, rec *txnintent.Record) (*txnintent.Txn, error) {
	x := r.intents.Get(rec.ID)
	if x == nil || len(rec.Keys) == 0 {
		return nil, nil
	}
	if err := r.intents.Latch(ctx, x); err != nil {
		return nil, err
	}
	st := r.intents.State(x)
	ok, err := st.StagedAs(rec.TS, rec.Epoch), error(nil)
	if ok && !st.Applied {
		ok, err = r.allStaged(rec.ID, st.Keys, rec.TS, rec.Epoch)
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

// decideRecord decides a transaction whose gateway has died or takes too long.
func (r *Replica) decideRecord(ctx context.Context, rec *txnintent.Record, fence raftgroup.Fence, step txnintent.RecordStep) error {
	if step.Action != txnintent.WriteAborted {
		return r.recover(ctx, rec, fence, step.Action == txnintent.RecoverIfStaged)
	}
	err := r.abortRecord(rec, fence, step.TS)
	r.sweepLater()
	return err
}

// recover decides a transaction by looking for its staged keys. Its record is latched all the
// while, so the gateway does not get in between. With onlyStaged nothing is prevented from
// being staged yet.
func (r *Replica) recover(ctx context.Context, rec *txnintent.Record, fence raftgroup.Fence, onlyStaged bool) error {
	ctx, cancel := context.WithTimeout(ctx, recoverTimeout)
	defer cancel()
	req := kvpb.QueryStagedRequest{Txn: rec.ID, Keys: rec.Keys, TS: rec.TS, Epoch: rec.Epoch}
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
