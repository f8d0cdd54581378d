package concurrency

import (
	"sync"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
)

// WriteMarks are the WriteMarks of a range: one for the writes of each few areas of it, and one for those in several areas,
// or in unknown ones. So a long statement does not hear of what is written elsewhere meanwhile. The zero value is ready for use.
type WriteMarks struct {
	several WriteMark
	areas   [areaMarks]WriteMark
}

// areaMarks is the number of marks that areas share.
const areaMarks = 32

// Note records a write in one area, as WriteMark.Note does.
func (m *WriteMarks) Note(id TxnID, ts hlc.Timestamp, area keys.Area) {
	m.areas[area.Number()%areaMarks].Note(id, ts)
}

// NoteSeveral records a write anywhere.
func (m *WriteMarks) NoteSeveral(id TxnID, ts hlc.Timestamp) { m.several.Note(id, ts) }

// AllBelow reports whether all writes of other transactions than own in an area lie below ts, as WriteMark.AllBelow does.
func (m *WriteMarks) AllBelow(ts hlc.Timestamp, own TxnID, area keys.Area) bool {
	return m.several.AllBelow(ts, own) && m.areas[area.Number()%areaMarks].AllBelow(ts, own)
}

// WriteMark remembers the latest write with its transaction, and the latest write by any other
// transaction. A transaction that spills asks about the writes of others, since it has versions of its own.
// The zero value is ready for use.
type WriteMark struct {
	mu            sync.Mutex
	latest, other hlc.Timestamp
	writer        TxnID // of latest
}

// Note records a write of a transaction at ts, before any reader can see it. The zero id is that of an
// unknown transaction.
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

// AllBelow reports whether all writes of other transactions than own lie below ts. It may report false
// although they do, if others wrote after own or at the same time.
func (m *WriteMark) AllBelow(ts hlc.Timestamp, own TxnID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.writer == own && !own.IsZero() {
		return m.other.Less(ts)
	}
	return m.latest.Less(ts)
}
