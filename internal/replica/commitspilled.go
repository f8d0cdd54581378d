package replica

import (
	"cmp"
	"context"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/txnintent"
)

var errSpillGone = &kvpb.RetryError{Reason: "the transaction's spilled writes are gone"}

// commitSpilled commits a transaction that has spilled, with all its writes in this range. One command
// writes the versions that were not spilled and the committed record, which decides the intents.
func (c *commit) commitSpilled(ctx context.Context) error {
	r, req := c.r, c.req
	rec, err := r.records.Find(ctx, req.Txn.ID)
	if err != nil {
		return err
	}
	if rec == nil {
		return errSpillGone
	}
	defer r.records.Leave(rec)
	if err := r.syncRecord(rec, c.fence); err != nil {
		return err
	}
	switch {
	case rec.Presence == txnintent.Absent:
		return errSpillGone
	case rec.Status == kvpb.TxnCommitted:
		c.resp.CommitTS = rec.TS
		return nil
	case rec.Status != kvpb.TxnPending:
		return errAborted
	}
	x, err := r.intents.Enter(ctx, req.Txn.ID, rec.Anchor, time.Now())
	if err != nil {
		return err
	}
	defer r.intents.Leave(x)
	announced := r.beginCommit(c.id, c.written)
	defer announced.Finish()
	if err := cmp.Or(c.superseded(), r.checkConflicts(announced, c.written)); err != nil {
		return err
	}
	ts, err := c.chooseSpilledTimestamp(ctx, x)
	if err == nil {
		err = kvpb.CheckDeadline(ts, req.Deadline)
	}
	if err != nil {
		return err // the gateway removes the spilled intents
	}
	announced.SetTimestamp(ts)
	return c.proposeSpilled(rec, x, ts)
}

// chooseSpilledTimestamp chooses the commit timestamp of a spilled transaction, and from then on makes
// readers wait for the outcome. The caller holds the latches of the record and the intents.
func (c *commit) chooseSpilledTimestamp(ctx context.Context, x *txnintent.Txn) (ts hlc.Timestamp, err error) {
	r, req := c.r, c.req
	b := concurrency.CommitBounds{
		Snapshot: req.Txn.ReadTS, Serializable: req.Txn.Isolation == kvpb.Serializable, Read: r.reads.LowWater(), MinTS: req.MinTS,
	}
	res := r.intents.Step(x, txnintent.Event{Type: txnintent.CommitHere})
	if res.Has(txnintent.ReplyAborted) {
		return ts, errSpillGone
	}
	b.Read = b.Read.Max(res.TS).Max(r.reads.GetKeys(c.written, c.id))
	b.Spilled = r.intents.State(x).TS
	choice, ts, refresh := b.Choose()
	if choice == concurrency.CommitNow {
		ts = r.deps.Clock.Now()
	}
	if refresh && len(req.Reads) > 0 {
		err = r.refresh(ctx, req.Txn, req.Reads, req.Txn.ReadTS, ts)
	}
	return ts, err
}

// proposeSpilled writes the rest of the versions and the committed record.
func (c *commit) proposeSpilled(rec *txnintent.Record, x *txnintent.Txn, ts hlc.Timestamp) error {
	r := c.r
	next := rec.TxnRecord
	next.Status, next.TS = kvpb.TxnCommitted, ts
	next.Span = r.intents.State(x).Span // a split may move a part of the span before it is resolved
	b := c.build(ts)
	defer builders.Put(b)
	b.SetRaw(keys.TxnRecord(rec.Anchor, txnintent.RecordID(rec.ID)), next.Encode())
	if err := checkSize(b); err != nil {
		return err
	}
	c.protectLockedReads(ts)
	if err := r.group.proposeOrAbandon(c.fence, b.Take(), c.onAbandon(ts)); err != nil {
		return r.storeRecord(rec, next, err)
	}
	rec.Take(next)
	rec.Local = true
	if r.decide(x, txnintent.Committed, ts) {
		r.resolveLater(x)
	}
	c.committed(ts)
	return nil
}
