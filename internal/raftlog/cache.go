package raftlog

// cache bounds the payloads in memory. It evicts the entries in the order in which
// they were appended. So each group keeps a suffix of its entries, which raft reads
// most, and which needs neither a map nor a list element for each entry.
type cache struct {
	limit, bytes int64
	entries      int
	order        []cacheItem // a queue; head is its first element
	head         int
}

// cacheItem is an entry that was cached. It is a hint: the entry may be gone or
// replaced since. Every cached entry has an item.
type cacheItem struct {
	g     *group
	index uint64
}

// minCacheOrder is the length below which the queue is not compacted.
const minCacheOrder = 1024

// cacheCost is the memory a cached payload takes, bookkeeping included.
func cacheCost(data []byte) int64 { return int64(len(data)) + 64 }

// cacheLast keeps the payload of the entry just appended.
func (x *index) cacheLast(g *group, data []byte) {
	c := &x.cache
	if c.limit <= 0 {
		return
	}
	g.data = append(g.data, data)
	c.bytes += cacheCost(data)
	c.entries++
	c.order = append(c.order, cacheItem{g, g.Last})
	for c.bytes > c.limit && c.head < len(c.order) {
		it := c.order[c.head]
		c.order[c.head] = cacheItem{}
		c.head++
		if len(it.g.data) > 0 && it.g.cacheFirst() == it.index {
			x.dropCached(it.g, 0, 1)
		}
	}
	if len(c.order) > minCacheOrder && len(c.order) > 2*c.entries {
		c.compact()
	}
}

// compact drops the items of entries that are no longer cached. Of several items of
// one entry it keeps the first, so that the items of a group stay in ascending order.
func (c *cache) compact() {
	kept := c.order[:0]
	for _, it := range c.order[c.head:] {
		if n := len(it.g.data); n == 0 || it.index < it.g.cacheFirst() || it.index > it.g.Last {
			continue
		}
		if it.index > it.g.cacheKept {
			it.g.cacheKept = it.index
			kept = append(kept, it)
		}
	}
	for _, it := range kept {
		it.g.cacheKept = 0
	}
	clear(c.order[len(kept):])
	c.order, c.head = kept, 0
}

// dropCached removes data[from:to], which is a prefix or a suffix.
func (x *index) dropCached(g *group, from, to int) {
	for i := from; i < to; i++ {
		x.cache.bytes -= cacheCost(g.data[i])
		x.cache.entries--
		g.data[i] = nil
	}
	if from == 0 {
		g.data = g.data[to:]
	} else {
		g.data = g.data[:from]
	}
	if len(g.data) == 0 {
		g.data = nil
	}
}
