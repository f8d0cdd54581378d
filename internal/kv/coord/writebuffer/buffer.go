package writebuffer

import (
	"bytes"
	"math/rand/v2"
	"slices"
)

// maxHeight bounds the skip list's towers: enough for hundreds of millions of
// keys at a branching factor of four.
const maxHeight = 14

// Blocks of memory.
const (
	// blockBytes is the size of the blocks that keys and values are copied into. Keys have their
	// own blocks: whoever retains a key retains no values with it.
	blockBytes = 32 << 10
	// MaxShared is the longest key or value that shares a block with others.
	MaxShared = blockBytes / 4
)

// EntryOverhead is charged for a buffered write in addition to its key and value.
const EntryOverhead = 96

// write is one write of a transaction: a key's value as of a sequence.
type write struct {
	node int32 // of the key
	prev int32 // the key's previous write, or -1
	seq  int32 // statement that wrote it
	del  bool
	val  []byte
}

// keyNode is one distinct key in the skip list; node 0 is the list's head.
type keyNode struct {
	key  []byte
	last int32 // newest write in buffer.writes, or -1 if all were undone
	next []int32
}

// Buffer holds a transaction's writes until it commits. It maps each key, in order, to the history
// of values that the statements gave it. So a statement can read the state at its beginning, and a
// rollback to a savepoint just drops the newest writes.
//
// Keys are in a skip list of nodes that are linked by index. Insertion in any order and ordered
// iteration are cheap for a million writes, and an empty buffer costs nothing.
type Buffer struct {
	nodes  chunked[keyNode]
	links  []int32 // block that small towers are cut from
	writes chunked[write]
	height int
	// tail are the last nodes of each level: keys mostly come in ascending order.
	tail   [maxHeight]int32
	keys   []byte // the present blocks
	values []byte
	bytes  int64
}

// Len returns the number of writes, superseded ones included. It is a position for Truncate.
func (b *Buffer) Len() int { return b.writes.len }

// Bytes returns the memory that the buffer is charged with.
func (b *Buffer) Bytes() int64 { return b.bytes }

// Reset empties the buffer but keeps small blocks of memory for the next transaction.
func (b *Buffer) Reset() {
	if b.large() {
		*b = Buffer{}
		return
	}
	b.nodes.truncate(0)
	b.writes.truncate(0)
	b.links = b.links[:0]
	b.keys, b.values = b.keys[:0], b.values[:0]
	b.height, b.bytes = 0, 0
	b.tail = [maxHeight]int32{}
}

// large reports whether the buffer has too much memory to keep.
func (b *Buffer) large() bool {
	return len(b.nodes.chunks) > 1 || len(b.writes.chunks) > 1 || b.bytes > 2*blockBytes
}

// Drop releases the memory of an unused buffer if it is large. Values that the buffer returned stay
// valid.
func (b *Buffer) Drop() {
	if b.large() {
		*b = Buffer{}
	}
}

// copyBytes copies p into a block, or into an allocation of its own if it is long.
func copyBytes(block *[]byte, p []byte) []byte {
	switch {
	case len(p) == 0:
		return []byte{}
	case len(p) > MaxShared:
		return bytes.Clone(p)
	case cap(*block)-len(*block) < len(p):
		*block = make([]byte, 0, blockBytes)
	}
	n := len(*block)
	*block = append(*block, p...)
	return (*block)[n : n+len(p) : n+len(p)]
}

// seek returns the first node with key >= key, 0 for none, and fills prev with
// the node before it on every level when prev is not nil.
func (b *Buffer) seek(key []byte, prev *[maxHeight]int32) int32 {
	if b.nodes.len == 0 || bytes.Compare(b.nodes.at(b.tail[0]).key, key) < 0 {
		if prev != nil {
			*prev = b.tail
		}
		return 0
	}
	at := int32(0)
	for level := b.height - 1; level >= 0; level-- {
		for {
			next := b.nodes.at(at).next[level]
			if next == 0 || bytes.Compare(b.nodes.at(next).key, key) >= 0 {
				break
			}
			at = next
		}
		if prev != nil {
			prev[level] = at
		}
	}
	return b.nodes.at(at).next[0]
}

func (b *Buffer) tower(h int) []int32 {
	if cap(b.links)-len(b.links) < h {
		b.links = make([]int32, 0, 256)
	}
	n := len(b.links)
	b.links = b.links[:n+h]
	t := b.links[n : n+h : n+h]
	clear(t)
	return t
}

func (b *Buffer) node(key []byte) int32 {
	var prev [maxHeight]int32
	if b.nodes.len == 0 {
		b.nodes.append(keyNode{last: -1, next: b.tower(maxHeight)})
		b.height = 1
	}
	at := b.seek(key, &prev)
	if at != 0 && bytes.Equal(b.nodes.at(at).key, key) {
		return at
	}
	h := 1
	for h < maxHeight && rand.Uint32()&3 == 0 {
		h++
	}
	b.height = max(b.height, h)
	id := int32(b.nodes.len)
	n := keyNode{key: copyBytes(&b.keys, key), last: -1, next: b.tower(h)}
	for level := range h {
		// Levels above the old height start at the head, which prev has already.
		n.next[level] = b.nodes.at(prev[level]).next[level]
		b.nodes.at(prev[level]).next[level] = id
		if n.next[level] == 0 {
			b.tail[level] = id
		}
	}
	b.nodes.append(n)
	return id
}

// Put records a write of statement seq; a nil value with del set deletes.
func (b *Buffer) Put(key, value []byte, del bool, seq int32) {
	b.PutOwned(key, copyBytes(&b.values, value), del, seq)
}

// PutOwned is Put without a copy of value, which must not change any more.
func (b *Buffer) PutOwned(key, value []byte, del bool, seq int32) {
	id := b.node(key)
	n := b.nodes.at(id)
	b.writes.append(write{node: id, prev: n.last, seq: seq, del: del, val: value})
	n.last = int32(b.writes.len - 1)
	b.bytes += int64(len(key)+len(value)) + EntryOverhead
}

// Append adds the writes of a later buffer.
func (b *Buffer) Append(later *Buffer) {
	for i := range int32(later.writes.len) {
		w := later.writes.at(i)
		b.PutOwned(later.nodes.at(w.node).key, w.val, w.del, w.seq)
	}
}

// Truncate drops all writes from position n on.
func (b *Buffer) Truncate(n int) {
	for i := b.writes.len - 1; i >= n; i-- {
		w := b.writes.at(int32(i))
		node := b.nodes.at(w.node)
		node.last = w.prev
		b.bytes -= int64(len(node.key)+len(w.val)) + EntryOverhead
	}
	b.writes.truncate(n)
}

// at returns node id's newest write with seq < below, or nil.
func (b *Buffer) at(id, below int32) *write {
	for i := b.nodes.at(id).last; i >= 0; {
		w := b.writes.at(i)
		if w.seq < below {
			return w
		}
		i = w.prev
	}
	return nil
}

// Get returns the newest write of key by a statement before below. found reports whether there is
// one, del whether it is a deletion; seq is its statement.
func (b *Buffer) Get(key []byte, below int32) (val []byte, del bool, seq int32, found bool) {
	if b.writes.len == 0 {
		return nil, false, 0, false
	}
	id := b.seek(key, nil)
	if id == 0 || !bytes.Equal(b.nodes.at(id).key, key) {
		return nil, false, 0, false
	}
	w := b.at(id, below)
	if w == nil {
		return nil, false, 0, false
	}
	return w.val, w.del, w.seq, true
}

// Cursor iterates over the writes of a span by statements before below.
type Cursor struct {
	b     *Buffer
	below int32
	id    int32
	w     *write
}

// Seek returns a cursor at the first key >= start.
func (b *Buffer) Seek(start []byte, below int32) Cursor {
	c := Cursor{b: b, below: below, id: b.seek(start, nil)}
	c.skip()
	return c
}

func (c *Cursor) skip() {
	for c.id != 0 {
		if c.w = c.b.at(c.id, c.below); c.w != nil {
			return
		}
		c.id = c.b.nodes.at(c.id).next[0]
	}
}

// Valid reports whether the cursor is at a write.
func (c *Cursor) Valid() bool { return c.id != 0 }

// Next moves to the next key.
func (c *Cursor) Next() { c.id = c.b.nodes.at(c.id).next[0]; c.skip() }

// Key returns the key at the cursor.
func (c *Cursor) Key() []byte { return c.b.nodes.at(c.id).key }

// Value returns the value at the cursor and whether the write is a deletion.
func (c *Cursor) Value() ([]byte, bool) { return c.w.val, c.w.del }

// History calls fn with those writes at the cursor that remain visible after a rollback to position
// keep or later: the newest write of each statement, in order, beginning with the newest one below
// keep.
func (c *Cursor) History(keep int, fn func(position int, val []byte, del bool)) {
	var older [8]int32
	chain := older[:0]
	last := int32(-1) // statement of the previous write
	for i := c.b.nodes.at(c.id).last; i >= 0; i = c.b.writes.at(i).prev {
		if w := c.b.writes.at(i); w.seq != last {
			chain, last = append(chain, i), w.seq
		}
		if int(i) < keep {
			break
		}
	}
	for _, i := range slices.Backward(chain) {
		w := c.b.writes.at(i)
		fn(int(i), w.val, w.del)
	}
}
