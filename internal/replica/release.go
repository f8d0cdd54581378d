package replica

import (
	"bytes"
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/kvpb"
)

// Release implements kvpb.Sender.
func (r *Replica) Release(ctx context.Context, req *kvpb.ReleaseRequest) error {
	var s lockSection
	if _, err := s.admit(ctx, r, req.Locks...); err != nil {
		return err
	}
	defer s.leave()
	id := txnID(req.Txn)
	if req.Abandoned {
		if err := r.awaitAbandoned(ctx, req); err != nil {
			return err
		}
	}
	if req.Committed {
		for _, k := range req.Locks {
			r.reads.AddKey(k, req.Txn.ReadTS, id)
		}
	}
	r.releaseAll(id, req.Locks)
	return nil
}

// releaseAll releases locks of a transaction, wherever splits and merges have moved them since it acquired them: a commit that was
// applied before a split may release its locks after it. The release follows the locks:
//
//	replica ──right──► right half of its last split ──right──► …
//	   │ into
//	   ▼
//	replica of the range that has subsumed it ──right──► …
func (r *Replica) releaseAll(id concurrency.TxnID, keys [][]byte) {
	if len(keys) > 0 {
		r.releaseAt(id, keys, nil)
	}
}

// releasePath is where a release has come from. A right half that was merged back leads to where the release began.
type releasePath struct {
	r    *Replica
	from *releasePath
}

func (p *releasePath) has(r *Replica) bool {
	for ; p != nil; p = p.from {
		if p.r == r {
			return true
		}
	}
	return false
}

func (r *Replica) releaseAt(id concurrency.TxnID, keys [][]byte, from *releasePath) {
	if from.has(r) {
		return
	}
	r.locks.ReleaseAll(id, keys...)
	right, into := r.right.Load(), r.merging.into.Load()
	if right == nil && into == nil {
		return
	}
	path := &releasePath{r, from}
	if right != nil {
		right.releaseMoved(id, r.beyond(keys), path)
	}
	r.releaseSubsumed(id, keys, path)
}

// releaseSubsumed releases locks that a merge has moved to another range, if one has.
func (r *Replica) releaseSubsumed(id concurrency.TxnID, keys [][]byte, from *releasePath) {
	if into := r.merging.into.Load(); into != nil {
		r.merging.wait() // until the merge has moved the locks
		into.releaseAt(id, keys, from)
	}
}

// beyond returns the keys that lie behind the range.
func (r *Replica) beyond(keys [][]byte) (out [][]byte) {
	end := r.Desc().EndKey
	for _, k := range keys {
		if bytes.Compare(k, end) >= 0 {
			out = append(out, k)
		}
	}
	return out
}

// releaseMoved releases locks that a split has moved here, some of which this leadership may still have to inherit.
func (r *Replica) releaseMoved(id concurrency.TxnID, keys [][]byte, from *releasePath) {
	if len(keys) == 0 {
		return
	}
	r.disinherit(id, keys)
	r.releaseAt(id, keys, from)
}

// disinherit takes locks off the list of those to inherit.
func (r *Replica) disinherit(id concurrency.TxnID, keys [][]byte) {
	r.inheritMu.Lock()
	defer r.inheritMu.Unlock()
	r.inherit = slices.DeleteFunc(r.inherit, func(l concurrency.Lock) bool {
		return l.Txn == id && slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(l.Key, k) })
	})
}
