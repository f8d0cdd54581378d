package replica

import (
	"bytes"
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
	"github.com/lichendb/lichen/internal/sleep"
	"github.com/lichendb/lichen/internal/storage/mvcc"
	"github.com/lichendb/lichen/internal/txnintent"
)

const (
	// resolveBytes and resolveKeys bound one command of an intent resolution: other commands of the
	// range, and reads that wait for them, queue behind it.
	resolveBytes = 256 << 10
	resolveKeys  = 1024
	// resolveTimeout bounds one run; the sweep begins another.
	resolveTimeout = 10 * time.Minute
	// resolveAttempts bounds the changes of the range's bounds during one run.
	resolveAttempts = 10
	// MaxResolvers bounds a store's concurrent resolutions of more than one command. Others queue,
	// unless their keys are contended.
	MaxResolvers = 1
	// After each command a resolver pauses for resolveDelayFactor times the command's duration, within
	// these bounds. So most of the leader's and the followers' capacity is left to requests.
	resolveDelayFactor = 8
	minResolveDelay    = 10 * time.Millisecond
	maxResolveDelay    = 2 * time.Second
)

// Resolve implements kvpb.Committer.
func (r *Replica) Resolve(ctx context.Context, req *kvpb.ResolveRequest) error {
	fence, err := r.admitWrite(ctx, req.Keys...)
	if err != nil {
		return err
	}
	if len(req.Span.EndKey) > 0 && !r.holds(req.Span) {
		return r.mismatch()
	}
	var s lockSection
	if len(req.Locks) > 0 { // else it must not wait: requests in progress may be waiting for it
		if err := s.enter(ctx, r); err != nil {
			return err
		}
		defer s.leave()
	}
	id, x := concurrency.TxnID(req.Txn), r.intents.Get(req.Txn)
	if x == nil {
		r.releaseAll(id, req.Locks)
		return r.checkFence(fence)
	}
	status := kvpb.TxnAborted
	if req.Commit {
		status = kvpb.TxnCommitted
	}
	if req.Deferrable {
		r.intents.Step(x, txnintent.Event{Type: txnintent.Defer})
	}
	resolve, err := r.decideLatched(ctx, x, status, req.TS)
	r.releaseAll(id, req.Locks)
	s.leave()
	switch {
	case resolve && r.intents.State(x).Kind == txnintent.Staged: // few intents
		r.resolveOrSweep(ctx, x)
	case resolve:
		r.resolveLater(x)
	}
	if err != nil {
		return err
	}
	select {
	case <-x.Done():
		// Resolved, or gone with the leadership, or moved to another range (invariant 5).
		return r.checkFence(fence)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// resolveLater resolves the intents of a decided transaction in the background.
func (r *Replica) resolveLater(x *txnintent.Txn) {
	r.tasks.run(func() {
		ctx, cancel := r.tasks.context(resolveTimeout)
		defer cancel()
		r.resolveOrSweep(ctx, x)
	})
}

// resolveOrSweep resolves the intents of a decided transaction. After an error it leaves them to the
// sweep.
func (r *Replica) resolveOrSweep(ctx context.Context, x *txnintent.Txn) {
	if err := r.resolveIntents(ctx, x); err != nil {
		r.deps.Logger.Debug("resolve the intents of a transaction; the sweep goes on with it", "range", r.id, "err", err)
		r.sweepLater()
	}
}

// resolveIntents resolves the intents of a decided transaction and removes it from the table. Only one
// goroutine at a time does so (Txn.TryResolver): the commands of a second one, built from an older state,
// could remove versions that were written after the intents were resolved.
func (r *Replica) resolveIntents(ctx context.Context, x *txnintent.Txn) error {
	if !x.TryResolver() {
		return nil
	}
	defer x.EndResolver()
	for moves := 0; ; {
		err := r.resolveOnce(ctx, x)
		if err == nil {
			break
		}
		var moved *kvpb.RangeMismatchError
		var notLeader *kvpb.NotLeaderError
		switch {
		case errors.As(err, &moved) && moves < resolveAttempts:
			moves++
		case errors.As(err, &notLeader) && r.lease.Load() != nil:
			// The leadership lacks support so far, and requests wait for these intents.
			if err := sleep.For(ctx, pushFirst); err != nil {
				return err
			}
		default:
			return err
		}
	}
	r.intents.Step(x, txnintent.Event{Type: txnintent.Resolve})
	return r.deleteLocalRecord(ctx, x.ID())
}

// resolveOnce removes the locks of a decided transaction. If the transaction was aborted, it drops the
// versions. If it committed at another timestamp than theirs, it moves them.
func (r *Replica) resolveOnce(ctx context.Context, x *txnintent.Txn) error {
	if err := r.awaitCommit(ctx, concurrency.TxnID(x.ID())); err != nil { // it may yet write intents
		return err
	}
	d := r.deferralOf(x)
	fence, err := r.admitWrite(ctx)
	if err != nil {
		return err
	}
	st := r.intents.State(x)
	if st.Removed { // resolved, or loaded again by another leadership
		return nil
	}
	s := resolver{intentBatch: newIntentBatch(r, x, st, fence, d), listed: st.Keys, rest: st.Span, began: time.Now()}
	defer s.leave()
	for {
		s.steps++
		began := time.Now()
		contended := r.intents.TakeContended(x)
		last, err := s.fill(ctx, contended)
		if err == nil {
			err = s.flush()
		}
		if len(contended) > 0 {
			r.intents.Released(x) // after an error too: the waiters look again
		}
		if last || err != nil {
			return err
		}
		if cleared, err := s.clearRest(); cleared || err != nil {
			return err
		}
		if err := s.pace(ctx, time.Since(began)); err != nil {
			return err
		}
	}
}

// deferralOf returns whether the resolution of intents may be deferred.
func (r *Replica) deferralOf(x *txnintent.Txn) deferral {
	d := deferral{flushes: r.group.Queue.Flushes()}
	st := r.intents.State(x)
	d.allowed = st.Deferrable && !st.Contended
	return d
}

// deferral says whether a command may be a deferred proposal. The zero value is for a command that somebody
// waits for.
type deferral struct {
	allowed bool
	// flushes is the result of Queue.Flushes before the check for waiters.
	flushes uint64
}

// proposeDeferrable proposes a command, deferred if d allows it.
func (g *group) proposeDeferrable(d deferral, fence raftgroup.Fence, command []byte) error {
	if d.allowed {
		return g.ProposeDeferred(fence, command, d.flushes)
	}
	return g.Propose(fence, command)
}

// intentBatch collects changes of a transaction's intents into commands of bounded size.
type intentBatch struct {
	r        *Replica
	x        *txnintent.Txn
	st       txnintent.State
	fence    raftgroup.Fence
	deferral deferral
	b        apply.Builder
	n        int
	room     int64 // for its long writes (LongWrites)
}

func newIntentBatch(r *Replica, x *txnintent.Txn, st txnintent.State, fence raftgroup.Fence, d deferral) intentBatch {
	b := intentBatch{r: r, x: x, st: st, fence: fence, deferral: d}
	b.begin()
	return b
}

func (b *intentBatch) begin() {
	if b.n = 0; b.st.Status.Decided() {
		b.b.Reset(b.x.ID(), endTimestamp(&b.st))
	} else {
		b.b.Provisional(b.x.ID(), b.st.TS)
	}
}

func (b *intentBatch) flush() error {
	if b.n == 0 {
		return nil
	}
	err := b.r.group.proposeDeferrable(b.deferral, b.fence, b.b.Take())
	b.leave()
	b.begin()
	return err
}

// leave releases the room for long writes.
func (b *intentBatch) leave() {
	b.r.deps.LongWrites.Leave(b.room)
	b.room = 0
}

func (b *intentBatch) full() bool { return b.b.Len() >= resolveBytes || b.n >= resolveKeys }

func (b *intentBatch) added() error {
	if b.n++; !b.full() {
		return nil
	}
	return b.flush()
}

// drop removes the version of an intent. It names no size, which is for garbage that lies apart: most dropped
// intents lie side by side, where large transactions spilled them.
func (b *intentBatch) drop(key []byte, ts hlc.Timestamp) {
	b.b.Collect(key, mvcc.Garbage{TS: ts})
}

// resolver is one intent resolution in progress. It works command by command, and holds no iterator open in
// between.
type resolver struct {
	intentBatch
	listed [][]byte  // the remaining staged keys, nil if only their span is known
	rest   kvpb.Span // the span of the remaining intents, if they are not listed
	slot   bool      // it holds one of Deps.ResolveSlots
	began  time.Time
	steps  int
}

// fill fills a command with the contended keys first, then with the next ones. In a long resolution a command
// with contended keys contains no others, so that the waiters continue soon. last says that no intent is left
// after this command.
func (s *resolver) fill(ctx context.Context, contended [][]byte) (last bool, err error) {
	if _, err := s.addKeys(ctx, contended, nil); err != nil || len(contended) > 0 && s.slot {
		return false, err
	}
	if s.listed != nil {
		n, err := s.addKeys(ctx, s.listed, contended)
		s.listed = s.listed[n:]
		return len(s.listed) == 0, err
	}
	err = s.r.eachIntent(ctx, s.x.ID(), s.rest, func(key []byte, in txnintent.Intent) error {
		switch {
		case s.full():
			s.rest.Key = bytes.Clone(key)
			return errPageFull
		case among(contended, key):
			return nil
		}
		return s.add(ctx, key, in)
	})
	if err == errPageFull {
		return false, nil
	}
	return err == nil, err
}

// clearRest removes the remaining locks of a transaction by one range deletion, if its versions already are
// where it committed them. It returns false if it can't, since another transaction has locks among them.
func (s *resolver) clearRest() (cleared bool, err error) {
	rest, ok := s.rest.Clip(s.r.Desc().StartKey, s.r.Desc().EndKey)
	if !ok || !s.st.Clearable() || !s.r.intents.BeginClear(s.x) {
		return false, nil
	}
	defer s.r.intents.EndClear()
	locks := keys.LockSpan(keys.Span{Start: rest.Key, End: rest.EndKey})
	s.b.ClearSpan(locks.Start, locks.End)
	s.n++
	s.deferral = deferral{} // other transactions wait in Enter
	return true, s.flush()
}

func among(sorted [][]byte, key []byte) bool {
	_, ok := slices.BinarySearchFunc(sorted, key, bytes.Compare)
	return ok
}

// addKeys resolves the intents on listed keys, except those in already, until the command is full. n is the
// number of keys that it has processed.
func (s *resolver) addKeys(ctx context.Context, listed, already [][]byte) (n int, err error) {
	d := s.r.Desc()
	for _, key := range listed {
		if s.full() {
			break
		}
		n++
		if !d.ContainsKey(key) || among(already, key) {
			continue
		}
		in, ok, err := s.intent(key)
		if err == nil && ok && in.Txn == s.x.ID() {
			err = s.add(ctx, key, in)
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// intent returns the intent on a listed key. It looks each up by itself: contended keys lie apart, and an
// iterator would walk over the dropped locks of all keys between them.
func (s *resolver) intent(key []byte) (in txnintent.Intent, ok bool, err error) {
	if s.st.InPlace() {
		return txnintent.Intent{Txn: s.x.ID(), TS: s.st.TS}, true, nil
	}
	return s.r.intentOn(key)
}

// add adds the resolution of an intent to the command.
func (s *resolver) add(ctx context.Context, key []byte, in txnintent.Intent) error {
	if to := s.st.Resolution(in); to != txnintent.KeepVersion {
		limit := 0
		if to == txnintent.MoveVersion {
			limit = raftgroup.LongWrite
		}
		v, size, err := mvcc.GetShort(s.r.deps.Engine, key, in.TS, limit)
		if err != nil {
			return err
		}
		if v.TS == in.TS { // else an earlier run has resolved it
			s.drop(key, v.TS)
			if to == txnintent.MoveVersion {
				err = s.move(ctx, key, in, v, size)
			}
		}
		if err != nil {
			return err
		}
	}
	s.b.DeleteRaw(keys.Lock(key))
	s.n++
	return nil
}

// move writes the version of an intent at the commit timestamp. v is without its payload if that is long.
func (s *resolver) move(ctx context.Context, key []byte, in txnintent.Intent, v mvcc.Value, size int) error {
	if size > raftgroup.LongWrite {
		room, err := s.r.deps.LongWrites.Enter(ctx, int64(size))
		if err != nil {
			return err
		}
		s.room += room
		if v, _, err = mvcc.GetOwn(s.r.deps.Engine, key, in.TS); err != nil {
			return err
		}
	}
	s.write(key, in.Deleted, v.Data)
	return nil
}

// write writes a version of a key.
func (b *intentBatch) write(key []byte, deleted bool, value []byte) {
	if deleted {
		b.b.Tombstone(key)
	} else {
		b.b.Put(key, value)
	}
}

// pace pauses after a command, in proportion to its duration, unless the remaining intents are contended.
// After the first command it also waits for a slot.
func (s *resolver) pace(ctx context.Context, took time.Duration) error {
	expedite := s.r.intents.Pausing(s.x)
	if slots := s.r.deps.ResolveSlots; !s.slot && slots != nil {
		select {
		case slots <- struct{}{}:
			s.slot = true
		case <-expedite:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	rest := time.NewTimer(min(max(resolveDelayFactor*took, minResolveDelay), maxResolveDelay))
	defer rest.Stop()
	select {
	case <-expedite:
		return nil
	case <-rest.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave releases the resolver's slot, and its room for writes that it did not propose.
func (s *resolver) leave() {
	s.intentBatch.leave()
	if s.slot {
		<-s.r.deps.ResolveSlots
	}
	if s.steps > 1 {
		s.r.deps.Logger.Debug("resolved the intents of a large transaction", "range", s.r.id, "commands", s.steps, "took", time.Since(s.began))
	}
}
