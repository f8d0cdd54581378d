package concurrency

import (
	"sync"

	"github.com/lichendb/lichen/internal/hlc"
)

// WriteMark remembers up to which timestamp a range was written, and up to which by others than the transaction
// that wrote last: one that spills has versions of its own. The zero value is ready for use.
type WriteMark struct {
	mu            sync.Mutex
	latest, other hlc.Timestamp
	writer        TxnID // of latest
}

// Note records a write of a transaction at ts, before anybody can read it. The zero id stands for others.
func (m *WriteMark) Note(id TxnID, ts hlc.Timestamp) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case id == m.writer:
		m.latest = m.latest.Max(ts)
	case m.latest.Less(ts):
		m.latest, m.other, m.writer = ts, m.latest, id
	default:
		m.other = m.other.Max(ts)
	}
}

// AllBelow reports whether all writes but those of a transaction lie below ts. It may say no without need if
// others wrote after the transaction, or at the same time.
func (m *WriteMark) AllBelow(ts hlc.Timestamp, own TxnID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.writer == own && !own.IsZero() {
		return m.other.Less(ts)
	}
	return m.latest.Less(ts)
}
