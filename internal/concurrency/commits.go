package concurrency

import (
	"bytes"
	"hash/maphash"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/must"
)

// Commits is the set of commits of one range that are being made durable:
// begun, not yet applied. A reader must wait for those that write what it
// reads at or below its timestamp. All methods are safe for concurrent use.
//
// The order that makes this work: a committer calls Begin and then asks the
// timestamp cache for a timestamp above all reads of its keys; a reader puts
// its read into the timestamp cache and then asks for blocking commits. So of
// a commit and a read that race, at least one sees the other: either the
// commit moves above the read or the read waits for the commit.
//
// Two commits that write the same key go one after the other as well (Earlier):
// what a later command does about the versions and intents of its keys depends
// on whether the earlier one was applied. Row locks alone do not order them: a
// transaction may have lost its locks while its command is in the log.
type Commits struct {
	seed   maphash.Seed
	active atomic.Int64
	mu     sync.Mutex                  // Begin, Finish and the making of wait channels
	begun  uint64                      // how many commits were begun
	first  atomic.Pointer[commitChunk] // nil before the first commit
}

const chunkSlots = 64

// commitChunk is a block of slots for active commits. Readers scan it without
// locks; chunks are added at the end, never removed, so there are as many as
// the largest number of concurrent commits needed.
type commitChunk struct {
	used    atomic.Uint64             // bit i: slot i holds an active commit
	filters [chunkSlots]atomic.Uint64 // Bloom filters of the commits' keys
	commits [chunkSlots]atomic.Pointer[Commit]
	next    atomic.Pointer[commitChunk]
}

// Commit is one transaction's commit in progress on this range.
type Commit struct {
	set   *Commits
	chunk *commitChunk
	slot  int
	txn   TxnID
	keys  [][]byte
	order uint64 // commits that began later have a higher one

	known    atomic.Bool // ts is set
	ts       hlc.Timestamp
	finished bool          // guarded by set.mu, as are the channels
	settled  chan struct{} // closed when ts is set; nil unless waited for
	done     chan struct{} // closed by Finish; nil unless waited for
}

// NewCommits returns an empty set.
func NewCommits() *Commits { return &Commits{seed: maphash.MakeSeed()} }

// Begin publishes that txn is about to commit writes to keys, which are sorted
// and which the caller leaves unchanged until Finish. Until SetTimestamp the
// commit blocks every reader of the keys. Call it before reading the timestamp
// cache.
func (cs *Commits) Begin(txn TxnID, keys [][]byte) *Commit {
	must.True(slices.IsSortedFunc(keys, bytes.Compare), "concurrency: commit keys are not sorted")
	c := &Commit{set: cs, txn: txn, keys: keys}
	var filter uint64
	for _, k := range keys {
		filter |= cs.filterOf(k)
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.begun++
	c.order = cs.begun
	if cs.first.Load() == nil {
		cs.first.Store(new(commitChunk))
	}
	ch := cs.first.Load()
	for ch.used.Load() == ^uint64(0) {
		if ch.next.Load() == nil {
			ch.next.Store(new(commitChunk))
		}
		ch = ch.next.Load()
	}
	c.chunk, c.slot = ch, bits.TrailingZeros64(^ch.used.Load())
	ch.commits[c.slot].Store(c)
	ch.filters[c.slot].Store(filter)
	ch.used.Or(1 << c.slot)
	cs.active.Add(1)
	return c
}

// filterOf returns the two filter bits of key.
func (cs *Commits) filterOf(key []byte) uint64 {
	h := maphash.Bytes(cs.seed, key)
	return 1<<(h&63) | 1<<(h>>58)
}

// SetTimestamp fixes the commit timestamp, once: readers below it stop
// waiting. Call it as soon as the timestamp is chosen and before refreshing
// reads at it: then a commit that has to wait for another during its refresh
// waits only for one with a timestamp not above its own, and of two commits
// with the same timestamp that meet so, the caller lets the refresh fail.
// (Two that waited for each other's unknown timestamps would be stuck.)
func (c *Commit) SetTimestamp(ts hlc.Timestamp) {
	must.True(!c.known.Load(), "concurrency: commit timestamp set twice")
	c.ts = ts
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	c.known.Store(true)
	if c.settled != nil {
		close(c.settled)
	}
}

// Finish ends the commit, after its writes were applied or it was given up,
// and wakes all waiting readers.
func (c *Commit) Finish() {
	cs := c.set
	cs.mu.Lock()
	defer cs.mu.Unlock()
	must.True(!c.finished, "concurrency: commit finished twice")
	c.finished = true
	ch := c.chunk
	ch.used.And(^(uint64(1) << c.slot))
	ch.filters[c.slot].Store(0)
	ch.commits[c.slot].Store(nil)
	cs.active.Add(-1)
	if c.settled != nil && !c.known.Load() {
		close(c.settled)
	}
	if c.done != nil {
		close(c.done)
	}
}

// Txn returns the committing transaction.
func (c *Commit) Txn() TxnID { return c.txn }

// Timestamp returns the commit timestamp, if it is known yet.
func (c *Commit) Timestamp() (ts hlc.Timestamp, known bool) {
	if !c.known.Load() {
		return hlc.Timestamp{}, false
	}
	return c.ts, true
}

// Done is closed when the commit has finished.
func (c *Commit) Done() <-chan struct{} {
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.finished {
			close(c.done)
		}
	}
	return c.done
}

// Changed is closed at the next event that may let a blocked reader proceed:
// SetTimestamp while the timestamp is unknown, then Finish. A reader waits on
// it rather than on Done, so that a commit that turns out to be above its
// timestamp does not make it wait for the disk; then it looks again:
//
//	for c := cs.BlockingRead(self, key, ts); c != nil; c = cs.BlockingRead(self, key, ts) {
//		<-c.Changed()
//	}
func (c *Commit) Changed() <-chan struct{} {
	if c.known.Load() {
		return c.Done()
	}
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	if c.settled == nil {
		c.settled = make(chan struct{})
		if c.finished || c.known.Load() {
			close(c.settled)
		}
	}
	return c.settled
}

// Len returns the number of active commits.
func (cs *Commits) Len() int { return int(cs.active.Load()) }

// BlockingRead returns an unfinished commit of a transaction other than self
// that writes key at a timestamp that is unknown or ≤ readTS, or nil. Call it
// after the read is in the timestamp cache, and again after waiting.
func (cs *Commits) BlockingRead(self TxnID, key []byte, readTS hlc.Timestamp) *Commit {
	if cs.active.Load() == 0 {
		return nil
	}
	filter := cs.filterOf(key)
	for ch := cs.first.Load(); ch != nil; ch = ch.next.Load() {
		for used := ch.used.Load(); used != 0; used &= used - 1 {
			i := bits.TrailingZeros64(used)
			if ch.filters[i].Load()&filter != filter {
				continue
			}
			c := ch.commits[i].Load()
			if c == nil || !c.blocks(self, readTS) {
				continue
			}
			if _, writes := slices.BinarySearchFunc(c.keys, key, bytes.Compare); writes {
				return c
			}
		}
	}
	return nil
}

// Of returns an unfinished commit of a transaction, nil if there is none.
func (cs *Commits) Of(txn TxnID) *Commit {
	if cs.active.Load() == 0 {
		return nil
	}
	for ch := cs.first.Load(); ch != nil; ch = ch.next.Load() {
		for used := ch.used.Load(); used != 0; used &= used - 1 {
			if c := ch.commits[bits.TrailingZeros64(used)].Load(); c != nil && c.txn == txn {
				return c
			}
		}
	}
	return nil
}

// Earlier returns an unfinished commit of another transaction that began before c
// and writes one of its keys, or nil. c must not be proposed before that commit has
// finished. Of two commits the later one waits, so no two wait for each other.
func (cs *Commits) Earlier(c *Commit) *Commit {
	if cs.active.Load() <= 1 {
		return nil
	}
	filter := c.chunk.filters[c.slot].Load()
	for ch := cs.first.Load(); ch != nil; ch = ch.next.Load() {
		for used := ch.used.Load(); used != 0; used &= used - 1 {
			i := bits.TrailingZeros64(used)
			if ch.filters[i].Load()&filter == 0 {
				continue
			}
			o := ch.commits[i].Load()
			if o != nil && o.order < c.order && o.txn != c.txn && sharesKey(c.keys, o.keys) {
				return o
			}
		}
	}
	return nil
}

// sharesKey reports whether two sorted lists have a key in common.
func sharesKey(a, b [][]byte) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	for _, k := range a {
		i, found := slices.BinarySearchFunc(b, k, bytes.Compare)
		if found {
			return true
		}
		if b = b[i:]; len(b) == 0 {
			return false
		}
	}
	return false
}

// BlockingScan is BlockingRead for the span [start, end); a nil end is unbounded.
func (cs *Commits) BlockingScan(self TxnID, start, end []byte, readTS hlc.Timestamp) *Commit {
	if cs.active.Load() == 0 {
		return nil
	}
	for ch := cs.first.Load(); ch != nil; ch = ch.next.Load() {
		for used := ch.used.Load(); used != 0; used &= used - 1 {
			c := ch.commits[bits.TrailingZeros64(used)].Load()
			if c == nil || !c.blocks(self, readTS) {
				continue
			}
			if c.writesIn(start, end) {
				return c
			}
		}
	}
	return nil
}

// writesIn reports whether c writes a key of [start, end), end nil being unbounded.
func (c *Commit) writesIn(start, end []byte) bool {
	if len(c.keys) == 0 || bytes.Compare(c.keys[len(c.keys)-1], start) < 0 {
		return false
	}
	// It may have finished since it was found, and the memory of its keys be in use again:
	// then any answer will do, as what it wrote is applied.
	i, _ := slices.BinarySearchFunc(c.keys, start, bytes.Compare)
	return i < len(c.keys) && (end == nil || bytes.Compare(c.keys[i], end) < 0)
}

// blocks reports whether c may make a version that self has to see at readTS.
func (c *Commit) blocks(self TxnID, readTS hlc.Timestamp) bool {
	return c.txn != self && (!c.known.Load() || c.ts.LessEq(readTS))
}
