package ingest

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
)

// run is entries of one index that are not written yet.
type run struct {
	prefix  int // what all keys begin with has so many bytes
	entries []entry
	arena   []byte // keys and values
	first   int64  // row of the first entry
	ordered bool   // the entries are in the order of their keys
	// max is the greatest key that was written, written how many there were.
	max     []byte
	written int
}

// entry is where a key and its value are in the arena. order has bytes of the key after those with which all
// begin: most comparisons need no more.
type entry struct {
	order      uint64
	at         uint32
	keyAndKind uint32 // length of the key, and whether it is unique
	valueLen   uint32
	row        uint32 // of the entry, from the first of the run
}

func (e *entry) keyLen() uint32 { return e.keyAndKind >> 1 }

func (e *entry) unique() bool { return e.keyAndKind&1 != 0 }

// entryBytes is the memory of an entry beside its key and value.
const entryBytes = 24

func (r *run) key(e *entry) []byte { return r.arena[e.at : e.at+e.keyLen() : e.at+e.keyLen()] }

func (r *run) value(e *entry) []byte {
	from := e.at + e.keyLen()
	return r.arena[from : from+e.valueLen : from+e.valueLen]
}

// bytes is the memory that the run takes.
func (r *run) bytes() int { return len(r.arena) + len(r.entries)*entryBytes }

func (r *run) add(key, value []byte, unique bool, row int64) {
	if len(r.entries) == 0 {
		r.first = row
	}
	e := entry{
		order: keys.Order(key[min(r.prefix, len(key)):]), at: uint32(len(r.arena)), keyAndKind: uint32(len(key)) << 1,
		valueLen: uint32(len(value)), row: uint32(row - r.first),
	}
	if unique {
		e.keyAndKind |= 1
	}
	r.arena = append(append(r.arena, key...), value...)
	if n := len(r.entries); r.ordered && n > 0 {
		r.ordered = r.compare(&r.entries[n-1], &e) <= 0
	}
	r.entries = append(r.entries, e)
}

func (r *run) compare(a, b *entry) int {
	if a.order != b.order {
		return cmp.Compare(a.order, b.order)
	}
	if c := bytes.Compare(r.key(a), r.key(b)); c != 0 {
		return c
	}
	return cmp.Compare(a.row, b.row)
}

func (r *run) sameKey(a, b *entry) bool { return a.order == b.order && bytes.Equal(r.key(a), r.key(b)) }

// sort puts the entries in order. The bytes that all keys of the run begin with are passed over: keys of small numbers
// differ in few of their last bytes.
func (r *run) sort() {
	if r.ordered {
		return
	}
	common := r.common()
	for i := range r.entries {
		e := &r.entries[i]
		e.order = keys.Order(r.key(e)[common:])
	}
	r.distribute(r.entries, 56)
}

// fewToSort is how many entries are compared rather than distributed.
const fewToSort = 64

// distribute sorts entries whose order differs from the byte at shift on only. Many are put into buckets by that byte, in
// place: to compare two takes as long as to move several.
func (r *run) distribute(entries []entry, shift int) {
	if len(entries) <= fewToSort || shift < 0 {
		slices.SortFunc(entries, func(a, b entry) int { return r.compare(&a, &b) })
		return
	}
	var next, end [256]int // of each bucket: where its next entry goes; where it ends
	for i := range entries {
		end[byte(entries[i].order>>shift)]++
	}
	for b, at := 0, 0; b < 256; b++ {
		next[b], at = at, at+end[b]
		end[b] = at
	}
	for b := range 256 {
		for next[b] < end[b] {
			e := &entries[next[b]]
			home := byte(e.order >> shift)
			if int(home) != b {
				other := &entries[next[home]]
				*e, *other = *other, *e
			}
			next[home]++
		}
	}
	start := 0
	for b := range 256 {
		if end[b]-start > 1 {
			r.distribute(entries[start:end[b]], shift-8)
		}
		start = end[b]
	}
}

// common returns with how many equal bytes all keys begin.
func (r *run) common() int {
	first := r.key(&r.entries[0])
	for i := range r.entries {
		key := r.key(&r.entries[i])
		if len(key) >= len(first) && bytes.Equal(key[:len(first)], first) {
			continue
		}
		first = first[:keys.CommonPrefix(first, key)]
	}
	return len(first)
}

// take returns the entries as sorted writes, and empties the run. The writes refer to its memory, which they keep.
func (r *run) take() []kv.Write {
	writes := make([]kv.Write, len(r.entries))
	for i := range r.entries {
		e := &r.entries[i]
		writes[i] = kv.Write{Key: r.key(e), Value: r.value(e)}
	}
	r.arena = make([]byte, 0, min(cap(r.arena), blockBytes+blockBytes/8))
	r.entries, r.ordered = r.entries[:0], true
	return writes
}

// cut returns the number of writes that make the next block, of a size.
func cut(writes []kv.Write, block int) int {
	size := 0
	for i := range writes {
		size += len(writes[i].Key) + len(writes[i].Value)
		if size >= block {
			return i + 1
		}
	}
	return len(writes)
}
