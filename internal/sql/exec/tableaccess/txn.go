package tableaccess

import (
	"bytes"
	"context"
	"errors"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Txn is what execution needs of a transaction.
type Txn interface {
	// Get reads a key as of the statement's start. The value is valid until the
	// next call on the transaction.
	Get(ctx context.Context, key []byte) (value []byte, found bool, err error)
	// Lock locks a key, which may be absent, and reads its newest version. The
	// value is valid until the next call on the transaction.
	Lock(ctx context.Context, key []byte, s lock.Strength, w lock.WaitPolicy) (kv.LockResult, error)
	// LockUnchanged is Lock of a key that the statement has read in its snapshot: the value is missing if the
	// key has not changed.
	LockUnchanged(ctx context.Context, key []byte, s lock.Strength, w lock.WaitPolicy) (kv.LockResult, error)
	// LockAhead takes, as far as they are free, locks that the statement is about to ask
	// for one by one, with one request for each range.
	LockAhead(ctx context.Context, keys [][]byte, s lock.Strength) error
	// LockUnchangedAhead is LockAhead for keys that LockUnchanged will be asked for.
	LockUnchangedAhead(ctx context.Context, keys [][]byte, s lock.Strength) error
	// Scan reads one page of a span as of the statement's start.
	Scan(ctx context.Context, start, end []byte, o kv.ScanOptions, res *kvpb.ScanResponse) error
	// ScanSpans reads one page of the keys in sorted, disjoint spans; a page ends
	// where res.Resume says.
	ScanSpans(ctx context.Context, spans []kvpb.Span, o kv.ScanOptions, res *kvpb.ScanResponse) error
	// ReadAhead begins what ScanSpans does while the transaction goes on; nil: it can't be read ahead.
	// Finish or Abandon must be called, and until then spans and res left alone. then is called, if it is
	// not nil, where the page has been read.
	ReadAhead(ctx context.Context, spans []kvpb.Span, o kv.ScanOptions, res *kvpb.ScanResponse, then func()) *kv.ReadAhead
	// ReserveMemory reserves memory for a write of so many bytes, which is about to be made.
	ReserveMemory(bytes int) error
	// Put and Delete buffer a write; they copy their arguments.
	Put(key, value []byte) error
	// PutOwned is Put that keeps value, which nobody may change any more, if it is long.
	PutOwned(key, value []byte) error
	Delete(key []byte) error
	Isolation() kvpb.Isolation
	// BeginStatement starts a part of the statement that sees what was written
	// before it.
	BeginStatement()
	// BeginCheck does that for reads that also see what others have committed up to
	// now, whatever the isolation level, until EndCheck. Nothing may be written in
	// between. At SERIALIZABLE they do only if what is found was locked before.
	BeginCheck(locked bool)
	EndCheck()
	// Freshen moves the snapshot of the transaction to now, or returns a retry error
	// if what it has read has changed.
	Freshen(ctx context.Context) error
}

// ErrRowChanged makes the session run the statement again, with a new snapshot.
func ErrRowChanged(key []byte) error {
	return &kvpb.RetryError{Reason: "a row changed while the statement was reading it", Key: bytes.Clone(key)}
}

// LockError names the relation in the error of NOWAIT, as PostgreSQL does.
func LockError(err error, relation string) error {
	var na *kvpb.LockNotAvailableError
	if !errors.As(err, &na) || na.Timeout {
		return err
	}
	e := pgerr.New(pgerr.LockNotAvailable, "could not obtain lock on row in relation \"%s\"", relation)
	e.Cause = err
	return e
}
