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
	DefaultKeySlots  = 1 << 16 // 48 bytes each, touched on first use
	DefaultSpanCount = 1 << 14 // borders of spans per generation, 64 bytes each plus the keys
	DefaultSpanBytes = 4 << 20 // of keys and borders per generation
)

const (
	recentSpans       = 4 // spans kept apart, so that reading the same span again is cheap
	spanBorderBytes   = 64
	maxPreciseBorders = 64 // a read of a span with more borders makes them one, if it is newer
)

// TimestampCacheOptions bound the memory of a TimestampCache; zero means default.
type TimestampCacheOptions struct {
	KeySlots  int // rounded up to a power of two
	SpanCount int // borders of spans per generation
	SpanBytes int // per generation
}

// TimestampCache remembers at which timestamps the keys of a range were read,
// so that no commit writes below a read. It may answer too high (two keys in
// one slot, old spans folded into the low-water mark), never too low. All
// methods are safe for concurrent use.
type TimestampCache struct {
	seed     maphash.Seed
	lowWater atomic.Pointer[hlc.Timestamp] // at least this, for every key and transaction
	slots    []keySlot                     // length a power of two
	hasSpans atomic.Bool
	spans    spanCache
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
	slots := orDefault(o.KeySlots, DefaultKeySlots)
	c := &TimestampCache{
		seed:  maphash.MakeSeed(),
		slots: make([]keySlot, 1<<bits.Len(uint(slots-1))),
	}
	c.spans.maxBorders = orDefault(o.SpanCount, DefaultSpanCount)
	c.spans.maxBytes = orDefault(o.SpanBytes, DefaultSpanBytes)
	c.spans.cur = new(spanMap)
	c.spans.drop = c.RaiseLowWater
	c.lowWater.Store(&lowWater)
	return c
}

func (c *TimestampCache) slot(key []byte) *keySlot {
	return &c.slots[maphash.Bytes(c.seed, key)&uint64(len(c.slots)-1)]
}

// AddKey records that txn read key at ts. The zero TxnID reads on nobody's
// behalf: the read counts for every transaction.
func (c *TimestampCache) AddKey(key []byte, ts hlc.Timestamp, txn TxnID) {
	s := c.slot(key)
	s.mu.Lock()
	s.mark.add(ts, txn)
	s.mu.Unlock()
}

// AddSpan records that txn read [start, end) at ts; a nil end is unbounded.
// The keys are copied.
func (c *TimestampCache) AddSpan(start, end []byte, ts hlc.Timestamp, txn TxnID) {
	if end != nil && bytes.Compare(start, end) >= 0 {
		return
	}
	// Set before the read is recorded, hence before the reader looks for
	// commits: a committer that misses the flag began after that look.
	if !c.hasSpans.Load() {
		c.hasSpans.Store(true)
	}
	c.spans.add(start, end, ts, txn)
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

// getKey is GetKey without the low-water mark.
func (c *TimestampCache) getKey(key []byte, self TxnID) hlc.Timestamp {
	s := c.slot(key)
	s.mu.Lock()
	ts := s.mark.get(self)
	s.mu.Unlock()
	if c.hasSpans.Load() {
		ts = ts.Max(c.spans.get(key, self))
	}
	return ts
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
