package raftlog

import "github.com/lichendb/lichen/internal/must"

// entryRef is the place of an entry. It holds no pointer, so that the garbage
// collector skips the index, however long it is.
type entryRef struct {
	term uint64
	slot uint32 // file of the segment; zero: not known (during recovery only)
	off  uint32 // of the entry's checksum in the file
	len  uint32 // of the data
	typ  uint8
}

// bytes is the part of the entry in its segment's liveBytes.
func (r entryRef) bytes() int64 { return int64(r.len) + entryOverhead }

// group is the in-memory index of one raft group.
type group struct {
	id     GroupID
	exists bool // false while only queued writes know the group
	State
	// refs[i] is entry Truncated.Index+1+i; the last one is entry Last.
	refs []entryRef
	// data[i] is the payload of entry Last-len(data)+1+i: the cache holds the
	// newest entries of each group.
	data [][]byte
	// cacheKept is scratch of cache.compact.
	cacheKept uint64

	// queued is the group's state once all queued writes are applied.
	queued queuedState
}

// queuedState tracks the writes of a group that wait or are being written.
type queuedState struct {
	writes  int
	exists  bool
	replica uint64
	mark    uint64 // truncation mark
	last    uint64
	// low is the lowest index replaced by writes of one frame. At most two
	// frames are not yet applied, the one being written and the next.
	low [2]struct{ frame, index uint64 }
}

const noIndex = ^uint64(0)

// replaces notes that a write in a frame replaces entries from index i on.
func (q *queuedState) replaces(frame, i uint64) {
	low := &q.low[frame%2]
	if low.frame != frame {
		low.frame, low.index = frame, noIndex
	}
	low.index = min(low.index, i)
}

// lowest returns the lowest index that a write in a frame after applied replaces,
// noIndex if there is none.
func (q *queuedState) lowest(applied uint64) uint64 {
	i := noIndex
	for _, low := range q.low {
		if low.frame > applied {
			i = min(i, low.index)
		}
	}
	return i
}

// resetQueued makes the queued state that of the index: no write is queued.
func (g *group) resetQueued() {
	g.queued = queuedState{exists: g.exists, replica: g.Replica, mark: g.Truncated.Index, last: g.Last}
}

// holds reports whether entry i is at r.
func (g *group) holds(i uint64, r entryRef) bool {
	return g.exists && i > g.Truncated.Index && i <= g.Last && g.refs[i-g.first()] == r
}

func (g *group) first() uint64 { return g.Truncated.Index + 1 }

// cacheFirst is the lowest cached index, Last+1 if nothing is cached.
func (g *group) cacheFirst() uint64 { return g.Last + 1 - uint64(len(g.data)) }

// term returns the term of entry i.
func (g *group) term(i uint64) (uint64, error) {
	switch {
	case i == g.Truncated.Index:
		return g.Truncated.Term, nil
	case i < g.Truncated.Index:
		return 0, ErrCompacted
	case i > g.Last:
		return 0, ErrUnavailable
	}
	return g.refs[i-g.first()].term, nil
}

// index is the state of all groups, with the live entries of each segment.
type index struct {
	groups map[GroupID]*group
	segs   map[uint32]*segment // segments by slot: active and closed, not spare
	cache  cache
	live   int64 // bytes of all live entries
	// onDead is called when a segment loses its last live entry.
	onDead func(*segment)
}

// lookup returns the group, creating it if there is none.
func (x *index) lookup(id GroupID) *group {
	g := x.groups[id]
	if g == nil {
		g = &group{id: id}
		g.resetQueued()
		x.groups[id] = g
	}
	return g
}

// retain and release count the live entries of segments.
func (x *index) retain(r entryRef) {
	s := x.segs[r.slot]
	s.liveEntries++
	s.liveBytes += r.bytes()
	x.live += r.bytes()
}

func (x *index) release(r entryRef) {
	if r.slot == 0 {
		return
	}
	s := x.segs[r.slot]
	if s == nil || s.liveEntries <= 0 { // tested first: the arguments allocate
		must.True(false, "raftlog 3: entry in slot %d, which is not live", r.slot)
	}
	s.liveEntries--
	s.liveBytes -= r.bytes()
	x.live -= r.bytes()
	if s.liveEntries == 0 && x.onDead != nil {
		x.onDead(s)
	}
}

// cutSuffix drops the entries from index i on.
func (x *index) cutSuffix(g *group, i uint64) {
	if i > g.Last {
		return
	}
	keep := int(i - g.first())
	for _, r := range g.refs[keep:] {
		x.release(r)
	}
	g.refs = g.refs[:keep]
	if drop := g.Last + 1 - i; drop < uint64(len(g.data)) {
		x.dropCached(g, len(g.data)-int(drop), len(g.data))
	} else {
		x.dropCached(g, 0, len(g.data))
	}
	g.Last = i - 1
}

// append adds one entry at index i ≤ Last+1, dropping its old successors.
// A nil data is not cached.
func (x *index) append(g *group, i uint64, r entryRef) {
	if i < g.first() || i > g.Last+1 {
		must.True(false, "raftlog 2: group %d: append of %d to (%d, %d]", g.id, i, g.Truncated.Index, g.Last)
	}
	x.cutSuffix(g, i)
	x.retain(r)
	g.refs = append(g.refs, r)
	g.Last = i
}

// truncate drops the entries up to m.
func (x *index) truncate(g *group, m Mark) {
	if m.Index <= g.Truncated.Index {
		return
	}
	must.True(m.Index <= g.Last, "raftlog 2: group %d: truncation at %d beyond %d", g.id, m.Index, g.Last)
	n := int(m.Index - g.Truncated.Index)
	for _, r := range g.refs[:n] {
		x.release(r)
	}
	// A copy, so that the dropped part can be collected.
	g.refs = append(make([]entryRef, 0, len(g.refs)-n+16), g.refs[n:]...)
	if keep := int(g.Last - m.Index); keep < len(g.data) {
		x.dropCached(g, 0, len(g.data)-keep)
	}
	g.Truncated = m
}

// reset empties the log at m.
func (x *index) reset(g *group, m Mark) {
	x.cutSuffix(g, g.first())
	g.refs, g.data = nil, nil
	g.Truncated, g.Last = m, m.Index
}

// destroy forgets the group, but for the writes still queued.
func (x *index) destroy(g *group) {
	x.reset(g, Mark{})
	g.exists, g.State = false, State{}
}

// forget removes the group's record if nothing needs it.
func (x *index) forget(g *group) {
	if !g.exists && g.queued.writes == 0 && x.groups[g.id] == g {
		delete(x.groups, g.id)
	}
}
