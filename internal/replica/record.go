package replica

import (
	"bytes"
	"context"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/raftgroup"
)

// record is a transaction record as the leader of the anchor's range knows it.
type record struct {
	latch chan struct{} // held (full) by the request that reads or changes it
	// The rest is guarded by the latch.
	txnRecord
	durable bool // it is in the range
	// unknown: a change of it may or may not have taken effect.
	unknown bool
	loaded  bool // from before this leadership
	local   bool // the transaction has nothing in other ranges
	since   time.Time
	// wanted: somebody waits to know what it will say. Guarded by spills.mu.
	wanted bool
	// minCommit is a lower bound of the commit timestamp, exclusive, of a transaction
	// that the record alone decides.
	minCommit hlc.Timestamp
}

// take sets what a record says. Whose it is, and where, stays as it is: that is read without
// the latch too.
func (rec *record) take(next txnRecord) {
	rec.status, rec.ts, rec.epoch, rec.keys, rec.span = next.status, next.ts, next.epoch, next.keys, next.span
}

// stored notes what the range's record says now.
func (rec *record) stored(next txnRecord) {
	rec.take(next)
	rec.durable, rec.since = true, time.Now()
}

// enterRecord returns the record of a transaction, a new one if there is none,
// latched.
func (sp *spills) enterRecord(ctx context.Context, id kvpb.TxnID, anchor []byte) (*record, error) {
	for {
		sp.mu.Lock()
		rec := sp.records[id]
		if rec == nil {
			rec = &record{latch: make(chan struct{}, 1), since: time.Now()}
			rec.txnRecord = txnRecord{id: id, anchor: bytes.Clone(anchor)}
			if sp.records == nil {
				sp.records = map[kvpb.TxnID]*record{}
			}
			sp.records[id] = rec
		}
		sp.mu.Unlock()
		current, err := sp.latchRecord(ctx, rec)
		if err != nil {
			select {
			case rec.latch <- struct{}{}:
				sp.leaveRecord(rec) // nobody else sees to it that it goes
			default:
			}
			return nil, err
		}
		if current {
			return rec, nil
		}
	}
}

// knownRecord is enterRecord if there is one, and else returns nil.
func (r *Replica) knownRecord(ctx context.Context, id kvpb.TxnID) (*record, error) {
	sp := &r.spills
	for {
		sp.mu.Lock()
		rec := sp.records[id]
		sp.mu.Unlock()
		if rec == nil {
			return nil, nil
		}
		current, err := sp.latchRecord(ctx, rec)
		if current || err != nil {
			return rec, err
		}
	}
}

func (sp *spills) latchRecord(ctx context.Context, rec *record) (current bool, err error) {
	select {
	case rec.latch <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	sp.mu.Lock()
	current = sp.records[rec.id] == rec
	sp.mu.Unlock()
	if !current {
		<-rec.latch
	}
	return current, nil
}

// leaveRecord gives up the latch; a record that came to nothing goes.
func (sp *spills) leaveRecord(rec *record) {
	if !rec.durable && !rec.unknown {
		sp.dropRecord(rec)
	}
	<-rec.latch
}

func (sp *spills) dropRecord(rec *record) {
	sp.mu.Lock()
	if sp.records[rec.id] == rec {
		delete(sp.records, rec.id)
	}
	sp.mu.Unlock()
}

// dropRecordsFrom forgets the records whose anchors a split has given to the new range,
// which finds them in its data. Whoever changes one now learns that it had no effect.
func (sp *spills) dropRecordsFrom(start []byte) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	for id, rec := range sp.records {
		if bytes.Compare(rec.anchor, start) >= 0 {
			delete(sp.records, id)
		}
	}
}

// syncRecord finds out what a record says after a change of it of which the
// outcome was not known: an entry behind it in the log tells.
func (r *Replica) syncRecord(rec *record, under raftgroup.Fence) error {
	if !rec.unknown {
		return nil
	}
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, hlc.Timestamp{})
	if err := r.group.propose(under, b.Bytes()); err != nil {
		return err
	}
	p, ok, err := r.deps.Engine.GetUnversioned(keys.TxnRecord(rec.anchor, recordID(rec.id)), nil)
	if err != nil {
		return err
	}
	if ok {
		now, err := decodeRecord(p)
		if err != nil {
			return err
		}
		rec.take(now)
	}
	rec.durable, rec.unknown = ok, false
	return nil
}

// setRecord makes a record say what became of its transaction.
func (r *Replica) setRecord(rec *record, under raftgroup.Fence, status kvpb.TxnStatus, ts hlc.Timestamp) error {
	next := rec.txnRecord
	next.status, next.ts = status, ts
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, ts)
	b.SetRaw(keys.TxnRecord(rec.anchor, recordID(rec.id)), next.encode())
	if err := r.group.propose(under, b.Bytes()); err != nil {
		rec.unknown = kvpb.Classify(err) == kvpb.ClassAmbiguous
		return err
	}
	rec.stored(next)
	return nil
}

// forgetRecord deletes a record whose transaction has nothing provisional left.
func (r *Replica) forgetRecord(rec *record, under raftgroup.Fence, h haste) error {
	ts := rec.ts
	if ts.IsEmpty() { // aborted before any attempt to commit
		ts = r.deps.Clock.Now()
	}
	var b apply.Builder
	b.Reset(rec.id, endedAt(ts, rec.status == kvpb.TxnAborted))
	b.DeleteRaw(keys.TxnRecord(rec.anchor, recordID(rec.id)))
	if err := r.group.proposeWith(h, under, b.Bytes()); err != nil {
		return err
	}
	rec.durable = false
	r.spills.dropRecord(rec)
	return nil
}

// forgetLocal deletes the record of a transaction that had nothing in other ranges,
// when nothing is left of it in this one.
func (r *Replica) forgetLocal(ctx context.Context, id kvpb.TxnID) error {
	rec, err := r.knownRecord(ctx, id)
	if rec == nil || err != nil {
		return err
	}
	defer r.spills.leaveRecord(rec)
	if !rec.local || !rec.durable {
		return nil
	}
	under, err := r.admitWrite(ctx, rec.anchor)
	if err != nil {
		return err
	}
	if len(rec.span.EndKey) > 0 && !r.holds(rec.span) {
		return nil // what a split took elsewhere has to go first: the sweep sees to it (tidy)
	}
	return r.forgetRecord(rec, under, haste{})
}

// EndTxn implements kvpb.Committer.
func (r *Replica) EndTxn(ctx context.Context, req *kvpb.EndTxnRequest, resp *kvpb.EndTxnResponse) error {
	*resp = kvpb.EndTxnResponse{}
	h := haste{patient: req.Patient, seen: r.group.hurries()}
	under, err := r.admitWrite(ctx, req.Anchor)
	if err != nil {
		return err
	}
	rec, err := r.spills.enterRecord(ctx, req.Txn.ID, req.Anchor)
	if err != nil {
		return err
	}
	defer r.spills.leaveRecord(rec)
	if err := r.syncRecord(rec, under); err != nil {
		return err
	}
	if !rec.durable {
		return r.endUnknown(rec, under, req, resp)
	}
	switch {
	case req.Action == kvpb.EndForget:
		if rec.status >= kvpb.TxnCommitted {
			return r.forgetRecord(rec, under, h)
		}
		return errSuperseded
	case rec.status >= kvpb.TxnCommitted:
	case req.Action == kvpb.EndAbort:
		err = r.setRecord(rec, under, kvpb.TxnAborted, rec.ts)
	case rec.epoch != req.Epoch || rec.ts != req.TS:
		return errSuperseded
	case rec.keys == nil && req.TS.LessEq(rec.minCommit):
		resp.Lowest = rec.minCommit.Next()
		return nil
	default:
		h.patient = h.patient && !r.spills.isWanted(rec)
		err = r.commitRecord(ctx, rec, under, req.TS, h)
	}
	if err != nil {
		return err
	}
	resp.Status, resp.CommitTS = rec.status, rec.ts
	return r.decideOwn(ctx, rec)
}

// endUnknown answers EndTxn where there is no record: it was forgotten, or never
// came and now must not come any more. Which of both is not known if this replica may
// have forgotten what ended when the transaction may have.
func (r *Replica) endUnknown(rec *record, under raftgroup.Fence, req *kvpb.EndTxnRequest, resp *kvpb.EndTxnResponse) error {
	resp.Status = kvpb.TxnAborted
	if ts, aborted, ok := r.recent.find(rec.id); ok {
		if !aborted {
			resp.Status, resp.CommitTS = kvpb.TxnCommitted, ts
		}
		return nil
	}
	switch {
	case req.Action == kvpb.EndForget:
		return nil
	case !req.Since.IsEmpty() && r.recent.mayHaveForgotten(req.Since):
		resp.Forgotten = true
		return nil
	}
	return r.setRecord(rec, under, kvpb.TxnAborted, r.deps.Clock.Now())
}

// decideOwn tells this range's part of a transaction what its record says.
func (r *Replica) decideOwn(ctx context.Context, rec *record) error {
	sp := &r.spills
	sp.mu.Lock()
	p := sp.all[rec.id]
	sp.mu.Unlock()
	if p == nil || rec.status < kvpb.TxnCommitted {
		return nil
	}
	return r.decideLatched(ctx, p, rec.status, rec.ts)
}
