package replica

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/raftgroup"
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
	if _, _, ended := r.recent.find(req.Txn.ID); ended {
		return errAborted // a late message: nobody would ever remove what it leaves
	}
	var s lockSection
	if err := s.enter(ctx, r); err != nil {
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
	if err := r.checkReplaced(req); err != nil {
		return err
	}
	b := builders.Get().(*apply.Builder)
	defer builders.Put(b)
	b.Reset(kvpb.TxnID{}, p.ts)
	if rec != nil {
		b.SetRaw(keys.TxnRecord(anchor, recordID(p.id)), rec.encode())
	}
	for i, n := 0, 0; i < len(req.Writes); i = n {
		for n = i + 1; n < len(req.Writes) && bytes.Equal(req.Writes[n].Key, req.Writes[i].Key); {
			n++
		}
		last := &req.Writes[n-1]
		l := lockRecord{txn: p.id, ts: p.ts, anchor: anchor, position: req.Positions[n-1], deleted: last.Value == nil}
		if late, err := r.fillHistory(p, req, i, n, &l); err != nil {
			return err
		} else if !late {
			b.SetRaw(keys.Lock(last.Key), l.encode())
			put(b, last)
		}
	}
	if err := r.group.propose(under, b.Bytes()); err != nil {
		return err
	}
	if rec != nil {
		rec.durable = true
	}
	r.sweepLater() // its gateway may die, and nobody ever meet what it leaves
	r.releaseAll(txnID(req.Txn), req.Locks)
	return nil
}

// checkReplaced checks that the row locks are still held that the spill's durable ones replace:
// others may have written the keys of those that were lost. If the spill comes again its durable
// locks may be there.
func (r *Replica) checkReplaced(req *kvpb.SpillRequest) error {
	for i, k := range req.Locks {
		lost := r.checkLocks(txnID(req.Txn), req.Locks[i:i+1], 0, req.LockEpochs[min(i, len(req.LockEpochs)):], nil)
		if lost == nil {
			continue
		}
		if l, ok, err := r.lockOf(k); err != nil || !ok || l.txn != req.Txn.ID {
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
func (r *Replica) enterSpill(p *part, req *kvpb.SpillRequest, under raftgroup.Fence) error {
	sp := &r.spills
	lo, hi := req.Writes[0].Key, next(req.Writes[len(req.Writes)-1].Key)
	r.deps.Clock.Now() // it may wait for a disk, which nobody may with the mutex held
	sp.mu.Lock()
	if p.state > partPending && !p.inherited() || p.state != partNew && !p.spilled {
		sp.mu.Unlock()
		return errAborted
	}
	if r.Desc().BoundsGen != under.BoundsGen { // it has no effect any more
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

// fillHistory fills in what a key was before the last of the writes from i to n, so that
// a rollback to a savepoint can bring it back and earlier statements' snapshots see it.
// late says that a later write is there already: the request comes again.
func (r *Replica) fillHistory(p *part, req *kvpb.SpillRequest, i, n int, rec *lockRecord) (late bool, err error) {
	key := req.Writes[i].Key
	old, ok, err := r.lockOf(key)
	if err != nil {
		return false, err
	}
	ok = ok && old.txn == p.id
	if ok && old.position >= rec.position {
		return true, nil
	}
	next := rec.position
	add := func(w spilledWrite) {
		switch {
		case next < req.Keep: // nobody goes back behind the one that is there
		case w.position >= req.Statement: // replaced by the same statement
		case len(rec.history) == maxHistory:
			rec.cut = true
		default:
			rec.history = append(rec.history, w)
			next = w.position
		}
	}
	for j := n - 2; j >= i; j-- {
		add(spilledWrite{position: req.Positions[j], deleted: req.Writes[j].Value == nil, value: req.Writes[j].Value})
	}
	if !ok {
		return false, nil
	}
	w := spilledWrite{position: old.position, deleted: old.deleted}
	if !old.deleted {
		v, _, err := mvcc.Get(r.deps.Engine, key, p.ts, nil)
		if err != nil {
			return false, err
		}
		w.value = v.Data
	}
	add(w)
	for _, w := range old.history {
		add(w)
	}
	rec.cut = rec.cut || old.cut && next >= req.Keep
	return false, nil
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

// errPageFull ends the reading of a page.
var errPageFull = errors.New("replica: the page is full")

// Spilled implements kvpb.Spiller.
func (r *Replica) Spilled(ctx context.Context, req *kvpb.SpilledRequest) (resp kvpb.SpilledResponse, err error) {
	under, err := r.admitWrite(ctx)
	if err != nil {
		return resp, err
	}
	point := len(req.Span.EndKey) == 0
	if !point && !r.holds(req.Span) || point && !r.Desc().ContainsKey(req.Span.Key) {
		return resp, r.mismatch()
	}
	r.spills.mu.Lock()
	p := r.spills.all[req.Txn.ID]
	r.spills.mu.Unlock()
	if p == nil {
		return resp, r.stillUnder(under)
	}
	if point {
		rec, ok, lerr := r.lockOf(req.Span.Key)
		if err = lerr; err == nil && ok && rec.txn == p.id {
			err = r.addSpilled(&resp, p, req, req.Span.Key, rec)
		}
	} else {
		err = r.spilledPage(ctx, &resp, p, req)
	}
	if err != nil {
		return kvpb.SpilledResponse{}, err
	}
	return resp, r.stillUnder(under)
}

// spilledPage reads a page of a span.
func (r *Replica) spilledPage(ctx context.Context, resp *kvpb.SpilledResponse, p *part, req *kvpb.SpilledRequest) error {
	size, before := 0, 0
	err := r.scanLocks(ctx, p.id, req.Span, req.Reverse, func(key []byte, rec lockRecord) error {
		if req.MaxBytes > 0 && size >= req.MaxBytes {
			if resp.Resume = bytes.Clone(key); req.Reverse {
				resp.Resume = next(key)
			}
			return errPageFull
		}
		err := r.addSpilled(resp, p, req, key, rec)
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
func (r *Replica) addSpilled(resp *kvpb.SpilledResponse, p *part, req *kvpb.SpilledRequest, key []byte, rec lockRecord) error {
	w := kvpb.SpilledWrite{Key: bytes.Clone(key), Position: rec.position, Deleted: rec.deleted}
	switch i := slices.IndexFunc(rec.history, func(w spilledWrite) bool { return w.position < req.Below }); {
	case rec.position < req.Below && rec.deleted:
	case rec.position < req.Below:
		v, _, err := mvcc.Get(r.deps.Engine, key, p.ts, nil)
		if err != nil {
			return err
		}
		w.Value = v.Data
	case i < 0:
		return nil
	default:
		old := rec.history[i]
		w.Value, w.Deleted, w.Position = old.value, old.deleted, old.position
	}
	resp.Writes = append(resp.Writes, w)
	return nil
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
		r.settleOrSweep(ctx, p)
	})
}

// settleOrSweep removes what is left of a decided part, or has the sweep do so.
func (r *Replica) settleOrSweep(ctx context.Context, p *part) {
	if err := r.settlePart(ctx, p); err != nil {
		r.deps.Logger.Debug("clean up after a transaction; the sweep goes on with it", "range", r.id, "err", err)
		r.sweepLater()
	}
}
