package storage

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"syscall"
	"unsafe"

	"github.com/cockroachdb/pebble/v2"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/must"
)

// Sizes of a version cache.
const (
	// versionCacheShare: one of so many bytes of the cache is for versions.
	versionCacheShare = 8
	// minCacheShardBytes keeps shards large enough for a few rows each.
	minCacheShardBytes = 16 << 10
	maxCacheShards     = 64
	// maxCachedValue is the largest payload worth the copy.
	maxCachedValue = 4 << 10
	// cacheWays is how many slots a key may have; slotBytes, what there is of the ring
	// for each slot.
	cacheWays = 4
	slotBytes = 128
	// maxTrackedBatch bounds the batches whose versions replace cached ones; what a
	// larger one writes is forgotten.
	maxTrackedBatch = 1 << 20
)

// versionCache remembers the newest version of keys that were read, so that reading
// them again costs no seek. It is memory outside the heap, in use as far as it was ever
// filled: shards of a ring each, in which the oldest entry gives way to a new one.
//
// Its rule, invariant 10 of the package: an entry that is not pending is the newest
// version of its key, for whoever looks and for every iterator opened after that. Two
// sides keep it:
//
//   - A commit is announced (commits.begin) before it marks what it writes as
//     pending, and marks it before the engine shows it; a pending entry answers
//     nobody. What it wrote becomes the entry after the engine shows it.
//   - A reader remembers what it found only if no commit was announced since its
//     iterator was opened, and looks for that with the shard's lock held: a commit
//     announced later comes to the shard later.
type versionCache struct {
	e      *Engine
	seed   maphash.Seed
	memory []byte
	shift  int // of the hash, to the shard
	shards []cacheShard
}

// cacheShard is one ring with its index.
type cacheShard struct {
	mu sync.Mutex
	// slots tell where entries are: the position in the ring's history, and in the upper
	// bits a part of the hash. 0 is an empty slot.
	slots []uint64
	ring  []byte
	head  uint64 // where in the history the next entry goes

	hits, misses uint64
	_            [40]byte // shards don't share lines of the processor's cache
}

// entry is the form of one version in a ring: this header, the key and the stored value.
type entry struct {
	ts      hlc.Timestamp
	keyLen  uint32
	valLen  uint32
	room    uint32 // for the value
	pending bool   // a commit under way replaces it
}

const (
	entryHeader  = int(unsafe.Sizeof(entry{}))
	positionBits = 48
	positionMask = 1<<positionBits - 1
)

// newVersionCache returns a cache of about the given size, or nil if that is too small for one.
func newVersionCache(e *Engine, size int64) *versionCache {
	n := maxCacheShards
	for n > 1 && size/int64(n) < minCacheShardBytes {
		n /= 2
	}
	shard := int(size) / n &^ 4095
	if shard < 4096 {
		return nil
	}
	memory, err := syscall.Mmap(-1, 0, n*shard, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		e.opts.Logger.Warn("no memory for the cache of versions: reads go on without it", "bytes", n*shard, "err", err)
		return nil
	}
	c := &versionCache{e: e, seed: maphash.MakeSeed(), memory: memory, shards: make([]cacheShard, n)}
	c.shift = 64 - bits.TrailingZeros(uint(n))
	slots := 1 << (bits.Len(uint(shard/slotBytes)) - 1)
	for i := range c.shards {
		m := memory[i*shard : (i+1)*shard]
		s := &c.shards[i]
		s.slots = unsafe.Slice((*uint64)(unsafe.Pointer(&m[0])), slots)
		s.ring = m[slots*8:]
		s.head = uint64(entryHeader) // so that no position is 0
	}
	return c
}

// close gives the memory back. Reads may still come: they find nothing.
func (c *versionCache) close() {
	if c == nil {
		return
	}
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		s.slots, s.ring = nil, nil
		s.mu.Unlock()
	}
	if err := syscall.Munmap(c.memory); err != nil {
		c.e.opts.Logger.Warn("the cache of versions could not be given back", "err", err)
	}
}

// NewestVersion returns the newest version of key if the cache has it and it is not
// newer than ts: its header, its time, and its payload appended to buf.
func (e *Engine) NewestVersion(key []byte, ts hlc.Timestamp, buf []byte) (header byte, payload []byte, at hlc.Timestamp, ok bool) {
	if e.versions == nil {
		return 0, buf, at, false
	}
	hash, s := e.versions.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	en, stored := s.newest(hash, key, ts)
	if en == nil {
		return 0, buf, at, false
	}
	return stored[0], append(buf, stored[1:]...), en.ts, true
}

// NewestTimestamp is NewestVersion without the value.
func (e *Engine) NewestTimestamp(key []byte, ts hlc.Timestamp) (at hlc.Timestamp, ok bool) {
	if e.versions == nil {
		return at, false
	}
	hash, s := e.versions.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	en, _ := s.newest(hash, key, ts)
	if en == nil {
		return at, false
	}
	return en.ts, true
}

// newest returns the entry of key if it answers a read at ts.
func (s *cacheShard) newest(hash uint64, key []byte, ts hlc.Timestamp) (*entry, []byte) {
	_, en, stored := s.find(hash, key)
	if en == nil || en.pending || ts.Less(en.ts) {
		s.misses++
		return nil, nil
	}
	s.hits++
	return en, stored
}

// Remember keeps a version that the iterator found as the newest of key: stored is its
// header and payload.
func (it *PooledIter) Remember(key []byte, ts hlc.Timestamp, stored []byte) {
	c := it.pool.e.versions
	if c == nil || it.gen == stale || len(stored) > maxCachedValue || len(stored) == 0 {
		return
	}
	hash, s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.e.commits.begun.Load() != it.gen {
		return // somebody may have written a newer one since
	}
	if slot, en, _ := s.find(hash, key); en == nil {
		s.add(slot, hash, key, ts, stored)
	}
}

func (c *versionCache) shard(key []byte) (hash uint64, s *cacheShard) {
	hash = keys.Hash(c.seed, key)
	return hash, &c.shards[hash>>c.shift&uint64(len(c.shards)-1)]
}

// find returns the entry of key, with its value, and the slot that points to it; or the
// slot that an entry for key would take.
func (s *cacheShard) find(hash uint64, key []byte) (slot int, en *entry, stored []byte) {
	if s.slots == nil {
		return 0, nil, nil // closed
	}
	first := s.firstSlot(hash)
	oldest := uint64(1<<64 - 1)
	for i := first; i < first+cacheWays; i++ {
		at := s.slots[i]
		position := at & positionMask
		if at == 0 || !s.holds(position) {
			position = 0
		} else if at>>positionBits == tag(hash) {
			if en, k, v := s.entry(position); string(k) == string(key) {
				return i, en, v[:en.valLen]
			}
		}
		if position < oldest {
			slot, oldest = i, position
		}
	}
	return slot, nil, nil
}

// firstSlot is the first of the slots that a key with a hash may have.
func (s *cacheShard) firstSlot(hash uint64) int {
	return int(hash%uint64(len(s.slots)/cacheWays)) * cacheWays
}

// tag is a part of the hash that chooses neither shard nor slot.
func tag(hash uint64) uint64 { return hash >> 32 & (1<<16 - 1) }

// holds reports whether the entry at a position of the history is still in the ring.
func (s *cacheShard) holds(position uint64) bool { return s.head <= position+uint64(len(s.ring)) }

// entry returns the entry at a position, its key, and the room for its value.
func (s *cacheShard) entry(position uint64) (en *entry, key, value []byte) {
	b := s.ring[position%uint64(len(s.ring)):]
	en = (*entry)(unsafe.Pointer(&b[0]))
	b = b[entryHeader:]
	return en, b[:en.keyLen], b[en.keyLen : en.keyLen+en.room]
}

// add makes an entry and lets the slot point to it.
func (s *cacheShard) add(slot int, hash uint64, key []byte, ts hlc.Timestamp, stored []byte) {
	size := (entryHeader + len(key) + len(stored) + 7) &^ 7
	if size > len(s.ring)/4 {
		return // also if the cache is closed
	}
	at := int(s.head % uint64(len(s.ring)))
	if at+size > len(s.ring) { // entries are in one piece
		s.head += uint64(len(s.ring) - at)
		at = 0
	}
	en := (*entry)(unsafe.Pointer(&s.ring[at]))
	*en = entry{ts: ts, keyLen: uint32(len(key)), valLen: uint32(len(stored)), room: uint32(size - entryHeader - len(key))}
	copy(s.ring[at+entryHeader:], key)
	copy(s.ring[at+entryHeader+len(key):], stored)
	s.slots[slot] = tag(hash)<<positionBits | s.head&positionMask
	s.head += uint64(size)
}

// cacheMark is a pending entry: a commit under way writes a newer version of its key.
type cacheMark struct {
	shard *cacheShard
	hash  uint64
	key   []byte // this and stored are the batch's
	ts    hlc.Timestamp
	// stored is the newer version.
	stored []byte
}

// announce makes the entries of the batch's keys pending, or forgets the entries that it can't track. It
// appends the marks for settle to dst.
func (c *versionCache) announce(b *pebble.Batch, dst []cacheMark) []cacheMark {
	if c == nil {
		return dst
	}
	tracked := b.Len() <= maxTrackedBatch
	for r := b.Reader(); ; {
		kind, ek, stored, ok, err := r.Next()
		must.NoError(err, "storage: a batch of this process is malformed")
		if !ok {
			return dst
		}
		if kind == pebble.InternalKeyKindRangeDelete {
			c.clear()
			continue
		}
		key, ts, err := DecodeEngineKey(ek)
		must.NoError(err, "storage 5: a malformed key in a batch")
		if ts.IsEmpty() {
			continue
		}
		m := cacheMark{key: key, ts: ts}
		if kind == pebble.InternalKeyKindSet && tracked {
			m.stored = stored
		}
		if c.mark(&m) {
			dst = append(dst, m)
		}
	}
}

// mark makes the entry of a key pending if m is a newer version of it, and reports whether
// it did.
func (c *versionCache) mark(m *cacheMark) bool {
	hash, s := c.shard(m.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	slot, en, _ := s.find(hash, m.key)
	if en == nil || m.ts.Less(en.ts) {
		return false // an older version comes or goes: the newest stays what it is
	}
	if m.stored == nil || en.pending || len(m.stored) > maxCachedValue {
		s.slots[slot] = 0
		return false
	}
	m.shard, m.hash, en.pending = s, hash, true
	return true
}

// settle makes the committed versions the entries of their keys.
func settle(marks []cacheMark, committed bool) {
	for i := range marks {
		m := &marks[i]
		s := m.shard
		s.mu.Lock()
		slot, en, _ := s.find(m.hash, m.key)
		switch {
		case en == nil || !en.pending: // it was overwritten, or another commit came
		case !committed:
			s.slots[slot] = 0
		case len(m.stored) <= int(en.room):
			_, _, room := s.entry(s.slots[slot] & positionMask)
			en.ts, en.valLen, en.pending = m.ts, uint32(len(m.stored)), false
			copy(room, m.stored)
		default: // the ring may have no room for it
			s.slots[slot] = 0
			s.add(slot, m.hash, m.key, m.ts, m.stored)
		}
		s.mu.Unlock()
	}
}

// forget drops the entries of keys with these hashes.
func (c *versionCache) forget(hashes []uint64) {
	if c == nil {
		return
	}
	for _, hash := range hashes {
		s := &c.shards[hash>>c.shift&uint64(len(c.shards)-1)]
		s.mu.Lock()
		if s.slots != nil {
			first := s.firstSlot(hash)
			for i := first; i < first+cacheWays; i++ {
				if s.slots[i]>>positionBits == tag(hash) {
					s.slots[i] = 0
				}
			}
		}
		s.mu.Unlock()
	}
}

// count returns how often an answer was found, and how often not.
func (c *versionCache) count() (hits, misses uint64) {
	if c == nil {
		return 0, 0
	}
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		hits, misses = hits+s.hits, misses+s.misses
		s.mu.Unlock()
	}
	return hits, misses
}

// clear forgets everything.
func (c *versionCache) clear() {
	if c == nil {
		return
	}
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		clear(s.slots)
		s.mu.Unlock()
	}
}
