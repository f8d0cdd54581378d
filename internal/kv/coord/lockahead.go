package coord

import (
	"bytes"
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
)

// maxAhead bounds the answers that are prefetched for a statement.
const maxAhead = 4096

// maxRuns bounds the requests whose answers are prefetched, which find looks through.
const maxRuns = 8

// prefetched holds the answers of locks that were taken before Lock was called for them.
type prefetched struct {
	strength lock.Strength
	runs     []prefetchedRun
	n        int // keys of all runs
}

// prefetchedRun has the locks that one LockAhead has acquired.
type prefetchedRun struct {
	keys [][]byte // sorted; its own
	got  []kvpb.LockResponse
	seen hlc.Timestamp // answers with versions up to there have no values; empty: all have
	next int           // behind the key that was found last: the next one is mostly asked for next
}

func (a *prefetched) forget() {
	if len(a.runs) > 0 {
		clear(a.runs)
		a.runs, a.n = a.runs[:0], 0
	}
}

// add adds a run.
func (a *prefetched) add(r prefetchedRun) {
	a.runs, a.n = append(a.runs, r), a.n+len(r.keys)
}

// find returns the prefetched answer of a lock, or nil. valued reports whether it has the value.
func (a *prefetched) find(key []byte, s lock.Strength) (got *kvpb.LockResponse, valued bool) {
	if s > a.strength {
		return nil, false
	}
	for i := len(a.runs) - 1; i >= 0; i-- { // the newest answer counts
		if got := a.runs[i].find(key); got != nil {
			return got, !got.Found || a.runs[i].seen.Less(got.TS)
		}
	}
	return nil, false
}

func (r *prefetchedRun) find(key []byte) *kvpb.LockResponse {
	at, ok := r.next, r.next < len(r.keys) && bytes.Equal(r.keys[r.next], key)
	if !ok {
		at, ok = slices.BinarySearchFunc(r.keys, key, bytes.Compare)
	}
	if !ok || r.got[at].Skipped {
		return nil
	}
	r.next = at + 1
	return &r.got[at]
}

// LockAhead takes the free ones among the locks that the present statement will request with Lock,
// with one request per range. Lock waits for the others. The results of Lock are the same as
// without LockAhead.
func (t *Txn) LockAhead(ctx context.Context, keys [][]byte, s lock.Strength) error {
	return t.lockAhead(ctx, keys, s, false)
}

// LockUnchangedAhead is LockAhead for keys that the statement has read in its snapshot, so that their values need
// not be sent once more, and that it will lock with LockUnchanged.
func (t *Txn) LockUnchangedAhead(ctx context.Context, keys [][]byte, s lock.Strength) error {
	return t.lockAhead(ctx, keys, s, true)
}

func (t *Txn) lockAhead(ctx context.Context, keys [][]byte, s lock.Strength, seen bool) error {
	if s != t.prefetched.strength || t.prefetched.n+len(keys) > maxAhead || len(t.prefetched.runs) == maxRuns {
		t.prefetched.forget()
	}
	if len(keys) == 0 {
		return nil
	}
	for i := 0; i < len(keys) && t.spill.flight != nil; i++ {
		if err := t.endSpillOf(keys[i]); err != nil {
			return err
		}
	}
	if err := t.renewSnapshot(ctx); err != nil {
		return err
	}
	keys = slices.Clone(keys)
	slices.SortFunc(keys, bytes.Compare)
	keys = slices.CompactFunc(keys, bytes.Equal)
	req := kvpb.LockManyRequest{Txn: &t.meta, Keys: keys, Strength: s, HoldsLocks: len(t.locks) > 0, Seen: seen}
	var resp kvpb.LockManyResponse
	within, span := traced(ctx, "lock ahead", keys[0], nil)
	err := t.env.Sender.LockMany(within, &req, &resp)
	if answered(span, len(keys), err); err != nil {
		for _, k := range keys {
			t.lockFailed(k)
		}
		return err
	}
	t.prefetched.strength = s
	run := prefetchedRun{keys: cloneKeys(keys), got: resp.Locks}
	if seen {
		run.seen = t.meta.ReadTS
	}
	t.prefetched.add(run)
	return t.addRun(&run, s)
}

// addRun is addLock for those locks of a run that were granted.
func (t *Txn) addRun(run *prefetchedRun, s lock.Strength) (lost error) {
	known := t.lockedAmong(run.keys)
	for i, k := range run.keys {
		l := &run.got[i]
		switch {
		case l.Skipped || !l.Acquired && !l.Resent && len(t.ambiguous) == 0:
		case !known && l.Acquired && len(t.ambiguous) == 0:
			t.locks = append(t.locks, lockedKey{key: k, strength: s, lockTable: l.LockTableID})
		default:
			if err := t.addLock(k, s, l); err != nil {
				lost = err // record the other locks all the same, so that they are released
			}
		}
	}
	return lost
}

// lockedAmong reports whether one of the last locks, among which addLock looks for a key, lies between sorted keys.
func (t *Txn) lockedAmong(sorted [][]byte) bool {
	first, last := sorted[0], sorted[len(sorted)-1]
	return slices.ContainsFunc(t.locks[max(0, len(t.locks)-knownLocks):], func(l lockedKey) bool {
		return bytes.Compare(first, l.key) <= 0 && bytes.Compare(l.key, last) <= 0
	})
}

// cloneKeys copies keys into one block.
func cloneKeys(keys [][]byte) [][]byte {
	size := 0
	for _, k := range keys {
		size += len(k)
	}
	block, copies := make([]byte, 0, size), make([][]byte, len(keys))
	for i, k := range keys {
		n := len(block)
		block = append(block, k...)
		copies[i] = block[n:len(block):len(block)]
	}
	return copies
}
