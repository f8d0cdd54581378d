package rangecache

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
)

// maxEntries bounds the cache. The oldest entries go first.
const maxEntries = 1 << 16

// Entry is one range as the cache knows it.
type Entry struct {
	desc   *kvpb.RangeDescriptor
	leader atomic.Pointer[kvpb.ReplicaDescriptor]
	age    uint64 // rises with each Insert
}

// Desc returns the descriptor, which must not be modified.
func (e *Entry) Desc() *kvpb.RangeDescriptor { return e.desc }

// Leader returns the replica that is believed to lead the range, or nil.
func (e *Entry) Leader() *kvpb.ReplicaDescriptor { return e.leader.Load() }

// SetLeader says which replica leads the range.
func (e *Entry) SetLeader(r kvpb.ReplicaDescriptor) {
	if old := e.leader.Load(); old == nil || *old != r {
		e.leader.Store(&r)
	}
}

// ForgetLeader says that the replica on a node does not lead the range.
func (e *Entry) ForgetLeader(n kvpb.NodeID) {
	if old := e.leader.Load(); old != nil && old.Node == n {
		e.leader.CompareAndSwap(old, nil)
	}
}

// Lookup reads from the meta records which range holds key. It may return further ranges, which the cache
// keeps too. It may use the cache itself, for other keys.
type Lookup func(ctx context.Context, key []byte) ([]kvpb.RangeDescriptor, error)

// Cache maps keys to ranges and their leaders. It is safe for concurrent use.
type Cache struct {
	lookup Lookup
	limit  int
	snap   atomic.Pointer[snapshot]

	mu  sync.Mutex // writers
	age uint64

	flights flights
}

// snapshot is the entries at one time, sorted. The start keys lie together in memory, which saves a search
// most of the cache misses.
type snapshot struct {
	entries []*Entry
	starts  [][]byte
}

// New returns an empty cache.
func New(l Lookup) *Cache {
	c := &Cache{lookup: l, limit: maxEntries}
	c.snap.Store(new(snapshot))
	c.flights.byKey = map[string]*flight{}
	return c
}

// Len returns the number of entries.
func (c *Cache) Len() int { return len(c.snap.Load().entries) }

// Cached returns the entry of the range that holds key, or nil if none is cached.
func (c *Cache) Cached(key []byte) *Entry {
	snap := c.snap.Load()
	starts := snap.starts
	lo, hi := 0, len(starts) // starts[:lo] are at or before key, starts[hi:] after it
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if bytes.Compare(starts[mid], key) <= 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return nil
	}
	e := snap.entries[lo-1]
	if bytes.Compare(key, e.desc.EndKey) >= 0 {
		return nil
	}
	return e
}

// CachedBefore returns the entry of the range that holds the last keys before end, or nil if none is cached.
func (c *Cache) CachedBefore(end []byte) *Entry {
	all := c.snap.Load().entries
	i, _ := slices.BinarySearchFunc(all, end, startsAt)
	if i == 0 || bytes.Compare(all[i-1].desc.EndKey, end) < 0 {
		return nil
	}
	return all[i-1]
}

func startsAt(e *Entry, key []byte) int { return bytes.Compare(e.desc.StartKey, key) }

// Insert adds the descriptors of ranges. It reports whether this changed anything: the cache may have newer
// ones for the same keys.
func (c *Cache) Insert(descs ...kvpb.RangeDescriptor) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := false
	for i := range descs {
		d := descs[i]
		if bytes.Compare(d.StartKey, d.EndKey) < 0 && c.insertLocked(&d) {
			changed = true
		}
	}
	return changed
}

func (c *Cache) insertLocked(d *kvpb.RangeDescriptor) bool {
	all := c.snap.Load().entries
	lo, _ := slices.BinarySearchFunc(all, d.StartKey, startsAt)
	if lo > 0 && bytes.Compare(all[lo-1].desc.EndKey, d.StartKey) > 0 {
		lo--
	}
	hi, _ := slices.BinarySearchFunc(all, d.EndKey, startsAt)
	must.True(lo == 0 || bytes.Compare(all[lo-1].desc.EndKey, d.StartKey) <= 0, "G1: ranges overlap in the cache")
	e := &Entry{desc: d, age: c.age}
	for _, old := range all[lo:hi] {
		if old.desc.Generation >= d.Generation {
			return false
		}
		if old.desc.RangeID == d.RangeID {
			e.inherit(old)
		}
	}
	c.age++
	next := make([]*Entry, 0, len(all)-(hi-lo)+1)
	next = append(append(append(next, all[:lo]...), e), all[hi:]...)
	if len(next) > c.limit {
		next = dropOldest(next, c.limit-c.limit/16)
	}
	c.store(next)
	return true
}

// inherit keeps the leader of an older entry of the same range.
func (e *Entry) inherit(old *Entry) {
	r := old.leader.Load()
	if r == nil {
		return
	}
	if now, ok := e.desc.Replica(r.Store); ok && now.Replica == r.Replica {
		e.leader.Store(&now)
	}
}

// dropOldest returns the keep newest entries.
func dropOldest(all []*Entry, keep int) []*Entry {
	ages := make([]uint64, len(all))
	for i, e := range all {
		ages[i] = e.age
	}
	slices.Sort(ages)
	oldest := ages[len(ages)-keep]
	return slices.DeleteFunc(all, func(e *Entry) bool { return e.age < oldest })
}

// store makes all the present snapshot.
func (c *Cache) store(all []*Entry) {
	starts := make([][]byte, len(all))
	for i, e := range all {
		starts[i] = e.desc.StartKey
	}
	c.snap.Store(&snapshot{entries: all, starts: starts})
}

// Evict drops an entry, unless it was replaced meanwhile.
func (c *Cache) Evict(e *Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.snap.Load().entries
	i, ok := slices.BinarySearchFunc(all, e.desc.StartKey, startsAt)
	if ok && all[i] == e {
		c.store(slices.Concat(all[:i], all[i+1:]))
	}
}
