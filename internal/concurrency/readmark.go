package concurrency

import "github.com/lichendb/lichen/internal/hlc"

// readMark remembers the latest read of a key (or of all keys of a span or slot) with its
// transaction, and the latest read by any other transaction. That is enough to know for every
// transaction the latest read by others. It has no pointers, so that the garbage collector skips
// arrays of marks.
type readMark struct {
	wall1, wall2 int64 // of the latest read, and of the latest one by another transaction
	owner        TxnID // of the latest read; zero is unknown, and another one than every transaction
	log1, log2   uint32
}

func (m *readMark) latest() hlc.Timestamp { return hlc.Timestamp{WallTime: m.wall1, Logical: m.log1} }

func (m *readMark) second() hlc.Timestamp { return hlc.Timestamp{WallTime: m.wall2, Logical: m.log2} }

func (m *readMark) setLatest(ts hlc.Timestamp, txn TxnID) {
	m.wall1, m.log1, m.owner = ts.WallTime, ts.Logical, txn
}

func (m *readMark) setSecond(ts hlc.Timestamp) { m.wall2, m.log2 = ts.WallTime, ts.Logical }

// add records a read by txn at ts.
//
// The mark stays exact: a read that it forgets is neither the latest one nor the latest by another
// transaction than the owner. Invariant 6 (second ≤ latest) holds in every branch.
func (m *readMark) add(ts hlc.Timestamp, txn TxnID) {
	switch newer := m.latest().Less(ts); {
	case m.owner == txn:
		if newer {
			m.setLatest(ts, txn)
		}
	case newer:
		m.setSecond(m.latest())
		m.setLatest(ts, txn)
	case m.second().Less(ts):
		m.setSecond(ts)
	}
}

// merge adds the reads that o remembers.
func (m *readMark) merge(o readMark) {
	m.add(o.latest(), o.owner)
	m.add(o.second(), TxnID{})
}

// get returns the latest read by a transaction other than self.
func (m *readMark) get(self TxnID) hlc.Timestamp {
	if m.owner == self && !self.IsZero() {
		return m.second()
	}
	return m.latest()
}
