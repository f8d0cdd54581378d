package kvpb

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/lichendb/lichen/internal/hlc"
)

// ErrInvalidRequest says that a request breaks a rule of its type, as no gateway of this version does.
// Replicas rely on the rules. dist.Serve validates the requests of other nodes; a gateway's own requests
// are valid by construction.
var ErrInvalidRequest = errors.New("kvpb: invalid request")

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalidRequest, fmt.Sprintf(format, args...))
}

// firstError returns the first error of several checks.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func checkTxnID(id TxnID) error {
	if id.IsZero() {
		return invalid("it has no transaction")
	}
	return nil
}

// checkTimes returns an error if a timestamp lies above latest. A read or a write there would advance the
// clocks of all replicas, for good.
func checkTimes(latest hlc.Timestamp, times ...hlc.Timestamp) error {
	for _, ts := range times {
		if ts.WallTime > latest.WallTime {
			return invalid("%v is later than any clock of the cluster", ts)
		}
	}
	return nil
}

func checkTxn(t *TxnMeta, latest hlc.Timestamp) error {
	return firstError(checkTxnID(t.ID), checkTimes(latest, t.ReadTS))
}

func checkAnchor(anchor []byte) error {
	if len(anchor) == 0 {
		return invalid("it has no anchor")
	}
	return nil
}

// checkKeys returns an error unless the keys are sorted and distinct.
func checkKeys(n int, key func(int) []byte) error {
	for i := 1; i < n; i++ {
		if bytes.Compare(key(i-1), key(i)) >= 0 {
			return invalid("key %d of %d is not above the one before", i, n)
		}
	}
	return nil
}

func checkSorted(keys [][]byte) error {
	return checkKeys(len(keys), func(i int) []byte { return keys[i] })
}

func checkWrites(writes []Write) error {
	return checkKeys(len(writes), func(i int) []byte { return writes[i].Key })
}

// checkSpan returns an error if the span holds no keys. A span that is not set is valid.
func checkSpan(s Span) error {
	if len(s.EndKey) > 0 && bytes.Compare(s.Key, s.EndKey) >= 0 {
		return invalid("a span ends before it begins")
	}
	return nil
}

func checkSpans(spans []Span) error {
	for _, s := range spans {
		if err := checkSpan(s); err != nil {
			return err
		}
	}
	return nil
}

func checkLockTableIDs(locks [][]byte, tables []uint64) error {
	if len(tables) != 0 && len(tables) != len(locks) {
		return invalid("%d locks have %d lock tables", len(locks), len(tables))
	}
	return nil
}

// Validate returns ErrInvalidRequest if the request breaks a rule of its type, as all methods of this name
// do. latest is a time that no clock of the cluster has passed yet.
func (r *GetRequest) Validate(latest hlc.Timestamp) error { return checkTimes(latest, r.Txn.ReadTS) }

// Validate is that of ScanRequest.
func (r *ScanRequest) Validate(latest hlc.Timestamp) error {
	if len(r.End) == 0 || bytes.Compare(r.Start, r.End) > 0 {
		return invalid("a scan ends before it begins")
	}
	if r.MaxKeys < 0 || r.MaxBytes < 0 {
		return invalid("a scan has a negative limit")
	}
	if !r.ChangedSince.IsEmpty() && (r.Reverse || len(r.Spans) > 0) {
		return invalid("a scan of changes is reversed or has several spans")
	}
	if err := checkTimes(latest, r.Txn.ReadTS, r.ChangedSince); err != nil || len(r.Spans) == 0 {
		return err
	}
	if r.Reverse {
		return invalid("a scan of several spans is reversed")
	}
	for i := 1; i < len(r.Spans); i++ {
		if !r.Spans[i-1].Before(r.Spans[i].Key) {
			return invalid("the spans of a scan overlap")
		}
	}
	if err := checkSpans(r.Spans); err != nil {
		return err
	}
	if len(Narrow(r.Spans, r.Start, r.End)) == 0 {
		return invalid("no span of a scan lies in it")
	}
	return nil
}

// Validate is that of LockRequest.
func (r *LockRequest) Validate(latest hlc.Timestamp) error {
	if r.Timeout < 0 {
		return invalid("a lock has a negative timeout")
	}
	return checkTxn(r.Txn, latest)
}

// Validate is that of LockManyRequest.
func (r *LockManyRequest) Validate(latest hlc.Timestamp) error {
	return firstError(checkTxn(r.Txn, latest), checkSorted(r.Keys))
}

// Validate is that of RefreshRequest.
func (r *RefreshRequest) Validate(latest hlc.Timestamp) error {
	return firstError(checkTimes(latest, r.Txn.ReadTS, r.From, r.To), checkSpans(r.Spans))
}

// Validate is that of ReserveRequest.
func (r *ReserveRequest) Validate(latest hlc.Timestamp) error {
	return firstError(checkTimes(latest, r.Txn.ReadTS), checkSpans(r.Spans))
}

// Validate is that of CommitRequest.
func (r *CommitRequest) Validate(latest hlc.Timestamp) error {
	if err := firstError(
		checkTxn(r.Txn, latest), checkTimes(latest, r.At, r.MinTS), checkWrites(r.Writes), checkSpans(r.Reads),
		checkLockTableIDs(r.Locks, r.LockTableIDs), checkSpan(r.SpillSpan),
	); err != nil {
		return err
	}
	if r.Ingest && slices.ContainsFunc(r.Writes, func(w Write) bool { return w.Value == nil }) {
		return invalid("a deletion can't be ingested")
	}
	if !r.Spilled {
		return nil
	}
	return checkAnchor(r.Anchor)
}

// Validate is that of ReleaseRequest.
func (r *ReleaseRequest) Validate(latest hlc.Timestamp) error { return checkTxn(r.Txn, latest) }

// Validate is that of SpillRequest.
func (r *SpillRequest) Validate(latest hlc.Timestamp) error {
	if len(r.Writes) == 0 || len(r.Positions) != len(r.Writes) {
		return invalid("%d writes have %d positions", len(r.Writes), len(r.Positions))
	}
	for i := 1; i < len(r.Writes); i++ {
		c := bytes.Compare(r.Writes[i-1].Key, r.Writes[i].Key)
		if c > 0 || c == 0 && r.Positions[i-1] >= r.Positions[i] {
			return invalid("write %d of %d is not above the one before", i, len(r.Writes))
		}
	}
	if r.AtSnapshot && r.Txn.ReadTS.WallTime == 0 {
		return invalid("a spill is to lie at no time")
	}
	return firstError(checkTxn(r.Txn, latest), checkLockTableIDs(r.Locks, r.LockTableIDs))
}

// Validate is that of SpilledRequest.
func (r *SpilledRequest) Validate(latest hlc.Timestamp) error {
	if r.MaxBytes < 0 {
		return invalid("a page has a negative limit")
	}
	return firstError(checkTxn(r.Txn, latest), checkSpan(r.Span))
}

// Validate is that of UnspillRequest.
func (r *UnspillRequest) Validate(latest hlc.Timestamp) error {
	return firstError(checkTxn(r.Txn, latest), checkAnchor(r.Anchor), checkSpan(r.Span))
}

// Validate is that of StageRequest.
func (r *StageRequest) Validate(latest hlc.Timestamp) error {
	if r.TS.WallTime == 0 || r.Attempt == 0 {
		return invalid("a part of a commit has no timestamp or attempt")
	}
	return firstError(
		checkTxn(r.Txn, latest), checkTimes(latest, r.TS), checkAnchor(r.Anchor), checkWrites(r.Writes),
		checkLockTableIDs(r.Locks, r.LockTableIDs), checkSpan(r.Span),
	)
}

// Validate is that of EndTxnRequest.
func (r *EndTxnRequest) Validate(latest hlc.Timestamp) error {
	if r.Action == EndCommit && r.TS.WallTime == 0 {
		return invalid("a commit has no timestamp")
	}
	return firstError(checkTxn(r.Txn, latest), checkTimes(latest, r.TS, r.Since), checkAnchor(r.Anchor))
}

// Validate is that of ResolveRequest.
func (r *ResolveRequest) Validate(latest hlc.Timestamp) error {
	if r.Commit && r.TS.WallTime == 0 {
		return invalid("a commit has no timestamp")
	}
	return firstError(checkTxnID(r.Txn), checkTimes(latest, r.TS), checkSpan(r.Span))
}

// Validate is that of PushRequest.
func (r *PushRequest) Validate(latest hlc.Timestamp) error {
	return firstError(checkTxnID(r.Txn), checkTimes(latest, r.TS), checkAnchor(r.Anchor))
}

// Validate is that of QueryStagedRequest.
func (r *QueryStagedRequest) Validate(latest hlc.Timestamp) error {
	if r.TS.WallTime == 0 {
		return invalid("a question about a commit has no timestamp")
	}
	return firstError(checkTxnID(r.Txn), checkTimes(latest, r.TS), checkSorted(r.Keys))
}

// Validate is that of FeedRequest.
func (r *FeedRequest) Validate(latest hlc.Timestamp) error {
	return firstError(checkTimes(latest, r.From), checkSpan(r.Span))
}
