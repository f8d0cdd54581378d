package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/raftgroup"
	"github.com/lichendb/lichen/internal/sleep"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/storage/mvcc"
	"github.com/lichendb/lichen/internal/txnintent"
)

const (
	// resolveBytes and resolveKeys bound one command of an intent resolution: what others
	// write in the range, or read that was not applied yet, waits behind it.
	resolveBytes = 256 << 10
	resolveKeys  = 1024
	// resolveTimeout bounds one run of it; the sweep begins another.
	resolveTimeout = 10 * time.Minute
	// resolveAttempts bounds how often the range's bounds may change meanwhile.
	resolveAttempts = 10
	// MaxResolvers bounds the resolutions of a store that go beyond one command: others wait
	// their turn, unless somebody contends for what they remove.
	MaxResolvers = 1
	// A resolver waits after each command for resolveDelayFactor times as long as that took, within
	// these bounds: the range's leader and its followers have others to serve.
	resolveDelayFactor = 8
	minResolveDelay    = 10 * time.Millisecond
	maxResolveDelay    = 2 * time.Second
)

// resolveLater resolves the intents of a decided transaction in the background.
func (r *Replica) resolveLater(x *txnintent.Txn) {
	r.tasks.run(func() {
		ctx, cancel := r.tasks.context(resolveTimeout)
		defer cancel()
		r.resolveOrSweep(ctx, x)
	})
}

// resolveOrSweep resolves the intents of a decided transaction, or has the sweep do so.
func (r *Replica) resolveOrSweep(ctx context.Context, x *txnintent.Txn) {
	if err := r.resolveIntents(ctx, x); err != nil {
		r.deps.Logger.Debug("resolve the intents of a transaction; the sweep goes on with it", "range", r.id, "err", err)
		r.sweepLater()
	}
}

// resolveIntents resolves the intents of a decided transaction and forgets it. Only one
// goroutine at a time does so: another's commands, made from what it saw before, would take
// away what somebody wrote after the intents were gone (Txn.TryResolver).
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
			// Its followers have not all answered yet. Who meets the intents waits for this.
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

// resolveOnce removes the locks of a decided transaction: the versions of an aborted one go
// too, and those of one that committed later than they say move.
func (r *Replica) resolveOnce(ctx context.Context, x *txnintent.Txn) error {
	d := r.deferralOf(x)
	fence, err := r.admitWrite(ctx)
	if err != nil {
		return err
	}
	st := r.intents.State(x)
	if st.Removed { // gone, or another leadership's
		return nil
	}
	s := resolver{intentBatch: newIntentBatch(r, x, st, fence, d), listed: st.Keys, rest: st.Span, began: time.Now()}
	defer s.leave()
	for {
		s.steps++
		began := time.Now()
		contended := r.intents.TakeContended(x)
		over, err := s.fill(ctx, contended)
		if err == nil {
			err = s.flush()
		}
		if len(contended) > 0 {
			r.intents.Released(x) // also if it failed: they look again
		}
		if over || err != nil {
			return err
		}
		if err := s.pace(ctx, time.Since(began)); err != nil {
			return err
		}
	}
}

// deferralOf says whether the resolution of intents may wait.
func (r *Replica) deferralOf(x *txnintent.Txn) deferral {
	d := deferral{flushes: r.group.Queue.Flushes()}
	st := r.intents.State(x)
	d.allowed = st.Deferrable && !st.Contended
	return d
}

// deferral says whether a command may be deferred until another one of the range is proposed.
// The zero value is that of one that somebody waits for.
type deferral struct {
	allowed bool
	// flushes is what Queue.Flushes returned before it was looked whether somebody waits.
	flushes uint64
}

// proposeDeferrable proposes a command, at once or deferred.
func (g *group) proposeDeferrable(d deferral, fence raftgroup.Fence, command []byte) error {
	if d.allowed {
		return g.ProposeDeferred(fence, command, d.flushes)
	}
	return g.Propose(fence, command)
}

// intentBatch collects what happens to the intents of a transaction into commands of bounded
// size.
type intentBatch struct {
	r        *Replica
	x        *txnintent.Txn
	st       txnintent.State
	fence    raftgroup.Fence
	deferral deferral
	b        apply.Builder
	n        int
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
		b.b.Reset(kvpb.TxnID{}, b.st.TS)
	}
}

func (b *intentBatch) flush() error {
	if b.n == 0 {
		return nil
	}
	err := b.r.group.proposeDeferrable(b.deferral, b.fence, b.b.Bytes())
	b.begin()
	return err
}

func (b *intentBatch) full() bool { return b.b.Len() >= resolveBytes || b.n >= resolveKeys }

func (b *intentBatch) added() error {
	if b.n++; !b.full() {
		return nil
	}
	return b.flush()
}

// drop removes the version of an intent.
func (b *intentBatch) drop(key []byte, v mvcc.Value) {
	b.b.Collect(key, mvcc.Garbage{TS: v.TS, Size: uint32(len(v.Data)) + 1})
}

// resolver is one intent resolution on its way: command by command, with no iterator open in
// between.
type resolver struct {
	intentBatch
	listed [][]byte  // staged keys that are left; nil if they are not listed
	rest   kvpb.Span // else: where what is left lies
	slot   bool      // it has one of the store's
	began  time.Time
	steps  int
}

// fill makes a command: first of the keys that others contend for, then of the next ones,
// unless this is a long resolution, in which those who wait come before all others. over says
// that nothing is left behind it.
func (s *resolver) fill(ctx context.Context, contended [][]byte) (over bool, err error) {
	if _, err := s.these(contended, nil); err != nil || len(contended) > 0 && s.slot {
		return false, err
	}
	if s.listed != nil {
		n, err := s.these(s.listed, contended)
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
		return s.one(key, in)
	})
	if err == errPageFull {
		return false, nil
	}
	return err == nil, err
}

func among(sorted [][]byte, key []byte) bool {
	_, ok := slices.BinarySearchFunc(sorted, key, bytes.Compare)
	return ok
}

// these adds listed keys, but for those in the command already, until it is full; n is how
// many it has looked at.
func (s *resolver) these(listed, already [][]byte) (n int, err error) {
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
			err = s.one(key, in)
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// intent returns the intent on a listed key.
func (s *resolver) intent(key []byte) (in txnintent.Intent, ok bool, err error) {
	if s.st.InPlace() {
		return txnintent.Intent{Txn: s.x.ID(), TS: s.st.TS}, true, nil
	}
	return s.r.intentOn(key)
}

// one resolves an intent.
func (s *resolver) one(key []byte, in txnintent.Intent) error {
	if to := s.st.Resolution(in); to != txnintent.KeepVersion {
		v, _, err := mvcc.Get(s.r.deps.Engine, key, in.TS, nil)
		if err != nil {
			return err
		}
		if v.TS == in.TS { // else a run before a crash has been here
			s.drop(key, v)
			if to == txnintent.MoveVersion {
				s.write(key, in.Deleted, v.Data)
			}
		}
	}
	s.b.DeleteRaw(keys.Lock(key))
	s.n++
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

// pace lets others go ahead after a command that took so long, as long as nobody contends for
// what is left. After the first one it waits for its turn too.
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

// leave gives up the resolver's turn.
func (s *resolver) leave() {
	if s.slot {
		<-s.r.deps.ResolveSlots
	}
	if s.steps > 1 {
		s.r.deps.Logger.Debug("resolved the intents of a large transaction", "range", s.r.id, "commands", s.steps, "took", time.Since(s.began))
	}
}

// rollBackIntents takes back the spilled writes of a span from a position on.
func (r *Replica) rollBackIntents(ctx context.Context, x *txnintent.Txn, span kvpb.Span, from uint64) error {
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
			v, _, err := mvcc.Get(r.deps.Engine, key, b.st.TS, nil)
			if err != nil {
				return err
			}
			v.TS = b.st.TS
			b.drop(key, v)
			b.b.DeleteRaw(keys.Lock(key))
		}
		return b.added()
	})
	if err != nil {
		return err
	}
	return b.flush()
}

// eachIntent calls fn for the intents of a transaction within a span, cut at the range's
// bounds; the zero transaction stands for all.
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
