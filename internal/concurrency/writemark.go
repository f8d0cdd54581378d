package concurrency

import (
	"sync"

	"github.com/lichendb/lichen/internal/hlc"
)

// WriteMark remembers up to which timestamp a range was written, and up to which but for the writes at that very
// timestamp: a transaction that spills has one of its own. The zero value is ready for use.
type WriteMark struct {
	mu            sync.Mutex
	latest, other hlc.Timestamp
}

// Note records a write at ts, before anybody can read it.
func (m *WriteMark) Note(ts hlc.Timestamp) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.latest.Less(ts):
		m.latest, m.other = ts, m.latest
	case m.other.Less(ts) && ts.Less(m.latest):
		m.other = ts
	}
}

// AllBelow reports whether all writes but those at own lie below ts.
func (m *WriteMark) AllBelow(ts, own hlc.Timestamp) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.latest == own {
		return m.other.Less(ts)
	}
	return m.latest.Less(ts)
}
