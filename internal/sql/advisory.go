package sql

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/pause"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

const (
	// maxAdvisoryLocks bounds the advisory locks of a session.
	maxAdvisoryLocks = 10_000
	// claimPoll is the pause between two looks at claims that stand in the way though
	// no lock does: the leader that granted theirs is gone.
	claimPoll = 50 * time.Millisecond
	// releaseTimeout bounds what is done to release locks when a session ends. Others
	// find out by themselves what could not be released.
	releaseTimeout = 5 * time.Second
	// maxClaims bounds the claims on one lock that are looked at.
	maxClaims = 100_000
)

// advisoryKey names an advisory lock.
type advisoryKey struct {
	db   uint64
	pair bool
	n    int64
}

func (k advisoryKey) key() []byte { return keys.AdvisoryLock(k.db, k.pair, k.n) }

// advisoryHold is a lock that the session holds: how often, until it is unlocked and
// until the transaction ends, exclusively and shared.
type advisoryHold struct {
	strength kvpb.Strength
	session  [2]int // exclusive, shared
	txn      [2]int
}

func (h *advisoryHold) free() bool { return h.session == [2]int{} && h.txn == [2]int{} }

// advisoryGrant is a lock that was granted to the transaction, or in a statement.
type advisoryGrant struct {
	key    advisoryKey
	shared int
	txn    bool
}

// advisoryLocks are the advisory locks of a session. They are row locks of a reserved
// part of the key space, held by a transaction of their own that lasts as long as the
// session has any. The zero value is ready for use.
//
// Row locks are lost with a leader that fails. In a cluster a holder therefore also
// writes a claim below the lock's key, and who gets the row lock looks whether another
// one, who is still there, has a claim. A claim is deleted before its lock is released.
//
// A lock that is held exclusively and shared stays exclusive until both are given up.
type advisoryLocks struct {
	txn  *kv.Txn
	held map[advisoryKey]*advisoryHold
	// inTxn are the grants to the open transaction, in order; journal are those of the
	// running statement, which are taken back if it is run again.
	inTxn   []advisoryGrant
	journal []advisoryGrant
	// blocked tells the waits-for graph that the holder of the locks goes no further
	// than the session's transaction, while a statement runs.
	blocked *concurrency.Wait
}

// AdvisoryLock implements builtin.Session.
func (f *sessionFuncs) AdvisoryLock(r builtin.AdvisoryLockRequest) (bool, error) {
	s := f.s
	return s.advisory.lock(f.bctx(), s, r)
}

func (f *sessionFuncs) bctx() context.Context {
	if f.s.bctx.Ctx == nil {
		return context.Background()
	}
	return f.s.bctx.Ctx
}

func (s *Session) advisoryKey(r builtin.AdvisoryLockRequest) advisoryKey {
	return advisoryKey{uint64(s.db.ID), r.Pair, r.Key}
}

func sharedIndex(shared bool) int {
	if shared {
		return 1
	}
	return 0
}

// lock takes a lock; false if it was only to be tried and others hold it.
func (a *advisoryLocks) lock(ctx context.Context, s *Session, r builtin.AdvisoryLockRequest) (bool, error) {
	k, want := s.advisoryKey(r), kvpb.LockUpdate
	if r.Shared {
		want = kvpb.LockShare
	}
	h := a.held[k]
	if h == nil || h.strength < want {
		if len(a.held) >= maxAdvisoryLocks {
			return false, pgerr.New(pgerr.ConfigurationLimitExceeded, "too many advisory locks held by one session (limit %d)", maxAdvisoryLocks)
		}
		got, err := a.acquire(ctx, s, k.key(), want, r.Try)
		if !got || err != nil {
			a.rest(s)
			return false, err
		}
		if h == nil {
			if a.held == nil {
				a.held = map[advisoryKey]*advisoryHold{}
			}
			h = &advisoryHold{}
			a.held[k] = h
		}
		h.strength = want
	}
	g := advisoryGrant{key: k, shared: sharedIndex(r.Shared), txn: r.Transaction}
	if r.Transaction {
		h.txn[g.shared]++
		a.inTxn = append(a.inTxn, g)
	} else {
		h.session[g.shared]++
	}
	a.journal = append(a.journal, g)
	return true, nil
}

// begin begins the transaction that holds the locks.
func (a *advisoryLocks) begin(s *Session) {
	if a.txn != nil {
		return
	}
	a.txn = s.srv.cfg.DB.Begin(kv.TxnOptions{Isolation: kv.ReadCommitted, LocksOnly: true})
	s.mu.Lock()
	s.mu.advisory = a.txn.ID()
	s.mu.Unlock()
}

// acquire gets the row lock, and in a cluster the claim.
func (a *advisoryLocks) acquire(ctx context.Context, s *Session, key []byte, want kvpb.Strength, try bool) (bool, error) {
	a.begin(s)
	began := time.Now()
	for {
		got, err := a.lockKey(ctx, s, key, want, try)
		if !got || err != nil {
			return false, err
		}
		if s.srv.cfg.Nodes == nil || s.srv.cfg.Nodes.Alone() {
			return true, nil
		}
		free, err := s.srv.claim(ctx, key, a.txn.ID(), want)
		if free && err == nil {
			return true, nil
		}
		if a.held[advisoryKeyOf(key)] == nil {
			_ = a.txn.Unlock(context.WithoutCancel(ctx), key) // a range that is gone has no locks
		}
		if err != nil || try {
			return false, err
		}
		if d := s.vals.Fast.LockTimeout; d > 0 && time.Since(began) > d {
			return false, &kvpb.LockNotAvailableError{Timeout: true}
		}
		if err := pause.For(ctx, claimPoll); err != nil {
			return false, err
		}
	}
}

func advisoryKeyOf(key []byte) advisoryKey {
	db, pair, n, _ := keys.DecodeAdvisoryLock(key)
	return advisoryKey{db, pair, n}
}

// lockKey gets the row lock.
func (a *advisoryLocks) lockKey(ctx context.Context, s *Session, key []byte, want kvpb.Strength, try bool) (bool, error) {
	policy := kv.WaitBlock
	if try {
		policy = kv.WaitSkip
	} else {
		a.leave(s)
		defer a.enter(s)
		defer a.waitFor(s)()
	}
	a.txn.LockTimeout = s.vals.Fast.LockTimeout
	for again := false; ; again = true {
		a.txn.BeginStatement()
		res, err := a.txn.Lock(ctx, key, want, policy)
		switch {
		case err == nil:
			return !res.Skipped, nil
		case a.held[advisoryKeyOf(key)] == nil || kv.IsRetryable(err):
			_ = a.txn.Unlock(context.WithoutCancel(ctx), key) // it may have been granted all the same
		}
		if again || !kv.IsRetryable(err) {
			return false, err
		}
	}
}

// waitFor tells the waits-for graph that the session's transaction waits for what the
// holder of its advisory locks waits for; what it returns takes that back.
func (a *advisoryLocks) waitFor(s *Session) func() {
	if s.srv.cfg.Nodes == nil || !s.txn.open {
		return func() {}
	}
	g := s.srv.cfg.Nodes.WaitGraph()
	w := g.Add(concurrency.Holder{ID: s.coll.TxnID()}, concurrency.NewBlockers(concurrency.TxnID(a.txn.ID())))
	return func() { g.Remove(w) }
}

// sessionTxn is the session's transaction of the moment, as what its locks wait for.
type sessionTxn struct{ s *Session }

// AppendBlockers implements concurrency.BlockerSource.
func (t sessionTxn) AppendBlockers(dst []concurrency.TxnID) []concurrency.TxnID {
	if t.s.txnStart.Load() == 0 {
		return dst
	}
	return append(dst, t.s.coll.TxnID())
}

// enter is called when a statement begins, and after a wait for a lock. The start of
// these waits is the oldest there is: others of a cycle die, not they, because nobody
// listens to them.
func (a *advisoryLocks) enter(s *Session) {
	if a.txn != nil && a.blocked == nil && s.srv.cfg.Nodes != nil {
		a.blocked = s.srv.cfg.Nodes.WaitGraph().Add(concurrency.Holder{ID: concurrency.TxnID(a.txn.ID())}, sessionTxn{s})
	}
}

// leave is called when a statement ends, and before a wait for a lock.
func (a *advisoryLocks) leave(s *Session) {
	if a.blocked != nil {
		s.srv.cfg.Nodes.WaitGraph().Remove(a.blocked)
		a.blocked = nil
	}
}

// AdvisoryUnlock implements builtin.Session.
func (f *sessionFuncs) AdvisoryUnlock(r builtin.AdvisoryLockRequest, all bool) (bool, error) {
	s := f.s
	if all {
		s.advisory.unlockAll(f.bctx(), s)
		return true, nil
	}
	k, i := s.advisoryKey(r), sharedIndex(r.Shared)
	h := s.advisory.held[k]
	if h == nil || h.session[i] == 0 {
		mode := [2]string{"ExclusiveLock", "ShareLock"}[i]
		s.warnSoon(pgerr.New(pgerr.Warning, "you don't own a lock of type %s", mode))
		return false, nil
	}
	h.session[i]--
	s.advisory.release(f.bctx(), s, k)
	return true, nil
}

// unlockAll gives up all locks but those of the transaction.
func (a *advisoryLocks) unlockAll(ctx context.Context, s *Session) {
	for k, h := range a.held {
		h.session = [2]int{}
		a.release(ctx, s, k)
	}
}

// release gives up a lock if the session holds it no more.
func (a *advisoryLocks) release(ctx context.Context, s *Session, k advisoryKey) {
	h := a.held[k]
	if h == nil || !h.free() {
		return
	}
	delete(a.held, k)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := s.srv.dropClaims(ctx, a.txn.ID(), [][]byte{k.key()}); err != nil {
		// The claim keeps the lock from others until its holder ends: now, if this was
		// the last lock, else with the last or with the session.
		a.rest(s)
		return
	}
	_ = a.txn.Unlock(ctx, k.key()) // a range that is gone has no locks left
	a.rest(s)
}

// rest ends the transaction that holds the locks if there are none.
func (a *advisoryLocks) rest(s *Session) {
	if a.txn != nil && len(a.held) == 0 {
		a.end(context.Background(), s)
	}
}

func (a *advisoryLocks) end(ctx context.Context, s *Session) {
	a.leave(s)
	a.txn.Rollback(ctx)
	a.txn = nil
	s.mu.Lock()
	s.mu.advisory = kvpb.TxnID{}
	s.mu.Unlock()
}

// take takes back grants, the last first.
func (a *advisoryLocks) take(ctx context.Context, s *Session, grants []advisoryGrant) {
	for i := len(grants) - 1; i >= 0; i-- {
		g := &grants[i]
		h := a.held[g.key]
		if h == nil {
			continue
		}
		n := &h.session[g.shared]
		if g.txn {
			n = &h.txn[g.shared]
		}
		*n = max(*n-1, 0)
		a.release(ctx, s, g.key)
	}
}

// endTxn gives up the locks of the transaction that has ended.
func (a *advisoryLocks) endTxn(s *Session) { a.rollbackTo(context.Background(), s, 0) }

// rollbackTo gives up the locks that the transaction got after a savepoint.
func (a *advisoryLocks) rollbackTo(ctx context.Context, s *Session, mark int) {
	if len(a.inTxn) <= mark {
		return
	}
	grants := a.inTxn[mark:]
	a.inTxn = a.inTxn[:mark]
	a.take(ctx, s, grants)
}

// retry takes back what a statement got that is run again.
func (a *advisoryLocks) retry(ctx context.Context, s *Session) {
	grants := a.journal
	a.journal = nil
	for _, g := range grants {
		if g.txn && len(a.inTxn) > 0 {
			a.inTxn = a.inTxn[:len(a.inTxn)-1]
		}
	}
	a.take(ctx, s, grants)
}

// close gives up all locks at the end of the session.
func (a *advisoryLocks) close(s *Session) {
	if a.txn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	var all [][]byte
	for k := range a.held {
		all = append(all, k.key())
	}
	_ = s.srv.dropClaims(ctx, a.txn.ID(), all) // without their holder they are void
	a.held = nil
	a.end(ctx, s)
}

func claimHolder(id kvpb.TxnID) (b [16]byte) {
	binary.BigEndian.PutUint64(b[:8], id.Hi)
	binary.BigEndian.PutUint64(b[8:], id.Lo)
	return b
}

func holderOf(b [16]byte) kvpb.TxnID {
	return kvpb.TxnID{Hi: binary.BigEndian.Uint64(b[:8]), Lo: binary.BigEndian.Uint64(b[8:])}
}

// claim writes the claim of a holder who has the row lock, unless another one's is in
// the way. Claims of holders that are over are deleted. Of two who have got the lock of
// different leaders, one sees the claim of the other: they are read and written in one
// serializable transaction.
func (s *Server) claim(ctx context.Context, key []byte, self kvpb.TxnID, want kvpb.Strength) (free bool, err error) {
	over := map[kvpb.TxnID]bool{}
	err = s.cfg.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		others, err := claims(ctx, t, key, self, want)
		for _, o := range others {
			over[o.holder] = false
		}
		return err
	})
	for id := range over {
		over[id] = s.cfg.Nodes.TxnOver(id)
	}
	if err != nil {
		return false, err
	}
	err = s.cfg.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		others, err := claims(ctx, t, key, self, want)
		if err != nil {
			return err
		}
		for _, o := range others {
			if free = over[o.holder]; !free {
				return nil
			}
			if err := writeClaim(ctx, t, o.key, nil); err != nil {
				return err
			}
		}
		free = true
		return writeClaim(ctx, t, keys.AdvisoryClaim(key, claimHolder(self)), []byte{byte(want)})
	})
	return free && err == nil, err
}

// writeClaim writes a claim, or deletes it if the value is nil.
func writeClaim(ctx context.Context, t *kv.Txn, key, value []byte) error {
	r, err := t.Lock(ctx, key, kv.LockUpdate, kv.WaitBlock)
	switch {
	case err != nil:
		return err
	case value != nil:
		return t.Put(key, value)
	case r.Found:
		return t.Delete(key)
	}
	return nil
}

type foundClaim struct {
	key    []byte
	holder kvpb.TxnID
}

// claims lists the claims of others on a lock that are in the way.
func claims(ctx context.Context, t *kv.Txn, key []byte, self kvpb.TxnID, want kvpb.Strength) (out []foundClaim, err error) {
	span := keys.AdvisoryClaims(key)
	for start := span.Start; start != nil; {
		var page kv.ScanResult
		if err := t.Scan(ctx, start, span.End, kv.ScanOptions{}, &page); err != nil {
			return nil, err
		}
		for i := range page.Len() {
			k, v := page.Key(i), page.Value(i)
			h, ok := keys.DecodeAdvisoryClaim(key, k)
			if !ok || len(v) != 1 || holderOf(h) == self || want == kvpb.LockShare && kvpb.Strength(v[0]) == kvpb.LockShare {
				continue
			}
			if len(out) >= maxClaims {
				return nil, pgerr.New(pgerr.ProgramLimitExceeded, "too many sessions share an advisory lock")
			}
			out = append(out, foundClaim{append([]byte(nil), k...), holderOf(h)})
		}
		start = page.Resume
	}
	return out, nil
}

// dropClaims deletes a holder's claims on locks.
func (s *Server) dropClaims(ctx context.Context, self kvpb.TxnID, locks [][]byte) error {
	if len(locks) == 0 || s.cfg.Nodes == nil || s.cfg.Nodes.Alone() {
		return nil
	}
	return s.cfg.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		for _, k := range locks {
			if err := writeClaim(ctx, t, keys.AdvisoryClaim(k, claimHolder(self)), nil); err != nil {
				return err
			}
		}
		return nil
	})
}
