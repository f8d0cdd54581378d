package coord

import (
	"context"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Commit ends the transaction. After a retry error the transaction has been rolled back; after an
// ambiguous error it may have committed.
func (t *Txn) Commit(ctx context.Context) error {
	if t.state == idle || t.state == finished {
		t.state = finished
		return nil
	}
	defer t.finish()
	defer t.releaseAmbiguous(ctx)
	if !t.HasWrites() {
		return t.releaseLocks(ctx, 0, true)
	}
	spillErr := t.awaitSpill()
	req := t.buildCommit()
	if spillErr != nil {
		t.abandon(ctx, spillErr)
		return spillErr
	}
	var resp kvpb.CommitResponse
	within, span := traced(ctx, "commit", nil, nil)
	err := t.env.Sender.Commit(within, req, &resp)
	span.End(err)
	if err != nil {
		t.unknown = kvpb.Classify(err) == kvpb.ClassAmbiguous
		t.abandon(ctx, err)
		return err
	}
	t.commitTS = resp.CommitTS
	if t.env.MaxOffset > 0 { // another node may have chosen it
		t.env.Clock.Forward(t.commitTS) // later transactions of this gateway see it
	}
	return nil
}

func (t *Txn) buildCommit() *kvpb.CommitRequest {
	t.writes = slices.Grow(t.writes[:0], t.buf.Len())
	for c := t.buf.Seek(nil, t.newest+1); c.Valid(); c.Next() {
		w := kvpb.Write{Key: c.Key()}
		if val, del := c.Value(); !del {
			w.Value = val
		}
		t.writes = append(t.writes, w)
	}
	req := &t.commitReq
	*req = kvpb.CommitRequest{Txn: &t.meta, Writes: t.writes, Deadline: t.Deadline, Renew: t.Renew}
	t.addLocks(req)
	req.Spilled, req.Anchor, req.SpillSpan = t.state == spilled, t.spill.anchor, t.spill.span
	req.AllReadsHere, req.MinTS, req.AtSnapshot = true, t.minTS, t.spillsAtSnapshot()
	if t.opts.Isolation == kvpb.Serializable { // other levels let what was read change before the commit
		req.Reads = t.reads.Spans()
	}
	return req
}

// abandonTimeout bounds the cleanup of a failed commit before its client receives the error.
const abandonTimeout = time.Second

// abandon releases what a transaction holds after its commit failed with err.
func (t *Txn) abandon(ctx context.Context, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTimeout)
	defer cancel()
	if !t.unknown { // else it may have committed
		t.abortSpilled(ctx)
	}
	if len(t.locks) > 0 {
		_ = t.env.Sender.Release(ctx, &kvpb.ReleaseRequest{Txn: &t.meta, Locks: t.commitReq.Locks, Abandoned: true})
	}
}

// addLocks adds the locks to the commit. Their lock tables differ only if they are in several ranges.
func (t *Txn) addLocks(req *kvpb.CommitRequest) {
	t.lockKeys, t.lockTables = slices.Grow(t.lockKeys[:0], len(t.locks)), t.lockTables[:0]
	same := true
	for i := range t.locks {
		t.lockKeys = append(t.lockKeys, t.locks[i].key)
		same = same && t.locks[i].lockTable == t.locks[0].lockTable
	}
	req.Locks = t.lockKeys
	switch {
	case len(t.locks) == 0:
	case same:
		req.LockTableID = t.locks[0].lockTable
	default:
		for i := range t.locks {
			t.lockTables = append(t.lockTables, t.locks[i].lockTable)
		}
		req.LockTableIDs = t.lockTables
	}
}

// Rollback undoes the transaction and ends it. It may be called at any time.
func (t *Txn) Rollback(ctx context.Context) {
	if t.state == idle || t.state == finished {
		t.state = finished
		return
	}
	ctx = context.WithoutCancel(ctx)
	t.abortSpilled(ctx)
	t.releaseAmbiguous(ctx)
	_ = t.releaseLocks(ctx, 0, false) // a range that is gone has no locks left
	t.finish()
}

func (t *Txn) finish() {
	t.releaseReserved()
	t.state = finished
	t.prefetched = prefetched{}
	t.drop()
	t.discharge()
	t.forgetSpilled()
	t.env.unregister(t)
}

// keptKeys is the capacity for locks and writes that a transaction keeps for its next use.
const keptKeys = 1024

// drop releases the memory of a large transaction. Its session may stay idle for long, and nothing
// charges for that memory any more.
func (t *Txn) drop() {
	t.buf.Drop()
	clear(t.writes)
	clear(t.own[:cap(t.own)])
	t.commitReq.Writes = nil
	if cap(t.writes) > keptKeys {
		t.writes = nil
	}
	if cap(t.own) > keptKeys {
		t.own = nil
	}
	if cap(t.locks) > keptKeys || cap(t.lockKeys) > keptKeys {
		t.locks, t.lockKeys, t.lockTables, t.commitReq.Locks, t.commitReq.LockTableIDs = nil, nil, nil, nil, nil
	}
}
