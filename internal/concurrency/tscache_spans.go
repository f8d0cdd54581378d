package concurrency

import (
	"bytes"
	"sync"

	"github.com/lichendb/lichen/internal/hlc"
)

// spanCache is the part of a TimestampCache that remembers reads of spans: a
// few recently read spans, each with its mark, and two generations of interval
// maps into which the others are folded. When the newer generation is full the
// older one is dropped.
type spanCache struct {
	maxBoundaries int
	maxBytes      int
	// drop receives, with mu held, the latest read of a generation before the
	// generation disappears.
	drop func(latest hlc.Timestamp)

	mu     sync.Mutex
	recent [recentSpans]recentSpan
	hand   int // of the clock that picks the recent span to replace
	cur    *spanMap
	old    *spanMap // nil until the first rotation
}

// recentSpan is a span read lately; its buffers are reused.
type recentSpan struct {
	start, end []byte
	unbounded  bool // end is infinity
	used       bool // read again since the clock's hand passed
	mark       readMark
}

func (r *recentSpan) is(start, end []byte) bool {
	return r.unbounded == (end == nil) && bytes.Equal(r.start, start) && bytes.Equal(r.end, end)
}

func (r *recentSpan) contains(key []byte) bool {
	return bytes.Compare(r.start, key) <= 0 && (r.unbounded || bytes.Compare(key, r.end) < 0)
}

// add records a read of [start, end) by txn.
func (c *spanCache) add(start, end []byte, ts hlc.Timestamp, txn TxnID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.recent {
		if r := &c.recent[i]; r.is(start, end) {
			r.mark.add(ts, txn)
			r.used = true
			return
		}
	}
	for c.recent[c.hand].used {
		c.recent[c.hand].used = false
		c.hand = (c.hand + 1) % recentSpans
	}
	r := &c.recent[c.hand]
	c.hand = (c.hand + 1) % recentSpans
	c.fold(r)
	r.start = append(r.start[:0], start...)
	r.end = append(r.end[:0], end...)
	r.unbounded = end == nil
	r.mark = readMark{}
	r.mark.add(ts, txn)
}

// fold moves r's reads into the current generation.
func (c *spanCache) fold(r *recentSpan) {
	if r.mark.latest().IsEmpty() {
		return
	}
	if c.cur.n+2 > c.maxBoundaries || c.cur.keyBytes+c.cur.n*spanBoundaryBytes > c.maxBytes {
		if c.old != nil {
			c.drop(c.old.latest)
		}
		c.old, c.cur = c.cur, new(spanMap)
	}
	end := r.end
	if r.unbounded {
		end = nil
	}
	c.cur.add(r.start, end, r.mark)
}

// clone returns a copy, which calls another function with what it drops.
func (c *spanCache) clone(drop func(hlc.Timestamp)) *spanCache {
	c.mu.Lock()
	defer c.mu.Unlock()
	by := &spanCache{maxBoundaries: c.maxBoundaries, maxBytes: c.maxBytes, drop: drop, recent: c.recent, hand: c.hand, cur: c.cur.clone()}
	for i := range by.recent { // c reuses the buffers
		by.recent[i].start, by.recent[i].end = bytes.Clone(by.recent[i].start), bytes.Clone(by.recent[i].end)
	}
	if c.old != nil {
		by.old = c.old.clone()
	}
	return by
}

// get returns the latest read, by a transaction other than self, of a span that contains key.
func (c *spanCache) get(key []byte, self TxnID) hlc.Timestamp {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.getLocked(key, self)
}

// getAll returns the latest of what get returns for keys.
func (c *spanCache) getAll(keys [][]byte, self TxnID) (ts hlc.Timestamp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range keys {
		ts = ts.Max(c.getLocked(k, self))
	}
	return ts
}

func (c *spanCache) getLocked(key []byte, self TxnID) hlc.Timestamp {
	var ts hlc.Timestamp
	for i := range c.recent {
		if r := &c.recent[i]; r.contains(key) {
			ts = ts.Max(r.mark.get(self))
		}
	}
	ts = ts.Max(c.cur.get(key, self))
	if c.old != nil {
		ts = ts.Max(c.old.get(key, self))
	}
	return ts
}

// clear forgets all reads, and passes the latest to drop.
func (c *spanCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	latest := c.cur.latest
	if c.old != nil {
		latest = latest.Max(c.old.latest)
	}
	for i := range c.recent {
		latest = latest.Max(c.recent[i].mark.latest())
	}
	if latest.IsEmpty() {
		return
	}
	c.drop(latest)
	c.recent = [recentSpans]recentSpan{}
	c.cur, c.old = new(spanMap), nil
}
