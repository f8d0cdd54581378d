package concurrency

import (
	"bytes"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/must"
)

// Limits of runs.
const (
	// MinRunKeys is how many keys are worth a run: to take one, all shards are locked.
	MinRunKeys = 64
	// maxRuns bounds the runs of a table, which a request for a key looks through.
	maxRuns = 64
	// maxRunBytes ends a run: one of which a spill has released all keys goes, and its memory with it.
	maxRunBytes = 2 << 20
)

// lockRun holds the locks of one transaction, of one strength, on many keys that nobody else has asked for:
// sorted, one behind the other, without an entry in the hash table each. A key for which somebody else asks, or
// the transaction itself with another strength, leaves the run for the hash table (LockTable.leaveRun): so keys of
// runs have one holder and no waiters.
//
// Keys are added, and runs come and go, with all shards locked. So whoever has locked one of them sees runs that
// stay. A key leaves with its own shard locked: the bits are atomic, since those of other keys share their words.
type lockRun struct {
	id   TxnID
	s    lock.Strength
	buf  []byte   // the keys
	ends []uint32 // of each in buf
	gone []atomic.Uint64
	live atomic.Int64 // keys that are not gone
}

func (r *lockRun) len() int { return len(r.ends) }

func (r *lockRun) key(i int) []byte {
	from := uint32(0)
	if i > 0 {
		from = r.ends[i-1]
	}
	return r.buf[from:r.ends[i]:r.ends[i]]
}

func (r *lockRun) has(i int) bool { return r.gone[i>>6].Load()&(1<<(i&63)) == 0 }

// leave takes key i, which the run has, out of it.
func (r *lockRun) leave(i int) {
	r.gone[i>>6].Or(1 << (i & 63))
	r.live.Add(-1)
}

// from returns the position of the first key that is not below a key.
func (r *lockRun) from(key []byte) int {
	return sort.Search(r.len(), func(i int) bool { return bytes.Compare(r.key(i), key) >= 0 })
}

// find returns the position of a key that the run has, or -1.
func (r *lockRun) find(key []byte) int {
	n := r.len()
	if bytes.Compare(key, r.key(0)) < 0 || bytes.Compare(r.key(n-1), key) < 0 {
		return -1
	}
	if i := r.from(key); bytes.Equal(r.key(i), key) && r.has(i) {
		return i
	}
	return -1
}

// add appends keys, which lie behind those of the run.
func (r *lockRun) add(more [][]byte) {
	for _, k := range more {
		r.buf = append(r.buf, k...)
		r.ends = append(r.ends, uint32(len(r.buf)))
	}
	if words := (len(r.ends) + 63) / 64; words > len(r.gone) {
		grown := make([]atomic.Uint64, max(words, 2*len(r.gone)))
		for i := range r.gone {
			grown[i].Store(r.gone[i].Load())
		}
		r.gone = grown
	}
	r.live.Add(int64(len(more)))
}

// takes reports whether keys of a transaction may be added.
func (r *lockRun) takes(id TxnID, s lock.Strength, first []byte) bool {
	return r.id == id && r.s == s && bytes.Compare(r.key(r.len()-1), first) < 0 && len(r.buf) < maxRunBytes
}

// meets reports whether the run has one of some sorted keys.
func (r *lockRun) meets(sorted [][]byte) bool {
	if bytes.Compare(r.key(r.len()-1), sorted[0]) < 0 || bytes.Compare(sorted[len(sorted)-1], r.key(0)) < 0 {
		return false
	}
	for _, k := range sorted {
		if r.find(k) >= 0 {
			return true
		}
	}
	return false
}

// lockAll locks all shards, in order. Whoever holds another one waits for none.
func (t *LockTable) lockAll() {
	for i := range uint64(lockShards) {
		t.shard(i << 32).mu.Lock()
	}
}

func (t *LockTable) unlockAll() {
	for i := range uint64(lockShards) {
		t.shard(i << 32).mu.Unlock()
	}
}

// TryAcquireRun locks sorted keys, of which there are MinRunKeys at least, for h.ID, if nobody holds or waits for one of
// them, h.ID included. Otherwise, or if the table is full, it changes nothing and reports false: the caller asks for
// each key. keys are copied.
func (t *LockTable) TryAcquireRun(sorted [][]byte, h Holder, s lock.Strength) bool {
	must.True(!h.ID.IsZero() && s.Valid(), "concurrency: acquire without a transaction or strength")
	return len(sorted) >= MinRunKeys && t.acquireRun(sorted, h.ID, s)
}

func (t *LockTable) acquireRun(sorted [][]byte, id TxnID, s lock.Strength) bool {
	t.lockAll()
	defer t.unlockAll()
	t.dropEmptyRuns()
	var into *lockRun
	for _, r := range t.runs {
		if r.meets(sorted) {
			return false
		}
		if r.takes(id, s, sorted[0]) {
			into = r
		}
	}
	if into == nil && len(t.runs) == maxRuns || t.anyLocked(sorted) {
		return false
	}
	if n := int64(len(sorted)); t.count.Add(n) > t.max {
		t.count.Add(-n)
		return false
	}
	if into == nil {
		into = &lockRun{id: id, s: s}
		t.runs = append(t.runs, into)
	}
	into.add(sorted)
	return true
}

// anyLocked reports whether one of some sorted keys is in the hash table. All shards are locked.
func (t *LockTable) anyLocked(sorted [][]byte) bool {
	n := 0
	for i := range uint64(lockShards) {
		n += t.shard(i << 32).n
	}
	if n > len(sorted)/4 {
		for _, k := range sorted {
			hash := keys.Hash(t.seed, k)
			if t.shard(hash).find(hash, k) != nil {
				return true
			}
		}
		return false
	}
	end := keys.Next(sorted[len(sorted)-1])
	for i := uint64(0); i < lockShards && n > 0; i++ {
		for _, l := range t.shard(i<<32).inSpan(sorted[0], end) {
			at := sort.Search(len(sorted), func(i int) bool { return bytes.Compare(sorted[i], l.key) >= 0 })
			if bytes.Equal(sorted[at], l.key) {
				return true
			}
		}
	}
	return false
}

// dropEmptyRuns drops the runs without keys. All shards are locked.
func (t *LockTable) dropEmptyRuns() {
	t.runs = slices.DeleteFunc(t.runs, func(r *lockRun) bool { return r.live.Load() == 0 })
}

// inRun returns the run that has a key, whose shard is locked, and the position there.
func (t *LockTable) inRun(key []byte) (*lockRun, int) {
	for _, r := range t.runs {
		if i := r.find(key); i >= 0 {
			return r, i
		}
	}
	return nil, -1
}

// lockOf returns the lock of a key, whose shard sh is locked, or nil: if a run has it, it leaves the run.
func (t *LockTable) lockOf(sh *lockShard, hash uint64, key []byte) *keyLock {
	if r, i := t.inRun(key); r != nil {
		return t.leaveRun(sh, hash, r, i)
	}
	return sh.find(hash, key)
}

// leaveRun moves a key of a run to the hash table. Its shard sh is locked.
func (t *LockTable) leaveRun(sh *lockShard, hash uint64, r *lockRun, i int) *keyLock {
	r.leave(i)
	l := sh.add(hash, r.key(i))
	l.hold(r.id, r.s)
	return l
}

// HeldInRun returns how many of keys, from the first on, txn holds in one run.
func (t *LockTable) HeldInRun(txn TxnID, sorted [][]byte) (n int) {
	if len(sorted) == 0 || t.shards.Load() == nil {
		return 0
	}
	sh := t.shard(0)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, r := range t.runs {
		if r.id != txn {
			continue
		}
		if i := r.find(sorted[0]); i >= 0 {
			for n < len(sorted) && i+n < r.len() && r.has(i+n) && bytes.Equal(r.key(i+n), sorted[n]) {
				n++
			}
			return n
		}
	}
	return 0
}

// releaseRuns releases those keys that txn holds in runs, and returns the others.
func (t *LockTable) releaseRuns(txn TxnID, from [][]byte) (rest [][]byte) {
	if !t.anyRun() {
		return from
	}
	t.lockAll()
	defer t.unlockAll()
	released := int64(0)
	for len(from) > 0 {
		r, i := t.inRun(from[0])
		if r == nil || r.id != txn {
			rest, from = append(rest, from[0]), from[1:]
			continue
		}
		for len(from) > 0 && i < r.len() && r.has(i) && bytes.Equal(r.key(i), from[0]) {
			r.leave(i)
			released++
			from = from[1:]
			i++
		}
	}
	t.count.Add(-released)
	t.dropEmptyRuns()
	return rest
}

// dissolve moves the keys of runs in [start, end), a nil end being unbounded, to the hash table.
func (t *LockTable) dissolve(start, end []byte) {
	if !t.anyRun() {
		return
	}
	t.lockAll()
	defer t.unlockAll()
	for _, r := range t.runs {
		for i := r.from(start); i < r.len() && (end == nil || bytes.Compare(r.key(i), end) < 0); i++ {
			if r.has(i) {
				hash := keys.Hash(t.seed, r.key(i))
				t.leaveRun(t.shard(hash), hash, r, i)
			}
		}
	}
	t.dropEmptyRuns()
}

func (t *LockTable) anyRun() bool {
	if t.shards.Load() == nil {
		return false
	}
	sh := t.shard(0)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return len(t.runs) > 0
}

// snapshotRuns returns a copy of the runs' locks.
func (t *LockTable) snapshotRuns() (list []Lock) {
	if t.shards.Load() == nil {
		return nil
	}
	sh := t.shard(0)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, r := range t.runs {
		for i := range r.len() {
			if r.has(i) {
				list = append(list, Lock{Key: bytes.Clone(r.key(i)), Txn: r.id, Strength: r.s})
			}
		}
	}
	return list
}

// writersInRuns is Writers for the locks of runs.
func (t *LockTable) writersInRuns(start, end []byte, which func(TxnID) bool) bool {
	sh := t.shard(0)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, r := range t.runs {
		if !r.s.Writes() || !which(r.id) {
			continue
		}
		for i := r.from(start); i < r.len() && (end == nil || bytes.Compare(r.key(i), end) < 0); i++ {
			if r.has(i) {
				return true
			}
		}
	}
	return false
}
