package replica

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/txnintent"
)

// A pusher pushes a transaction with waiters for the first time after pushFirst. The interval doubles up to
// pushMost.
const (
	pushFirst = 20 * time.Millisecond
	pushMost  = time.Second
	// pushTimeout bounds one push.
	pushTimeout = 5 * time.Second
)

// awaitReadable waits until a read should look at the intents again.
func (r *Replica) awaitReadable(ctx context.Context, w *txnintent.Waiting) error {
	r.perform(w.Txn, w.Effects)
	defer r.endWait(w.Txn)
	return r.awaitLeading(ctx, w.Changed, w.Txn.Done())
}

// beginWait registers a waiter for a transaction's outcome, which keeps its pusher running until endWait.
func (r *Replica) beginWait(x *txnintent.Txn) {
	r.perform(x, r.intents.Step(x, txnintent.Event{Type: txnintent.Wait}).Effects)
}

func (r *Replica) endWait(x *txnintent.Txn) {
	r.intents.Step(x, txnintent.Event{Type: txnintent.EndWait})
}

// awaitLeading waits for one of two events. It fails when the replica no longer leads.
func (r *Replica) awaitLeading(ctx context.Context, one, other <-chan struct{}) (err error) {
	end := waiting(ctx, "wait for a transaction", nil)
	defer func() { end(err) }()
	tick := time.NewTicker(pushMost)
	defer tick.Stop()
	for {
		select {
		case <-one:
			return nil
		case <-other:
			return nil
		case <-tick.C:
			if r.lease.Load() == nil {
				return r.notLeader()
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pushUntilDecided is a transaction's pusher: it pushes while there are waiters.
func (r *Replica) pushUntilDecided(x *txnintent.Txn) {
	if st := r.intents.State(x); st.Status == txnintent.Staging && st.Kind == txnintent.Staged {
		r.pushOnce(x, hlc.Timestamp{}) // it may have committed, with EndTxn deferred
	}
	delay := pushFirst
	timer := time.NewTimer(delay)
	defer timer.Stop()
	decided, stopping := x.Decided(), r.tasks.stopping()
	for {
		select {
		case <-decided:
			if r.intents.State(x).Status.Decided() {
				return
			}
			decided = nil // implicitly committed: the pusher waits until the record says so
			continue
		case <-x.Done():
			return
		case <-stopping:
			return
		case <-timer.C:
		}
		again := r.intents.Step(x, txnintent.Event{Type: txnintent.PushAgain})
		if !again.Has(txnintent.StartPusher) {
			return
		}
		r.pushOnce(x, again.TS)
		delay = min(2*delay, pushMost)
		timer.Reset(delay)
	}
}

// pushOnce pushes a transaction once: it asks the leader of the record for the outcome. If ts is set, the
// push also asks for a commit above ts.
func (r *Replica) pushOnce(x *txnintent.Txn, ts hlc.Timestamp) {
	ctx, cancel := r.tasks.context(pushTimeout)
	defer cancel()
	req := kvpb.PushRequest{Txn: x.ID(), Anchor: x.Anchor(), TS: ts, Waited: time.Since(x.Since())}
	var resp kvpb.PushResponse
	if err := r.peerPush(ctx, &req, &resp); err != nil {
		return // pushed again later
	}
	switch {
	case resp.Status >= kvpb.TxnCommitted:
		_ = r.decideAndResolve(ctx, x, resp.Status, resp.CommitTS)
	case resp.Above:
		r.intents.Step(x, txnintent.Event{Type: txnintent.Push, TS: ts})
	}
}

func (r *Replica) peerPush(ctx context.Context, req *kvpb.PushRequest, resp *kvpb.PushResponse) error {
	if r.Desc().ContainsKey(req.Anchor) {
		return r.Push(ctx, req, resp)
	}
	if r.txnDeps().Peers == nil {
		return &kvpb.UnavailableError{Reason: "the record of the transaction is in a range out of reach"}
	}
	return r.txnDeps().Peers.Push(ctx, req, resp)
}

// awaitUndecided waits until no other undecided transaction has an intent on the key of a lock request.
func (r *Replica) awaitUndecided(ctx context.Context, req *kvpb.LockRequest) error {
	for {
		x, err := r.intentHolder(req.Txn.ID, req.Key, true)
		if x == nil || err != nil {
			return err
		}
		switch req.Wait {
		case lock.WaitError:
			return &kvpb.LockNotAvailableError{}
		case lock.WaitSkip:
			return errSkipLocked
		}
		if err := r.awaitDecided(ctx, x, req); err != nil {
			return err
		}
	}
}

// awaitDecided waits for a transaction's outcome on behalf of a lock request. It fails when the replica no
// longer leads.
func (r *Replica) awaitDecided(ctx context.Context, x *txnintent.Txn, req *kvpb.LockRequest) error {
	r.beginWait(x)
	defer r.endWait(x)
	leading, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		tick := time.NewTicker(pushMost)
		defer tick.Stop()
		for r.lease.Load() != nil {
			select {
			case <-tick.C:
			case <-leading.Done():
				return
			}
		}
		cancel()
	}()
	h := concurrency.Holder{ID: txnID(req.Txn), Start: req.Txn.StartTS}
	err := r.waitUntil(leading, x.Decided(), req, h, x.Blockers())
	if err != nil && ctx.Err() == nil && leading.Err() != nil {
		return r.notLeader()
	}
	return err
}

// firstForeign returns the first of the sorted keys with an intent of another transaction, and that
// transaction, or nil if there is none.
func (r *Replica) firstForeign(self kvpb.TxnID, written [][]byte) (x *txnintent.Txn, i int, err error) {
	if len(written) > fewKeys {
		return r.firstForeignOfMany(self, written)
	}
	for i, key := range written {
		if x, err := r.intentHolder(self, key, false); x != nil || err != nil {
			return x, i, err
		}
	}
	return nil, 0, nil
}

func (r *Replica) firstForeignOfMany(self kvpb.TxnID, written [][]byte) (x *txnintent.Txn, i int, err error) {
	last := written[len(written)-1]
	candidates := r.intents.Others(self, written[0], keys.Next(last))
	if len(candidates) == 0 {
		return nil, 0, nil
	}
	c, err := r.intentsOn(written[0], last)
	if err != nil {
		return nil, 0, err
	}
	defer c.close()
	for i, key := range written {
		in, ok, err := c.on(key)
		if err != nil {
			return nil, 0, err
		}
		if x := candidates[in.Txn]; ok && x != nil {
			return x, i, nil
		}
	}
	return nil, 0, nil
}

// intentHolder returns the other transaction with an intent on a key, or nil. If undecided is set it ignores
// decided transactions.
func (r *Replica) intentHolder(self kvpb.TxnID, key []byte, undecided bool) (*txnintent.Txn, error) {
	candidates, e := r.intents.Holders(self, key, undecided)
	if e.Has(txnintent.Flush) {
		r.group.Flush()
	}
	if len(candidates) == 0 {
		return nil, nil
	}
	in, ok, err := r.intentOn(key)
	if err != nil || !ok {
		return nil, err
	}
	for _, x := range candidates {
		if x.ID() == in.Txn {
			return x, nil
		}
	}
	return nil, nil
}
