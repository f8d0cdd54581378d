package replica

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/lichendb/lichen/internal/eval"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/storage/mvcc"
	"github.com/lichendb/lichen/internal/txnintent"
)

// This file carries out what package txnintent decides about the intents of a range, and loads the intents
// when a leadership begins.

// perform performs the effects of an event except the replies.
func (r *Replica) perform(x *txnintent.Txn, e txnintent.Effects) {
	if e.Has(txnintent.StartPusher) {
		r.tasks.run(func() { r.pushUntilDecided(x) })
	}
	if e.Has(txnintent.Flush) {
		r.group.Flush()
	}
	if e.Has(txnintent.Sweep) {
		r.sweepLater()
	}
	if e.Has(txnintent.StartResolver) {
		r.resolveLater(x)
	}
}

// decide records the outcome of a transaction. The caller holds its latch. If resolve is true, the caller
// resolves the intents.
func (r *Replica) decide(x *txnintent.Txn, outcome txnintent.Status, ts hlc.Timestamp) (resolve bool) {
	st := r.intents.State(x)
	if st.Loaded && outcome == txnintent.Committed && !st.Status.Decided() { // before readers see the commit
		r.deps.Clock.Forward(ts)
		r.raiseCertain()
	}
	return r.intents.Step(x, txnintent.Event{Type: txnintent.Decide, Outcome: outcome, TS: ts}).Has(txnintent.StartResolver)
}

// decideLatched acquires the latch and calls decide with the status of the record. The status may come
// from another node; decideLatched returns an error if it contradicts a known outcome.
func (r *Replica) decideLatched(ctx context.Context, x *txnintent.Txn, status kvpb.TxnStatus, ts hlc.Timestamp) (resolve bool, err error) {
	if err := r.intents.Latch(ctx, x); err != nil {
		return false, err
	}
	defer r.intents.Leave(x)
	outcome := txnintent.Outcome(status)
	if st := r.intents.State(x); st.Contradicts(outcome) {
		return false, fmt.Errorf("replica: another node says that transaction %v is %v, here it is %v", x.ID(), outcome, st.Status)
	}
	return r.decide(x, outcome, ts), nil
}

// decideAndResolve is decideLatched, and resolves the intents in the background.
func (r *Replica) decideAndResolve(ctx context.Context, x *txnintent.Txn, status kvpb.TxnStatus, ts hlc.Timestamp) error {
	resolve, err := r.decideLatched(ctx, x, status, ts)
	if resolve {
		r.resolveLater(x)
	}
	return err
}

// visibleIntents returns the versions that a read of [start, end), or of the key start, at ts must skip, or
// nil if there are none. It waits for commits whose outcome is unknown.
func (r *Replica) visibleIntents(ctx context.Context, self kvpb.TxnID, start, end []byte, ts hlc.Timestamp) (txnintent.View, error) {
	if r.intents.Empty() {
		return nil, nil
	}
	for {
		v, wait := r.intents.Read(self, start, end, ts)
		if wait == nil {
			return v, nil
		}
		if err := r.awaitReadable(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// latestVisible reads the newest committed version of a key with intents. All of them are decided, except
// the transaction's own.
func (r *Replica) latestVisible(req *kvpb.LockRequest, resp *kvpb.LockResponse) error {
	hidden, moved := r.intents.Latest(req.Key)
	l := eval.Committed{Hidden: hidden.Hidden, Moved: moved}
	rd := mvcc.NewReader(r.deps.Engine)
	defer rd.Close()
	return l.Read(&rd, req.Key, resp)
}

// hiddenIntents returns the versions that do not belong to the committed state, or belong there at another
// timestamp, or nil if there are none.
func (r *Replica) hiddenIntents() mvcc.Hidden {
	if v := r.intents.Apart(); v != nil {
		return v.Hidden
	}
	return nil
}

// intentOn reads the intent on a key.
func (r *Replica) intentOn(key []byte) (in txnintent.Intent, ok bool, err error) {
	p, ok, err := r.deps.Engine.GetUnversioned(keys.Lock(key), nil)
	if err != nil || !ok {
		return in, false, err
	}
	in, err = txnintent.DecodeIntent(p)
	return in, err == nil, err
}

// allStaged reports whether one attempt to commit has staged all keys.
func (r *Replica) allStaged(id kvpb.TxnID, written [][]byte, ts hlc.Timestamp, attempt uint32) (bool, error) {
	for _, k := range written {
		in, ok, err := r.intentOn(k)
		if err != nil || !ok || in.Txn != id || !in.Staged || in.TS != ts || in.Attempt != attempt {
			return false, err
		}
	}
	return true, nil
}

// Provisional returns the number of transactions with intents in the range, and of records.
func (r *Replica) Provisional() (txns, records int) { return r.intents.Len(), r.records.Len() }

// loadIntents reads the intents and records of the range when a leadership begins. No read of an earlier
// leadership lies above maxRead.
func (r *Replica) loadIntents(maxRead hlc.Timestamp) error {
	d := r.Desc()
	records, err := r.loadRecords(keys.Span{Start: d.StartKey, End: d.EndKey}, true, maxRead)
	if err != nil {
		return err
	}
	loader := txnintent.NewLoader(time.Now())
	err = r.eachIntent(context.Background(), kvpb.TxnID{}, kvpb.Span{Key: d.StartKey, EndKey: d.EndKey}, func(key []byte, in txnintent.Intent) error {
		loader.Add(key, in)
		return nil
	})
	if err != nil {
		return err
	}
	for _, rec := range records {
		if rec.Status == kvpb.TxnCommitted {
			r.deps.Clock.Forward(rec.TS) // spilled versions move to this timestamp
		}
	}
	found := loader.Finish(records, maxRead)
	r.intents.Replace(found)
	r.records.Replace(records)
	if len(found)+len(records) > 0 {
		r.tasks.run(r.sweepFirst)
		r.sweepLater()
	}
	return nil
}

// loadRecords reads the records whose anchors lie in a span. loaded says that they are from before this
// leadership. Earlier pushes may have promised to reads up to maxRead that the transactions commit above them.
func (r *Replica) loadRecords(anchors keys.Span, loaded bool, maxRead hlc.Timestamp) (map[kvpb.TxnID]*txnintent.Record, error) {
	span := keys.TxnRecordSpan(anchors)
	it, err := r.deps.Engine.NewIter(storage.IterOptions{Lower: span.Start, Upper: span.End})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	found := map[kvpb.TxnID]*txnintent.Record{}
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return nil, err
		}
		st := txnintent.RecordState{Presence: txnintent.Stored, Loaded: loaded, Since: time.Now(), MinCommitTS: maxRead}
		if st.TxnRecord, err = txnintent.DecodeTxnRecord(v); err != nil {
			return nil, err
		}
		if st.Status == kvpb.TxnPending && !r.gatewayAlive(st.ID, loaded) {
			// It can't commit any more; every leader draws this conclusion.
			st.Status = kvpb.TxnAborted
		}
		st.Local = st.Finished() && len(st.Keys) == 0 && (len(st.Span.EndKey) == 0 || r.holds(st.Span))
		found[st.ID] = txnintent.NewRecord(st)
	}
	return found, r.deps.Engine.ReadError(it.Error())
}

// endTimestamp returns the timestamp of a command by which a decided transaction ends.
func endTimestamp(st *txnintent.State) hlc.Timestamp {
	must.True(st.Status.Decided(), "txnintent 2: the end of a transaction that is %v", st.Status)
	if st.Status == txnintent.Committed {
		return st.CommitTS
	}
	return txnintent.EndTimestamp(st.TS, true)
}

// eachIntent calls fn for the intents of a transaction within a span and the range's bounds. The zero
// transaction stands for all.
func (r *Replica) eachIntent(ctx context.Context, id kvpb.TxnID, span kvpb.Span, fn func(key []byte, in txnintent.Intent) error) error {
	return r.scanIntents(ctx, id, span, false, fn)
}

// scanIntents is eachIntent in either direction.
func (r *Replica) scanIntents(
	ctx context.Context, id kvpb.TxnID, span kvpb.Span, reverse bool, fn func(key []byte, in txnintent.Intent) error,
) error {
	d := r.Desc()
	ks := keys.Span{Start: span.Key, End: span.EndKey}
	if bytes.Compare(ks.Start, d.StartKey) < 0 {
		ks.Start = d.StartKey
	}
	if bytes.Compare(d.EndKey, ks.End) < 0 {
		ks.End = d.EndKey
	}
	if bytes.Compare(ks.Start, ks.End) >= 0 {
		return nil
	}
	ls := keys.LockSpan(ks)
	it, err := r.deps.Engine.NewIter(storage.IterOptions{Lower: ls.Start, Upper: ls.End})
	if err != nil {
		return err
	}
	defer it.Close()
	first, next := it.First, it.Next
	if reverse {
		first, next = it.Last, it.Prev
	}
	for ok := first(); ok; ok = next() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		ek, _, err := storage.DecodeEngineKey(it.Key())
		if err != nil {
			return err
		}
		key, ok := keys.DecodeLock(ek)
		if !ok {
			return fmt.Errorf("%w: lock key %x", storage.ErrCorrupted, ek)
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		in, err := txnintent.DecodeIntent(v)
		if err != nil {
			return err
		}
		if in.Txn != id && !id.IsZero() {
			continue
		}
		if err := fn(key, in); err != nil {
			return err
		}
	}
	return r.deps.Engine.ReadError(it.Error())
}
