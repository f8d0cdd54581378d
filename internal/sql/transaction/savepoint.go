package transaction

import (
	"context"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// maxSavepoints bounds the savepoints of a transaction.
const maxSavepoints = 10_000

type savepoint struct {
	name  string
	kv    kv.Savepoint
	modes Modes
	kept  any
}

// Savepoint sets a savepoint; 25P01 outside a block, 54000 if there are too many.
func (t *Transaction) Savepoint(name string) error {
	if t.block == noBlock {
		return pgerr.New(pgerr.NoActiveSQLTransaction, "SAVEPOINT can only be used in transaction blocks")
	}
	if len(t.savepoints) >= maxSavepoints {
		return pgerr.New(pgerr.ProgramLimitExceeded, "too many savepoints (limit %d)", maxSavepoints)
	}
	t.savepoints = append(t.savepoints, savepoint{name, t.txn.Savepoint(), t.modes, t.callbacks.Savepoint()})
	return nil
}

// Subtransaction begins a part of the transaction that can be undone by itself: a block of a function that handles
// errors. Such parts nest; 54000 if there are too many.
func (t *Transaction) Subtransaction() (int, error) {
	if len(t.savepoints) >= maxSavepoints {
		return 0, pgerr.New(pgerr.ProgramLimitExceeded, "too many savepoints (limit %d)", maxSavepoints)
	}
	t.savepoints = append(t.savepoints, savepoint{"", t.txn.Savepoint(), t.modes, t.callbacks.Savepoint()})
	return len(t.savepoints) - 1, nil
}

// ReleaseSubtransaction ends a part, which stays as it is.
func (t *Transaction) ReleaseSubtransaction(i int) {
	if i < len(t.savepoints) {
		t.release(i)
	}
}

// RollbackSubtransaction undoes a part, which ends.
func (t *Transaction) RollbackSubtransaction(ctx context.Context, i int) error {
	sp := t.savepoints[i]
	if err := t.txn.RollbackTo(ctx, sp.kv); err != nil {
		return err
	}
	t.modes = sp.modes
	t.callbacks.RollbackTo(ctx, sp.kept)
	t.savepoints = t.savepoints[:i]
	return nil
}

// LastSavepoint is what the callbacks keep for the innermost savepoint, nil if there is none.
func (t *Transaction) LastSavepoint() any {
	if len(t.savepoints) == 0 {
		return nil
	}
	return t.savepoints[len(t.savepoints)-1].kept
}

// Release forgets a savepoint and those after it; 3B001 if there is none of that name.
func (t *Transaction) Release(name string) error {
	i, err := t.findSavepoint("RELEASE SAVEPOINT", name)
	if err != nil {
		return err
	}
	t.release(i)
	return nil
}

// release forgets the savepoints from the i-th on. The modes set since then end with them, as in PostgreSQL.
func (t *Transaction) release(i int) {
	t.modes = t.savepoints[i].modes
	t.savepoints = t.savepoints[:i]
}

// LeaveSavepoints releases all savepoints: a block ends in the modes that it had before them.
func (t *Transaction) LeaveSavepoints() {
	if len(t.savepoints) > 0 {
		t.release(0)
	}
}

// RollbackTo returns to a savepoint, from which a failed block goes on; 3B001 if there is none of
// that name.
func (t *Transaction) RollbackTo(ctx context.Context, name string) error {
	i, err := t.findSavepoint("ROLLBACK TO SAVEPOINT", name)
	if err != nil {
		return err
	}
	sp := t.savepoints[i]
	if err := t.txn.RollbackTo(ctx, sp.kv); err != nil {
		return err
	}
	t.modes = sp.modes
	t.callbacks.RollbackTo(ctx, sp.kept)
	t.savepoints = t.savepoints[:i+1]
	t.block = openBlock
	return nil
}

// findSavepoint returns the position of the newest savepoint of that name.
func (t *Transaction) findSavepoint(command, name string) (int, error) {
	if t.block == noBlock {
		return 0, pgerr.New(pgerr.NoActiveSQLTransaction, "%s can only be used in transaction blocks", command)
	}
	for i := len(t.savepoints) - 1; i >= 0; i-- {
		if t.savepoints[i].name == name {
			return i, nil
		}
	}
	return 0, pgerr.New(pgerr.InvalidSavepointSpecification, "savepoint \"%s\" does not exist", name)
}
