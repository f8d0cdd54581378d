package kverror

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/activity"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Translate turns an error of the key-value layers into what a client sees; other errors stay as they
// are. ctx is that of the statement: a cancelled one says why.
func Translate(ctx context.Context, err error) error {
	var pe *pgerr.Error
	if err == nil || errors.As(err, &pe) && (pe.Code != pgerr.InternalError || pe.Cause == nil) {
		return err
	}
	if pe != nil {
		err = pe.Cause // a name was looked up, perhaps, and the error taken for a bug
	}
	if ambiguous := new(*kvpb.AmbiguousCommitError); errors.As(err, ambiguous) {
		err = *ambiguous // whatever led to it: it may have happened
	} else if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		if errors.As(ctx.Err(), &pe) {
			return pe
		}
		return activity.ErrUserCancel
	}
	e := kvError(err)
	e.Cause = err
	return e
}

func kvError(err error) *pgerr.Error {
	var (
		retry    *kvpb.RetryError
		clocks   *kvpb.UncertaintyError
		deadlock *kvpb.DeadlockError
		lock     *kvpb.LockNotAvailableError
		locks    *kvpb.TooManyLocksError
		old      *kvpb.SnapshotTooOldError
		unknown  *kvpb.AmbiguousCommitError
		full     *kvpb.DiskFullError
		large    *kvpb.TxnTooLargeError
		down     *kvpb.UnavailableError
		mem      *quota.ExceededError
	)
	switch {
	case errors.As(err, &unknown): // first: its cause may be one of the others
		return pgerr.New(pgerr.StatementCompletionUnknown, "%s", unknown.Error()).
			WithHint("The statement may or may not have taken effect: look before running it again.")
	case errors.As(err, &retry):
		return conflict(retry.Reason, retry.Key)
	case errors.As(err, &clocks):
		return conflict("read within the uncertainty of the clocks", clocks.Key)
	case errors.As(err, &deadlock):
		return deadlockError(deadlock)
	case errors.As(err, &lock) && lock.Timeout:
		return pgerr.New(pgerr.LockNotAvailable, "canceling statement due to lock timeout")
	case errors.As(err, &lock):
		return pgerr.New(pgerr.LockNotAvailable, "could not obtain lock on row")
	case errors.As(err, &locks):
		return pgerr.New(pgerr.ConfigurationLimitExceeded, "too many row locks held at once (%d)", locks.Limit).
			WithHint("Lock fewer rows in one transaction, or split it.")
	case errors.As(err, &old):
		return pgerr.New(pgerr.SnapshotTooOld, "%s", old.Error()).
			WithHint("Read at a newer time, or raise gc.ttlseconds.")
	case errors.As(err, &full):
		return pgerr.New(pgerr.DiskFull, "could not write: the disk is full").
			WithHint("Free disk space; reads go on meanwhile.")
	case errors.As(err, &large):
		return pgerr.New(pgerr.ProgramLimitExceeded, "%s", large.Error())
	case errors.As(err, &mem):
		return pgerr.New(pgerr.OutOfMemory, "out of memory").WithDetail("%s", mem.Error()).
			WithHint("Read and write less in one statement, or raise --max-memory.")
	case errors.As(err, &down):
		e := pgerr.New(pgerr.CannotConnectNow, "%s", down.Error())
		e.Detail, e.Hint = down.Detail, down.Hint
		return e
	}
	return pgerr.New(pgerr.IOError, "%s", err.Error()) // of a disk or of the network
}

// conflict is a transaction that can't go on as it is; key, if known, is where another
// stood in its way.
func conflict(reason string, key []byte) *pgerr.Error {
	e := pgerr.New(pgerr.SerializationFailure, "%s", reason).WithHint("The transaction might succeed if retried.")
	if len(key) > 0 {
		e = e.WithDetail("The conflict is at key %s.", keys.Pretty(key))
	}
	return e
}

// deadlockError says who waited for whom, a line for each, as PostgreSQL does.
func deadlockError(d *kvpb.DeadlockError) *pgerr.Error {
	e := pgerr.New(pgerr.DeadlockDetected, "deadlock detected").
		WithHint("The transaction waited for a lock of one that waited for it; retry it.")
	var b strings.Builder
	for i, id := range d.Cycle {
		if i > 0 {
			b.WriteByte('\n')
		}
		next := d.Cycle[(i+1)%len(d.Cycle)]
		fmt.Fprintf(&b, "Transaction %s of node %d waits for a lock of transaction %s of node %d.", id, id.Gateway(), next, next.Gateway())
	}
	if b.Len() > 0 {
		e = e.WithDetail("%s", b.String())
	}
	return e
}
