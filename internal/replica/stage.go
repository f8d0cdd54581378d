package replica

import (
	"bytes"
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/raftgroup"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

var (
	errAborted     = &kvpb.RetryError{Reason: "the transaction was aborted by another that met its locks"}
	errGatewayGone = &kvpb.RetryError{Reason: "the transaction's gateway has ended"}
	errSuperseded  = &kvpb.RetryError{Reason: "a later attempt to commit has begun"}
)

// Stage implements kvpb.Committer.
func (r *Replica) Stage(ctx context.Context, req *kvpb.StageRequest, resp *kvpb.StageResponse) error {
	return r.stage(ctx, req, resp, r.group.propose)
}

// stage is Stage with propose to make a command durable and apply it.
func (r *Replica) stage(
	ctx context.Context, req *kvpb.StageRequest, resp *kvpb.StageResponse, propose func(raftgroup.Fence, []byte) error,
) error {
	*resp = kvpb.StageResponse{}
	written := make([][]byte, len(req.Writes))
	for i := range req.Writes {
		written[i] = bytes.Clone(req.Writes[i].Key) // they outlive the request
	}
	under, err := r.admitWrite(ctx, written...)
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
	r.enterGate(ctx, req.Txn.ID)
	var in lockSection
	if err := in.enter(ctx, r); err != nil {
		return err
	}
	defer in.leave()
	if len(written) == 0 && !req.Spilled && !req.Record {
		return r.confirm(req, under)
	}
	if err := r.deps.AdmitWrite(); err != nil {
		return err
	}
	if r.spills.active.Load() != 0 {
		if err := r.awaitForeign(ctx, req.Txn.ID, written); err != nil {
			return err
		}
	}
	s := stage{r: r, req: req, resp: resp, under: under, written: written, send: propose}
	return s.run(ctx)
}

// confirm checks that the transaction's locks are held and keeps what it saw
// under them as it is up to its commit.
func (r *Replica) confirm(req *kvpb.StageRequest, under raftgroup.Fence) error {
	if err := r.admit(req.TS); err != nil {
		return err
	}
	for _, k := range req.Locks {
		r.reads.AddKey(k, req.TS, txnID(req.Txn))
	}
	if err := r.checkLocks(txnID(req.Txn), req.Locks, 0, req.LockEpochs, nil); err != nil {
		return err
	}
	return r.stillUnder(under)
}

// checkLocks returns a retry error unless the transaction holds all locks as they
// were granted. epoch is that of all if epochs is empty, 0 if it is not known. p is
// the transaction's part, whose durable locks stand for row locks; or nil.
func (r *Replica) checkLocks(id concurrency.TxnID, locks [][]byte, epoch uint64, epochs []uint64, p *part) error {
	if plant.On(plant.SkipLockCheck) { // as if no leader had ever lost any
		return nil
	}
	var staged [][]byte
	if p != nil && p.state == partStaging {
		staged = r.spills.staged(p)
	}
	for i, k := range locks {
		if _, ok := slices.BinarySearchFunc(staged, k, bytes.Compare); ok {
			continue
		}
		e := epoch
		if i < len(epochs) {
			e = epochs[i]
		}
		if e != 0 && !r.knows(e) || r.locks.Holds(k, id) == concurrency.None {
			if r.Gone() || r.lease.Load() == nil || !r.Desc().ContainsKey(k) {
				return r.moved(k) // the locks are where the range, or half of it, went
			}
			return &kvpb.RetryError{Reason: "the range lost the transaction's locks with its leader", Key: bytes.Clone(k)}
		}
	}
	return nil
}

// stage is one Stage request on its way.
type stage struct {
	r       *Replica
	req     *kvpb.StageRequest
	resp    *kvpb.StageResponse
	under   raftgroup.Fence
	written [][]byte
	send    func(raftgroup.Fence, []byte) error // proposes a command

	rec *record // latched, nil if the record is in another range
	p   *part   // latched
}

func (s *stage) run(ctx context.Context) (err error) {
	sp, id := &s.r.spills, s.req.Txn.ID
	if s.req.Record {
		if s.rec, err = sp.enterRecord(ctx, id, s.req.Anchor); err != nil {
			return err
		}
		defer sp.leaveRecord(s.rec)
		if err := s.r.syncRecord(s.rec, s.under); err != nil {
			return err
		}
	}
	if s.p, err = sp.enter(ctx, id, s.req.Anchor); err != nil {
		return err
	}
	defer sp.leave(s.p)
	if done, err := s.ended(); done || err != nil {
		return err
	}
	if ok, err := s.alreadyStaged(); ok || err != nil {
		return err
	}
	if s.p.state != partNew && s.p.spilled && len(s.written) > 0 {
		return &kvpb.RetryError{Reason: "a part of a large transaction was not spilled before its commit"}
	}
	if err := s.r.checkLocks(txnID(s.req.Txn), s.req.Locks, 0, s.req.LockEpochs, s.p); err != nil {
		return err
	}
	c := s.r.beginCommit(txnID(s.req.Txn), s.written)
	defer c.Finish()
	c.SetTimestamp(s.req.TS)
	if s.r.abandoned.has(s.req.Txn.ID) {
		return errAborted
	}
	low, err := s.lowest()
	if err != nil {
		return err
	}
	if s.req.TS.Less(low) {
		s.resp.Lowest = low
		return nil
	}
	for _, k := range s.req.Locks {
		s.r.reads.AddKey(k, s.req.TS, txnID(s.req.Txn))
	}
	return s.propose()
}

// ended answers a request of a transaction that has ended, or of an attempt that
// is not the last.
func (s *stage) ended() (done bool, err error) {
	if ts, aborted, ok := s.r.recent.find(s.req.Txn.ID); ok {
		if aborted {
			return true, errAborted
		}
		s.resp.CommitTS = ts
		return true, nil
	}
	if s.rec != nil && s.rec.durable {
		switch {
		case s.rec.status == kvpb.TxnCommitted:
			s.resp.CommitTS = s.rec.ts
			return true, nil
		case s.rec.status == kvpb.TxnAborted:
			return true, errAborted
		case s.rec.epoch > s.req.Epoch:
			return true, errSuperseded
		}
	}
	switch {
	case s.p.state == partCommitted:
		s.resp.CommitTS = s.p.commitTS
		return true, nil
	case s.p.state == partAborted:
		return true, errAborted
	case s.p.epoch > s.req.Epoch:
		return true, errSuperseded
	case s.p.pinned && s.p.epoch != s.req.Epoch && s.rec == nil && !s.req.Recorded && !plant.On(plant.CountedReplaced):
		s.resp.Pinned = true
		return true, nil
	}
	return false, nil
}

// alreadyStaged reports whether a request that was sent again finds its work done.
func (s *stage) alreadyStaged() (bool, error) {
	if s.p.state != partStaging || s.p.epoch != s.req.Epoch || s.p.spilled || s.p.from != s.req.TS ||
		s.rec != nil && (!s.rec.durable || s.rec.epoch != s.req.Epoch) {
		return false, nil
	}
	return s.r.staged(s.req.Txn.ID, s.written, s.req.TS, s.req.Epoch)
}

// staged reports whether all keys are staged by an attempt.
func (r *Replica) staged(id kvpb.TxnID, written [][]byte, ts hlc.Timestamp, epoch uint32) (bool, error) {
	for _, k := range written {
		l, ok, err := r.lockOf(k)
		if err != nil || !ok || l.txn != id || !l.staged || l.ts != ts || l.epoch != epoch {
			return false, err
		}
	}
	return true, nil
}

// lowest returns the lowest timestamp at which the range can commit. A part that
// readers pass over stops being passed over from the request's timestamp on.
func (s *stage) lowest() (low hlc.Timestamp, err error) {
	for _, k := range s.written {
		low = low.Max(s.r.reads.GetKey(k, txnID(s.req.Txn)).Next())
	}
	sp := &s.r.spills
	sp.mu.Lock()
	defer sp.mu.Unlock()
	p := s.p
	if s.r.Desc().BoundsGen != s.under.BoundsGen {
		return low, s.r.mismatch()
	}
	p.cut = nil // a split that comes from now on says so
	if len(s.written) > 0 && low.LessEq(s.req.TS) {
		if least := s.r.announceLocked(p, s.req.TS); !least.IsEmpty() {
			return least, nil
		}
	}
	if p.state == partNew {
		// Who ended here before may have been forgotten: this may be a late message.
		if len(s.written) > 0 && s.r.recent.mayHaveForgotten(s.req.TS) {
			low = low.Max(s.r.recent.lowest())
		}
		return low, nil
	}
	if !p.spilled {
		return low, nil
	}
	low = low.Max(p.ts).Max(p.maxRead.Max(p.passed).Max(s.r.reads.LowWater()).Next())
	if !s.req.TS.Less(low) {
		s.r.deps.Clock.Forward(s.req.TS) // no command says so here (invariant R38)
		p.state, p.from, p.epoch = partStaging, s.req.TS, s.req.Epoch
		p.passed = hlc.Timestamp{}
	}
	return low, nil
}

// propose makes the part durable.
func (s *stage) propose() error {
	b := builders.Get().(*apply.Builder)
	defer builders.Put(b)
	b.Reset(kvpb.TxnID{}, s.req.TS)
	if err := s.build(b); err != nil {
		return err
	}
	next := txnRecord{
		id: s.req.Txn.ID, anchor: bytes.Clone(s.req.Anchor), status: kvpb.TxnStaging, ts: s.req.TS, epoch: s.req.Epoch,
		keys: cloneKeys(s.req.Keys), span: kvpb.Span{Key: bytes.Clone(s.req.Span.Key), EndKey: bytes.Clone(s.req.Span.EndKey)},
	}
	if s.rec != nil {
		b.SetRaw(keys.TxnRecord(s.req.Anchor, recordID(next.id)), next.encode())
	}
	if b.Len() > apply.MaxCommandBytes {
		return &kvpb.TxnTooLargeError{Bytes: int64(b.Len()), Limit: apply.MaxCommandBytes}
	}
	if s.rec != nil || len(s.written) > 0 {
		if err := s.send(s.under, b.Bytes()); err != nil {
			if kvpb.Classify(err) == kvpb.ClassAmbiguous {
				if s.rec != nil {
					s.rec.unknown = true
				}
				s.note(false)
			}
			return err
		}
	}
	if s.rec != nil {
		s.rec.stored(next)
		s.r.sweepLater()
	}
	s.note(true)
	// The durable locks stand for them, also where a split or a merge has taken them.
	s.r.releaseAll(txnID(s.req.Txn), s.written)
	return nil
}

// build adds the versions and locks. What an earlier attempt staged here goes.
func (s *stage) build(b *apply.Builder) error {
	for i := range s.req.Writes {
		w := &s.req.Writes[i]
		if s.p.state == partStaging {
			old, ok, err := s.r.lockOf(w.Key)
			if err != nil {
				return err
			}
			if ok && old.txn == s.p.id && old.ts != s.req.TS {
				v, _, err := mvcc.Get(s.r.deps.Engine, w.Key, old.ts, nil)
				if err != nil {
					return err
				}
				if v.TS == old.ts {
					b.Collect(w.Key, mvcc.Garbage{TS: old.ts, Size: uint32(len(v.Data)) + 1})
				}
			}
		}
		l := lockRecord{
			txn: s.p.id, ts: s.req.TS, anchor: s.req.Anchor, staged: true, epoch: s.req.Epoch, deleted: w.Value == nil,
		}
		b.SetRaw(keys.Lock(w.Key), l.encode())
		put(b, w)
	}
	return nil
}

// note makes readers see the part: what of it is still in this range. sure says that it is
// staged.
func (s *stage) note(sure bool) {
	if len(s.written) == 0 {
		return
	}
	sp, p := &s.r.spills, s.p
	sp.mu.Lock()
	defer sp.mu.Unlock()
	all := s.written
	if p.cut != nil { // a split was applied since, which p.keys has heard of
		all = below(all, p.cut)
	}
	written := len(all)
	for _, k := range p.keys {
		if _, ok := slices.BinarySearchFunc(all[:written], k, bytes.Compare); !ok { // the borders moved between two attempts
			all = append(all[:len(all):len(all)], k)
		}
	}
	if len(all) == 0 || sp.all[p.id] != p {
		return
	}
	if len(all) > written {
		slices.SortFunc(all, bytes.Compare)
	}
	p.keys, p.lo, p.hi = all, all[0], next(all[len(all)-1])
	p.exact = sure && len(all) == written
	p.pinned = p.pinned && p.epoch == s.req.Epoch // what was counted of an earlier attempt is void
	p.state, p.ts, p.from, p.epoch = partStaging, s.req.TS, s.req.TS, s.req.Epoch
	s.r.startSweepLocked()
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
	under, err := r.admitWrite(ctx, req.Keys...)
	if err != nil {
		return err
	}
	if req.Peek {
		if resp.Present, err = r.staged(req.Txn, req.Keys, req.TS, req.Epoch); err == nil {
			err = r.stillUnder(under)
		}
		return err
	}
	sp := &r.spills
	p, err := sp.enter(ctx, req.Txn, nil)
	if err != nil {
		return err
	}
	defer sp.leave(p)
	resp.Present, err = r.staged(req.Txn, req.Keys, req.TS, req.Epoch)
	if err != nil || resp.Present {
		p.pinned = p.pinned || resp.Present
		if err == nil {
			err = r.stillUnder(under)
		}
		return err
	}
	// Nobody may stage them at this timestamp any more: neither here, nor under
	// another leader, whose clock will have passed what it has applied.
	for _, k := range req.Keys {
		r.reads.AddKey(k, req.TS, concurrency.TxnID{})
	}
	b := builders.Get().(*apply.Builder)
	defer builders.Put(b)
	b.Reset(kvpb.TxnID{}, req.TS)
	if err := r.group.propose(under, b.Bytes()); err != nil {
		return err
	}
	// A request that nobody knew the outcome of is ahead in the log.
	resp.Present, err = r.staged(req.Txn, req.Keys, req.TS, req.Epoch)
	p.pinned = p.pinned || resp.Present
	return err
}

// Resolve implements kvpb.Committer.
func (r *Replica) Resolve(ctx context.Context, req *kvpb.ResolveRequest) error {
	under, err := r.admitWrite(ctx, req.Keys...)
	if err != nil {
		return err
	}
	if len(req.Span.EndKey) > 0 && !r.holds(req.Span) {
		return r.mismatch()
	}
	var s lockSection
	if len(req.Locks) > 0 { // else it must get through: requests under way wait for it
		if err := s.enter(ctx, r); err != nil {
			return err
		}
		defer s.leave()
	}
	id := concurrency.TxnID(req.Txn)
	sp := &r.spills
	sp.mu.Lock()
	p := sp.all[req.Txn]
	sp.mu.Unlock()
	if p == nil {
		r.releaseAll(id, req.Locks)
		return r.stillUnder(under)
	}
	status := kvpb.TxnAborted
	if req.Commit {
		status = kvpb.TxnCommitted
	}
	if req.Patient {
		sp.mu.Lock()
		p.patient = true
		sp.mu.Unlock()
	}
	news, err := r.noteDecidedLatched(ctx, p, status, req.TS)
	r.releaseAll(id, req.Locks)
	s.leave()
	switch {
	case news && sp.staged(p) != nil: // not much
		r.settleOrSweep(ctx, p)
	case news:
		r.settleLater(p)
	}
	if err != nil {
		return err
	}
	select {
	case <-p.done:
		// Removed; or what remains went with the leadership, or to another range (invariant R13).
		return r.stillUnder(under)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// holds reports whether all of a span lies in the range.
func (r *Replica) holds(s kvpb.Span) bool {
	d := r.Desc()
	return d.ContainsKey(s.Key) && bytes.Compare(s.EndKey, d.EndKey) <= 0
}
