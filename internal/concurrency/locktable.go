package concurrency

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/must"
)

// DefaultMaxLocks is the default limit of a table's locks (holdings and waiters), of about
// 100 bytes each plus the key.
const DefaultMaxLocks = 1 << 20

const (
	lockShards       = 64  // power of two; a shard's mutex is held for a few map operations
	minBuckets       = 4   // of a shard's hash table, power of two
	maxFreeLocks     = 32  // lock structs a shard keeps for reuse
	maxFreeKeyBytes  = 256 // a kept struct's key buffer
	maxFreeHolderCap = 8   // a kept struct's holders
)

// LimitError refuses a new lock because the table is full; held locks stay.
type LimitError struct{ Limit int64 }

// Error implements error.
func (e *LimitError) Error() string {
	return fmt.Sprintf("too many locks: the limit of %d is reached", e.Limit)
}

// LockTable holds the locks on the keys of one range, with a fair queue per
// key. All methods are safe for concurrent use.
type LockTable struct {
	seed  maphash.Seed
	max   int64
	count atomic.Int64 // holdings and waiters, ≤ max but for Install
	// A shard is made when it is first searched: most ranges of a large cluster are idle, and
	// followers have no locks at all.
	shards atomic.Pointer[lockShardList]
	// runs are changed with all shards locked, and read with any of them locked.
	runs []*lockRun
}

type lockShardList [lockShards]atomic.Pointer[lockShard]

type lockShard struct {
	mu      sync.Mutex
	buckets []*keyLock // chained hash table; length a power of two
	n       int
	free    *keyLock
	nfree   int
	_       [64]byte // no false sharing with the next shard
}

// NewLockTable returns an empty table for at most maxLocks locks
// (DefaultMaxLocks if ≤ 0).
func NewLockTable(maxLocks int64) *LockTable {
	if maxLocks <= 0 {
		maxLocks = DefaultMaxLocks
	}
	return &LockTable{seed: maphash.MakeSeed(), max: maxLocks}
}

// Acquire locks key for h.ID with at least strength s. It returns nil, nil
// when the lock is held on return, a Waiter when the transaction has to wait,
// and a *LimitError when the table is full.
//
// A transaction that holds s or more gets it at once. One with a weaker lock is granted s if no
// other holder conflicts, and otherwise waits before all transactions without a lock. Any other
// transaction also queues behind earlier waiters that conflict, so that nobody starves. A
// transaction waits for a key at most once at a time. key is copied.
func (t *LockTable) Acquire(key []byte, h Holder, s lock.Strength) (*Waiter, error) {
	must.True(!h.ID.IsZero() && s.Valid(), "concurrency: acquire without a transaction or strength")
	hash := keys.Hash(t.seed, key)
	sh := t.shard(hash)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	l, held, blocker, err := t.request(sh, hash, key, h.ID, s)
	if err != nil || blocker.IsZero() {
		return nil, err
	}
	if err := t.reserve(); err != nil {
		return nil, err
	}
	w := &Waiter{
		table: t, shard: sh, lock: l, holder: h, strength: s,
		upgrade: held != lock.None, done: make(chan struct{}),
	}
	l.enqueue(w)
	return w, nil
}

// TryAcquire is Acquire for a request that does not wait (NOWAIT, SKIP LOCKED). It returns
// the zero id when the lock is held on return, and else a transaction that conflicts. held is
// the strength that the transaction held before.
func (t *LockTable) TryAcquire(key []byte, h Holder, s lock.Strength) (held lock.Strength, blocker TxnID, err error) {
	must.True(!h.ID.IsZero() && s.Valid(), "concurrency: acquire without a transaction or strength")
	hash := keys.Hash(t.seed, key)
	sh := t.shard(hash)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	_, held, blocker, err = t.request(sh, hash, key, h.ID, s)
	return held, blocker, err
}

// request grants s on key to id if no transaction conflicts. Otherwise it returns the lock, the
// strength that id holds, and a transaction that conflicts.
func (t *LockTable) request(sh *lockShard, hash uint64, key []byte, id TxnID, s lock.Strength) (
	l *keyLock, held lock.Strength, blocker TxnID, err error,
) {
	if r, i := t.inRun(key); r != nil {
		if r.id == id && r.s >= s {
			return nil, r.s, TxnID{}, nil
		}
		t.leaveRun(sh, hash, r, i)
	}
	l = sh.find(hash, key)
	if l == nil {
		if err := t.reserve(); err != nil {
			return nil, lock.None, TxnID{}, err
		}
		sh.add(hash, key).hold(id, s)
		return nil, lock.None, TxnID{}, nil
	}
	i := l.find(id)
	if i >= 0 {
		held = l.holders[i].s
		if held >= s {
			return l, held, TxnID{}, nil
		}
	}
	if blocker = l.holderAgainst(id, s); !blocker.IsZero() {
		return l, held, blocker, nil
	}
	if i >= 0 {
		l.holders[i].s = s
		return l, held, TxnID{}, nil
	}
	if w := l.waiterAgainst(id, s); w != nil {
		return l, held, w.holder.ID, nil
	}
	if err := t.reserve(); err != nil {
		return nil, lock.None, TxnID{}, err
	}
	l.hold(id, s)
	return l, held, TxnID{}, nil
}

// reserve counts one more holding or waiter. A granted waiter is counted already, so that a grant
// never fails.
func (t *LockTable) reserve() error {
	if t.count.Add(1) > t.max {
		t.count.Add(-1)
		return &LimitError{Limit: t.max}
	}
	return nil
}

// serveQueue grants l to the waiters that may have it, after a holder or a waiter left or a holder got
// weaker. It drops l if nobody holds it.
func (t *LockTable) serveQueue(sh *lockShard, l *keyLock) {
	if l.head != nil {
		if merged := l.advance(); merged > 0 {
			t.count.Add(int64(-merged))
		}
	}
	if len(l.holders) == 0 {
		sh.remove(l)
	}
}

// Release gives up txn's lock on key and grants it to the waiters that may have it. It
// reports whether the lock was held.
func (t *LockTable) Release(txn TxnID, key []byte) bool { return t.Downgrade(txn, key, lock.None) }

// ReleaseAll releases txn's locks on keys, at the end of the transaction.
func (t *LockTable) ReleaseAll(txn TxnID, keys ...[]byte) {
	if len(keys) >= MinRunKeys {
		keys = t.releaseRuns(txn, keys)
	}
	for _, key := range keys {
		t.Release(txn, key)
	}
}

// Downgrade weakens txn's lock on key to the strength it had at a savepoint
// (None releases it). It reports whether a stronger lock was held; a weaker
// or equal one stays.
func (t *LockTable) Downgrade(txn TxnID, key []byte, to lock.Strength) bool {
	hash := keys.Hash(t.seed, key)
	sh := t.shard(hash)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	l := t.lockOf(sh, hash, key)
	if l == nil {
		return false
	}
	i := l.find(txn)
	if i < 0 || l.holders[i].s <= to {
		return false
	}
	if to == lock.None {
		l.drop(i)
		t.count.Add(-1)
	} else {
		l.holders[i].s = to
	}
	t.serveQueue(sh, l)
	return true
}

// Holds returns the strength with which txn holds key; None if it doesn't.
func (t *LockTable) Holds(key []byte, txn TxnID) lock.Strength {
	hash := keys.Hash(t.seed, key)
	sh := t.shard(hash)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if r, _ := t.inRun(key); r != nil {
		if r.id == txn {
			return r.s
		}
		return lock.None
	}
	if l := sh.find(hash, key); l != nil {
		if i := l.find(txn); i >= 0 {
			return l.holders[i].s
		}
	}
	return lock.None
}

// Len returns the number of locks, held and waited for.
func (t *LockTable) Len() int { return int(t.count.Load()) }

// Lock is one transaction's lock on a key. ForEach also reports those of waiters.
type Lock struct {
	Key      []byte
	Txn      TxnID
	Strength lock.Strength
	Waiting  bool
}

// ForEach calls fn for every lock, waiters after the holders of their key in
// the order of the queue, until fn returns false. Each shard is copied at one moment, as are the runs before
// them; fn runs without any mutex held.
func (t *LockTable) ForEach(fn func(Lock) bool) {
	buf := t.snapshotRuns()
	for _, l := range buf {
		if !fn(l) {
			return
		}
	}
	shards := t.shards.Load()
	if shards == nil {
		return
	}
	for i := range shards {
		sh := shards[i].Load()
		if sh == nil {
			continue
		}
		buf = sh.snapshot(buf[:0])
		for _, l := range buf {
			if !fn(l) {
				return
			}
		}
	}
}

// Extract removes and returns the held locks of [start, end), sorted by key (a nil end is
// unbounded), for a split, a merge or a change of leader. Waiters in the span end with
// ErrMoved. The caller admits no new requests for the span.
func (t *LockTable) Extract(start, end []byte) []Lock {
	t.dissolve(start, end)
	var locks []Lock
	shards := t.shards.Load()
	if shards == nil {
		return nil
	}
	for i := range shards {
		sh := shards[i].Load()
		if sh == nil {
			continue
		}
		sh.mu.Lock()
		for _, l := range sh.inSpan(start, end) {
			for _, h := range l.holders {
				locks = append(locks, Lock{Key: bytes.Clone(l.key), Txn: h.id, Strength: h.s})
			}
			left := len(l.holders)
			for w := l.head; w != nil; w = l.head {
				l.dequeue(w)
				w.finish(waiterMoved)
				left++
			}
			t.count.Add(int64(-left))
			l.holders = l.holders[:0]
			sh.remove(l)
		}
		sh.mu.Unlock()
	}
	slices.SortFunc(locks, func(a, b Lock) int { return bytes.Compare(a.Key, b.Key) })
	return locks
}

// Install adds locks that Extract took from another table. They do not conflict with those of
// this one. They are added even above the limit, since a held lock is never dropped.
func (t *LockTable) Install(locks []Lock) {
	for _, k := range locks {
		hash := keys.Hash(t.seed, k.Key)
		sh := t.shard(hash)
		sh.mu.Lock()
		l := t.lockOf(sh, hash, k.Key)
		if l == nil {
			l = sh.add(hash, k.Key)
		}
		if !l.hold(k.Txn, k.Strength) {
			t.count.Add(1)
		}
		sh.mu.Unlock()
	}
}
