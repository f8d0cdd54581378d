package kvwire

import (
	"bytes"
	"context"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/quota"
)

// errorCode is the number of an error's type. Numbers are never reused. Those from
// 32 to 63 are for commits across ranges.
type errorCode byte

const (
	codeOther            errorCode = 0
	codeCanceled         errorCode = 1
	codeDeadlineExceeded errorCode = 2
	codeRetry            errorCode = 3
	codeDeadlock         errorCode = 4
	codeLockNotAvailable errorCode = 5
	codeTooManyLocks     errorCode = 6
	codeSnapshotTooOld   errorCode = 7
	codeAmbiguousCommit  errorCode = 8
	codeDiskFull         errorCode = 9
	codeTxnTooLarge      errorCode = 10
	codeUnavailable      errorCode = 11
	codeNotLeader        errorCode = 12
	codeRangeMismatch    errorCode = 13
	codeUncertainty      errorCode = 14
	codeMemory           errorCode = 15
)

// maxErrorDepth bounds how deep causes are nested in a message; deeper ones keep
// only their text and class.
const maxErrorDepth = 4

// RemoteError is an error of another node that has no type of its own here.
type RemoteError struct {
	Text  string
	Kind  kvpb.Class
	cause error // known part of it, or nil
}

// Error implements error.
func (e *RemoteError) Error() string { return e.Text }

// Class implements the classification of errors.
func (e *RemoteError) Class() kvpb.Class { return e.Kind }

// Unwrap returns the typed error inside, nil if there is none.
func (e *RemoteError) Unwrap() error { return e.cause }

// AppendError appends an error: its code, class and text, then the fields of the
// typed error in it.
func AppendError(b []byte, err error) []byte { return appendError(b, err, 0) }

// DecodeError reads what AppendError wrote. failure is never nil if err is.
func DecodeError(b []byte) (failure, err error) { return decodeError(b, 0) }

func appendError(b []byte, err error, depth int) []byte {
	typed := findTyped(err)
	code := codeOther
	var fields []byte
	if depth < maxErrorDepth {
		code, fields = errorFields(typed, depth)
	}
	b = append(b, byte(code), byte(kvpb.Classify(err)))
	b = appendString(b, err.Error())
	return append(b, fields...)
}

// findTyped returns the outermost error in err that has a code, or nil.
func findTyped(err error) error {
	if code, _ := errorFields(err, maxErrorDepth); code != codeOther {
		return err
	}
	switch u := err.(type) {
	case interface{ Unwrap() error }:
		if in := u.Unwrap(); in != nil {
			return findTyped(in)
		}
	case interface{ Unwrap() []error }:
		for _, in := range u.Unwrap() {
			if t := findTyped(in); t != nil {
				return t
			}
		}
	}
	return nil
}

// errorFields returns the code and the encoded fields of err, if err itself has a type
// with a code.
func errorFields(err error, depth int) (errorCode, []byte) {
	switch err {
	case context.Canceled:
		return codeCanceled, nil
	case context.DeadlineExceeded:
		return codeDeadlineExceeded, nil
	}
	switch e := err.(type) {
	case *kvpb.RetryError:
		return codeRetry, appendBytes(appendString(nil, e.Reason), e.Key)
	case *kvpb.DeadlockError:
		b := appendUint(nil, uint64(len(e.Cycle)))
		for _, id := range e.Cycle {
			b = appendTxnID(b, id)
		}
		return codeDeadlock, b
	case *kvpb.LockNotAvailableError:
		return codeLockNotAvailable, appendFlags(nil, e.Timeout)
	case *kvpb.TooManyLocksError:
		return codeTooManyLocks, appendInt(nil, int64(e.Limit))
	case *kvpb.SnapshotTooOldError:
		return codeSnapshotTooOld, appendTimestamp(appendTimestamp(nil, e.ReadTS), e.Threshold)
	case *kvpb.AmbiguousCommitError:
		return codeAmbiguousCommit, appendCause(e.Cause, depth)
	case *kvpb.DiskFullError:
		return codeDiskFull, appendCause(e.Cause, depth)
	case *kvpb.TxnTooLargeError:
		return codeTxnTooLarge, appendInt(appendInt(nil, e.Bytes), e.Limit)
	case *kvpb.UnavailableError:
		return codeUnavailable, appendString(nil, e.Reason)
	case *kvpb.NotLeaderError:
		b := appendReplica(appendUint(nil, uint64(e.Range)), e.Leader)
		return codeNotLeader, appendNested(b, e.Desc)
	case *kvpb.RangeMismatchError:
		b := appendUint(appendUint(nil, uint64(e.Range)), uint64(len(e.Known)))
		for i := range e.Known {
			b = appendNested(b, &e.Known[i])
		}
		return codeRangeMismatch, b
	case *kvpb.UncertaintyError:
		b := appendTimestamp(appendBytes(nil, e.Key), e.TS)
		return codeUncertainty, appendTimestamp(appendUint(b, uint64(e.Node)), e.Least)
	case *quota.ExceededError:
		return codeMemory, appendInt(appendInt(appendInt(appendString(nil, e.Pool), e.Limit), e.Used), e.Requested)
	}
	return codeOther, nil
}

func appendCause(err error, depth int) []byte {
	if err == nil || depth >= maxErrorDepth {
		return nil
	}
	return appendError(nil, err, depth+1)
}

func decodeError(b []byte, depth int) (failure, err error) {
	f := read(b)
	code, class := errorCode(f.Byte()), enum(&f, kvpb.ClassBroken, kvpb.ClassAmbiguous)
	text := string(f.bytes())
	if f.Bad() {
		return nil, ErrDamaged
	}
	if depth > maxErrorDepth {
		code = codeOther
	}
	typed := f.typedError(code, depth)
	if f.Bad() {
		return nil, ErrDamaged
	}
	if typed != nil && typed.Error() == text {
		return typed, nil
	}
	return &RemoteError{Text: text, Kind: class, cause: typed}, nil
}

// typedError reads the fields of an error; it returns nil for a code that it
// does not know.
func (f *reader) typedError(code errorCode, depth int) error {
	switch code {
	case codeCanceled:
		return context.Canceled
	case codeDeadlineExceeded:
		return context.DeadlineExceeded
	case codeRetry:
		return &kvpb.RetryError{Reason: string(f.bytes()), Key: bytes.Clone(f.bytes())}
	case codeDeadlock:
		e := &kvpb.DeadlockError{}
		for n := f.Count(2); n > 0; n-- {
			e.Cycle = append(e.Cycle, f.txnID())
		}
		return e
	case codeLockNotAvailable:
		e := &kvpb.LockNotAvailableError{}
		f.flags(&e.Timeout)
		return e
	case codeTooManyLocks:
		return &kvpb.TooManyLocksError{Limit: int(f.Varint())}
	case codeSnapshotTooOld:
		return &kvpb.SnapshotTooOldError{ReadTS: f.timestamp(), Threshold: f.timestamp()}
	case codeAmbiguousCommit:
		return &kvpb.AmbiguousCommitError{Cause: f.cause(depth)}
	case codeDiskFull:
		return &kvpb.DiskFullError{Cause: f.cause(depth)}
	case codeTxnTooLarge:
		return &kvpb.TxnTooLargeError{Bytes: f.Varint(), Limit: f.Varint()}
	case codeUnavailable:
		return &kvpb.UnavailableError{Reason: string(f.bytes())}
	case codeNotLeader:
		return &kvpb.NotLeaderError{Range: kvpb.RangeID(f.Uvarint()), Leader: f.replica(), Desc: f.nested()}
	case codeRangeMismatch:
		return f.rangeMismatch()
	case codeUncertainty:
		e := &kvpb.UncertaintyError{Key: bytes.Clone(f.bytes()), TS: f.timestamp()}
		if f.more() {
			e.Node, e.Least = kvpb.NodeID(f.Uvarint()), f.timestamp()
		}
		return e
	case codeMemory:
		return &quota.ExceededError{Pool: string(f.bytes()), Limit: f.Varint(), Used: f.Varint(), Requested: f.Varint()}
	}
	return nil
}

// cause reads a nested error, which takes the rest of the message. It is always there,
// since the types with a cause print it.
func (f *reader) cause(depth int) error {
	if !f.more() {
		return &RemoteError{Text: "unknown cause"}
	}
	e, err := decodeError(f.Rest(), depth+1)
	if err != nil {
		f.Fail()
	}
	return e
}

func (f *reader) rangeMismatch() error {
	e := &kvpb.RangeMismatchError{Range: kvpb.RangeID(f.Uvarint())}
	for n := f.Count(1); n > 0; n-- {
		if d := f.nested(); d != nil {
			e.Known = append(e.Known, *d)
		}
	}
	return e
}
