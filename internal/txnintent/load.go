package txnintent

import (
	"bytes"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// Loader builds the intent table of a new leadership from the intents and records in the engine.
type Loader struct {
	txns map[kvpb.TxnID]*Txn
	now  time.Time
}

// NewLoader returns an empty loader.
func NewLoader(now time.Time) *Loader { return &Loader{txns: map[kvpb.TxnID]*Txn{}, now: now} }

// Add adds the intent on a key. The caller adds the keys in ascending order.
func (l *Loader) Add(key []byte, in Intent) {
	x := l.txns[in.Txn]
	if x == nil {
		x = newTxn(in.Txn, in.Anchor, l.now)
		l.txns[in.Txn] = x
	}
	e := Event{Type: Load, Key: bytes.Clone(key), TS: in.TS, Attempt: in.Attempt, Kind: Spilled}
	if in.Staged {
		e.Kind = Staged
	}
	x.state.Step(e)
}

// Finish adds the outcomes in the records of this range, and returns all transactions. Without a record
// here a transaction stays undecided. All reads of earlier leaderships lie at or below maxRead.
func (l *Loader) Finish(records map[kvpb.TxnID]*Record, maxRead hlc.Timestamp) map[kvpb.TxnID]*Txn {
	for id, x := range l.txns {
		x.state.Step(Event{Type: NoteRead, TS: maxRead})
		if rec := records[id]; rec != nil {
			x.state.Step(Event{Type: LoadRecord, Outcome: outcomes[rec.Status], TS: rec.TS})
		}
		if x.state.Status.Known() {
			close(x.decided)
		}
	}
	return l.txns
}

// outcomes are the statuses of intents by those of their record.
var outcomes = [...]Status{
	kvpb.TxnPending: Pending, kvpb.TxnStaging: Staging, kvpb.TxnCommitted: Committed, kvpb.TxnAborted: Aborted,
}

// Outcome returns the status of intents whose record has a status.
func Outcome(s kvpb.TxnStatus) Status { return outcomes[s] }
