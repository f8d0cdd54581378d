package coord

import (
	"bytes"
	"context"
	"math"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
)

type lockedKey struct {
	key       []byte
	strength  lock.Strength
	lockTable uint64 // that has it
}

// LockResult is the result of Lock.
type LockResult struct {
	// Value is the newest committed value, or the transaction's own; valid as long as Get's.
	Value []byte
	Found bool
	// Changed: the value is newer than the statement's snapshot, so the caller must check
	// predicates again.
	Changed bool
	// Self: the present statement wrote the value, or one after the snapshot in use.
	Self bool
	// Skipped: WaitSkip found the key locked by another transaction.
	Skipped bool
}

// Lock takes a row lock on key, whether or not the key exists. It reads the newest committed value,
// or the transaction's own. Above READ COMMITTED, a version newer than the snapshot moves the
// snapshot; that is a retry error if earlier reads have changed.
func (t *Txn) Lock(ctx context.Context, key []byte, s lock.Strength, w lock.WaitPolicy) (LockResult, error) {
	return t.lock(ctx, key, s, w, false)
}

// LockUnchanged is Lock of a key that the statement has read in its snapshot: the value is missing if the key has not
// changed.
func (t *Txn) LockUnchanged(ctx context.Context, key []byte, s lock.Strength, w lock.WaitPolicy) (LockResult, error) {
	return t.lock(ctx, key, s, w, true)
}

func (t *Txn) lock(ctx context.Context, key []byte, s lock.Strength, w lock.WaitPolicy, seen bool) (LockResult, error) {
	if err := t.endSpillOf(key); err != nil {
		return LockResult{}, err
	}
	resp, valued := t.prefetched.find(key, s)
	if resp == nil || !valued && !(seen && resp.TS.LessEq(t.meta.ReadTS)) {
		resp = &t.lockResp
		if err := t.requestLock(ctx, key, s, w); err != nil || resp.Skipped {
			return LockResult{Skipped: err == nil}, err
		}
	}
	// In an earlier statement's snapshot (Use), writes of later statements count as its own.
	if val, del, seq, ok := t.buf.Get(key, math.MaxInt32); ok {
		return LockResult{Value: val, Found: !del, Self: seq >= t.seq}, nil
	}
	if t.state == spilled {
		if w, self, ok, err := t.getSpilled(ctx, key, math.MaxInt32); ok || err != nil {
			return LockResult{Value: w.Value, Found: !w.Deleted, Self: self}, err
		}
	}
	t.minTS = t.minTS.Max(resp.TS)
	if resp.Found && !seen {
		t.read++
	}
	res := LockResult{Value: resp.Value, Found: resp.Found}
	if resp == &t.lockResp {
		handOver(&resp.Value)
	}
	if resp.TS.LessEq(t.meta.ReadTS) {
		return res, nil
	}
	res.Changed = true
	if t.opts.Isolation == kvpb.ReadCommitted || t.check.active {
		return res, nil
	}
	if err := t.refresh(ctx, t.env.Clock.Now().Max(resp.TS)); err != nil {
		return LockResult{}, err
	}
	return res, nil
}

// requestLock requests a lock and records it. The response is in t.lockResp.
func (t *Txn) requestLock(ctx context.Context, key []byte, s lock.Strength, w lock.WaitPolicy) error {
	t.lockReq.Key, t.lockReq.Strength, t.lockReq.Wait, t.lockReq.Timeout = key, s, w, t.LockTimeout
	t.lockReq.HoldsLocks = len(t.locks) > 0
	resp := &t.lockResp
	within, span := traced(ctx, "lock", key, nil)
	err := t.env.Sender.Lock(within, &t.lockReq, resp)
	answered(span, oneIf(resp.Found), err)
	if err != nil {
		t.lockFailed(key)
		return err
	}
	if !resp.Skipped && (resp.Acquired || resp.Resent || len(t.ambiguous) > 0) {
		return t.addLock(key, s, resp)
	}
	return nil
}

// knownLocks is how many of the last locks addLock searches for one that was lost and taken again.
// The commit finds others by their lock tables.
const knownLocks = 16

// addLock records a granted lock unless it is recorded already. The lock was granted now, or to an
// earlier attempt whose answer was lost.
func (t *Txn) addLock(key []byte, s lock.Strength, resp *kvpb.LockResponse) error {
	for i := max(0, len(t.locks)-knownLocks); i < len(t.locks); i++ {
		if l := &t.locks[i]; bytes.Equal(l.key, key) {
			if !resp.Acquired {
				return nil // held all along, perhaps through a merge; otherwise the commit detects it by the lock table
			}
			t.mustRestart = true
			return &kvpb.RetryError{Reason: "the range lost the transaction's locks with its leader", Key: cloneKey(key)}
		}
	}
	if ambiguous := t.wasAmbiguous(key); resp.Acquired || resp.Resent || ambiguous {
		t.locks = append(t.locks, lockedKey{key: t.reads.Copy(key), strength: s, lockTable: resp.LockTableID})
	}
	return nil
}

// lockFailed records that a lock request failed. The lock may have been granted all the same, if
// the answer was lost or late.
func (t *Txn) lockFailed(key []byte) {
	for i := range t.locks {
		if bytes.Equal(t.locks[i].key, key) {
			return // a stronger request: the held lock is released with it
		}
	}
	if !t.isAmbiguous(key) {
		t.ambiguous = append(t.ambiguous, cloneKey(key))
	}
}

func (t *Txn) isAmbiguous(key []byte) bool {
	return slices.ContainsFunc(t.ambiguous, func(k []byte) bool { return bytes.Equal(k, key) })
}

// wasAmbiguous reports whether an earlier request for the key failed, and drops it: the key is now
// known to be locked.
func (t *Txn) wasAmbiguous(key []byte) bool {
	if len(t.ambiguous) == 0 || !t.isAmbiguous(key) {
		return false
	}
	t.ambiguous = slices.DeleteFunc(t.ambiguous, func(k []byte) bool { return bytes.Equal(k, key) })
	return true
}

// ambiguousTimeout bounds the release of locks that may never have been granted.
const ambiguousTimeout = time.Second

// releaseAmbiguous releases the locks that failed requests may have been granted.
func (t *Txn) releaseAmbiguous(ctx context.Context) {
	if len(t.ambiguous) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ambiguousTimeout)
	defer cancel()
	_ = t.env.Sender.Release(ctx, &kvpb.ReleaseRequest{Txn: &t.meta, Locks: t.ambiguous})
	t.ambiguous = nil
}

// releaseLocks releases the locks from position n on.
func (t *Txn) releaseLocks(ctx context.Context, n int, committed bool) error {
	t.prefetched.forget()
	if n >= len(t.locks) {
		return nil
	}
	t.lockKeys = t.lockKeys[:0]
	for i := n; i < len(t.locks); i++ {
		t.lockKeys = append(t.lockKeys, t.locks[i].key)
	}
	clear(t.locks[n:])
	t.locks = t.locks[:n]
	ctx, span := traced(ctx, "release locks", nil, nil)
	err := t.env.Sender.Release(ctx, &kvpb.ReleaseRequest{Txn: &t.meta, Locks: t.lockKeys, Committed: committed})
	span.End(err)
	return err
}

// Unlock releases the lock on a key before the transaction ends, including one that a failed
// request may have been granted. Only transactions that do nothing but lock may call it: others
// have read under the lock, and the key would no longer be protected.
func (t *Txn) Unlock(ctx context.Context, key []byte) error {
	t.locks = slices.DeleteFunc(t.locks, func(l lockedKey) bool { return bytes.Equal(l.key, key) })
	t.wasAmbiguous(key)
	return t.env.Sender.Release(ctx, &kvpb.ReleaseRequest{Txn: &t.meta, Locks: [][]byte{key}})
}
