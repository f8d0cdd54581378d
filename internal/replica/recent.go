package replica

import (
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
)

// Limits of what a replica remembers of transactions that have ended.
const (
	maxRecent = 1 << 15
	recentFor = 60 * time.Second
)

// recent remembers the transactions whose end this replica has applied, so that
// an answer that got lost can be given again and a message that comes late does
// no harm. Every replica of a range has it, since each may lead next.
type recent struct {
	mu    sync.Mutex
	ring  []endedTxn // grows up to maxRecent
	head  int        // of the oldest
	n     int
	index map[kvpb.TxnID]int32 // into ring
	// newest is the latest end noted. floor is not below the end of any
	// transaction that is not, or no longer, remembered.
	newest, floor hlc.Timestamp
}

type endedTxn struct {
	id      kvpb.TxnID
	ts      hlc.Timestamp
	by      hlc.Timestamp // newest when it was noted
	aborted bool
}

// forget says that what was applied before ts may be unknown: at the start, and
// when a snapshot replaced the state.
func (m *recent) forget(ts hlc.Timestamp) {
	m.mu.Lock()
	m.floor = m.floor.Max(ts)
	m.mu.Unlock()
}

// become makes m, which is new, remember what o does.
func (m *recent) become(o *recent) {
	m.mu.Lock()
	m.floor = hlc.Timestamp{}
	m.mu.Unlock()
	m.absorb(o)
}

// absorb adds what o remembers of ended transactions.
func (m *recent) absorb(o *recent) {
	o.mu.Lock()
	floor := o.floor
	ended := make([]endedTxn, o.n)
	for i := range ended {
		ended[i] = o.ring[(o.head+i)%len(o.ring)]
	}
	o.mu.Unlock()
	m.forget(floor)
	for _, e := range ended {
		m.note(e.id, endedAt(e.ts, e.aborted))
	}
}

// note hears of an applied command that ended a transaction, at ts; a negative time
// stands for an abort. A command of no transaction is passed over.
func (m *recent) note(id kvpb.TxnID, ts hlc.Timestamp) {
	if id.IsZero() {
		return
	}
	e := endedTxn{id: id, ts: ts}
	if ts.WallTime < 0 {
		e.ts.WallTime, e.aborted = -ts.WallTime, true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.index[id]; ok {
		return // the end of a large transaction takes several commands
	}
	m.newest = m.newest.Max(e.ts)
	e.by = m.newest
	old := m.newest.WallTime - int64(recentFor)
	for m.n > 0 && (m.n == maxRecent || m.ring[m.head].by.WallTime < old) {
		m.drop()
	}
	if m.n == len(m.ring) {
		m.grow()
	}
	at := (m.head + m.n) % len(m.ring)
	m.ring[at] = e
	m.index[id] = int32(at)
	m.n++
}

func (m *recent) drop() {
	e := &m.ring[m.head]
	m.floor = m.floor.Max(e.by)
	delete(m.index, e.id)
	m.head = (m.head + 1) % len(m.ring)
	m.n--
}

// trim forgets what is old by the clock, which note does only by what it notes, and
// gives back the memory when nothing is left.
func (m *recent) trim(now int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ring == nil {
		return
	}
	for m.n > 0 && m.ring[m.head].by.WallTime < now-int64(recentFor) {
		m.drop()
	}
	if m.n == 0 {
		m.ring, m.index, m.head = nil, nil, 0
	}
}

func (m *recent) grow() {
	ring := make([]endedTxn, min(max(2*len(m.ring), 8), maxRecent))
	index := make(map[kvpb.TxnID]int32, len(ring))
	for i := range m.n {
		ring[i] = m.ring[(m.head+i)%len(m.ring)]
		index[ring[i].id] = int32(i)
	}
	m.ring, m.index, m.head = ring, index, 0
}

// find returns how a transaction ended.
func (m *recent) find(id kvpb.TxnID) (ts hlc.Timestamp, aborted, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.index[id]
	if !ok {
		return ts, false, false
	}
	return m.ring[at].ts, m.ring[at].aborted, true
}

// mayHaveForgotten reports whether the end of a transaction at ts or later may be
// forgotten.
func (m *recent) mayHaveForgotten(ts hlc.Timestamp) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return ts.LessEq(m.floor)
}

// lowest returns the least timestamp whose end can't be forgotten.
func (m *recent) lowest() hlc.Timestamp {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.floor.Next()
}

// endedAt returns the timestamp of a command that ends a transaction.
func endedAt(ts hlc.Timestamp, aborted bool) hlc.Timestamp {
	must.True(ts.WallTime > 0, "R32: a transaction ended at no time")
	if aborted {
		ts.WallTime = -ts.WallTime
	}
	return ts
}
