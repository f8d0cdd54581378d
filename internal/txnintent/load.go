package txnintent

import (
	"bytes"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// Loader puts together what a new leadership finds in the engine.
type Loader struct {
	txns map[kvpb.TxnID]*Txn
	now  time.Time
}

// NewLoader returns a loader of nothing yet.
func NewLoader(now time.Time) *Loader { return &Loader{txns: map[kvpb.TxnID]*Txn{}, now: now} }

// Add adds the intent on a key. Keys come in their order.
func (l *Loader) Add(key []byte, in Intent) {
	x := l.txns[in.Txn]
	if x == nil {
		x = newTxn(in.Txn, in.Anchor, l.now)
		l.txns[in.Txn] = x
	}
	e := Event{Type: Load, Key: bytes.Clone(key), TS: in.TS, Epoch: in.Epoch, Kind: Spilled}
	if in.Staged {
		e.Kind = Staged
	}
	x.state.Step(e)
}

// Finish adds what the records say that are in the range too, and returns all transactions.
// A transaction whose gateway may be alive stays undecided: this leader knows no more than
// that. What others have read lies at or below maxRead.
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

// outcomes are what a record says, as a status of the intents.
var outcomes = [...]Status{
	kvpb.TxnPending: Pending, kvpb.TxnStaging: Staging, kvpb.TxnCommitted: Committed, kvpb.TxnAborted: Aborted,
}

// Outcome returns what a record with a status says of the intents.
func Outcome(s kvpb.TxnStatus) Status { return outcomes[s] }
