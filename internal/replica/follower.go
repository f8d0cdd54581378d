package replica

import (
	"bytes"
	"context"
	"errors"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/eval"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/storage/mvcc"
	"github.com/lichendb/lichen/internal/txnintent"
)

// getClosed answers a Get that only a leader could have answered with refused, if what it
// reads is closed here.
func (r *Replica) getClosed(req *kvpb.GetRequest, resp *kvpb.GetResponse, refused error) error {
	return r.readClosed(req.Txn, []kvpb.Span{{Key: req.Key}}, refused, func(rd *mvcc.Reader) error {
		return eval.GetIn(rd, req, resp)
	})
}

// scanClosed is getClosed for a Scan.
func (r *Replica) scanClosed(ctx context.Context, req *kvpb.ScanRequest, resp *kvpb.ScanResponse, refused error) error {
	spans := []kvpb.Span{{Key: req.Start, EndKey: req.End}}
	if len(req.Spans) > 0 {
		spans = clipped(req)
	}
	return r.readClosed(req.Txn, spans, refused, func(rd *mvcc.Reader) error {
		return eval.ScanIn(ctx, rd, req, resp)
	})
}

// readClosed reads spans at a replica that does not lead its range, if no version can come
// up to the transaction's time, the uncertainty of it included, but for those of durable
// locks: a read that meets one of those is refused, since only the leader finds out what
// became of its transaction. Everything is seen in one state of the engine: what was
// applied, the collection threshold, the locks and the versions (closedts, invariant 4).
func (r *Replica) readClosed(t *kvpb.TxnMeta, spans []kvpb.Span, refused error, read func(*mvcc.Reader) error) error {
	var notLeader *kvpb.NotLeaderError
	if r.deps.Closing == nil || !errors.As(refused, &notLeader) {
		return refused
	}
	ts := t.ReadTS.Max(t.UncertainTS)
	if r.deps.Closing.Closed(r.id, r.applied.Load()).Less(ts) && !plant.On(plant.FollowerAboveClosed) {
		return refused
	}
	d := r.Desc()
	for _, s := range spans {
		if !d.ContainsKey(s.Key) || len(s.EndKey) > 0 && bytes.Compare(s.EndKey, d.EndKey) > 0 {
			return r.mismatch()
		}
	}
	rd := mvcc.NewReader(r.deps.Engine)
	defer rd.Close()
	st, threshold, ok, err := apply.StateIn(&rd, r.id)
	if err != nil {
		return err
	}
	if !ok || r.deps.Closing.Closed(r.id, st.Index).Less(ts) && !plant.On(plant.FollowerAboveClosed) { // it was removed, or has begun anew
		return refused
	}
	for _, s := range spans {
		met := false
		err := rd.Each(keys.LockSpan(keys.Span{Start: s.Key, End: s.EndKey}), func(_, v []byte) (more bool, err error) {
			rec, err := txnintent.DecodeIntent(v)
			met = err == nil && rec.TS.LessEq(ts)
			return !met, err
		})
		if err != nil {
			return err
		}
		if met {
			r.stats.ClosedLocked.Add(1)
			return refused
		}
	}
	if err := read(&rd); err != nil {
		return err
	}
	if now := r.Desc(); now != d && now.BoundsGen != d.BoundsGen {
		return r.mismatch()
	}
	if t.ReadTS.Less(threshold) {
		return &kvpb.SnapshotTooOldError{ReadTS: t.ReadTS, Threshold: threshold}
	}
	r.stats.ClosedReads.Add(1)
	return nil
}
