package replica

import (
	"context"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/txnintent"
)

// A command that writes versions or intents announces its keys before it looks at them, and until its
// outcome is known. Of two transactions whose commands write the same key, the later one withdraws, waits
// until the earlier command is applied and its intents are resolved, and begins again:
//
//	        announce ──► checkConflicts ──► propose ──► applied ──► Finish
//	           ▲           │ busyKeys             └ timeout: the keys stay announced until the outcome is known
//	           └─awaitFree─┘
//
// Row locks do not replace this. A transaction loses its locks when its record is aborted, even if a command
// of another range, with the index entries of the row, is still in that range's log.

// busyKeys is the error of a command that has withdrawn: another transaction's command that writes one of its
// keys is in flight, or has left an intent there.
type busyKeys struct {
	earlier *concurrency.Commit // in flight, or
	holder  *txnintent.Txn      // the owner of an intent on the first of keys, among others
	self    kvpb.TxnID
	keys    [][]byte
}

func (*busyKeys) Error() string { return "replica: another transaction is writing one of the keys" }

// checkConflicts returns busyKeys if a command that is announced must wait for another transaction.
func (r *Replica) checkConflicts(announced *concurrency.Commit, written [][]byte) error {
	if c := r.commits.Earlier(announced); c != nil && !plant.On(plant.InFlightUnseen) {
		return &busyKeys{earlier: c}
	}
	if r.intents.Empty() {
		return nil
	}
	// A version written under a foreign intent would count as the intent's.
	self := kvpb.TxnID(announced.Txn())
	x, i, err := r.firstForeign(self, written)
	if x != nil && err == nil {
		err = &busyKeys{holder: x, self: self, keys: written[i:]}
	}
	return err
}

// awaitFree waits after a command has failed with busyKeys, and reports whether to begin again. Any other
// outcome of the command it returns as it is. The locks may be transferred to another leader during the wait:
// then it returns NotLeaderError.
func (r *Replica) awaitFree(ctx context.Context, outcome error) (again bool, err error) {
	busy, ok := outcome.(*busyKeys)
	if !ok {
		return false, outcome
	}
	r.transfers.Leave()
	if busy.earlier != nil {
		err = r.awaitLeading(ctx, busy.earlier.Done(), nil)
	} else {
		err = r.awaitIntents(ctx, busy)
	}
	if !r.transfers.Reenter() && err == nil {
		err = r.notLeader()
	}
	return err == nil, err
}

// awaitIntents waits until the holder has no intent on the keys. Intents on many keys are resolved some at a time: to begin
// again after each time, and to look at the keys before, would take a time that grows with the square of their number.
func (r *Replica) awaitIntents(ctx context.Context, busy *busyKeys) error {
	for keys := busy.keys; ; {
		if err := r.awaitIntentsOn(ctx, busy.holder, keys); err != nil {
			return err
		}
		x, i, err := r.firstForeign(busy.self, keys)
		if err != nil || x != busy.holder {
			return err
		}
		keys = keys[i:]
	}
}

// awaitIntentsOn waits until the intents of a transaction on the keys may have been resolved.
func (r *Replica) awaitIntentsOn(ctx context.Context, x *txnintent.Txn, keys [][]byte) error {
	r.beginWait(x)
	defer r.endWait(x)
	w := r.intents.Wait(x, txnintent.Event{Type: txnintent.Contend, Keys: keys})
	r.perform(x, w.Effects)
	return r.awaitLeading(ctx, w.Changed, x.Done())
}

// keepAnnounced returns the OnAbandon of a proposal: when the proposer stops waiting, the keys stay announced,
// and those of locks locked, until the outcome is known.
func (r *Replica) keepAnnounced(id concurrency.TxnID, written [][]byte, ts hlc.Timestamp, locks [][]byte) func() (known func()) {
	if r.onlyVoter() {
		return nil // a proposal of the only voter does not time out
	}
	return func() func() {
		locks := cloneKeys(locks)
		announced := r.commits.Begin(id, cloneKeys(written))
		announced.SetTimestamp(ts)
		return func() {
			announced.Finish()
			r.releaseAll(id, locks)
		}
	}
}

// enterLongWrites acquires room for the writes of a command, which LongWrites.Leave releases.
func (r *Replica) enterLongWrites(ctx context.Context, writes []kvpb.Write) (room int64, err error) {
	n := 0
	for i := range writes {
		n += len(writes[i].Key) + len(writes[i].Value)
	}
	return r.deps.LongWrites.Enter(ctx, int64(n))
}
