package replica

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/raftgroup"
	"github.com/lichendb/lichen/internal/storage/mvcc"
	"github.com/lichendb/lichen/internal/trace"
	"github.com/lichendb/lichen/internal/txnintent"
)

var (
	errAborted     = &kvpb.RetryError{Reason: "the transaction was aborted by another that met its locks"}
	errGatewayGone = &kvpb.RetryError{Reason: "the transaction's gateway has ended"}
	errSuperseded  = &kvpb.RetryError{Reason: "a later attempt to commit has begun"}
)

// Stage implements kvpb.Committer.
func (r *Replica) Stage(ctx context.Context, req *kvpb.StageRequest, resp *kvpb.StageResponse) error {
	return r.stage(ctx, req, resp, r.group.proposeOrAbandon)
}

// proposer proposes a command and waits for its outcome. onAbandon is that of raftgroup.Proposal.
type proposer func(fence raftgroup.Fence, command []byte, onAbandon func() (known func())) error

// stage implements Stage, with the way to propose.
func (r *Replica) stage(ctx context.Context, req *kvpb.StageRequest, resp *kvpb.StageResponse, propose proposer) error {
	*resp = kvpb.StageResponse{}
	written := make([][]byte, len(req.Writes))
	for i := range req.Writes {
		written[i] = bytes.Clone(req.Writes[i].Key) // they outlive the request
	}
	fence, err := r.admitWrite(ctx, written...)
	if err == nil {
		_, err = r.admitWrite(ctx, req.Locks...)
	}
	if err != nil {
		return err
	}
	if err := kvpb.CheckDeadline(req.TS, req.Deadline); err != nil {
		return err
	}
	if !r.gatewayAlive(req.Txn.ID, false) {
		return errGatewayGone
	}
	r.awaitFreezeBarrier(ctx, req.Txn.ID)
	var in lockSection
	if err := in.enter(ctx, r); err != nil {
		return err
	}
	defer in.leave()
	if len(written) == 0 && !req.Spilled && !req.Record {
		return r.confirmLocks(req, fence)
	}
	if err := r.deps.AdmitWrite(); err != nil {
		return err
	}
	for {
		s := stage{r: r, req: req, resp: resp, fence: fence, written: written, send: propose}
		again, err := r.awaitFree(ctx, s.run(ctx))
		if !again {
			return err
		}
	}
}

// confirmLocks is the part of a commit in a range where the transaction has only locked rows. It enters the
// rows into the timestamp cache, so that they do not change before the commit timestamp, and checks that the
// locks are still held.
func (r *Replica) confirmLocks(req *kvpb.StageRequest, fence raftgroup.Fence) error {
	if err := r.admit(req.TS); err != nil {
		return err
	}
	for _, k := range req.Locks {
		r.reads.AddKey(k, req.TS, txnID(req.Txn))
	}
	if err := r.checkLocks(txnID(req.Txn), req.Locks, 0, req.LockTableIDs, nil); err != nil {
		return err
	}
	return r.checkFence(fence)
}

// checkLocks returns a RetryError unless the transaction has held all locks since they were granted: under
// the lock tables of tables, or all in table if tables is empty. Table 0 is unknown. Keys in staged have an
// intent instead of a row lock.
func (r *Replica) checkLocks(id concurrency.TxnID, locks [][]byte, table uint64, tables []uint64, staged [][]byte) error {
	if plant.On(plant.SkipLockCheck) { // as if no leader had ever lost any
		return nil
	}
	run := 0 // up to where the locks are known to be held
	for i, k := range locks {
		if _, ok := slices.BinarySearchFunc(staged, k, bytes.Compare); ok {
			continue
		}
		e := table
		if i < len(tables) {
			e = tables[i]
		}
		if i >= run {
			run = i + r.locks.HeldInRun(id, locks[i:])
		}
		if e != 0 && !r.locksStand(e) || i >= run && r.locks.Holds(k, id) == lock.None {
			if r.Gone() || r.lease.Load() == nil || !r.Desc().ContainsKey(k) {
				return r.moved(k) // the locks have moved with the range or its right half
			}
			return &kvpb.RetryError{Reason: "the range lost the transaction's locks with its leader", Key: bytes.Clone(k)}
		}
	}
	return nil
}

// stage is one Stage request in progress.
type stage struct {
	r       *Replica
	req     *kvpb.StageRequest
	resp    *kvpb.StageResponse
	fence   raftgroup.Fence
	written [][]byte
	send    proposer

	rec *txnintent.Record // latched, nil if the record is in another range
	x   *txnintent.Txn    // latched
}

// run returns busyKeys if the request has to begin again.
func (s *stage) run(ctx context.Context) (err error) {
	r, id := s.r, s.req.Txn.ID
	room, err := r.enterLongWrites(ctx, s.req.Writes)
	if err != nil {
		return err
	}
	defer r.deps.LongWrites.Leave(room)
	if s.req.Record {
		if s.rec, err = r.enterRecord(ctx, id, s.req.Anchor, s.fence); err != nil {
			return err
		}
		defer r.records.Leave(s.rec)
	}
	if s.x, err = r.intents.Enter(ctx, id, s.req.Anchor, time.Now()); err != nil {
		return err
	}
	defer r.intents.Leave(s.x)
	if done, err := s.ended(); done || err != nil {
		return err
	}
	st := r.intents.State(s.x)
	if ok, err := s.alreadyStaged(&st); ok || err != nil {
		return err
	}
	if st.Kind == txnintent.Spilled && len(s.written) > 0 {
		return &kvpb.RetryError{Reason: "a part of a large transaction was not spilled before its commit"}
	}
	if err := r.checkLocks(txnID(s.req.Txn), s.req.Locks, 0, s.req.LockTableIDs, st.Keys); err != nil {
		return err
	}
	c := r.beginCommit(txnID(s.req.Txn), s.written)
	defer c.Finish()
	c.SetTimestamp(s.req.TS)
	if r.abandoned.Has(id) {
		return errAborted
	}
	if err := r.checkConflicts(c, s.written); err != nil {
		return err
	}
	low, err := s.register(&st)
	if err != nil {
		return err
	}
	if !low.IsEmpty() {
		s.resp.Lowest = low
		return nil
	}
	for _, k := range s.req.Locks {
		r.reads.AddKey(k, s.req.TS, txnID(s.req.Txn))
	}
	span := trace.Begin(ctx, "replicate")
	err = s.propose(&st)
	span.End(err)
	return err
}

// ended answers a request whose transaction has ended, or whose attempt is superseded. It asks the
// finished-transaction cache, the record and the intent table, in this order.
func (s *stage) ended() (done bool, err error) {
	effects, ts := s.r.finished.Find(s.req.Txn.ID).BeginStage()
	if effects == txnintent.Propose && s.rec != nil {
		effects, ts = s.rec.BeginStage(s.req.Attempt)
	}
	if effects == txnintent.Propose {
		res := s.r.intents.Step(s.x, txnintent.Event{Type: txnintent.BeginStage, Attempt: s.req.Attempt, Recorded: s.rec != nil || s.req.Recorded})
		effects, ts = res.Effects, res.TS
	}
	switch {
	case effects.Has(txnintent.ReplyCommitted):
		s.resp.CommitTS = ts
	case effects.Has(txnintent.ReplyAborted):
		return true, errAborted
	case effects.Has(txnintent.ReplySuperseded):
		return true, errSuperseded
	case effects.Has(txnintent.ReplyQueried):
		s.resp.Queried = true
	default:
		return false, nil
	}
	return true, nil
}

// alreadyStaged reports whether an earlier copy of the request has done the work.
func (s *stage) alreadyStaged(st *txnintent.State) (bool, error) {
	if !st.StagedAs(s.req.TS, s.req.Attempt) || s.rec != nil && (s.rec.Presence != txnintent.Stored || s.rec.Attempt != s.req.Attempt) {
		return false, nil
	}
	return s.r.allStaged(s.req.Txn.ID, s.written, s.req.TS, s.req.Attempt)
}

// register registers the attempt in the intent table before it writes. If the range can't commit at the
// attempt's timestamp, low is the lowest possible one.
func (s *stage) register(st *txnintent.State) (low hlc.Timestamp, err error) {
	r := s.r
	e := txnintent.Event{Type: txnintent.Stage, TS: s.req.TS, Attempt: s.req.Attempt, Writes: len(s.written) > 0}
	for _, k := range s.written {
		e.Least = e.Least.Max(r.reads.GetKey(k, txnID(s.req.Txn)).Next())
	}
	switch {
	case st.Kind == txnintent.Spilled:
		e.MinSpilled = r.reads.LowWater().Next()
		r.deps.Clock.Forward(s.req.TS) // there is no command at this timestamp (invariant 6)
	case st.Status == txnintent.New && e.Writes:
		// This may be a late message of a transaction whose end is forgotten.
		e.Least = e.Least.Max(r.finished.Least())
	}
	res, ok := r.intents.StepIf(s.x, e, func() bool { return r.Desc().BoundsGen == s.fence.BoundsGen })
	switch {
	case !ok:
		return low, r.mismatch()
	case res.Has(txnintent.ReplyTooLow):
		return res.TS, nil
	}
	return low, nil
}

// propose makes the intents durable.
func (s *stage) propose(st *txnintent.State) error {
	b := builders.Get().(*apply.Builder)
	defer builders.Put(b)
	b.Reset(kvpb.TxnID{}, s.req.TS)
	if err := s.build(b, st); err != nil {
		return err
	}
	next := txnintent.TxnRecord{
		ID: s.req.Txn.ID, Anchor: bytes.Clone(s.req.Anchor), Status: kvpb.TxnStaging, TS: s.req.TS, Attempt: s.req.Attempt,
		Keys: cloneKeys(s.req.Keys), Span: kvpb.Span{Key: bytes.Clone(s.req.Span.Key), EndKey: bytes.Clone(s.req.Span.EndKey)},
	}
	if s.rec != nil {
		b.SetRaw(keys.TxnRecord(s.req.Anchor, txnintent.RecordID(next.ID)), next.Encode())
	}
	if err := checkSize(b); err != nil {
		return err
	}
	if s.rec != nil || len(s.written) > 0 {
		err := s.send(s.fence, b.Take(), s.r.keepAnnounced(txnID(s.req.Txn), s.written, s.req.TS, nil))
		if s.rec != nil {
			err = s.r.storeRecord(s.rec, next, err)
		}
		if err != nil {
			if kvpb.Classify(err) == kvpb.ClassAmbiguous {
				s.noteWritten(false)
			}
			return err
		}
	}
	if s.rec != nil {
		s.r.sweepLater()
	}
	s.noteWritten(true)
	// The intents replace the row locks, including those that a split or a merge has moved.
	s.r.releaseAll(txnID(s.req.Txn), s.written)
	return nil
}

// build adds the intents, and drops the versions that an earlier attempt wrote at another timestamp.
func (s *stage) build(b *apply.Builder, st *txnintent.State) error {
	id := s.req.Txn.ID
	for i := range s.req.Writes {
		w := &s.req.Writes[i]
		if st.Kind == txnintent.Staged {
			old, ok, err := s.r.intentOn(w.Key)
			if err != nil {
				return err
			}
			if ok && old.Txn == id && old.TS != s.req.TS {
				v, _, err := mvcc.GetOwn(s.r.deps.Engine, w.Key, old.TS)
				if err != nil {
					return err
				}
				if v.TS == old.TS {
					b.Collect(w.Key, mvcc.Garbage{TS: old.TS, Size: uint32(len(v.Data)) + 1})
				}
			}
		}
		in := txnintent.Intent{
			Txn: id, TS: s.req.TS, Anchor: s.req.Anchor, Staged: true, Attempt: s.req.Attempt, Deleted: w.Value == nil,
		}
		b.SetRaw(keys.Lock(w.Key), in.Encode())
		put(b, w)
	}
	return nil
}

// noteWritten makes the intents known to readers. applied is false if the outcome of the command is ambiguous.
func (s *stage) noteWritten(applied bool) {
	res := s.r.intents.Step(s.x, txnintent.Event{Type: txnintent.Written, TS: s.req.TS, Attempt: s.req.Attempt, Keys: s.written, Applied: applied})
	s.r.perform(s.x, res.Effects)
}

func cloneKeys(in [][]byte) [][]byte {
	if len(in) == 0 {
		return nil
	}
	out := make([][]byte, len(in))
	for i := range in {
		out[i] = bytes.Clone(in[i])
	}
	return out
}

// QueryStaged implements kvpb.Committer.
func (r *Replica) QueryStaged(ctx context.Context, req *kvpb.QueryStagedRequest, resp *kvpb.QueryStagedResponse) error {
	*resp = kvpb.QueryStagedResponse{}
	fence, err := r.admitWrite(ctx, req.Keys...)
	if err != nil {
		return err
	}
	if req.Peek {
		if resp.Present, err = r.allStaged(req.Txn, req.Keys, req.TS, req.Attempt); err == nil {
			err = r.checkFence(fence)
		}
		return err
	}
	x, err := r.intents.Enter(ctx, req.Txn, nil, time.Now())
	if err != nil {
		return err
	}
	defer r.intents.Leave(x)
	resp.Present, err = r.allStaged(req.Txn, req.Keys, req.TS, req.Attempt)
	if err != nil {
		return err
	}
	if resp.Present {
		r.intents.Step(x, txnintent.Event{Type: txnintent.Query})
		return r.checkFence(fence)
	}
	// Nothing may stage the missing keys at this timestamp any more. The timestamp cache prevents it here,
	// and the command under a later leader, whose clock it forwards.
	for _, k := range req.Keys {
		r.reads.AddKey(k, req.TS, concurrency.TxnID{})
	}
	b := builders.Get().(*apply.Builder)
	defer builders.Put(b)
	b.Reset(kvpb.TxnID{}, req.TS)
	if err := r.group.Propose(fence, b.Bytes()); err != nil {
		return err
	}
	// A Stage with an unknown outcome may precede the command in the log.
	resp.Present, err = r.allStaged(req.Txn, req.Keys, req.TS, req.Attempt)
	if resp.Present {
		r.intents.Step(x, txnintent.Event{Type: txnintent.Query})
	}
	return err
}

// holds reports whether all of a span lies in the range.
func (r *Replica) holds(s kvpb.Span) bool {
	d := r.Desc()
	return d.ContainsKey(s.Key) && bytes.Compare(s.EndKey, d.EndKey) <= 0
}
