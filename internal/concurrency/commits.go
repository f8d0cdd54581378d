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

// Commits is the set of commits in flight of one range: begun, and not applied yet. A reader
// waits for a commit that writes a key of its read at or below its timestamp. The package's doc
// derives the order in which commits and reads use it. All methods are safe for concurrent use.
//
// Two commits that write the same key follow each other as well (Earlier): the effect of the later
// command on the versions and intents of its keys depends on whether the earlier one is applied.
// Row locks alone do not order them: a transaction may have lost its locks while its command is in
// the log.
type Commits struct {
	seed   maphash.Seed
	active atomic.Int64
	mu     sync.Mutex                  // held by Begin and Finish, and to make a wait channel
	begun  uint64                      // the number of commits that were begun
	first  atomic.Pointer[commitChunk] // nil before the first commit
}

const chunkSlots = 64

// commitChunk is a block of slots for active commits. Readers scan it without
// locks. Chunks are added at the end and never removed, so that their number is
// what the largest number of concurrent commits so far has needed.
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
	order uint64 // rises with each commit that begins

	known     atomic.Bool // ts is set
	ts        hlc.Timestamp
	finished  bool          // guarded by set.mu, as are the channels
	nowKnown  chan struct{} // closed when ts is set; nil unless a reader waits
	applyDone chan struct{} // closed by Finish; nil unless a reader waits
}

// NewCommits returns an empty set.
func NewCommits() *Commits { return &Commits{seed: maphash.MakeSeed()} }

// Begin publishes that txn is about to commit writes to keys. They are sorted, and the
// caller does not change them until Finish. Until SetTimestamp the commit blocks every
// reader of the keys. Call Begin before reading the timestamp cache.
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

// SetTimestamp fixes the commit timestamp, once: readers below it stop waiting.
//
// Call it as soon as the timestamp is chosen, before the refresh of the reads. A refresh waits
// for commits as a read does. If timestamps were unknown then, two commits could wait for each
// other. With known ones a commit waits only for commits that are not above it; if two of the same
// timestamp meet, the caller lets the refresh fail.
func (c *Commit) SetTimestamp(ts hlc.Timestamp) {
	must.True(!c.known.Load(), "concurrency: commit timestamp set twice")
	c.ts = ts
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	c.known.Store(true)
	if c.nowKnown != nil {
		close(c.nowKnown)
	}
}

// Finish ends the commit once its writes are applied, or it has failed. It wakes all waiting
// readers.
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
	if c.nowKnown != nil && !c.known.Load() {
		close(c.nowKnown)
	}
	if c.applyDone != nil {
		close(c.applyDone)
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
	if c.applyDone == nil {
		c.applyDone = make(chan struct{})
		if c.finished {
			close(c.applyDone)
		}
	}
	return c.applyDone
}

// Changed is closed at the next event that may let a blocked reader proceed:
// SetTimestamp while the timestamp is unknown, Finish afterwards. A reader waits on it
// rather than on Done: if the commit gets a timestamp above the reader's, the reader need
// not wait for the disk. After each event the reader looks again:
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
	if c.nowKnown == nil {
		c.nowKnown = make(chan struct{})
		if c.finished || c.known.Load() {
			close(c.nowKnown)
		}
	}
	return c.nowKnown
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
	// The commit may have finished since it was found, and the memory of its keys may be in use
	// again. Then either answer is right, since its writes are applied.
	i, _ := slices.BinarySearchFunc(c.keys, start, bytes.Compare)
	return i < len(c.keys) && (end == nil || bytes.Compare(c.keys[i], end) < 0)
}

// blocks reports whether c may write a version that self must see at readTS.
func (c *Commit) blocks(self TxnID, readTS hlc.Timestamp) bool {
	return c.txn != self && (!c.known.Load() || c.ts.LessEq(readTS))
}
