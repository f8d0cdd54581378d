package replica

import (
	"context"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

// awaitSpill waits until no other transaction holds a durable lock on the key.
func (r *Replica) awaitSpill(ctx context.Context, req *kvpb.LockRequest) error {
	for {
		s, err := r.spillHolding(req)
		if s == nil || err != nil {
			return err
		}
		switch req.Wait {
		case kvpb.WaitError:
			return &kvpb.LockNotAvailableError{}
		case kvpb.WaitSkip:
			return errSkipLocked
		}
		h := concurrency.Holder{ID: txnID(req.Txn), Start: req.Txn.StartTS}
		if err := r.waitUntil(ctx, s.decided, req, h, s.blockers); err != nil {
			return err
		}
	}
}

// spillHolding returns the undecided spill of another transaction that holds the
// key, nil if there is none.
func (r *Replica) spillHolding(req *kvpb.LockRequest) (*spill, error) {
	sp := &r.spills
	var over []*spill
	sp.mu.Lock()
	for _, s := range sp.all {
		if s.id != req.Txn.ID && s.state <= spillCommitting && s.overlaps(req.Key, nil) {
			over = append(over, s)
		}
	}
	sp.mu.Unlock()
	if len(over) == 0 {
		return nil, nil
	}
	rec, ok, err := r.lockOf(req.Key)
	if err != nil || !ok {
		return nil, err
	}
	for _, s := range over {
		if s.id == rec.txn {
			return s, nil
		}
	}
	return nil, nil
}

// latestVisible reads the newest committed version of a key over which there are
// spills, all of them decided but the transaction's own.
func (r *Replica) latestVisible(req *kvpb.LockRequest, resp *kvpb.LockResponse) error {
	var v view
	moved := map[hlc.Timestamp]hlc.Timestamp{}
	sp := &r.spills
	sp.mu.Lock()
	for _, s := range sp.all {
		switch {
		case !s.overlaps(req.Key, nil):
		case s.state == spillCommitted:
			moved[s.ts] = s.commitTS
		default:
			v.pending = append(v.pending, s.ts)
		}
	}
	sp.mu.Unlock()
	val, found, err := mvcc.GetVisible(r.deps.Engine, req.Key, hlc.MaxTimestamp, v.hidden, resp.Value[:0])
	resp.Found, resp.TS = found, val.TS
	if found {
		resp.Value = val.Data
	}
	if ts, ok := moved[val.TS]; ok {
		resp.TS = ts
	}
	return err
}
