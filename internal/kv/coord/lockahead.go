package coord

import (
	"bytes"
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
)

// maxAhead bounds the answers that are prefetched for a statement.
const maxAhead = 4096

// prefetched holds the answers of locks that were taken before Lock was called for them.
type prefetched struct {
	strength lock.Strength
	got      map[string]*kvpb.LockResponse
}

func (a *prefetched) forget() {
	if len(a.got) > 0 {
		clear(a.got)
	}
}

// find returns the prefetched answer of a lock, or nil.
func (a *prefetched) find(key []byte, s lock.Strength) *kvpb.LockResponse {
	if len(a.got) == 0 || s > a.strength {
		return nil
	}
	return a.got[string(key)]
}

// LockAhead takes the free ones among the locks that the present statement will request with Lock,
// with one request per range. Lock waits for the others. The results of Lock are the same as
// without LockAhead.
func (t *Txn) LockAhead(ctx context.Context, keys [][]byte, s lock.Strength) error {
	if s != t.prefetched.strength || len(t.prefetched.got)+len(keys) > maxAhead {
		t.prefetched.forget()
	}
	if len(keys) == 0 {
		return nil
	}
	for _, k := range keys {
		if err := t.endSpillOf(k); err != nil {
			return err
		}
	}
	if err := t.renewSnapshot(ctx); err != nil {
		return err
	}
	keys = slices.Clone(keys)
	slices.SortFunc(keys, bytes.Compare)
	keys = slices.CompactFunc(keys, bytes.Equal)
	req := kvpb.LockManyRequest{Txn: &t.meta, Keys: keys, Strength: s, HoldsLocks: len(t.locks) > 0}
	var resp kvpb.LockManyResponse
	if err := t.env.Sender.LockMany(ctx, &req, &resp); err != nil {
		for _, k := range keys {
			t.lockFailed(k)
		}
		return err
	}
	if t.prefetched.got == nil {
		t.prefetched.got = make(map[string]*kvpb.LockResponse, len(keys))
	}
	t.prefetched.strength = s
	var lost error
	for i, k := range keys {
		l := &resp.Locks[i]
		if l.Skipped {
			continue
		}
		if l.Acquired || l.Unsure || len(t.ambiguous) > 0 {
			if err := t.addLock(k, s, l); err != nil {
				lost = err // record the other locks all the same, so that they are released
			}
		}
		t.prefetched.got[string(k)] = l
	}
	return lost
}
