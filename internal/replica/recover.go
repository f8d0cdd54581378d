package replica

import (
	"bytes"
	"context"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/raftgroup"
	"github.com/lichendb/lichen/internal/storage"
)

const (
	// recoverAfter is how long a gateway may take over the next step of a commit
	// before the record's leader finds out by itself what became of it.
	recoverAfter = 500 * time.Millisecond
	// abandonAfter is how long a commit may take whose gateway is there, before those who
	// meet its locks abort it: a range may be without a leader, or frozen, meanwhile.
	abandonAfter = 3 * time.Second
	// recoverTimeout bounds one recovery.
	recoverTimeout = 5 * time.Second
	// sweepEvery is how often a leader looks after transactions that nobody waits for.
	sweepEvery = 5 * time.Second
	// tidyAfter is how long a decided record waits for its gateway to forget it.
	tidyAfter = 30 * time.Second
)

// Push implements kvpb.Committer.
func (r *Replica) Push(ctx context.Context, req *kvpb.PushRequest, resp *kvpb.PushResponse) error {
	*resp = kvpb.PushResponse{}
	if r.spills.want(req.Txn) {
		r.group.hurry()
	}
	under, err := r.admitWrite(ctx, req.Anchor)
	if err != nil {
		return err
	}
	rec, err := r.spills.enterRecord(ctx, req.Txn, req.Anchor)
	if err != nil {
		return err
	}
	defer r.spills.leaveRecord(rec)
	if err := r.syncRecord(rec, under); err != nil {
		return err
	}
	if !rec.durable {
		return r.pushUnknown(rec, under, req, resp)
	}
	if rec.status < kvpb.TxnCommitted {
		if err := r.pushUndecided(ctx, rec, under, req, resp); err != nil {
			return err
		}
	}
	resp.Status, resp.CommitTS = rec.status, rec.ts
	return r.decideOwn(ctx, rec)
}

// pushUnknown answers where there is no record: the transaction's part of this range
// has not come, or it is over.
func (r *Replica) pushUnknown(rec *record, under raftgroup.Fence, req *kvpb.PushRequest, resp *kvpb.PushResponse) error {
	if ts, aborted, ok := r.recent.find(rec.id); ok {
		resp.Status, resp.CommitTS = kvpb.TxnCommitted, ts
		if aborted {
			resp.Status = kvpb.TxnAborted
		}
		return nil
	}
	if req.Waited < r.commitPatience(rec.id, false) {
		resp.Status = kvpb.TxnStaging
		return nil
	}
	// Durable, so that the part can't come any more under another leader either.
	if err := r.setRecord(rec, under, kvpb.TxnAborted, r.deps.Clock.Now()); err != nil {
		return err
	}
	resp.Status = kvpb.TxnAborted
	r.sweepLater()
	return nil
}

// pushUndecided decides a transaction whose gateway has died or takes too long.
func (r *Replica) pushUndecided(
	ctx context.Context, rec *record, under raftgroup.Fence, req *kvpb.PushRequest, resp *kvpb.PushResponse,
) error {
	dead := !r.gatewayAlive(rec.id, rec.loaded)
	switch {
	case rec.status == kvpb.TxnPending && !dead:
		if !req.TS.IsEmpty() {
			rec.minCommit = rec.minCommit.Max(req.TS)
			resp.Above = true
		}
		return nil
	case rec.status == kvpb.TxnStaging && len(rec.keys) > 0:
		if !dead && time.Since(rec.since) < recoverAfter {
			return nil
		}
		return r.recover(ctx, rec, under, time.Since(rec.since) < r.commitPatience(rec.id, rec.loaded))
	case !dead:
		return nil // the gateway decides
	}
	return r.setRecord(rec, under, kvpb.TxnAborted, rec.ts)
}

// recover decides a transaction by looking for its staged keys. Its record is
// latched all the while, so the gateway does not get in between. With patient it only
// finds out whether the transaction has committed.
func (r *Replica) recover(ctx context.Context, rec *record, under raftgroup.Fence, patient bool) error {
	ctx, cancel := context.WithTimeout(ctx, recoverTimeout)
	defer cancel()
	req := kvpb.QueryStagedRequest{Txn: rec.id, Keys: rec.keys, TS: rec.ts, Epoch: rec.epoch}
	var resp kvpb.QueryStagedResponse
	if patient {
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
	return r.setRecord(rec, under, status, rec.ts)
}

// peers returns what reaches the other parts of a transaction: this range itself
// where there are no others.
func (r *Replica) peers() TxnPeers {
	if r.txnDeps().Peers != nil {
		return r.txnDeps().Peers
	}
	return r
}

// tidy removes what is provisional of a decided transaction in all ranges, and its
// record.
func (r *Replica) tidy(ctx context.Context, id kvpb.TxnID) error {
	rec, err := r.knownRecord(ctx, id)
	if rec == nil || err != nil {
		return err
	}
	known := rec.txnRecord
	ready := rec.durable && !rec.unknown && rec.status >= kvpb.TxnCommitted
	r.spills.leaveRecord(rec)
	if !ready {
		return nil
	}
	req := kvpb.ResolveRequest{
		Txn: id, Commit: known.status == kvpb.TxnCommitted, TS: known.ts, Keys: known.keys, Span: known.span,
	}
	if len(req.Keys) > 0 || len(req.Span.EndKey) > 0 {
		if err := r.peers().Resolve(ctx, &req); err != nil {
			return err
		}
	}
	if rec, err = r.knownRecord(ctx, id); rec == nil || err != nil {
		return err
	}
	defer r.spills.leaveRecord(rec)
	under, err := r.admitWrite(ctx, rec.anchor)
	if err != nil {
		return err
	}
	if !rec.durable || rec.unknown {
		return nil
	}
	return r.forgetRecord(rec, under, haste{})
}

// sweepLater makes sure that somebody looks after what is provisional here, even
// if nobody ever meets it.
func (r *Replica) sweepLater() {
	sp := &r.spills
	sp.mu.Lock()
	defer sp.mu.Unlock()
	r.startSweepLocked()
}

func (r *Replica) startSweepLocked() {
	sp := &r.spills
	if sp.sweeps || sp.closed {
		return
	}
	sp.sweeps = true
	stopping := sp.lifetime().Done()
	sp.goLocked(func() { r.sweep(stopping) })
}

func (r *Replica) sweep(stopping <-chan struct{}) {
	sp := &r.spills
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-stopping:
			return
		case <-tick.C:
		}
		sp.mu.Lock()
		if len(sp.all) == 0 && len(sp.records) == 0 || r.lease.Load() == nil {
			sp.sweeps = false
			sp.mu.Unlock()
			return
		}
		sp.mu.Unlock()
		r.sweepOnce(sweepEvery)
	}
}

// Sweep looks after all that is provisional in the range now. What others are removing
// just then it waits for.
func (r *Replica) Sweep() {
	r.sweepOnce(0)
	sp := &r.spills
	var parts []*part
	sp.mu.Lock()
	for _, p := range sp.all {
		parts = append(parts, p)
	}
	sp.mu.Unlock()
	if len(parts) == 0 {
		return
	}
	for _, p := range parts {
		sp.mu.Lock()
		decided := p.state >= partCommitted
		sp.mu.Unlock()
		if decided {
			<-p.done
		}
	}
	r.sweepOnce(0)
}

// sweepFirst sweeps as soon as the replica serves.
func (r *Replica) sweepFirst(stopping <-chan struct{}) {
	for range 100 {
		if r.Leads() {
			r.sweepOnce(0)
			return
		}
		select {
		case <-stopping:
			return
		case <-time.After(pushFirst):
		}
	}
}

// sweepOnce takes one step with each transaction that is at least as old as age.
func (r *Replica) sweepOnce(age time.Duration) {
	sp := &r.spills
	var parts []*part
	var records []*record
	sp.mu.Lock()
	for _, p := range sp.all {
		parts = append(parts, p)
	}
	for _, rec := range sp.records {
		records = append(records, rec)
	}
	sp.mu.Unlock()
	step := func(fn func(ctx context.Context)) {
		ctx, cancel := sp.background(settleTimeout)
		defer cancel()
		fn(ctx)
	}
	// The parts come first, and each step has its own time: what is done about a record
	// waits for the parts, this range's own among them.
	for _, p := range parts {
		r.sweepPart(p)
	}
	for _, rec := range records {
		step(func(ctx context.Context) { r.sweepRecord(ctx, rec.id, age) })
	}
}

func (r *Replica) sweepPart(p *part) {
	sp := &r.spills
	sp.mu.Lock()
	state, current := p.state, sp.all[p.id] == p
	sp.mu.Unlock()
	switch {
	case !current || state == partNew:
	case state == partStaging || state == partPending && r.forsaken(p):
		sp.mu.Lock()
		wanted := p.wanted
		sp.mu.Unlock()
		r.pushOnce(p, wanted)
	case state >= partCommitted:
		r.settleLater(p) // it may take its time, and others must not wait for that
	}
}

// forsaken reports whether the gateway of a part that was spilled has ended, or has ended
// the transaction and could not say so here.
func (r *Replica) forsaken(p *part) bool {
	if !r.gatewayAlive(p.id, false) {
		return true
	}
	over := r.txnDeps().Over
	return over != nil && time.Since(p.since) >= tidyAfter && over(p.id)
}

func (r *Replica) sweepRecord(ctx context.Context, id kvpb.TxnID, age time.Duration) {
	rec, err := r.knownRecord(ctx, id)
	if rec == nil || err != nil {
		return
	}
	if !r.Desc().ContainsKey(rec.anchor) {
		// A change of it was under way when a split gave it to the new range, whose
		// leader looks after it.
		r.spills.dropRecord(rec)
		<-rec.latch
		return
	}
	dead := !r.gatewayAlive(id, rec.loaded)
	old := time.Since(rec.since)
	status, anchor, local := rec.status, rec.anchor, rec.local
	r.spills.leaveRecord(rec)
	switch {
	case status < kvpb.TxnCommitted && (dead || status == kvpb.TxnStaging && old >= age):
		var resp kvpb.PushResponse
		if err := r.Push(ctx, &kvpb.PushRequest{Txn: id, Anchor: anchor, Waited: recoverAfter}, &resp); err != nil {
			return
		}
	case status < kvpb.TxnCommitted:
		return
	}
	r.spills.mu.Lock()
	settled := r.spills.all[id] == nil
	r.spills.mu.Unlock()
	if local && settled || !local && (dead || old >= tidyAfter) {
		_ = r.tidy(ctx, id) // tried again by the next sweep
	}
}

// loadSpills finds what is provisional in the range when a leadership begins. A
// transaction whose gateway may be alive stays undecided: this leader knows no
// more than that. What others have read there lies below low.
func (r *Replica) loadSpills(low hlc.Timestamp) error {
	sp := &r.spills
	d := r.Desc()
	records, err := r.loadRecords(keys.Span{Start: d.StartKey, End: d.EndKey}, true, low)
	if err != nil {
		return err
	}
	parts, err := r.loadParts()
	if err != nil {
		return err
	}
	for id, p := range parts {
		p.maxRead = low
		rec := records[id]
		switch {
		case rec == nil:
			p.state, p.from = partStaging, p.ts
		case rec.status == kvpb.TxnCommitted:
			p.state, p.commitTS = partCommitted, rec.ts
			r.deps.Clock.Forward(rec.ts) // its versions move there
		case rec.status == kvpb.TxnAborted:
			p.state = partAborted
		case rec.status == kvpb.TxnPending:
			p.state = partPending
		default:
			p.state, p.from = partStaging, p.ts
			if p.spilled {
				p.from = rec.ts
			}
		}
		if !p.undecided() {
			close(p.decided)
		}
	}
	sp.mu.Lock()
	old := sp.all
	sp.all, sp.records = parts, records
	sp.active.Store(int32(len(parts)))
	for _, p := range old {
		p.wake()
	}
	if len(parts)+len(records) > 0 && !sp.closed {
		stopping := sp.lifetime().Done()
		sp.goLocked(func() { r.sweepFirst(stopping) })
		r.startSweepLocked()
	}
	sp.mu.Unlock()
	return nil
}

// loadRecords reads the records whose anchors lie in a span of keys. loaded says that
// they are from before this leadership, low that others have been told of no later commit.
func (r *Replica) loadRecords(anchors keys.Span, loaded bool, low hlc.Timestamp) (map[kvpb.TxnID]*record, error) {
	span := keys.TxnRecordSpan(anchors)
	it, err := r.deps.Engine.NewIter(storage.IterOptions{Lower: span.Start, Upper: span.End})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	found := map[kvpb.TxnID]*record{}
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return nil, err
		}
		rec := &record{latch: make(chan struct{}, 1), durable: true, loaded: loaded, since: time.Now()}
		if rec.txnRecord, err = decodeRecord(v); err != nil {
			return nil, err
		}
		rec.minCommit = low
		if rec.status == kvpb.TxnPending && !r.gatewayAlive(rec.id, loaded) {
			// Nobody can commit it any more, and every leader concludes the same.
			rec.status = kvpb.TxnAborted
		}
		rec.local = rec.status >= kvpb.TxnCommitted && len(rec.keys) == 0 && (len(rec.span.EndKey) == 0 || r.holds(rec.span))
		found[rec.id] = rec
	}
	return found, r.deps.Engine.ReadError(it.Error())
}

func (r *Replica) loadParts() (map[kvpb.TxnID]*part, error) {
	d := r.Desc()
	found := map[kvpb.TxnID]*part{}
	all := kvpb.Span{Key: d.StartKey, EndKey: d.EndKey}
	err := r.eachLock(context.Background(), kvpb.TxnID{}, all, func(key []byte, l lockRecord) error {
		p := found[l.txn]
		if p == nil {
			p = newPart(l.txn, l.anchor)
			p.loaded = true
			p.ts, p.oldest, p.spilled, p.lo = l.ts, l.ts, !l.staged, bytes.Clone(key)
			found[l.txn] = p
		}
		p.hi = next(key)
		p.epoch = max(p.epoch, l.epoch)
		p.ts, p.oldest = p.ts.Max(l.ts), p.oldest.Min(l.ts)
		if l.staged {
			p.keys = append(p.keys, bytes.Clone(key))
			p.pinned = true // the leader before may have told a recovery that they are staged
		}
		return nil
	})
	return found, err
}
