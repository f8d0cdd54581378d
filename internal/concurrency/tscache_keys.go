package concurrency

import (
	"hash/maphash"
	"sync"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
)

const (
	// bucketWays is the number of keys that a bucket remembers exactly.
	bucketWays = 4
	// firstKeySlots is the size of a table at the first read, growSlots the factor by which it grows
	// when a bucket is full.
	firstKeySlots = 1 << 5
	growSlots     = 8
)

// keyTable is the part of a TimestampCache that remembers reads of single keys, by their hashes. Whoever
// replaces it, by a larger one or by none, holds all its buckets' mutexes. So a reader that holds a
// bucket's mutex, and finds the table still in place, may record its read there.
type keyTable struct {
	seed    maphash.Seed
	buckets []keyBucket // length a power of two
}

// keyBucket holds the reads of all keys whose hashes have the same low bits: those of a few keys
// exactly, and those of all others in one mark.
type keyBucket struct {
	mu     sync.Mutex
	hashes [bucketWays]uint64
	marks  [bucketWays]readMark // of the keys with these hashes; an empty one is free
	others readMark
}

// newKeyTable returns a table for a number of keys, a power of two.
func newKeyTable(slots int) *keyTable {
	return &keyTable{seed: maphash.MakeSeed(), buckets: make([]keyBucket, max(1, slots/bucketWays))}
}

// size is the number of keys that the table can remember exactly.
func (t *keyTable) size() int { return len(t.buckets) * bucketWays }

// hash puts neighbouring rows into neighbouring buckets, see keys.Hash.
func (t *keyTable) hash(key []byte) uint64 { return keys.Hash(t.seed, key) }

func (t *keyTable) bucket(hash uint64) *keyBucket { return &t.buckets[hash&uint64(len(t.buckets)-1)] }

// get returns the latest read of a key by a transaction other than self.
func (t *keyTable) get(key []byte, self TxnID) hlc.Timestamp {
	hash := t.hash(key)
	b := t.bucket(hash)
	b.mu.Lock()
	defer b.mu.Unlock()
	ts := b.others.get(self)
	for i := range b.hashes {
		if b.hashes[i] == hash {
			return ts.Max(b.marks[i].get(self))
		}
	}
	return ts
}

// add records a read of the key with a hash. It returns false if there is no room for the key.
func (b *keyBucket) add(hash uint64, ts hlc.Timestamp, txn TxnID) (ok bool) {
	for i := range b.marks {
		if m := &b.marks[i]; m.latest().IsEmpty() || b.hashes[i] == hash {
			b.hashes[i] = hash
			m.add(ts, txn)
			return true
		}
	}
	return false
}

// addOver records a read of a key that has no room: the key that was read longest ago joins the others.
func (b *keyBucket) addOver(hash uint64, ts hlc.Timestamp, txn TxnID) {
	oldest := &b.marks[0]
	at := 0
	for i := range b.marks {
		if m := &b.marks[i]; m.latest().Less(oldest.latest()) {
			oldest, at = m, i
		}
	}
	if ts.Less(oldest.latest()) {
		b.others.add(ts, txn)
		return
	}
	b.others.merge(*oldest)
	*oldest = readMark{}
	oldest.add(ts, txn)
	b.hashes[at] = hash
}

func (t *keyTable) lock() {
	for i := range t.buckets {
		t.buckets[i].mu.Lock()
	}
}

func (t *keyTable) unlock() {
	for i := range t.buckets {
		t.buckets[i].mu.Unlock()
	}
}

// latest returns the latest read of all keys. The caller has locked the table.
func (t *keyTable) latest() (ts hlc.Timestamp) {
	for i := range t.buckets {
		b := &t.buckets[i]
		ts = ts.Max(b.others.latest())
		for j := range b.marks {
			ts = ts.Max(b.marks[j].latest())
		}
	}
	return ts
}

// grown returns a larger table with the same reads. The caller has locked the table. The reads of a bucket
// go to those buckets of the larger table whose numbers end in the same bits.
func (t *keyTable) grown(slots int) *keyTable {
	by := newKeyTable(slots)
	by.seed = t.seed
	for i := range by.buckets {
		to, from := &by.buckets[i], &t.buckets[i&(len(t.buckets)-1)]
		to.others = from.others
		n := 0
		for j := range from.marks {
			if !from.marks[j].latest().IsEmpty() && by.bucket(from.hashes[j]) == to {
				to.hashes[n], to.marks[n] = from.hashes[j], from.marks[j]
				n++
			}
		}
	}
	return by
}

// clone returns a copy of a table. The caller holds growing, so that the table is not replaced.
func (t *keyTable) clone() *keyTable {
	if t == nil {
		return nil
	}
	by := &keyTable{seed: t.seed, buckets: make([]keyBucket, len(t.buckets))}
	for i := range t.buckets {
		from, to := &t.buckets[i], &by.buckets[i]
		from.mu.Lock()
		to.hashes, to.marks, to.others = from.hashes, from.marks, from.others
		from.mu.Unlock()
	}
	return by
}
