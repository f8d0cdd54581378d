package concurrency

import (
	"bytes"
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/hlc"
)

// Sizes of a TimestampCache unless TimestampCacheOptions say otherwise.
const (
	DefaultKeySlots  = 1 << 16 // 48 bytes each, at most: the table grows as it fills
	DefaultSpanCount = 1 << 14 // boundaries of spans per generation, 64 bytes each plus the keys
	DefaultSpanBytes = 4 << 20 // of keys and boundaries per generation
)

// firstKeySlots is the size of a table with the first key read, growSlots by how much
// it grows when half of its slots are used.
const (
	firstKeySlots = 1 << 5
	growSlots     = 8
)

const (
	recentSpans          = 4 // spans kept apart, so that reading the same span again is cheap
	spanBoundaryBytes    = 64
	maxPreciseBoundaries = 64 // a read of a span with more boundaries makes them one, if it is newer
)

// TimestampCacheOptions bound the memory of a TimestampCache; zero means default.
type TimestampCacheOptions struct {
	KeySlots  int // at most; rounded up to a power of two
	SpanCount int // boundaries of spans per generation
	SpanBytes int // per generation
}

// TimestampCache remembers at which timestamps the keys of a range were read,
// so that no commit writes below a read. It may answer too high (two keys in
// one slot, old spans folded into the low-water mark), never too low. It takes no
// memory worth mentioning before the first read and after Shrink. All
// methods are safe for concurrent use.
type TimestampCache struct {
	maxSlots int
	// maxBoundaries and maxSpanBytes are of spans.
	maxBoundaries, maxSpanBytes int
	lowWater                    atomic.Pointer[hlc.Timestamp] // at least this, for every key and transaction
	keys                        atomic.Pointer[keyTable]      // nil until a key is read
	growing                     sync.Mutex                    // held by who replaces keys
	spans                       atomic.Pointer[spanCache]     // nil until a span is read
	reads                       atomic.Bool                   // since the last Shrink
}

// keyTable is the table of single keys. It is replaced, by a larger one or by
// none, with all its slots locked: who has locked a slot and finds the table still
// in place may use it.
type keyTable struct {
	seed  maphash.Seed
	slots []keySlot    // length a power of two
	used  atomic.Int64 // slots with a mark
}

// keySlot holds the reads of all keys with one hash.
type keySlot struct {
	mu   sync.Mutex
	mark readMark
}

// NewTimestampCache returns a cache for which no key was read after lowWater.
func NewTimestampCache(o TimestampCacheOptions, lowWater hlc.Timestamp) *TimestampCache {
	orDefault := func(v, def int) int {
		if v <= 0 {
			return def
		}
		return v
	}
	c := &TimestampCache{maxSlots: 1 << bits.Len(uint(orDefault(o.KeySlots, DefaultKeySlots)-1))}
	c.maxBoundaries = orDefault(o.SpanCount, DefaultSpanCount)
	c.maxSpanBytes = orDefault(o.SpanBytes, DefaultSpanBytes)
	c.lowWater.Store(&lowWater)
	return c
}

func newKeyTable(slots int) *keyTable {
	return &keyTable{seed: maphash.MakeSeed(), slots: make([]keySlot, slots)}
}

func (t *keyTable) slot(key []byte) *keySlot {
	return &t.slots[maphash.Bytes(t.seed, key)&uint64(len(t.slots)-1)]
}

// AddKey records that txn read key at ts. The zero TxnID reads on nobody's
// behalf: the read counts for every transaction.
func (c *TimestampCache) AddKey(key []byte, ts hlc.Timestamp, txn TxnID) {
	if !c.reads.Load() {
		c.reads.Store(true)
	}
	for {
		t := c.keys.Load()
		if t == nil {
			c.grow(nil)
			continue
		}
		s := t.slot(key)
		s.mu.Lock()
		if c.keys.Load() != t {
			s.mu.Unlock()
			continue
		}
		first := s.mark.latest().IsEmpty()
		s.mark.add(ts, txn)
		s.mu.Unlock()
		if first && t.used.Add(1)*2 > int64(len(t.slots)) && len(t.slots) < c.maxSlots {
			c.grow(t)
		}
		return
	}
}

// grow replaces the table old by a larger one, unless somebody else has done so.
// Which keys the old marks are of is not known: they become the low-water mark.
func (c *TimestampCache) grow(old *keyTable) {
	c.growing.Lock()
	defer c.growing.Unlock()
	if c.keys.Load() != old {
		return
	}
	n := min(firstKeySlots, c.maxSlots)
	if old != nil {
		n = min(growSlots*len(old.slots), c.maxSlots)
	}
	c.replace(old, newKeyTable(n))
}

// replace puts another table, or none, into the place of old. The caller holds growing.
func (c *TimestampCache) replace(old, by *keyTable) {
	if old == nil {
		c.keys.Store(by)
		return
	}
	old.lock()
	defer old.unlock()
	var latest hlc.Timestamp
	for i := range old.slots {
		latest = latest.Max(old.slots[i].mark.latest())
	}
	c.RaiseLowWater(latest) // before the marks go
	c.keys.Store(by)
}

func (t *keyTable) lock() {
	for i := range t.slots {
		t.slots[i].mu.Lock()
	}
}

func (t *keyTable) unlock() {
	for i := range t.slots {
		t.slots[i].mu.Unlock()
	}
}

// Shrink gives the memory back if nothing was read since the call before: what is
// remembered becomes the low-water mark. It reports whether there is nothing left to
// give back.
func (c *TimestampCache) Shrink() bool {
	if c.reads.Load() {
		c.reads.Store(false)
		return false
	}
	c.growing.Lock()
	defer c.growing.Unlock()
	c.replace(c.keys.Load(), nil)
	if sp := c.spans.Load(); sp != nil {
		sp.clear()
	}
	return true
}

// Inherit makes the cache, which must not be in use yet, remember all reads that were added to o
// before.
func (c *TimestampCache) Inherit(o *TimestampCache) {
	c.reads.Store(true)
	o.growing.Lock()
	t := o.keys.Load().clone()
	o.growing.Unlock()
	c.growing.Lock() // Shrink may be about
	c.keys.Store(t)
	c.growing.Unlock()
	if sp := o.spans.Load(); sp != nil {
		c.spans.Store(sp.clone(c.RaiseLowWater))
	}
	c.RaiseLowWater(o.LowWater()) // afterwards: marks that have gone are in it
}

// clone returns a copy of a table that is not replaced meanwhile.
func (t *keyTable) clone() *keyTable {
	if t == nil {
		return nil
	}
	by := &keyTable{seed: t.seed, slots: make([]keySlot, len(t.slots))}
	used := int64(0)
	for i := range t.slots {
		s := &t.slots[i]
		s.mu.Lock()
		by.slots[i].mark = s.mark
		s.mu.Unlock()
		if !by.slots[i].mark.latest().IsEmpty() {
			used++
		}
	}
	by.used.Store(used)
	return by
}

// AddSpan records that txn read [start, end) at ts; a nil end is unbounded.
// The keys are copied.
func (c *TimestampCache) AddSpan(start, end []byte, ts hlc.Timestamp, txn TxnID) {
	if end != nil && bytes.Compare(start, end) >= 0 {
		return
	}
	if !c.reads.Load() {
		c.reads.Store(true)
	}
	sp := c.spans.Load()
	for sp == nil {
		// There before the read is recorded, hence before the reader looks for
		// commits: a committer that finds none began after that look.
		c.spans.CompareAndSwap(nil, &spanCache{
			maxBoundaries: c.maxBoundaries, maxBytes: c.maxSpanBytes, cur: new(spanMap), drop: c.RaiseLowWater,
		})
		sp = c.spans.Load()
	}
	sp.add(start, end, ts, txn)
}

// GetKey returns the latest timestamp at which a transaction other than self
// may have read key.
func (c *TimestampCache) GetKey(key []byte, self TxnID) hlc.Timestamp {
	return c.getKey(key, self).Max(c.LowWater())
}

// GetKeys returns the latest GetKey of keys, the low-water mark if there are none.
func (c *TimestampCache) GetKeys(keys [][]byte, self TxnID) hlc.Timestamp {
	var ts hlc.Timestamp
	for _, k := range keys {
		ts = ts.Max(c.getKey(k, self))
	}
	return ts.Max(c.LowWater())
}

// getKey is GetKey but for the low-water mark, which must be read afterwards: marks
// that are no longer in the table are in it.
func (c *TimestampCache) getKey(key []byte, self TxnID) hlc.Timestamp {
	ts := c.getSlot(key, self)
	if sp := c.spans.Load(); sp != nil {
		ts = ts.Max(sp.get(key, self))
	}
	return ts
}

func (c *TimestampCache) getSlot(key []byte, self TxnID) hlc.Timestamp {
	for {
		t := c.keys.Load()
		if t == nil {
			return hlc.Timestamp{}
		}
		s := t.slot(key)
		s.mu.Lock()
		ts := s.mark.get(self)
		s.mu.Unlock()
		// Another table may have got later reads.
		if c.keys.Load() == t {
			return ts
		}
	}
}

// LowWater returns the timestamp that is the least answer for any key.
func (c *TimestampCache) LowWater() hlc.Timestamp { return *c.lowWater.Load() }

// RaiseLowWater makes the cache answer at least ts for every key, as after a
// change of leader, when earlier reads are unknown. A lower ts has no effect.
func (c *TimestampCache) RaiseLowWater(ts hlc.Timestamp) {
	for {
		old := c.lowWater.Load()
		if ts.LessEq(*old) || c.lowWater.CompareAndSwap(old, &ts) {
			return
		}
	}
}
