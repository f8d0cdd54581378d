package txnintent

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
)

// maxTxns bounds the transactions with intents in one range.
const maxTxns = 8192

// Txn is a transaction with intents in the range. Its state belongs to the table.
type Txn struct {
	id     kvpb.TxnID
	anchor []byte
	since  time.Time

	// resolver is held by the goroutine that resolves the intents. It is a channel of one slot.
	resolver chan struct{}
	blockers *concurrency.Blockers

	// Guarded by Table.mu.
	latch    latch // held by the request that changes the intents, shared by spills
	state    State
	changed  chan struct{} // closed, and replaced, by Notify
	decided  chan struct{} // closed by PublishOutcome
	done     chan struct{} // closed by Remove
	expedite chan struct{} // closed by Expedite; nil if the resolver does not pause
}

// ID returns the transaction's ID.
func (x *Txn) ID() kvpb.TxnID { return x.id }

// Anchor returns the key of the transaction's anchor: its record lies beside it.
func (x *Txn) Anchor() []byte { return x.anchor }

// Since returns when the transaction came into the table.
func (x *Txn) Since() time.Time { return x.since }

// Blockers returns the transaction as a BlockerSource, for the waits of others.
func (x *Txn) Blockers() *concurrency.Blockers { return x.blockers }

// Done is closed when the intents are resolved, or belong to another leader or range.
func (x *Txn) Done() <-chan struct{} { return x.done }

// Decided is closed when the outcome is known.
func (x *Txn) Decided() <-chan struct{} { return x.decided }

// TryResolver makes the caller the resolver of the intents. It returns false if there is one.
func (x *Txn) TryResolver() bool {
	select {
	case x.resolver <- struct{}{}:
		return true
	default:
		return false
	}
}

// EndResolver ends the caller's role as the resolver.
func (x *Txn) EndResolver() { <-x.resolver }

func newTxn(id kvpb.TxnID, anchor []byte, now time.Time) *Txn {
	return &Txn{
		id: id, anchor: bytes.Clone(anchor), since: now,
		resolver: make(chan struct{}, 1), blockers: concurrency.NewBlockers(concurrency.TxnID(id)),
		changed: make(chan struct{}), decided: make(chan struct{}), done: make(chan struct{}),
	}
}

// Table is the intent table: the transactions with intents in one range, as its leader
// knows them. The zero value is ready for use.
type Table struct {
	n         atomic.Int32 // of txns; while it is 0, hot paths need no mutex
	threshold atomic.Pointer[hlc.Timestamp]

	mu   sync.Mutex
	txns map[kvpb.TxnID]*Txn
	// clearing is the transaction whose locks are removed by one range deletion, nil if there is none.
	// cleared is closed when the removal ends.
	clearing *Txn
	cleared  chan struct{}

	// spills counts the registered spills. recent has the last recentSpills of them.
	spills atomic.Uint64
	recent [recentSpills]registeredSpill
}

// recentSpills is the number of spills that SpilledSince can tell apart.
const recentSpills = 64

// registeredSpill is the span and the timestamp of provisional versions that were about to be written.
type registeredSpill struct {
	span kvpb.Span
	ts   hlc.Timestamp
}

// Empty reports whether no transaction has intents here.
func (t *Table) Empty() bool { return t.n.Load() == 0 }

// Len returns the number of transactions with intents here.
func (t *Table) Len() int { return int(t.n.Load()) }

// Get returns a transaction, nil if it has no intents here.
func (t *Table) Get(id kvpb.TxnID) *Txn {
	if t.Empty() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.txns[id]
}

// All returns all transactions.
func (t *Table) All() (all []*Txn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.txns {
		all = append(all, x)
	}
	return all
}

// State returns a copy of a transaction's state.
func (t *Table) State(x *Txn) State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return x.state
}

// Step applies an event to a transaction's state.
func (t *Table) Step(x *Txn, e Event) Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stepLocked(x, e)
}

// StepIf is Step if cond holds. Nothing else changes the table between the two.
func (t *Table) StepIf(x *Txn, e Event, cond func() bool) (res Result, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !cond() {
		return res, false
	}
	return t.stepLocked(x, e), true
}

func (t *Table) stepLocked(x *Txn, e Event) Result {
	e.Threshold = t.Threshold()
	res := x.state.Step(e)
	if e.Type == Spill && !res.Has(ReplyAborted|ReplyTooLow) {
		n := t.spills.Load()
		t.recent[n%recentSpills] = registeredSpill{e.Span, x.state.TS}
		t.spills.Store(n + 1)
	}
	if res.Has(Remove) {
		must.True(t.txns[x.id] == x, "invariant 4: a transaction is removed that is not in the table")
		delete(t.txns, x.id)
		t.n.Add(-1)
	}
	x.wake(res.Effects)
	return res
}

// wake performs the effects on the transaction's waiters. The table's mutex is held, unless the transaction
// is not in a table yet.
func (x *Txn) wake(e Effects) {
	if e.Has(PublishOutcome | Remove) {
		select {
		case <-x.decided:
		default:
			close(x.decided)
		}
	}
	if e.Has(Notify | PublishOutcome | Remove) {
		close(x.changed)
		x.changed = make(chan struct{})
	}
	if e.Has(Remove) {
		close(x.done)
	}
	if e.Has(Expedite) && x.expedite != nil {
		close(x.expedite)
		x.expedite = nil
	}
}

// Enter latches and returns a transaction, which is added if it has no intents here. It waits while
// BeginClear excludes the transaction. It fails with a TooManyLocksError if too many transactions have
// intents here. Leave gives up the latch.
func (t *Table) Enter(ctx context.Context, id kvpb.TxnID, anchor []byte, now time.Time) (*Txn, error) {
	return t.enter(ctx, id, anchor, nil, now)
}

// EnterSpill is Enter for a spill of a span, which shares the latch with spills of other keys.
// LeaveSpill gives it up.
func (t *Table) EnterSpill(ctx context.Context, id kvpb.TxnID, anchor []byte, span kvpb.Span, now time.Time) (*Txn, error) {
	return t.enter(ctx, id, anchor, &span, now)
}

func (t *Table) enter(ctx context.Context, id kvpb.TxnID, anchor []byte, span *kvpb.Span, now time.Time) (*Txn, error) {
	for {
		x, err := t.getOrAdd(id, anchor, now)
		if err != nil {
			return nil, err
		}
		if err := t.acquire(ctx, x, span); err != nil {
			return nil, err
		}
		removed, cleared := t.entered(x)
		if !removed && cleared == nil {
			return x, nil
		}
		t.leave(x, span)
		if cleared != nil {
			select {
			case <-cleared:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
}

// entered reports whether a latched transaction is gone from the table. cleared is a channel to wait for
// before it may write, nil if it need not wait.
func (t *Table) entered(x *Txn) (removed bool, cleared <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.clearing != nil && t.clearing != x {
		cleared = t.cleared
	}
	return x.state.Removed, cleared
}

// BeginClear prepares for a range deletion of all locks within the span of x. It returns false if another
// transaction may have intents there, or is about to write some. Until EndClear no other transaction
// enters the table.
func (t *Table) BeginClear(x *Txn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.clearing != nil || x.state.Removed {
		return false
	}
	span := x.state.Span
	for _, o := range t.txns {
		if o != x && (o.latch.held() || o.state.Status == New || o.state.Overlaps(span.Key, span.EndKey)) {
			return false
		}
	}
	t.clearing, t.cleared = x, make(chan struct{})
	return true
}

// EndClear lets other transactions enter again.
func (t *Table) EndClear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.cleared)
	t.clearing, t.cleared = nil, nil
}

func (t *Table) getOrAdd(id kvpb.TxnID, anchor []byte, now time.Time) (*Txn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.txns[id]
	if x != nil {
		return x, nil
	}
	if len(t.txns) >= maxTxns {
		return nil, &kvpb.TooManyLocksError{Limit: maxTxns}
	}
	x = newTxn(id, anchor, now)
	t.addLocked(x)
	return x, nil
}

func (t *Table) addLocked(x *Txn) {
	if t.txns == nil {
		t.txns = map[kvpb.TxnID]*Txn{}
	}
	t.txns[x.id] = x
	t.n.Add(1)
}

// Latch waits until no other request changes the transaction's intents.
func (t *Table) Latch(ctx context.Context, x *Txn) error { return t.acquire(ctx, x, nil) }

// acquire waits for the latch. After an error it also removes a transaction of which nothing was written: a request that
// left while the caller had been granted the latch could not.
func (t *Table) acquire(ctx context.Context, x *Txn, span *kvpb.Span) error {
	err := acquireLatch(ctx, &t.mu, &x.latch, span)
	if err != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.unlatchedLocked(x)
	}
	return err
}

// Leave gives up the latch, and removes the entry if nothing was written.
func (t *Table) Leave(x *Txn) { t.leave(x, nil) }

// LeaveSpill is Leave for a spill of a span.
func (t *Table) LeaveSpill(x *Txn, span kvpb.Span) { t.leave(x, &span) }

func (t *Table) leave(x *Txn, span *kvpb.Span) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x.latch.release(span)
	t.unlatchedLocked(x)
	x.latch.next()
}

// unlatchedLocked removes a transaction of which nothing was written, unless a request has its latch. Those that
// wait for the latch begin again.
func (t *Table) unlatchedLocked(x *Txn) {
	if !x.latch.held() {
		t.stepLocked(x, Event{Type: Leave})
	}
}

// Replace replaces all transactions by those that a new leadership has loaded.
func (t *Table) Replace(found map[kvpb.TxnID]*Txn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.txns {
		x.wake(x.state.remove().Effects)
	}
	t.txns = found
	t.n.Store(int32(len(found)))
}

// Threshold returns the collection threshold: no version is read, or written, at or below it.
func (t *Table) Threshold() hlc.Timestamp {
	if th := t.threshold.Load(); th != nil {
		return *th
	}
	return hlc.Timestamp{}
}

// RaiseThreshold raises the threshold. A lower one has no effect.
func (t *Table) RaiseThreshold(to hlc.Timestamp) {
	for {
		old := t.threshold.Load()
		if old != nil && to.LessEq(*old) || t.threshold.CompareAndSwap(old, &to) {
			return
		}
	}
}
