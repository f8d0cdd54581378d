package replica

import (
	"bytes"
	"context"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

// spillMark in the logical time of a spilled part's versions keeps them apart from
// those of every other transaction: no clock counts that far.
const spillMark = 1 << 31

// Spill implements kvpb.Spiller.
func (r *Replica) Spill(ctx context.Context, req *kvpb.SpillRequest) error {
	written := make([][]byte, len(req.Writes))
	for i := range req.Writes {
		written[i] = req.Writes[i].Key
	}
	under, err := r.admitWrite(ctx, written...)
	if err != nil {
		return err
	}
	if err := r.deps.AdmitWrite(); err != nil {
		return err
	}
	if !r.gatewayAlive(req.Txn.ID, false) {
		return errGatewayGone
	}
	var s lockSection
	if err := s.enter(r); err != nil {
		return err
	}
	defer s.leave()
	r.enterGate(ctx, req.Txn.ID)
	if r.spills.active.Load() != 0 {
		if err := r.awaitForeign(ctx, req.Txn.ID, written); err != nil {
			return err
		}
	}
	anchor := req.Anchor
	if anchor == nil {
		anchor = req.Writes[0].Key
	}
	rec, err := r.enterPending(ctx, req.Txn.ID, anchor)
	if err != nil {
		return err
	}
	if rec != nil {
		defer r.spills.leaveRecord(rec)
	}
	p, err := r.spills.enter(ctx, req.Txn.ID, anchor)
	if err != nil {
		return err
	}
	defer r.spills.leave(p)
	if err := r.enterSpill(p, req, under); err != nil {
		return err
	}
	b := builders.Get().(*apply.Builder)
	defer builders.Put(b)
	b.Reset(kvpb.TxnID{}, p.ts)
	if rec != nil {
		b.SetRaw(keys.TxnRecord(anchor, recordID(p.id)), rec.encode())
	}
	for i, w := range req.Writes {
		l := lockRecord{txn: p.id, ts: p.ts, anchor: anchor, position: req.Positions[i], deleted: w.Value == nil}
		if err := r.previous(p, w.Key, &l); err != nil {
			return err
		}
		b.SetRaw(keys.Lock(w.Key), l.encode())
		put(b, &req.Writes[i])
	}
	if err := r.group.propose(under, b.Bytes()); err != nil {
		return err
	}
	if rec != nil {
		rec.durable = true
	}
	r.releaseAll(txnID(req.Txn), req.Locks)
	return nil
}

func put(b *apply.Builder, w *kvpb.Write) {
	if w.Value == nil {
		b.Tombstone(w.Key)
	} else {
		b.Put(w.Key, w.Value)
	}
}

// enterPending returns the latched record of a transaction that spills, nil if its
// anchor is in another range.
func (r *Replica) enterPending(ctx context.Context, id kvpb.TxnID, anchor []byte) (*record, error) {
	if !r.Desc().ContainsKey(anchor) {
		return nil, nil
	}
	rec, err := r.spills.enterRecord(ctx, id, anchor)
	if err != nil {
		return nil, err
	}
	if rec.durable && rec.status != kvpb.TxnPending {
		r.spills.leaveRecord(rec)
		return nil, errAborted
	}
	return rec, nil
}

// enterSpill registers the keys of a spill before their versions exist, and
// notes who has read them.
func (r *Replica) enterSpill(p *part, req *kvpb.SpillRequest, under tenure) error {
	sp := &r.spills
	lo, hi := req.Writes[0].Key, next(req.Writes[len(req.Writes)-1].Key)
	r.deps.Clock.Now() // it may wait for a disk, which nobody may with the mutex held
	sp.mu.Lock()
	if p.state > partPending || p.state != partNew && !p.spilled {
		sp.mu.Unlock()
		return errAborted
	}
	if r.Desc().Borders != under.borders { // it has no effect any more
		sp.mu.Unlock()
		return r.mismatch()
	}
	if p.state == partNew {
		now, ok := r.deps.Clock.TryNow()
		if !ok {
			sp.mu.Unlock()
			return &kvpb.UnavailableError{Reason: "the clock waits for a disk"}
		}
		p.state, p.spilled, p.ts = partPending, true, now
		p.ts.Logical |= spillMark
		must.True(r.announceLocked(p, p.ts).IsEmpty(), "R8: the clock is behind the collection threshold")
	}
	if p.lo == nil || bytes.Compare(lo, p.lo) < 0 {
		p.lo = bytes.Clone(lo)
	}
	if p.hi == nil || bytes.Compare(hi, p.hi) > 0 {
		p.hi = hi
	}
	sp.mu.Unlock()
	// Reads from now on pass view; those before are in the cache.
	var read hlc.Timestamp
	for _, w := range req.Writes {
		read = read.Max(r.reads.GetKey(w.Key, txnID(req.Txn)))
	}
	sp.mu.Lock()
	p.maxRead = p.maxRead.Max(read)
	sp.mu.Unlock()
	return nil
}

// previous fills in what an earlier spilled write of the same key was, so that a
// rollback to a savepoint can bring it back.
func (r *Replica) previous(p *part, key []byte, rec *lockRecord) error {
	old, ok, err := r.lockOf(key)
	if err != nil || !ok || old.txn != p.id {
		return err
	}
	rec.hasPrev, rec.prevPosition, rec.prevDeleted = true, old.position, old.deleted
	if !old.deleted {
		v, _, err := mvcc.Get(r.deps.Engine, key, p.ts, nil)
		if err != nil {
			return err
		}
		rec.prevValue = v.Data
	}
	return nil
}

// lockOf reads the durable lock on a key.
func (r *Replica) lockOf(key []byte) (rec lockRecord, ok bool, err error) {
	p, ok, err := r.deps.Engine.GetUnversioned(keys.Lock(key), nil)
	if err != nil || !ok {
		return rec, false, err
	}
	rec, err = decodeLock(p)
	return rec, err == nil, err
}

// Spilled implements kvpb.Spiller.
func (r *Replica) Spilled(ctx context.Context, req *kvpb.SpilledRequest) ([]kvpb.SpilledWrite, error) {
	under, err := r.admitWrite(ctx)
	if err != nil {
		return nil, err
	}
	if len(req.Span.EndKey) > 0 && !r.holds(req.Span) || len(req.Span.EndKey) == 0 && !r.Desc().ContainsKey(req.Span.Key) {
		return nil, r.mismatch()
	}
	r.spills.mu.Lock()
	p := r.spills.all[req.Txn.ID]
	r.spills.mu.Unlock()
	if p == nil {
		return nil, r.stillUnder(under)
	}
	var out []kvpb.SpilledWrite
	add := func(key []byte, rec lockRecord) error {
		w := kvpb.SpilledWrite{Key: bytes.Clone(key), Position: rec.position, Deleted: rec.deleted}
		switch {
		case rec.position < req.Below && !rec.deleted:
			v, _, err := mvcc.Get(r.deps.Engine, key, p.ts, nil)
			if err != nil {
				return err
			}
			w.Value = v.Data
		case rec.position < req.Below:
		case rec.hasPrev && rec.prevPosition < req.Below:
			w.Value, w.Deleted, w.Position = rec.prevValue, rec.prevDeleted, rec.prevPosition
		default:
			return nil
		}
		out = append(out, w)
		return nil
	}
	if len(req.Span.EndKey) > 0 {
		err = r.eachLock(ctx, p.id, req.Span, add)
	} else if rec, ok, lerr := r.lockOf(req.Span.Key); lerr != nil {
		err = lerr
	} else if ok && rec.txn == p.id {
		err = add(req.Span.Key, rec)
	}
	if err != nil {
		return nil, err
	}
	return out, r.stillUnder(under)
}

// Unspill implements kvpb.Spiller. Of an aborted transaction it is called last in
// the range of the anchor, where the record goes.
func (r *Replica) Unspill(ctx context.Context, req *kvpb.UnspillRequest) error {
	under, err := r.admitWrite(ctx)
	if err != nil {
		return err
	}
	if len(req.Span.EndKey) > 0 && !r.holds(req.Span) {
		return r.mismatch()
	}
	if err := r.unspill(ctx, req); err != nil {
		return err
	}
	return r.stillUnder(under) // else some of it went elsewhere
}

func (r *Replica) unspill(ctx context.Context, req *kvpb.UnspillRequest) error {
	rec, err := r.knownRecord(ctx, req.Txn.ID)
	if err != nil {
		return err
	}
	if rec != nil {
		defer r.spills.leaveRecord(rec)
	}
	sp := &r.spills
	sp.mu.Lock()
	p := sp.all[req.Txn.ID]
	sp.mu.Unlock()
	if p == nil {
		return nil
	}
	if err := sp.latch(ctx, p); err != nil {
		return err
	}
	defer sp.leave(p)
	if req.Abort {
		if rec != nil && rec.status == kvpb.TxnPending {
			rec.status, rec.local = kvpb.TxnAborted, true // nothing in other ranges is left
		}
		if p.undecided() && (rec == nil || rec.status == kvpb.TxnAborted) {
			r.decide(p, partAborted, hlc.Timestamp{})
		}
		return nil
	}
	if !p.undecided() {
		return errAborted
	}
	return r.undo(ctx, p, sp.bounds(p), req.From)
}

// commitSpill decides at which timestamp a spilled transaction that lies in this
// range alone commits, and makes readers wait for the outcome. Record and part are
// latched by the caller.
func (r *Replica) commitSpill(ctx context.Context, req *kvpb.CommitRequest, p *part) (ts hlc.Timestamp, err error) {
	sp := &r.spills
	sp.mu.Lock()
	if p.state != partPending && p.state != partStaging {
		sp.mu.Unlock()
		return ts, &kvpb.RetryError{Reason: "the transaction's spilled writes are gone"}
	}
	read := p.maxRead.Max(r.reads.LowWater())
	p.state, p.from = partStaging, p.ts
	sp.mu.Unlock()
	ts = p.ts
	for i := range req.Writes {
		read = read.Max(r.reads.GetKey(req.Writes[i].Key, txnID(req.Txn)))
	}
	if ts.LessEq(read) || ts.LessEq(req.MinTS) || ts.Less(req.Txn.ReadTS) {
		ts = r.deps.Clock.Now()
	}
	if req.Txn.Isolation == kvpb.Serializable && len(req.Reads) > 0 {
		err = r.refresh(ctx, req.Txn, req.Reads, req.Txn.ReadTS, ts)
	}
	return ts, err
}

// settleLater removes what is left of a decided part, in the background.
func (r *Replica) settleLater(p *part) {
	r.spills.run(func() {
		ctx, cancel := r.spills.background(settleTimeout)
		defer cancel()
		if err := r.settlePart(ctx, p); err != nil {
			r.deps.Logger.Debug("clean up after a transaction; the sweep goes on with it",
				"range", r.id, "err", err)
			r.sweepLater()
		}
	})
}
