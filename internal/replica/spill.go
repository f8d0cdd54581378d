package replica

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/raftgroup"
	"github.com/lichendb/lichen/internal/storage/mvcc"
	"github.com/lichendb/lichen/internal/txnintent"
)

// Spill implements kvpb.Spiller.
func (r *Replica) Spill(ctx context.Context, req *kvpb.SpillRequest) error {
	written := make([][]byte, len(req.Writes))
	for i := range req.Writes {
		written[i] = req.Writes[i].Key
	}
	fence, err := r.admitWrite(ctx, written...)
	if err != nil {
		return err
	}
	if err := r.deps.AdmitWrite(); err != nil {
		return err
	}
	if !r.gatewayAlive(req.Txn.ID, false) {
		return errGatewayGone
	}
	if r.finished.Find(req.Txn.ID).Known {
		return errAborted // a late message: its intents would never be removed
	}
	var s lockSection
	if err := s.enter(ctx, r); err != nil {
		return err
	}
	defer s.leave()
	r.awaitFreezeBarrier(ctx, req.Txn.ID)
	for again := true; again; {
		var err error
		if again, err = r.awaitFree(ctx, r.spill(ctx, req, written, fence)); err != nil {
			return err
		}
	}
	r.sweepLater() // the gateway may die, and perhaps no request ever contends for the intents
	r.releaseAll(txnID(req.Txn), req.Locks)
	return nil
}

// spill latches the transaction's record, if it lies in this range, and its intents, and writes the intents; the
// first one writes the record too. It returns busyKeys if it has to begin again.
func (r *Replica) spill(ctx context.Context, req *kvpb.SpillRequest, written [][]byte, fence raftgroup.Fence) error {
	room, err := r.enterLongWrites(ctx, req.Writes)
	if err != nil {
		return err
	}
	defer r.deps.LongWrites.Leave(room)
	anchor := req.Anchor
	if anchor == nil {
		anchor = req.Writes[0].Key
	}
	span := kvpb.Span{Key: bytes.Clone(written[0]), EndKey: keys.Next(written[len(written)-1])}
	rec, leave, err := r.enterPending(ctx, req.Txn.ID, anchor, span, fence)
	if err != nil {
		return err
	}
	defer leave()
	x, err := r.intents.EnterSpill(ctx, req.Txn.ID, anchor, span, time.Now())
	if err != nil {
		return err
	}
	defer r.intents.LeaveSpill(x, span)
	announced := r.commits.Begin(txnID(req.Txn), written)
	defer announced.Finish()
	announced.SetTimestamp(hlc.MaxTimestamp) // reads pass over what is spilled
	if err := r.checkConflicts(announced, written); err != nil {
		return err
	}
	ts, err := r.registerSpill(x, req, span, written, fence)
	if err != nil {
		return err
	}
	if err := r.checkReplacedLocks(req); err != nil {
		return err
	}
	b := builders.Get().(*apply.Builder)
	defer builders.Put(b)
	b.Provisional(req.Txn.ID, ts)
	if rec != nil {
		b.SetRaw(keys.TxnRecord(anchor, txnintent.RecordID(rec.ID)), rec.Encode())
	}
	if err := r.buildSpill(b, req, txnintent.Intent{Txn: req.Txn.ID, TS: ts, Anchor: anchor}); err != nil {
		return err
	}
	onAbandon := r.keepAnnounced(txnID(req.Txn), written, hlc.MaxTimestamp, nil)
	err = r.group.proposeOrAbandon(fence, b.Take(), onAbandon)
	if rec != nil {
		return r.storeRecord(rec, rec.TxnRecord, err)
	}
	return err
}

// buildSpill adds an intent for the last write of each key. All locks come before all versions: each of the
// two runs ascends, so the engine's memtable finds the place of a key beside that of the one before.
func (r *Replica) buildSpill(b *apply.Builder, req *kvpb.SpillRequest, one txnintent.Intent) error {
	earlier, err := r.intentsOn(req.Writes[0].Key, req.Writes[len(req.Writes)-1].Key)
	if err != nil {
		return err
	}
	defer earlier.close()
	var lock, value []byte
	versions := make([]*kvpb.Write, 0, len(req.Writes))
	for i, n := 0, 0; i < len(req.Writes); i = n {
		for n = i + 1; n < len(req.Writes) && bytes.Equal(req.Writes[n].Key, req.Writes[i].Key); {
			n++
		}
		last, in := &req.Writes[n-1], one
		in.Position, in.Deleted = req.Positions[n-1], last.Value == nil
		outdated, err := r.fillHistory(&in, earlier, req, i, n)
		if err != nil {
			return err
		}
		if !outdated {
			lock, value = keys.AppendLock(lock[:0], last.Key), in.AppendTo(value[:0])
			b.SetRaw(lock, value)
			versions = append(versions, last)
		}
	}
	for _, w := range versions {
		put(b, w)
	}
	return nil
}

// checkReplacedLocks checks that the transaction still holds the row locks that the intents replace: if a
// lock was lost, another transaction may have written the key. A key that has an intent of the transaction,
// from an earlier copy of the request, needs no row lock.
func (r *Replica) checkReplacedLocks(req *kvpb.SpillRequest) error {
	for i, k := range req.Locks {
		lost := r.checkLocks(txnID(req.Txn), req.Locks[i:i+1], 0, req.LockTableIDs[min(i, len(req.LockTableIDs)):], nil)
		if lost == nil {
			continue
		}
		if in, ok, err := r.intentOn(k); err != nil || !ok || in.Txn != req.Txn.ID {
			return cmp.Or(err, lost)
		}
	}
	return nil
}

func put(b *apply.Builder, w *kvpb.Write) {
	if w.Value == nil {
		b.Tombstone(w.Key)
	} else {
		b.Put(w.Key, w.Value)
	}
}

// enterPending latches the record of a spilling transaction, unless its anchor lies in another range; leave gives up
// the latch. It returns the record if the spill must store it. After that, spills of different keys share the latch:
// they only need to know that nobody has ended the transaction.
func (r *Replica) enterPending(
	ctx context.Context, id kvpb.TxnID, anchor []byte, span kvpb.Span, fence raftgroup.Fence,
) (rec *txnintent.Record, leave func(), err error) {
	if !r.Desc().ContainsKey(anchor) {
		return nil, func() {}, nil
	}
	stored, err := r.records.FindStored(ctx, id, span)
	if err != nil {
		return nil, nil, err
	}
	if stored != nil {
		leave = func() { r.records.LeaveSpill(stored, span) }
		if stored.Status != kvpb.TxnPending {
			leave()
			return nil, nil, errAborted
		}
		return nil, leave, nil
	}
	rec, err = r.enterRecord(ctx, id, anchor, fence)
	if err != nil {
		return nil, nil, err
	}
	if rec.Presence == txnintent.Stored && rec.Status != kvpb.TxnPending {
		r.records.Leave(rec)
		return nil, nil, errAborted
	}
	return rec, func() { r.records.Leave(rec) }, nil
}

// registerSpill registers the span of a spill before the versions exist, records the latest read of the
// keys, and returns the versions' timestamp.
func (r *Replica) registerSpill(
	x *txnintent.Txn, req *kvpb.SpillRequest, span kvpb.Span, written [][]byte, fence raftgroup.Fence,
) (ts hlc.Timestamp, err error) {
	e := txnintent.Event{Type: txnintent.Spill, Span: span, TS: r.firstSpillTimestamp(req)}
	for {
		// After a change of the bounds the command would have no effect.
		res, ok := r.intents.StepIf(x, e, func() bool { return r.Desc().BoundsGen == fence.BoundsGen })
		switch {
		case !ok:
			return ts, r.mismatch()
		case res.Has(txnintent.ReplyAborted):
			return ts, errAborted
		}
		if !res.Has(txnintent.ReplyTooLow) {
			break
		}
		r.deps.Clock.Forward(res.TS)
		e.TS = r.spillTimestamp()
	}
	// Later reads find the intents in the table; earlier ones are in the timestamp cache.
	r.intents.Step(x, txnintent.Event{Type: txnintent.NoteRead, TS: r.reads.GetKeys(written, txnID(req.Txn))})
	return r.intents.State(x).TS, nil
}

// firstSpillTimestamp returns the timestamp for the versions of a transaction that begins to spill.
func (r *Replica) firstSpillTimestamp(req *kvpb.SpillRequest) hlc.Timestamp {
	if req.AtSnapshot {
		return req.Txn.SnapshotSpill()
	}
	return r.spillTimestamp()
}

func (r *Replica) spillTimestamp() hlc.Timestamp {
	return kvpb.StoreSpill(r.deps.Clock.Now(), r.deps.Store)
}

// fillHistory adds the transaction's earlier writes of a key to the intent of the last one: a rollback to a
// savepoint restores them, and snapshots of earlier statements read them. The request's writes of the key are
// those from i to n. outdated says that the range already has a later write, so this is an old copy of the
// request.
func (r *Replica) fillHistory(
	in *txnintent.Intent, earlier *intentCursor, req *kvpb.SpillRequest, i, n int,
) (outdated bool, err error) {
	key := req.Writes[i].Key
	old, ok, err := earlier.on(key)
	if err != nil {
		return false, err
	}
	ok = ok && old.Txn == in.Txn
	if ok && old.Position >= in.Position {
		return true, nil
	}
	least := in.Position
	add := func(w txnintent.SequencedWrite) { least = in.AppendHistory(w, least, req.Keep, req.Statement) }
	for j := n - 2; j >= i; j-- {
		add(txnintent.SequencedWrite{Position: req.Positions[j], Deleted: req.Writes[j].Value == nil, Value: req.Writes[j].Value})
	}
	if !ok {
		return false, nil
	}
	w := txnintent.SequencedWrite{Position: old.Position, Deleted: old.Deleted}
	if !old.Deleted {
		v, _, err := mvcc.GetOwn(r.deps.Engine, key, in.TS)
		if err != nil {
			return false, err
		}
		w.Value = v.Data
	}
	add(w)
	for _, w := range old.History {
		add(w)
	}
	in.Truncated = in.Truncated || old.Truncated && least >= req.Keep
	return false, nil
}

// errPageFull ends the reading of a page.
var errPageFull = errors.New("replica: the page is full")

// Spilled implements kvpb.Spiller.
func (r *Replica) Spilled(ctx context.Context, req *kvpb.SpilledRequest) (resp kvpb.SpilledResponse, err error) {
	fence, err := r.admitWrite(ctx)
	if err != nil {
		return resp, err
	}
	point := len(req.Span.EndKey) == 0
	if !point && !r.holds(req.Span) || point && !r.Desc().ContainsKey(req.Span.Key) {
		return resp, r.mismatch()
	}
	if r.intents.Get(req.Txn.ID) == nil {
		return resp, r.checkFence(fence)
	}
	if point {
		in, ok, ierr := r.intentOn(req.Span.Key)
		if err = ierr; err == nil && ok && in.Txn == req.Txn.ID {
			err = r.addSpilled(&resp, req, req.Span.Key, in)
		}
	} else {
		err = r.spilledPage(ctx, &resp, req)
	}
	if err != nil {
		return kvpb.SpilledResponse{}, err
	}
	return resp, r.checkFence(fence)
}

// spilledPage reads a page of a span.
func (r *Replica) spilledPage(ctx context.Context, resp *kvpb.SpilledResponse, req *kvpb.SpilledRequest) error {
	size, before := 0, 0
	err := r.scanIntents(ctx, req.Txn.ID, req.Span, req.Reverse, func(key []byte, in txnintent.Intent) error {
		if req.MaxBytes > 0 && size >= req.MaxBytes {
			if resp.Resume = bytes.Clone(key); req.Reverse {
				resp.Resume = keys.Next(key)
			}
			return errPageFull
		}
		err := r.addSpilled(resp, req, key, in)
		if n := len(resp.Writes); n > before {
			size += len(resp.Writes[n-1].Key) + len(resp.Writes[n-1].Value)
			before = n
		}
		return err
	})
	if req.Reverse {
		slices.Reverse(resp.Writes)
	}
	if err == errPageFull {
		return nil
	}
	return err
}

// addSpilled adds the newest write of a key below req.Below, if there is one.
func (r *Replica) addSpilled(resp *kvpb.SpilledResponse, req *kvpb.SpilledRequest, key []byte, in txnintent.Intent) error {
	w, current, ok := in.NewestBelow(req.Below)
	if !ok {
		return nil
	}
	if current && !w.Deleted {
		v, _, err := mvcc.Get(r.deps.Engine, key, in.TS, nil)
		if err != nil {
			return err
		}
		w.Value = v.Data
	}
	resp.Writes = append(resp.Writes, kvpb.SpilledWrite{Key: bytes.Clone(key), Value: w.Value, Position: w.Position, Deleted: w.Deleted})
	return nil
}

// Unspill implements kvpb.Spiller. For an aborted transaction it is called last in the range of the
// anchor, where it removes the record.
func (r *Replica) Unspill(ctx context.Context, req *kvpb.UnspillRequest) error {
	fence, err := r.admitWrite(ctx)
	if err != nil {
		return err
	}
	if len(req.Span.EndKey) > 0 && !r.holds(req.Span) {
		return r.mismatch()
	}
	if err := r.unspill(ctx, req); err != nil {
		return err
	}
	return r.checkFence(fence) // a split may have moved some intents
}

func (r *Replica) unspill(ctx context.Context, req *kvpb.UnspillRequest) error {
	rec, err := r.records.Find(ctx, req.Txn.ID)
	if err != nil {
		return err
	}
	if rec != nil {
		defer r.records.Leave(rec)
	}
	x := r.intents.Get(req.Txn.ID)
	if x == nil {
		return nil
	}
	if err := r.intents.Latch(ctx, x); err != nil {
		return err
	}
	defer r.intents.Leave(x)
	st := r.intents.State(x)
	if req.Abort {
		if rec != nil && rec.Status == kvpb.TxnPending {
			rec.Status, rec.Local = kvpb.TxnAborted, true // no intents are left in other ranges
		}
		if !st.Status.Known() && (rec == nil || rec.Status == kvpb.TxnAborted) && r.decide(x, txnintent.Aborted, hlc.Timestamp{}) {
			r.resolveLater(x)
		}
		return nil
	}
	if st.Status.Known() {
		return errAborted
	}
	return r.rollBackIntents(ctx, x, st.Span, req.From)
}

// rollBackIntents undoes the spilled writes of a span from a position on, for a rollback to a savepoint.
func (r *Replica) rollBackIntents(ctx context.Context, x *txnintent.Txn, span kvpb.Span, from uint64) error {
	if err := r.awaitCommit(ctx, concurrency.TxnID(x.ID())); err != nil { // it may yet write intents
		return err
	}
	fence, err := r.admitWrite(ctx)
	if err != nil {
		return err
	}
	b := newIntentBatch(r, x, r.intents.State(x), fence, deferral{})
	err = r.eachIntent(ctx, x.ID(), span, func(key []byte, in txnintent.Intent) error {
		if in.Position < from {
			return nil
		}
		back, w, ok := in.RollBack(from)
		switch {
		case !ok:
			return &kvpb.RetryError{Reason: "too many versions of a row in a large transaction to return to the savepoint", Key: key}
		case back != nil:
			back.TS = b.st.TS
			b.b.SetRaw(keys.Lock(key), back.Encode())
			b.write(key, back.Deleted, w.Value)
		default:
			b.drop(key, b.st.TS)
			b.b.DeleteRaw(keys.Lock(key))
		}
		return b.added()
	})
	if err != nil {
		return err
	}
	return b.flush()
}
