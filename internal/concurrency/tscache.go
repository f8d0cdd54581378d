package concurrency

import (
	"bytes"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/hlc"
)

// Sizes of a TimestampCache unless TimestampCacheOptions say otherwise.
const (
	DefaultKeySlots  = 1 << 16 // keys remembered exactly, 60 bytes each, at most: the table grows as it fills
	DefaultSpanCount = 1 << 14 // boundaries of spans per generation, 64 bytes each plus the keys
	DefaultSpanBytes = 4 << 20 // of keys and boundaries per generation
)

const (
	recentSpans          = 4 // kept apart, so that to record the same span again is cheap
	spanBoundaryBytes    = 64
	keysAtOnce           = 64 // looked up in the spans under one hold of the mutex
	maxPreciseBoundaries = 64 // of a span that is read: more become one, if the read is newer than all
)

// TimestampCacheOptions bound the memory of a TimestampCache; zero means default.
type TimestampCacheOptions struct {
	KeySlots  int // at most; rounded up to a power of two
	SpanCount int // boundaries of spans per generation
	SpanBytes int // per generation
}

// TimestampCache remembers at which timestamps the keys of a range were read, so that no commit
// writes below a read. Its answers may be too high, since it forgets single keys and spans into
// marks of many keys, and never too low. It takes hardly any memory before the first read and after
// Shrink. All methods are safe for concurrent use.
type TimestampCache struct {
	maxSlots int
	// maxBoundaries and maxSpanBytes are of spans.
	maxBoundaries, maxSpanBytes int
	lowWater                    atomic.Pointer[hlc.Timestamp] // at least this, for every key and transaction
	keys                        atomic.Pointer[keyTable]      // nil until a key is read
	growing                     sync.Mutex                    // held to replace keys
	spans                       atomic.Pointer[spanCache]     // nil until a span is read
	reads                       atomic.Bool                   // since the last Shrink
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

// AddKey records that txn read key at ts. A read with the zero TxnID counts for every transaction.
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
		hash := t.hash(key)
		b := t.bucket(hash)
		b.mu.Lock()
		if c.keys.Load() != t {
			b.mu.Unlock()
			continue
		}
		ok := b.add(hash, ts, txn)
		if !ok && t.size() >= c.maxSlots {
			b.addOver(hash, ts, txn)
			ok = true
		}
		b.mu.Unlock()
		if ok {
			return
		}
		c.grow(t)
	}
}

// grow replaces the table old by a larger one, unless somebody else has done so.
func (c *TimestampCache) grow(old *keyTable) {
	c.growing.Lock()
	defer c.growing.Unlock()
	if c.keys.Load() != old {
		return
	}
	if old == nil {
		c.keys.Store(newKeyTable(min(firstKeySlots, c.maxSlots)))
		return
	}
	old.lock()
	defer old.unlock()
	c.keys.Store(old.grown(min(growSlots*old.size(), c.maxSlots)))
}

// Shrink gives the memory back if there was no read since the last call: the latest read becomes
// the low-water mark. It reports whether the memory is free.
func (c *TimestampCache) Shrink() bool {
	if c.reads.Load() {
		c.reads.Store(false)
		return false
	}
	c.growing.Lock()
	defer c.growing.Unlock()
	c.forgetKeys()
	if sp := c.spans.Load(); sp != nil {
		sp.clear()
	}
	return true
}

// forgetKeys folds the reads of single keys into the low-water mark. The caller holds growing.
func (c *TimestampCache) forgetKeys() {
	t := c.keys.Load()
	if t == nil {
		return
	}
	t.lock()
	defer t.unlock()
	c.RaiseLowWater(t.latest()) // before the marks are gone
	c.keys.Store(nil)
}

// Inherit adds to the cache, which is not in use yet, all reads that o has at the call: for the right
// half of a split.
func (c *TimestampCache) Inherit(o *TimestampCache) {
	c.reads.Store(true)
	o.growing.Lock()
	t := o.keys.Load().clone()
	o.growing.Unlock()
	c.growing.Lock() // Shrink may run
	c.keys.Store(t)
	c.growing.Unlock()
	if sp := o.spans.Load(); sp != nil {
		c.spans.Store(sp.clone(c.RaiseLowWater))
	}
	c.RaiseLowWater(o.LowWater()) // last: marks that are gone from o are in its low-water mark
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
		// The spanCache is in place before the reader looks for commits. So a commit that finds
		// no spanCache has begun before that look, and the reader sees it.
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
	for some := range slices.Chunk(keys, keysAtOnce) {
		for _, k := range some {
			ts = ts.Max(c.getRead(k, self))
		}
		if sp := c.spans.Load(); sp != nil {
			ts = ts.Max(sp.getAll(some, self))
		}
	}
	return ts.Max(c.LowWater())
}

// getKey is GetKey without the low-water mark. The caller reads that afterwards, since it has the
// marks that are no longer in the table.
func (c *TimestampCache) getKey(key []byte, self TxnID) hlc.Timestamp {
	ts := c.getRead(key, self)
	if sp := c.spans.Load(); sp != nil {
		ts = ts.Max(sp.get(key, self))
	}
	return ts
}

func (c *TimestampCache) getRead(key []byte, self TxnID) hlc.Timestamp {
	for {
		t := c.keys.Load()
		if t == nil {
			return hlc.Timestamp{}
		}
		ts := t.get(key, self)
		// If the table was replaced, later reads may be in its successor.
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
