package transaction

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/ids"
)

// block says whether the session is inside BEGIN … COMMIT.
type block uint8

const (
	noBlock     block = iota
	openBlock         // after BEGIN
	failedBlock       // after an error in the block: only ROLLBACK goes on
)

// Callbacks are told what happens to a Transaction, for all that a session keeps with it: settings, its view of the
// catalog, portals, locks (PostgreSQL: XactCallback). They never end the transaction.
type Callbacks interface {
	// Defaults returns the options and modes of a transaction that states none itself.
	Defaults() (kv.TxnOptions, Modes)
	// MayHaveTemp reports whether there may be temporary tables, to which a read-only
	// transaction may write.
	MayHaveTemp() bool
	// Began is called when a transaction begins.
	Began(txn *kv.Txn, start time.Time)
	// BeforeCommit does what belongs to the transaction and waits for its end. An error
	// keeps the transaction from committing.
	BeforeCommit(ctx context.Context, txn *kv.Txn) error
	// Committed is called after the commit. Portals that have results to send yet stay.
	Committed(ctx context.Context)
	// Stopped is called before Undone when a block fails: what runs in it ends, and portals
	// stay until its end.
	Stopped()
	// Undone is called after a rollback; open is false if there was no transaction below,
	// but settings perhaps.
	Undone(ctx context.Context, open bool)
	// Ended is called at the end, after Committed or Undone: portals close.
	Ended()
	// Savepoint returns the present state, and RollbackTo returns to it.
	Savepoint() any
	RollbackTo(ctx context.Context, savepoint any)
}

// Transaction is the transaction of a session. Outside a block it is implicit: it covers one
// simple query, or what the extended protocol sends up to Sync. One goroutine uses it at a time,
// but for Began.
type Transaction struct {
	db        *kv.DB
	numbers   *ids.Txns
	callbacks Callbacks

	txn        *kv.Txn // nil or finished when none is open
	block      block
	open       bool // txn is open, in a block or implicit
	implicit   bool // several statements of a simple query share an implicit transaction
	routines   int  // how many bodies of routines run
	modes      Modes
	undone     kv.TxnOptions // of a failed block that is not open any more
	savepoints []savepoint
	start      time.Time
	id         int64        // its number in SQL, 0 if it has none
	began      atomic.Int64 // start of the open one in nanoseconds of Unix time, else 0
}

// Init makes t ready.
func (t *Transaction) Init(db *kv.DB, numbers *ids.Txns, f Callbacks) {
	t.db, t.numbers, t.callbacks = db, numbers, f
}

// KV returns the transaction below; nil if none was ever open.
func (t *Transaction) KV() *kv.Txn { return t.txn }

// Open reports whether a transaction is open, in a block or implicit.
func (t *Transaction) Open() bool { return t.open }

// InBlock reports whether the session is in a block, failed or not.
func (t *Transaction) InBlock() bool { return t.block != noBlock }

// ImplicitBlock begins or ends an implicit block: the statements of one simple query, which share a
// transaction without BEGIN.
func (t *Transaction) ImplicitBlock(on bool) { t.implicit = on }

// EnterRoutine notes that a statement of a routine's body runs, until LeaveRoutine.
func (t *Transaction) EnterRoutine() { t.routines++ }

// LeaveRoutine ends what EnterRoutine began.
func (t *Transaction) LeaveRoutine() { t.routines-- }

// InAnyBlock reports whether the transaction goes on after the present statement: the session is in a
// block or an implicit block, or runs the body of a routine.
func (t *Transaction) InAnyBlock() bool { return t.InBlock() || t.implicit || t.routines > 0 }

// Failed reports whether the session is in a failed block.
func (t *Transaction) Failed() bool { return t.block == failedBlock }

// Started returns when the transaction that is open, or was last, started.
func (t *Transaction) Started() time.Time { return t.start }

// Began returns when the open transaction started in nanoseconds of Unix time, 0 if none is open.
// Any goroutine may call it.
func (t *Transaction) Began() int64 { return t.began.Load() }

// Status is the transaction status that ReadyForQuery carries.
func (t *Transaction) Status() byte {
	switch t.block {
	case openBlock:
		return 'T'
	case failedBlock:
		return 'E'
	}
	return 'I'
}

// Ensure opens a transaction unless one is open.
func (t *Transaction) Ensure() {
	if !t.open {
		t.Start(t.callbacks.Defaults())
	}
}

// Start opens a transaction; none is open.
func (t *Transaction) Start(o kv.TxnOptions, m Modes) {
	t.modes = m
	if t.txn == nil {
		t.txn = t.db.Begin(o)
	} else {
		t.txn.Reset(o)
	}
	t.open = true
	t.start = time.Now()
	t.began.Store(t.start.UnixNano())
	t.savepoints = t.savepoints[:0]
	t.callbacks.Began(t.txn, t.start)
}

// BeginBlock begins a block. What ran before in the same query joins it, as in PostgreSQL.
func (t *Transaction) BeginBlock() {
	t.Ensure()
	t.block = openBlock
}

// BeginStatement begins a statement of the open transaction; first says that it is the first one
// of a block. The later ones of a block can't begin anew where clocks are uncertain once the client
// has seen what the first has read: so the first one asks other nodes for their clocks.
func (t *Transaction) BeginStatement(ctx context.Context) (first bool) {
	first = t.block == openBlock && !t.txn.Begun()
	if t.block == openBlock {
		t.txn.ObserveClocks(ctx)
	}
	t.txn.BeginStatement()
	return first
}

// Commit commits the open transaction; the callbacks have yet to be told of its end (End). A retry
// error comes back as it is.
func (t *Transaction) Commit(ctx context.Context) error {
	t.LeaveSavepoints()
	if err := t.callbacks.BeforeCommit(ctx, t.txn); err != nil {
		return err
	}
	if err := t.txn.Commit(ctx); err != nil {
		if kvpb.Classify(err) == kvpb.ClassAmbiguous {
			t.endID(ids.Unknown, hlc.Timestamp{})
		}
		return err
	}
	t.endID(ids.Committed, t.txn.CommitTimestamp())
	t.open = false
	t.began.Store(0)
	t.callbacks.Committed(ctx)
	return nil
}

// End ends the transaction, and its block, after a commit.
func (t *Transaction) End() {
	t.endID(ids.Aborted, hlc.Timestamp{}) // unless it was committed
	t.open, t.block = false, noBlock
	t.began.Store(0)
	t.callbacks.Ended()
}

// Rollback takes back what the transaction did, and ends it and its block.
func (t *Transaction) Rollback(ctx context.Context) {
	if t.open {
		t.txn.Rollback(ctx)
	}
	t.callbacks.Undone(ctx, t.open)
	t.End()
}

// Fail notes an error: an open block fails, and what it did is undone unless it can go on from
// a savepoint; an implicit transaction is rolled back.
func (t *Transaction) Fail(ctx context.Context) {
	switch t.block {
	case openBlock:
		t.block = failedBlock
		if len(t.savepoints) == 0 {
			t.undo(ctx)
		}
	case noBlock:
		t.Rollback(ctx)
	}
}

// undo gives up what a failed block has done: nobody is to wait for its locks until the client
// ends it.
func (t *Transaction) undo(ctx context.Context) {
	t.undone = t.txn.Options()
	t.txn.Rollback(ctx)
	t.endID(ids.Aborted, hlc.Timestamp{})
	t.callbacks.Stopped()
	t.callbacks.Undone(ctx, true)
	t.open = false
}

// Chained returns the options and modes of the transaction that follows by AND CHAIN.
func (t *Transaction) Chained() (kv.TxnOptions, Modes) {
	switch {
	case t.open:
		return t.txn.Options(), t.modes
	case t.block == failedBlock:
		return t.undone, t.modes
	}
	o, _ := t.callbacks.Defaults()
	return o, t.modes
}

// Chain begins a block after the end of another.
func (t *Transaction) Chain(o kv.TxnOptions, m Modes) {
	t.Start(o, m)
	t.block = openBlock
}

// HasID reports whether the transaction has a number in SQL.
func (t *Transaction) HasID() bool { return t.id != 0 }

// ID returns the number of the transaction in SQL, which it gets by the first call.
func (t *Transaction) ID(node kvpb.NodeID) int64 {
	if t.id == 0 {
		t.id = t.numbers.Next(time.Now(), node)
	}
	return t.id
}

// endID notes how the transaction ended, if it has a number.
func (t *Transaction) endID(outcome ids.Outcome, at hlc.Timestamp) {
	if t.id != 0 {
		t.numbers.End(t.id, outcome, at)
		t.id = 0
	}
}
