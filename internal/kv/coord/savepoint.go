package coord

import (
	"context"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// Savepoint is a position to which RollbackTo returns.
type Savepoint struct{ writes, reads, locks int }

// Savepoint returns the present position.
func (t *Txn) Savepoint() Savepoint {
	sp := t.StatementStart()
	t.spill.keep, t.spill.kept = min(t.oldestKept(), sp.writes), true
	return sp
}

// StatementStart returns the position at the start of the present statement, before its writes.
func (t *Txn) StatementStart() Savepoint {
	return Savepoint{writes: t.spill.base + t.buf.Len(), reads: t.reads.Len(), locks: len(t.locks)}
}

// RollbackTo undoes all writes since sp and releases the locks taken since. Reads since sp stay
// recorded.
func (t *Txn) RollbackTo(ctx context.Context, sp Savepoint) error {
	if err := t.spillRollback(ctx, sp); err != nil {
		return err
	}
	t.buf.Truncate(min(max(sp.writes-t.spill.base, 0), t.buf.Len()))
	if t.remembersReads() {
		// Without these locks, the keys must stay unchanged like plain reads.
		for i := sp.locks; i < len(t.locks); i++ {
			t.reads.AddKey(t.locks[i].key)
		}
	}
	t.certain = hlc.Timestamp{} // the failed statement is not run again
	t.releaseAmbiguous(ctx)
	return t.releaseLocks(ctx, sp.locks, true)
}

// UndoStatement undoes the current statement, which began at sp, and releases the memory of
// its writes, so that it can run again on the same snapshot. Its locks stay.
func (t *Txn) UndoStatement(ctx context.Context, sp Savepoint) error {
	if err := t.spillRollback(ctx, sp); err != nil {
		return err
	}
	t.buf.Truncate(min(max(sp.writes-t.spill.base, 0), t.buf.Len()))
	t.trim()
	t.reads.Truncate(sp.reads)
	t.renewals = 0
	return nil
}

// RetryStatement prepares the current statement, which began at sp, to run again after a retry
// error: it undoes the statement and moves the snapshot to now. It returns a retry error of the
// whole transaction if results of earlier statements would differ, or if the transaction has to
// end.
func (t *Txn) RetryStatement(ctx context.Context, sp Savepoint, cause error) error {
	_ = t.endSpill() // it may have lost a lock
	if t.mustRestart || t.readsForgotten() {
		return cause
	}
	if err := t.UndoStatement(ctx, sp); err != nil {
		return err
	}
	// The statement need not see commits after its first attempt began. If the limit rose with each
	// attempt, a long read beside writers could be run again for ever.
	t.certain = t.meta.UncertainTS
	return t.refresh(ctx, t.env.Clock.Now())
}

// MoveToPresent moves the snapshot of the current statement to now, before it has read anything. It
// returns cause if earlier statements prevent that.
func (t *Txn) MoveToPresent(ctx context.Context, cause error) error {
	if t.mustRestart || t.readsForgotten() {
		return cause
	}
	return t.refresh(ctx, t.env.Clock.Now())
}

// readsForgotten reports whether earlier statements' reads were not recorded, although their
// results must hold.
func (t *Txn) readsForgotten() bool {
	return t.opts.Isolation != kvpb.ReadCommitted && t.seq > 1 && !t.remembersReads()
}
