package txnintent

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Record is a transaction record. Its latch guards its state.
type Record struct {
	latch chan struct{}
	RecordState
	contended bool // somebody waits for its outcome; guarded by Records.mu
}

// NewRecord returns a record in a state.
func NewRecord(s RecordState) *Record {
	return &Record{latch: make(chan struct{}, 1), RecordState: s}
}

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
		current, err := t.latch(ctx, rec)
		if err != nil {
			select {
			case rec.latch <- struct{}{}:
				t.Leave(rec) // removes the record if nobody has written it
			default:
			}
			return nil, err
		}
		if current {
			return rec, nil
		}
	}
}

// Find is Enter if there is a record. Otherwise it returns nil.
func (t *Records) Find(ctx context.Context, id kvpb.TxnID) (*Record, error) {
	for {
		t.mu.Lock()
		rec := t.all[id]
		t.mu.Unlock()
		if rec == nil {
			return nil, nil
		}
		current, err := t.latch(ctx, rec)
		if err != nil {
			return nil, err
		}
		if current {
			return rec, nil
		}
	}
}

func (t *Records) latch(ctx context.Context, rec *Record) (current bool, err error) {
	select {
	case rec.latch <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	t.mu.Lock()
	current = t.all[rec.ID] == rec
	t.mu.Unlock()
	if !current {
		<-rec.latch
	}
	return current, nil
}

// Leave gives up the latch. It drops a record that the range does not have.
func (t *Records) Leave(rec *Record) {
	if rec.Presence == Absent {
		t.Drop(rec)
	}
	<-rec.latch
}

// Drop forgets a record, which the caller has latched.
func (t *Records) Drop(rec *Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
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
