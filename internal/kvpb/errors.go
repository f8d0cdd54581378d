package kvpb

import (
	"errors"
	"fmt"

	"github.com/lichendb/lichen/internal/hlc"
)

// Class of an error: it determines what the caller of the failed request does.
type Class uint8

// The classes of errors.
const (
	ClassBroken    Class = iota // a bug or damage; give up
	ClassUser                   // tell the user; nothing happened
	ClassRetry                  // restart the transaction, or the statement
	ClassAmbiguous              // a commit may or may not have happened
)

// Classify returns the class of err.
func Classify(err error) Class {
	var c interface{ Class() Class }
	if errors.As(err, &c) {
		return c.Class()
	}
	return ClassBroken
}

// RetryError says that a transaction can't go on at its timestamp: one of its reads
// has changed.
type RetryError struct {
	Reason string
	Key    []byte // where the conflict is, if known
}

// Error implements error.
func (e *RetryError) Error() string { return "restart transaction: " + e.Reason }

// Class implements the classification of errors.
func (e *RetryError) Class() Class { return ClassRetry }

// DeadlockError says that the transaction is the victim of a deadlock.
type DeadlockError struct{ Cycle []TxnID }

// Error implements error.
func (e *DeadlockError) Error() string { return "deadlock detected" }

// Class implements the classification of errors.
func (e *DeadlockError) Class() Class { return ClassUser }

// LockNotAvailableError says that NOWAIT met a held lock or that lock_timeout
// passed.
type LockNotAvailableError struct{ Timeout bool }

// Error implements error.
func (e *LockNotAvailableError) Error() string {
	if e.Timeout {
		return "canceling statement due to lock timeout"
	}
	return "could not obtain lock on row"
}

// Class implements the classification of errors.
func (e *LockNotAvailableError) Class() Class { return ClassUser }

// TooManyLocksError says that a lock table is full.
type TooManyLocksError struct{ Limit int }

// Error implements error.
func (e *TooManyLocksError) Error() string {
	return fmt.Sprintf("lock table is full (%d locks)", e.Limit)
}

// Class implements the classification of errors.
func (e *TooManyLocksError) Class() Class { return ClassUser }

// SnapshotTooOldError says that versions below the threshold may be gone.
type SnapshotTooOldError struct{ ReadTS, Threshold hlc.Timestamp }

// Error implements error.
func (e *SnapshotTooOldError) Error() string {
	return fmt.Sprintf("cannot read as of %s: versions before %s have been garbage-collected", e.ReadTS.Date(), e.Threshold.Date())
}

// Class implements the classification of errors.
func (e *SnapshotTooOldError) Class() Class { return ClassUser }

// AmbiguousCommitError says that the outcome of a commit is unknown.
type AmbiguousCommitError struct{ Cause error }

// Error implements error.
func (e *AmbiguousCommitError) Error() string {
	return "the outcome of the commit is unknown: " + e.Cause.Error()
}

// Unwrap returns the cause.
func (e *AmbiguousCommitError) Unwrap() error { return e.Cause }

// Class implements the classification of errors.
func (e *AmbiguousCommitError) Class() Class { return ClassAmbiguous }

// DiskFullError says that a store has no room for a write; reads go on.
type DiskFullError struct{ Cause error }

// Error implements error.
func (e *DiskFullError) Error() string { return "store is out of disk space: " + e.Cause.Error() }

// Unwrap returns the cause.
func (e *DiskFullError) Unwrap() error { return e.Cause }

// Class implements the classification of errors.
func (e *DiskFullError) Class() Class { return ClassUser }

// TxnTooLargeError says that a transaction has more writes than one commit can carry.
type TxnTooLargeError struct{ Bytes, Limit int64 }

// Error implements error.
func (e *TxnTooLargeError) Error() string {
	return fmt.Sprintf("transaction of %d bytes exceeds the limit of %d", e.Bytes, e.Limit)
}

// Class implements the classification of errors.
func (e *TxnTooLargeError) Class() Class { return ClassUser }

// UnavailableError says that a replica can't serve now: not the leader, or
// stopping.
type UnavailableError struct {
	Reason string
	// Detail and Hint are for people: the missing replicas, and what to do. They don't
	// travel between nodes.
	Detail, Hint string
}

// ErrStopping is the error of a request that a stopping node does not serve.
var ErrStopping = &UnavailableError{Reason: "the node is stopping"}

// Error implements error.
func (e *UnavailableError) Error() string { return "range is unavailable: " + e.Reason }

// Class implements the classification of errors.
func (e *UnavailableError) Class() Class { return ClassUser }

// NotLeaderError says that a replica does not lead its range. dist retries at
// Leader, or asks the other replicas if it is not known.
type NotLeaderError struct {
	Range  RangeID
	Leader ReplicaDescriptor // zero: not known
	Desc   *RangeDescriptor  // as the replica knows it; may be nil
}

// Error implements error.
func (e *NotLeaderError) Error() string {
	if e.Leader.Node == 0 {
		return fmt.Sprintf("range %d has no leader that this replica knows", e.Range)
	}
	return fmt.Sprintf("range %d is led by node %d", e.Range, e.Leader.Node)
}

// Class implements the classification of errors.
func (e *NotLeaderError) Class() Class { return ClassUser }

// RangeMismatchError says that a range does not hold all keys of a request. The request had no
// effect. Known are the ranges that hold them, as far as the replica knows. It is empty if the
// store has no replica of the range at all.
type RangeMismatchError struct {
	Range RangeID
	Known []RangeDescriptor
}

// Error implements error.
func (e *RangeMismatchError) Error() string {
	return fmt.Sprintf("range %d does not hold the keys of the request", e.Range)
}

// Class implements the classification of errors.
func (e *RangeMismatchError) Class() Class { return ClassUser }

// SeveralRangesError says that the writes of a CommitRequest with Ingest lie in several ranges. Next is
// the first key behind the range of the first write. Nothing was written.
type SeveralRangesError struct{ Next []byte }

// Error implements error.
func (e *SeveralRangesError) Error() string { return "the keys to ingest lie in several ranges" }

// UncertaintyError says that a read met a version within its uncertainty interval: it may have been
// committed, by another node's clock, before the transaction began. The transaction must read at TS or
// above.
type UncertaintyError struct {
	Key []byte
	TS  hlc.Timestamp
	// Node is the leader's node. Its clock counts as observed at TS.
	Node NodeID
	// Least is the timestamp of the version, if it is known: a read at Least may be enough.
	Least hlc.Timestamp
}

// Error implements error.
func (e *UncertaintyError) Error() string {
	return "restart transaction: read within the uncertainty of the clocks"
}

// Class implements the classification of errors.
func (e *UncertaintyError) Class() Class { return ClassRetry }
