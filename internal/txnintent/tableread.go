package txnintent

import (
	"bytes"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
)

// View are the timestamps of the versions that a read passes over.
type View []hlc.Timestamp

// Hidden reports whether the read passes over versions at ts.
func (v View) Hidden(ts hlc.Timestamp) bool {
	for _, h := range v {
		if h == ts {
			return true
		}
	}
	return false
}

// Waiting is the wait of a request for a transaction.
type Waiting struct {
	Txn     *Txn
	Effects Effects         // of the beginning of the wait, for the replica to perform
	Changed <-chan struct{} // closed when the request should look again
}

// Read returns the versions that a read of [start, end) at ts, or of the key start, passes over. If the read
// must wait for the outcome of a transaction first, Read counts it as a waiter and returns the wait.
func (t *Table) Read(self kvpb.TxnID, start, end []byte, ts hlc.Timestamp) (v View, w *Waiting) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.txns {
		if !x.state.Overlaps(start, end) {
			continue
		}
		switch x.state.read(ts, x.id == self) {
		case Undecided:
			return nil, t.waitLocked(x, Event{Type: Wait, TS: ts})
		case Hidden:
			v = append(v, x.state.TS)
		}
	}
	return v, nil
}

// Spills returns how many spills were registered. A read asks before it asks what to pass over (Read), and
// calls SpilledSince when it has read.
func (t *Table) Spills() uint64 { return t.spills.Load() }

// SpilledSince reports whether a spill was registered since Spills returned n whose versions a read of
// [start, end) at ts, or of the key start, may have met without passing over them: it has to be repeated.
// A transaction may spill at its snapshot, below reads that have begun.
func (t *Table) SpilledSince(n uint64, start, end []byte, ts hlc.Timestamp) bool {
	if t.spills.Load() == n {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.spills.Load()
	if now-n > recentSpills {
		return true
	}
	for ; n < now; n++ {
		s := &t.recent[n%recentSpills]
		if s.ts.LessEq(ts) && (&State{Span: s.span}).Overlaps(start, end) {
			return true
		}
	}
	return false
}

// Wait counts a request as a waiter for a transaction (e is a Wait), or notes that it contends for keys of
// its intents (Contend). The request looks again when anything changes.
func (t *Table) Wait(x *Txn, e Event) *Waiting {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waitLocked(x, e)
}

func (t *Table) waitLocked(x *Txn, e Event) *Waiting {
	w := &Waiting{Txn: x, Changed: x.changed}
	if x.state.Status == Aborted && !e.TS.IsEmpty() {
		w.Changed = x.done // until the versions that it is about to read are dropped
	}
	w.Effects = t.stepLocked(x, e).Effects
	return w
}

// Changed reports whether intents of others change, or may change, a transaction's reads in a span if it
// moves from a timestamp to a later one. The transactions that are not committing will no longer
// commit at or below the later one.
func (t *Table) Changed(self kvpb.TxnID, s kvpb.Span, from, to hlc.Timestamp) bool {
	if t.Empty() {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.txns {
		if x.id != self && x.state.Overlaps(s.Key, s.EndKey) && x.state.refresh(from, to) {
			return true
		}
	}
	return false
}

// ChangesFrom returns from when on versions in a span must be looked at to find all keys whose value changes, or may change, for
// others between a timestamp and a later one: the first timestamp itself or, where transactions have committed after it
// whose versions are not moved to that time yet, one before all of these. Like Changed it keeps those that are not committing from committing at or below the later one.
func (t *Table) ChangesFrom(self kvpb.TxnID, s kvpb.Span, from, to hlc.Timestamp) hlc.Timestamp {
	if t.Empty() {
		return from
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	low := from
	for _, x := range t.txns {
		switch {
		case x.id == self || !x.state.Overlaps(s.Key, s.EndKey) || !x.state.refresh(from, to):
		case x.state.Lowest.IsEmpty():
			low = hlc.Timestamp{Logical: 1}
		default:
			low = low.Min(x.state.Lowest.Prev())
		}
	}
	return low
}

// NoteRead notes that a span was read at ts: the transactions with intents there that are not committing
// will commit above ts.
func (t *Table) NoteRead(s kvpb.Span, ts hlc.Timestamp) {
	if t.Empty() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.txns {
		if x.state.Overlaps(s.Key, s.EndKey) {
			x.state.refresh(ts, ts)
		}
	}
}

// Apart returns the timestamps of spilled versions that are not committed at these timestamps: their
// transactions are undecided, aborted, or have committed at other ones.
func (t *Table) Apart() (v View) {
	if t.Empty() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.txns {
		if x.state.apart() {
			v = append(v, x.state.TS)
		}
	}
	return v
}

// Latest returns how to find the newest committed version of a key that has no undecided intents but
// the reader's own: the versions to pass over, and the commit timestamps of versions of committed
// transactions that are not moved yet, by their present timestamps.
func (t *Table) Latest(key []byte) (v View, moved map[hlc.Timestamp]hlc.Timestamp) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.txns {
		if x.state.Overlaps(key, nil) {
			v, moved = x.state.latest(v, moved)
		}
	}
	return v, moved
}

// Holders returns the transactions other than self that may have an intent on a key: all, or the
// undecided ones. It contends for the key with those whose outcome is known, so that their intent there
// is resolved soon.
func (t *Table) Holders(self kvpb.TxnID, key []byte, undecided bool) (over []*Txn, e Effects) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.txns {
		if x.id == self || !x.state.Overlaps(key, nil) {
			continue
		}
		if x.state.Status.Known() { // the new holder of the lock is likely to write soon
			e |= t.stepLocked(x, Event{Type: Contend, Keys: [][]byte{key}}).Effects
		}
		if !undecided || !x.state.Status.Known() {
			over = append(over, x)
		}
	}
	return over, e
}

// Others returns the transactions other than self that may have intents in [start, end).
func (t *Table) Others(self kvpb.TxnID, start, end []byte) map[kvpb.TxnID]*Txn {
	t.mu.Lock()
	defer t.mu.Unlock()
	var over map[kvpb.TxnID]*Txn
	for _, x := range t.txns {
		if x.id == self || !x.state.Overlaps(start, end) {
			continue
		}
		if over == nil {
			over = map[kvpb.TxnID]*Txn{}
		}
		over[x.id] = x
	}
	return over
}

// LatestOf is Latest for the sorted keys that a transaction has locked. It returns false if others have
// undecided intents among them. It contends for the keys with transactions whose outcome is known.
func (t *Table) LatestOf(self kvpb.TxnID, sorted [][]byte) (v View, moved map[hlc.Timestamp]hlc.Timestamp, e Effects, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	first, end := sorted[0], keys.Next(sorted[len(sorted)-1])
	for _, x := range t.txns {
		s := &x.state
		switch {
		case !s.Overlaps(first, end):
			continue
		case x.id != self && !s.Status.Known():
			return nil, nil, e, false
		case x.id != self:
			e |= t.stepLocked(x, Event{Type: Contend, Keys: sorted}).Effects
		}
		v, moved = s.latest(v, moved)
	}
	return v, moved, e, true
}

// latest adds the part of these intents to the results of Latest.
func (s *State) latest(v View, moved map[hlc.Timestamp]hlc.Timestamp) (View, map[hlc.Timestamp]hlc.Timestamp) {
	switch s.Status {
	case ImplicitlyCommitted:
	case Committed:
		if moved == nil {
			moved = map[hlc.Timestamp]hlc.Timestamp{}
		}
		moved[s.TS] = s.CommitTS
	default:
		v = append(v, s.TS)
	}
	return v, moved
}

// Staged reports whether a transaction has staged a key.
func (t *Table) Staged(id kvpb.TxnID, key []byte) bool {
	if t.Empty() {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.txns[id]
	return x != nil && x.state.Has(key)
}

// LeastStaging returns the lowest timestamp at which a transaction whose outcome is not
// known may have committed here.
func (t *Table) LeastStaging() hlc.Timestamp {
	ts := hlc.MaxTimestamp
	if t.Empty() {
		return ts
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.txns {
		if x.state.staging() {
			ts = ts.Min(x.state.StagedTS)
		}
	}
	return ts
}

// Split removes the keys from a boundary on from the table.
func (t *Table) Split(boundary []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.txns {
		t.stepLocked(x, Event{Type: Split, Key: boundary})
	}
}

// MustLieWithin asserts that all intents lie below end. It is called before the range from end on is
// subsumed.
func (t *Table) MustLieWithin(end []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.txns {
		s := x.state.Span
		must.True(s.Key == nil || bytes.Compare(s.EndKey, end) <= 0,
			"invariant 7: transaction %s has intents in [%q, %q), beyond the range's end %q", x.id, s.Key, s.EndKey, end)
	}
}

// Protect raises the threshold, below which nothing is read or written any more, and returns up to where
// versions may be dropped. That is below all intents: the version under a provisional one is the newest
// again if the transaction is aborted. Later intents find the new threshold (State.noteWrite).
func (t *Table) Protect(threshold hlc.Timestamp) hlc.Timestamp {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.txns {
		if !x.state.Lowest.IsEmpty() {
			threshold = threshold.Min(x.state.Lowest.Prev())
		}
	}
	t.RaiseThreshold(threshold)
	return threshold
}

// MustLieAbove asserts that all intents lie above a threshold. It is called before the versions up to the
// threshold are dropped.
func (t *Table) MustLieAbove(threshold hlc.Timestamp) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.txns {
		must.True(x.state.Lowest.IsEmpty() || threshold.Less(x.state.Lowest),
			"invariant 8: versions up to %v are to be dropped, transaction %s may have a provisional one at %v", threshold, x.id, x.state.Lowest)
	}
}

// Pausing returns a channel for the resolver's pause. It is closed when somebody contends for the
// transaction's intents, and at once if somebody does already.
func (t *Table) Pausing(x *Txn) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := make(chan struct{})
	if x.state.Waiters > 0 || len(x.state.ContendedKeys) > 0 {
		close(c)
		return c
	}
	x.expedite = c
	return c
}

// TakeContended returns the contended keys since the last call, sorted.
func (t *Table) TakeContended(x *Txn) [][]byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return x.state.takeContended()
}

// Released wakes the waiters for a transaction's keys.
func (t *Table) Released(x *Txn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !x.state.Removed {
		x.wake(PublishOutcome)
	}
}
