package concurrency

import (
	"bytes"
	"slices"
	"sort"

	"github.com/lichendb/lichen/internal/hlc"
)

const (
	blockBoundaries = 128     // boundaries in a block; inserting moves at most so many
	arenaChunk      = 8 << 10 // bytes of keys allocated at once
)

// spanMap maps every key to a readMark. It is a sorted list of boundaries: a boundary's
// mark applies from its key up to the next boundary, and no key before the first boundary
// was read. The list is cut into blocks so that an insertion moves few boundaries. It is
// not safe for concurrent use.
type spanMap struct {
	blocks   [][]boundary // none is empty
	n        int          // boundaries
	keyBytes int
	arena    []byte // where keys are copied to
	latest   hlc.Timestamp
}

type boundary struct {
	key  []byte
	mark readMark
}

// boundaryPos is the place of a boundary: its block and its index there. b is -1 before the first one.
type boundaryPos struct{ b, i int }

// clone returns a copy, which shares the bytes of the keys.
func (m *spanMap) clone() *spanMap {
	by := &spanMap{blocks: make([][]boundary, len(m.blocks)), n: m.n, keyBytes: m.keyBytes, latest: m.latest}
	for i, b := range m.blocks {
		by.blocks[i] = append(make([]boundary, 0, blockBoundaries), b...)
	}
	return by
}

// seek returns the last boundary at or before key, and whether it is at key.
func (m *spanMap) seek(key []byte) (p boundaryPos, exact bool) {
	p.b = sort.Search(len(m.blocks), func(b int) bool {
		return bytes.Compare(m.blocks[b][0].key, key) > 0
	}) - 1
	if p.b < 0 {
		return p, false
	}
	block := m.blocks[p.b]
	p.i = sort.Search(len(block), func(i int) bool {
		return bytes.Compare(block[i].key, key) > 0
	}) - 1
	return p, bytes.Equal(block[p.i].key, key)
}

// get returns the latest read of key by a transaction other than self.
func (m *spanMap) get(key []byte, self TxnID) hlc.Timestamp {
	p, _ := m.seek(key)
	if p.b < 0 {
		return hlc.Timestamp{}
	}
	return m.blocks[p.b][p.i].mark.get(self)
}

// add records mark's reads for all keys of [start, end); a nil end is unbounded. If the boundaries
// within are many, and all have got the same latest read, they become one.
func (m *spanMap) add(start, end []byte, mark readMark) {
	m.latest = m.latest.Max(mark.latest())
	if end != nil {
		m.ensure(end)
	}
	m.ensure(start)
	from, _ := m.seek(start)
	to := boundaryPos{b: len(m.blocks)}
	if end != nil {
		to, _ = m.seek(end)
	}
	count, uniform := 0, true
	var second hlc.Timestamp
	for b := from.b; b <= to.b && b < len(m.blocks); b++ {
		block := m.blocks[b]
		lo, hi := 0, len(block)
		if b == from.b {
			lo = from.i
		}
		if b == to.b {
			hi = to.i
		}
		for i := lo; i < hi; i++ {
			bm := &block[i].mark
			bm.merge(mark)
			uniform = uniform && bm.owner == mark.owner && bm.latest() == mark.latest()
			second = second.Max(bm.second())
			count++
		}
	}
	if uniform && count > maxPreciseBoundaries {
		m.blocks[from.b][from.i].mark.setSecond(second)
		m.delete(boundaryPos{from.b, from.i + 1}, to)
		m.n -= count - 1
	}
}

// ensure makes a boundary at key, if there is none, with the mark that the key already has.
func (m *spanMap) ensure(key []byte) {
	p, exact := m.seek(key)
	if exact {
		return
	}
	nb := boundary{key: m.copyKey(key)}
	m.n++
	if p.b < 0 {
		if len(m.blocks) == 0 {
			m.blocks = append(m.blocks, make([]boundary, 0, blockBoundaries))
		}
		p = boundaryPos{0, -1}
	} else {
		nb.mark = m.blocks[p.b][p.i].mark
	}
	p.i++
	if len(m.blocks[p.b]) == blockBoundaries {
		left := m.blocks[p.b]
		right := make([]boundary, 0, blockBoundaries)
		right = append(right, left[blockBoundaries/2:]...)
		clear(left[blockBoundaries/2:])
		m.blocks[p.b] = left[:blockBoundaries/2]
		m.blocks = slices.Insert(m.blocks, p.b+1, right)
		if p.i > blockBoundaries/2 {
			p = boundaryPos{p.b + 1, p.i - blockBoundaries/2}
		}
	}
	m.blocks[p.b] = slices.Insert(m.blocks[p.b], p.i, nb)
}

// delete removes the boundaries from p up to but excluding to. The boundary before
// p, in the same block, stays.
func (m *spanMap) delete(p, to boundaryPos) {
	if p.b == to.b {
		m.blocks[p.b] = slices.Delete(m.blocks[p.b], p.i, to.i)
		return
	}
	m.blocks[p.b] = slices.Delete(m.blocks[p.b], p.i, len(m.blocks[p.b]))
	if to.b < len(m.blocks) {
		m.blocks[to.b] = slices.Delete(m.blocks[to.b], 0, to.i)
	}
	m.blocks = slices.Delete(m.blocks, p.b+1, to.b)
}

// copyKey returns a copy of key in the arena.
func (m *spanMap) copyKey(key []byte) []byte {
	if cap(m.arena)-len(m.arena) < len(key) {
		m.arena = make([]byte, 0, max(arenaChunk, len(key)))
	}
	from := len(m.arena)
	m.arena = append(m.arena, key...)
	m.keyBytes += len(key)
	return m.arena[from:len(m.arena):len(m.arena)]
}
