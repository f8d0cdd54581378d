package txnintent

import (
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
)

// Limits of the finished-transaction cache.
const (
	maxFinished = 1 << 15
	finishedFor = 60 * time.Second
)

// Finished is the finished-transaction cache: the transactions whose end a replica has applied.
// With it a leader can repeat a lost answer, and a late message does no harm. Every replica of a
// range has one, since each may lead next. The zero value is empty.
type Finished struct {
	mu    sync.Mutex
	ring  []finishedTxn // grows up to maxFinished
	head  int           // of the oldest
	n     int
	index map[kvpb.TxnID]int32 // into ring
	// newest is the latest end noted. floor is a timestamp up to which ends may be unknown or
	// forgotten; the cache has all later ones.
	newest, floor hlc.Timestamp
}

type finishedTxn struct {
	id      kvpb.TxnID
	ts      hlc.Timestamp
	by      hlc.Timestamp // Finished.newest when it was noted
	aborted bool
}

// Ended is how a transaction ended, as far as a range remembers.
type Ended struct {
	Known   bool // the range remembers it
	Aborted bool
	TS      hlc.Timestamp
}

// answer returns the answer to a request about the transaction.
func (e Ended) answer() RecordStep {
	step := RecordStep{Status: kvpb.TxnCommitted, TS: e.TS}
	if e.Aborted {
		step.Status = kvpb.TxnAborted
	}
	return step
}

// Forget notes that ends up to ts may be unknown: at the start, and after a snapshot has
// replaced the state.
func (m *Finished) Forget(ts hlc.Timestamp) {
	m.mu.Lock()
	m.floor = m.floor.Max(ts)
	m.mu.Unlock()
}

// CopyFrom makes m, which is new, a copy of o.
func (m *Finished) CopyFrom(o *Finished) {
	m.mu.Lock()
	m.floor = hlc.Timestamp{}
	m.mu.Unlock()
	m.Absorb(o)
}

// Absorb adds the ended transactions of o.
func (m *Finished) Absorb(o *Finished) {
	o.mu.Lock()
	floor := o.floor
	ended := make([]finishedTxn, o.n)
	for i := range ended {
		ended[i] = o.ring[(o.head+i)%len(o.ring)]
	}
	o.mu.Unlock()
	m.Forget(floor)
	for _, e := range ended {
		m.Note(e.id, EndTimestamp(e.ts, e.aborted))
	}
}

// Note notes an applied command that ended a transaction at ts, which is negative for an
// abort. It ignores a command without a transaction.
func (m *Finished) Note(id kvpb.TxnID, ts hlc.Timestamp) {
	if id.IsZero() {
		return
	}
	e := finishedTxn{id: id, ts: ts}
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
	old := m.newest.WallTime - int64(finishedFor)
	for m.n > 0 && (m.n == maxFinished || m.ring[m.head].by.WallTime < old) {
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

func (m *Finished) drop() {
	e := &m.ring[m.head]
	m.floor = m.floor.Max(e.by)
	delete(m.index, e.id)
	m.head = (m.head + 1) % len(m.ring)
	m.n--
}

// Trim forgets the transactions that ended finishedFor before now, and frees the memory when
// none is left. Note forgets old ones too, but only when another transaction ends.
func (m *Finished) Trim(now int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ring == nil {
		return
	}
	for m.n > 0 && m.ring[m.head].by.WallTime < now-int64(finishedFor) {
		m.drop()
	}
	if m.n == 0 {
		m.ring, m.index, m.head = nil, nil, 0
	}
}

func (m *Finished) grow() {
	ring := make([]finishedTxn, min(max(2*len(m.ring), 8), maxFinished))
	index := make(map[kvpb.TxnID]int32, len(ring))
	for i := range m.n {
		ring[i] = m.ring[(m.head+i)%len(m.ring)]
		index[ring[i].id] = int32(i)
	}
	m.ring, m.index, m.head = ring, index, 0
}

// Find returns how a transaction ended.
func (m *Finished) Find(id kvpb.TxnID) Ended {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.index[id]
	if !ok {
		return Ended{}
	}
	return Ended{Known: true, Aborted: m.ring[at].aborted, TS: m.ring[at].ts}
}

// MayHaveForgotten reports whether the cache may have forgotten the end of a transaction
// that ended at ts or later.
func (m *Finished) MayHaveForgotten(ts hlc.Timestamp) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return ts.LessEq(m.floor)
}

// Least returns the lowest timestamp from which on the cache has forgotten no ends.
func (m *Finished) Least() hlc.Timestamp {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.floor.Next()
}

// EndTimestamp returns the timestamp of a command that ends a transaction.
func EndTimestamp(ts hlc.Timestamp, aborted bool) hlc.Timestamp {
	must.True(ts.WallTime > 0, "invariant 9: a transaction ended at no time")
	if aborted {
		ts.WallTime = -ts.WallTime
	}
	return ts
}
