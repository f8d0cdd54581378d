package replica

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/txnintent"
)

const (
	// sweepEvery is the interval at which a leader sweeps abandoned transactions.
	sweepEvery = 5 * time.Second
	// orphanedAfter is the age of spilled intents from which on the sweep asks their gateway whether
	// the transaction has ended.
	orphanedAfter = 30 * time.Second
)

// sweepLater starts the sweep unless it is running. The sweep resolves intents that no request contends for.
func (r *Replica) sweepLater() {
	r.sweepMu.Lock()
	defer r.sweepMu.Unlock()
	if !r.sweeping {
		r.sweeping = r.tasks.run(r.sweep)
	}
}

func (r *Replica) sweep() {
	stopping := r.tasks.stopping()
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-stopping:
			return
		case <-tick.C:
		}
		if r.sweepEnds() {
			return
		}
		r.sweepOnce(sweepEvery)
	}
}

// sweepEnds reports whether there is nothing to sweep. If so, it clears sweeping under the mutex, so that a
// later sweepLater starts another sweep.
func (r *Replica) sweepEnds() bool {
	r.sweepMu.Lock()
	defer r.sweepMu.Unlock()
	if r.intents.Empty() && r.records.Len() == 0 || r.lease.Load() == nil {
		r.sweeping = false
	}
	return !r.sweeping
}

// Sweep sweeps all intents in the range now, and waits for resolutions in progress.
func (r *Replica) Sweep() {
	r.sweepOnce(0)
	all := r.intents.All()
	if len(all) == 0 {
		return
	}
	for _, x := range all {
		if r.intents.State(x).Status.Decided() {
			<-x.Done()
		}
	}
	r.sweepOnce(0)
}

// sweepFirst sweeps as soon as the replica serves.
func (r *Replica) sweepFirst() {
	stopping := r.tasks.stopping()
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
	all, ids := r.intents.All(), r.records.IDs()
	// The intents come first: the end of a record waits for the resolution of its intents, including
	// those of this range.
	for _, x := range all {
		r.sweepTxn(x)
	}
	for _, id := range ids {
		r.sweepRecord(id, age)
	}
}

func (r *Replica) sweepTxn(x *txnintent.Txn) {
	st := r.intents.State(x)
	switch st.Sweep(func() bool { return r.orphaned(x) }) {
	case txnintent.SweepPush:
		r.pushOnce(x, st.PushTo)
	case txnintent.SweepResolve:
		r.resolveLater(x) // in the background, so that it does not delay the rest of the sweep
	}
}

// orphaned reports whether the gateway of a transaction that has spilled here has died, or has ended the
// transaction with a message that was lost.
func (r *Replica) orphaned(x *txnintent.Txn) bool {
	if !r.gatewayAlive(x.ID(), false) {
		return true
	}
	finalized := r.txnDeps().Finalized
	return finalized != nil && time.Since(x.Since()) >= orphanedAfter && finalized(x.ID())
}

func (r *Replica) sweepRecord(id kvpb.TxnID, least time.Duration) {
	ctx, cancel := r.tasks.context(resolveTimeout)
	defer cancel()
	rec, err := r.records.Find(ctx, id)
	if rec == nil || err != nil {
		return
	}
	if !r.Desc().ContainsKey(rec.Anchor) {
		// The record was being changed when a split moved it to the right half, whose leader sweeps
		// it.
		r.records.Drop(rec)
		r.records.Leave(rec)
		return
	}
	now := rec.RecordState
	r.records.Leave(rec)
	alive, age := r.gatewayAlive(id, now.Loaded), time.Since(now.Since)
	switch now.Sweep(alive, age, least) {
	case txnintent.SweepNothing:
		return
	case txnintent.SweepPush:
		var resp kvpb.PushResponse
		if err := r.Push(ctx, &kvpb.PushRequest{Txn: id, Anchor: now.Anchor, Waited: txnintent.RecoverAfter}, &resp); err != nil {
			return
		}
	}
	if now.Tidies(alive, r.intents.Get(id) == nil, age) {
		_ = r.tidy(ctx, id) // tried again by the next sweep
	}
}

// tidy resolves the intents of a decided transaction in all ranges, and deletes its record.
func (r *Replica) tidy(ctx context.Context, id kvpb.TxnID) error {
	rec, err := r.records.Find(ctx, id)
	if rec == nil || err != nil {
		return err
	}
	known := rec.RecordState
	r.records.Leave(rec)
	if known.Presence != txnintent.Stored || !known.Finished() {
		return nil
	}
	req := kvpb.ResolveRequest{
		Txn: id, Commit: known.Status == kvpb.TxnCommitted, TS: known.TS, Keys: known.Keys, Span: known.Span,
	}
	if len(req.Keys) > 0 || len(req.Span.EndKey) > 0 {
		if err := r.peers().Resolve(ctx, &req); err != nil {
			return err
		}
	}
	if rec, err = r.records.Find(ctx, id); rec == nil || err != nil {
		return err
	}
	defer r.records.Leave(rec)
	fence, err := r.admitWrite(ctx, rec.Anchor)
	if err != nil {
		return err
	}
	if rec.Presence != txnintent.Stored {
		return nil
	}
	return r.deleteRecord(rec, fence, deferral{})
}
