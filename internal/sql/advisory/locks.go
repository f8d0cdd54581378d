package advisory

import (
	"context"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sleep"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

const (
	// maxLocks bounds the advisory locks of a session.
	maxLocks = 10_000
	// recordPoll is the interval between two reads of records that conflict though
	// no lock does: the leader that granted theirs is gone.
	recordPoll = 50 * time.Millisecond
	// releaseTimeout bounds what is done to release locks when a session ends. Others
	// find out by themselves what could not be released.
	releaseTimeout = 5 * time.Second
)

// Key names an advisory lock: a number, or a pair of them, in a database.
type Key struct {
	Database uint64
	Pair     bool
	Number   int64
}

func (k Key) bytes() []byte { return keys.AdvisoryLock(k.Database, k.Pair, k.Number) }

func keyOf(b []byte) Key {
	db, pair, n, _ := keys.DecodeAdvisoryLock(b)
	return Key{db, pair, n}
}

// Request asks for a lock.
type Request struct {
	Key         Key
	Shared      bool
	Try         bool // do not wait for it
	Transaction bool // until the end of the transaction
}

// Session is what the locks ask of the session that holds them.
type Session interface {
	// LockTimeout bounds waits for locks; 0 means that they have no bound.
	LockTimeout() time.Duration
	// Txn returns the open transaction, if there is one. Any goroutine may call it.
	Txn() (concurrency.TxnID, bool)
}

// hold is a lock that the session holds: how often, until it is unlocked and until the
// transaction ends, exclusively and shared.
type hold struct {
	strength lock.Strength
	session  [2]int // exclusive, shared
	txn      [2]int
}

func (h *hold) free() bool { return h.session == [2]int{} && h.txn == [2]int{} }

// grant is a lock that was granted to the transaction, or in a statement.
type grant struct {
	key    Key
	shared int
	txn    bool
}

// Locks are the advisory locks of a session. One goroutine at a time uses them, but for Holder.
type Locks struct {
	m    *Manager
	s    Session
	txn  *kv.Txn // holds them; nil if there are none
	held map[Key]*hold
	// inTxn are the grants to the open transaction, in order; journal are those of the
	// running statement, which are taken back if it is run again.
	inTxn   []grant
	journal []grant
	// blocked records in the waits-for graph that the holder of the locks goes no further
	// than the session's transaction, while a statement runs.
	blocked *concurrency.Wait

	mu struct {
		sync.Mutex
		holder kvpb.TxnID // the ID of txn
	}
}

// Init makes l ready to hold the locks of a session.
func (l *Locks) Init(m *Manager, s Session) { l.m, l.s = m, s }

// Any reports whether the session holds a lock.
func (l *Locks) Any() bool { return len(l.held) > 0 }

// Holder returns the transaction that holds the locks, the zero one if there are none. Any
// goroutine may call it.
func (l *Locks) Holder() kvpb.TxnID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.holder
}

func (l *Locks) setHolder(id kvpb.TxnID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.holder = id
}

func sharedIndex(shared bool) int {
	if shared {
		return 1
	}
	return 0
}

// Lock takes a lock; false if it was only to be tried and others hold it.
func (l *Locks) Lock(ctx context.Context, r Request) (bool, error) {
	k, want := r.Key, lock.Update
	if r.Shared {
		want = lock.Share
	}
	h := l.held[k]
	if h == nil || h.strength < want {
		if len(l.held) >= maxLocks {
			return false, pgerr.New(pgerr.ConfigurationLimitExceeded, "too many advisory locks held by one session (limit %d)", maxLocks)
		}
		got, err := l.acquire(ctx, k.bytes(), want, r.Try)
		if !got || err != nil {
			l.rest()
			return false, err
		}
		if h == nil {
			if l.held == nil {
				l.held = map[Key]*hold{}
			}
			h = &hold{}
			l.held[k] = h
		}
		h.strength = want
	}
	g := grant{key: k, shared: sharedIndex(r.Shared), txn: r.Transaction}
	if r.Transaction {
		h.txn[g.shared]++
		l.inTxn = append(l.inTxn, g)
	} else {
		h.session[g.shared]++
	}
	l.journal = append(l.journal, g)
	return true, nil
}

// begin begins the transaction that holds the locks.
func (l *Locks) begin() {
	if l.txn != nil {
		return
	}
	l.txn = l.m.db.Begin(kv.TxnOptions{Isolation: kv.ReadCommitted, LocksOnly: true})
	l.setHolder(l.txn.ID())
}

// acquire gets the row lock, and in a cluster writes the record of its holder.
func (l *Locks) acquire(ctx context.Context, key []byte, want lock.Strength, try bool) (bool, error) {
	l.begin()
	began := time.Now()
	for {
		got, err := l.lockKey(ctx, key, want, try)
		if !got || err != nil {
			return false, err
		}
		if l.m.alone() {
			return true, nil
		}
		free, err := l.m.record(ctx, key, l.txn.ID(), want)
		if free && err == nil {
			return true, nil
		}
		if l.held[keyOf(key)] == nil {
			_ = l.txn.Unlock(context.WithoutCancel(ctx), key) // a range that is gone has no locks
		}
		if err != nil || try {
			return false, err
		}
		if d := l.s.LockTimeout(); d > 0 && time.Since(began) > d {
			return false, &kvpb.LockNotAvailableError{Timeout: true}
		}
		if err := sleep.For(ctx, recordPoll); err != nil {
			return false, err
		}
	}
}

// lockKey gets the row lock.
func (l *Locks) lockKey(ctx context.Context, key []byte, want lock.Strength, try bool) (bool, error) {
	policy := lock.WaitBlock
	if try {
		policy = lock.WaitSkip
	} else {
		l.LeaveStatement()
		defer l.EnterStatement()
		defer l.waitFor()()
	}
	l.txn.LockTimeout = l.s.LockTimeout()
	for again := false; ; again = true {
		l.txn.BeginStatement()
		res, err := l.txn.Lock(ctx, key, want, policy)
		switch {
		case err == nil:
			return !res.Skipped, nil
		case l.held[keyOf(key)] == nil || kv.IsRetryable(err):
			_ = l.txn.Unlock(context.WithoutCancel(ctx), key) // it may have been granted all the same
		}
		if again || !kv.IsRetryable(err) {
			return false, err
		}
	}
}

// waitFor records in the waits-for graph that the session's transaction waits for what the
// holder of its advisory locks waits for; what it returns takes that back.
func (l *Locks) waitFor() func() {
	txn, open := l.s.Txn()
	if l.m.nodes == nil || !open {
		return func() {}
	}
	g := l.m.nodes.WaitGraph()
	w := g.Add(concurrency.Holder{ID: txn}, concurrency.NewBlockers(concurrency.TxnID(l.txn.ID())))
	return func() { g.Remove(w) }
}

// sessionTxn is the session's transaction of the moment, as what its locks wait for.
type sessionTxn struct{ Session }

// AppendBlockers implements concurrency.BlockerSource.
func (t sessionTxn) AppendBlockers(dst []concurrency.TxnID) []concurrency.TxnID {
	if txn, open := t.Txn(); open {
		dst = append(dst, txn)
	}
	return dst
}

// EnterStatement is called when a statement begins, and after a wait for a lock. The start of
// these waits is the oldest there is: others of a cycle die, not they, because nobody
// listens to them.
func (l *Locks) EnterStatement() {
	if l.txn != nil && l.blocked == nil && l.m.nodes != nil {
		l.blocked = l.m.nodes.WaitGraph().Add(concurrency.Holder{ID: concurrency.TxnID(l.txn.ID())}, sessionTxn{l.s})
	}
}

// LeaveStatement is called when a statement ends, and before a wait for a lock.
func (l *Locks) LeaveStatement() {
	if l.blocked != nil {
		l.m.nodes.WaitGraph().Remove(l.blocked)
		l.blocked = nil
	}
}

// Unlock gives up a lock once; false if the session does not hold it so.
func (l *Locks) Unlock(ctx context.Context, k Key, shared bool) bool {
	h, i := l.held[k], sharedIndex(shared)
	if h == nil || h.session[i] == 0 {
		return false
	}
	h.session[i]--
	l.release(ctx, k)
	return true
}

// UnlockAll gives up all locks but those of the transaction.
func (l *Locks) UnlockAll(ctx context.Context) {
	for k, h := range l.held {
		h.session = [2]int{}
		l.release(ctx, k)
	}
}

// release gives up a lock if the session holds it no more.
func (l *Locks) release(ctx context.Context, k Key) {
	h := l.held[k]
	if h == nil || !h.free() {
		return
	}
	delete(l.held, k)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := l.m.dropRecords(ctx, l.txn.ID(), [][]byte{k.bytes()}); err != nil {
		// The record keeps the lock from others until its holder ends: now, if this was
		// the last lock, else with the last or with the session.
		l.rest()
		return
	}
	_ = l.txn.Unlock(ctx, k.bytes()) // a range that is gone has no locks left
	l.rest()
}

// rest ends the transaction that holds the locks if there are none.
func (l *Locks) rest() {
	if l.txn != nil && len(l.held) == 0 {
		l.end(context.Background())
	}
}

func (l *Locks) end(ctx context.Context) {
	l.LeaveStatement()
	l.txn.Rollback(ctx)
	l.txn = nil
	l.setHolder(kvpb.TxnID{})
}

// take takes back grants, the last first.
func (l *Locks) take(ctx context.Context, grants []grant) {
	for i := len(grants) - 1; i >= 0; i-- {
		g := &grants[i]
		h := l.held[g.key]
		if h == nil {
			continue
		}
		n := &h.session[g.shared]
		if g.txn {
			n = &h.txn[g.shared]
		}
		*n = max(*n-1, 0)
		l.release(ctx, g.key)
	}
}

// EndTxn gives up the locks of the transaction that has ended.
func (l *Locks) EndTxn() { l.RollbackTo(context.Background(), 0) }

// RollbackTo gives up the locks that the transaction got after a savepoint.
func (l *Locks) RollbackTo(ctx context.Context, mark int) {
	if len(l.inTxn) <= mark {
		return
	}
	grants := l.inTxn[mark:]
	l.inTxn = l.inTxn[:mark]
	l.take(ctx, grants)
}

// BeginStatement forgets what the statement before was granted.
func (l *Locks) BeginStatement() { l.journal = l.journal[:0] }

// Mark is the point of the transaction that RollbackTo goes back to.
func (l *Locks) Mark() int { return len(l.inTxn) }

// RetryStatement takes back what a statement got that is run again.
func (l *Locks) RetryStatement(ctx context.Context) {
	grants := l.journal
	l.journal = nil
	for _, g := range grants {
		if g.txn && len(l.inTxn) > 0 {
			l.inTxn = l.inTxn[:len(l.inTxn)-1]
		}
	}
	l.take(ctx, grants)
}

// Close gives up all locks at the end of the session.
func (l *Locks) Close() {
	if l.txn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	var all [][]byte
	for k := range l.held {
		all = append(all, k.bytes())
	}
	_ = l.m.dropRecords(ctx, l.txn.ID(), all) // without their holder they are void
	l.held = nil
	l.end(ctx)
}
