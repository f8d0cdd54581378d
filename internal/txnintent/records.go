package txnintent

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Record is a transaction record. Who has its latch alone may change its state, and those who share it may read it.
type Record struct {
	RecordState
	// Guarded by Records.mu.
	latch     latch
	contended bool // somebody waits for its outcome
}

// NewRecord returns a record in a state.
func NewRecord(s RecordState) *Record { return &Record{RecordState: s} }

// Records are the records of the transactions whose anchors are in a range, as its leader
// knows them. The zero value is ready for use.
type Records struct {
	mu  sync.Mutex
	all map[kvpb.TxnID]*Record
}

// Len returns the number of records.
func (t *Records) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.all)
}

// IDs returns the transactions that have records.
func (t *Records) IDs() (ids []kvpb.TxnID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range t.all {
		ids = append(ids, id)
	}
	return ids
}

// Enter returns the record of a transaction, a new one if there is none, latched.
func (t *Records) Enter(ctx context.Context, id kvpb.TxnID, anchor []byte, now time.Time) (*Record, error) {
	for {
		t.mu.Lock()
		rec := t.all[id]
		if rec == nil {
			rec = NewRecord(RecordState{TxnRecord: TxnRecord{ID: id, Anchor: bytes.Clone(anchor)}, Since: now})
			t.addLocked(rec)
		}
		t.mu.Unlock()
		current, err := t.acquire(ctx, rec, nil)
		if err != nil {
			return nil, err
		}
		if current {
			return rec, nil
		}
	}
}

// Find is Enter if there is a record. Otherwise it returns nil.
func (t *Records) Find(ctx context.Context, id kvpb.TxnID) (*Record, error) {
	return t.find(ctx, id, nil)
}

// FindStored is Find for a spill of a span. It returns the record, whose latch it shares with spills of other keys, if
// the range has stored it: a spill does not change it then. Otherwise it returns nil. LeaveSpill gives up the latch.
func (t *Records) FindStored(ctx context.Context, id kvpb.TxnID, span kvpb.Span) (*Record, error) {
	rec, err := t.find(ctx, id, &span)
	if rec == nil || err != nil || rec.Presence == Stored {
		return rec, err
	}
	t.LeaveSpill(rec, span)
	return nil, nil
}

func (t *Records) find(ctx context.Context, id kvpb.TxnID, span *kvpb.Span) (*Record, error) {
	for {
		t.mu.Lock()
		rec := t.all[id]
		t.mu.Unlock()
		if rec == nil {
			return nil, nil
		}
		current, err := t.acquire(ctx, rec, span)
		if err != nil {
			return nil, err
		}
		if current {
			return rec, nil
		}
	}
}

// acquire waits for a latch, and reports whether the record is still the transaction's. If not, it gives it up.
func (t *Records) acquire(ctx context.Context, rec *Record, span *kvpb.Span) (current bool, err error) {
	err = acquireLatch(ctx, &t.mu, &rec.latch, span)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.unlatchedLocked(rec) // a request that left while the caller had been granted the latch could not
		return false, err
	}
	if current = t.all[rec.ID] == rec; !current {
		rec.latch.release(span)
		rec.latch.next()
	}
	return current, nil
}

// Leave gives up the latch. It drops a record that the range does not have.
func (t *Records) Leave(rec *Record) { t.leave(rec, nil) }

// LeaveSpill is Leave for a spill of a span.
func (t *Records) LeaveSpill(rec *Record, span kvpb.Span) { t.leave(rec, &span) }

func (t *Records) leave(rec *Record, span *kvpb.Span) {
	t.mu.Lock()
	defer t.mu.Unlock()
	rec.latch.release(span)
	t.unlatchedLocked(rec)
	rec.latch.next()
}

// unlatchedLocked drops a record that the range does not have, unless a request has its latch. Those that wait for
// the latch begin again.
func (t *Records) unlatchedLocked(rec *Record) {
	if !rec.latch.held() && rec.Presence == Absent {
		t.dropLocked(rec)
	}
}

// Drop forgets a record, which the caller has latched.
func (t *Records) Drop(rec *Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dropLocked(rec)
}

func (t *Records) dropLocked(rec *Record) {
	if t.all[rec.ID] == rec {
		delete(t.all, rec.ID)
	}
}

// Split drops the records whose anchors a split has moved to the new range, whose leader loads them. A
// change of one that is in flight will have no effect.
func (t *Records) Split(boundary []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, rec := range t.all {
		if bytes.Compare(rec.Anchor, boundary) >= 0 {
			delete(t.all, id)
		}
	}
}

// Replace replaces all records by those that a new leadership has loaded.
func (t *Records) Replace(found map[kvpb.TxnID]*Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = found
}

// Add adds the records of a range that this one has subsumed. They replace older ones of the same
// transactions, which are from before a split.
func (t *Records) Add(found map[kvpb.TxnID]*Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, rec := range found {
		t.addLocked(rec)
	}
}

func (t *Records) addLocked(rec *Record) {
	if t.all == nil {
		t.all = map[kvpb.TxnID]*Record{}
	}
	t.all[rec.ID] = rec
}

// Contend notes that somebody waits for the outcome of a transaction. It returns false if there is no
// record.
func (t *Records) Contend(id kvpb.TxnID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	rec := t.all[id]
	if rec == nil {
		return false
	}
	rec.contended = true
	return true
}

// Contended reports whether somebody waits for the outcome of a record's transaction.
func (t *Records) Contended(rec *Record) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return rec.contended
}
