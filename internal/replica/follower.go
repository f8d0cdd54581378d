package replica

import (
	"context"
	"errors"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/closedts"
	"github.com/lichendb/lichen/internal/eval"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/storage/mvcc"
	"github.com/lichendb/lichen/internal/txnintent"
)

// getClosed serves a Get as a follower read if its timestamp is closed. Otherwise it returns refused, the
// error of the attempt as a leader.
func (r *Replica) getClosed(req *kvpb.GetRequest, resp *kvpb.GetResponse, refused error) error {
	decision := closedts.NewRead(req.Txn, req.MayMove)
	return r.readClosed(&decision, []kvpb.Span{{Key: req.Key}}, refused, func(rd *mvcc.Reader) error {
		at := *req
		at.Txn, resp.ReadTS = movedTo(req.Txn, decision.At())
		return eval.GetIn(rd, &at, resp)
	})
}

// scanClosed is getClosed for a Scan.
func (r *Replica) scanClosed(ctx context.Context, req *kvpb.ScanRequest, resp *kvpb.ScanResponse, refused error) error {
	spans := []kvpb.Span{{Key: req.Start, EndKey: req.End}}
	if len(req.Spans) > 0 {
		spans = clipped(req)
	}
	decision := closedts.NewRead(req.Txn, req.MayMove)
	return r.readClosed(&decision, spans, refused, func(rd *mvcc.Reader) error {
		at := *req
		at.Txn, resp.ReadTS = movedTo(req.Txn, decision.At())
		return eval.ScanIn(ctx, rd, &at, resp)
	})
}

// movedTo returns the transaction with another read timestamp, and that timestamp. The timestamp is empty if
// the transaction has it already.
func movedTo(t *kvpb.TxnMeta, at hlc.Timestamp) (*kvpb.TxnMeta, hlc.Timestamp) {
	if at == t.ReadTS {
		return t, hlc.Timestamp{}
	}
	moved := *t
	moved.ReadTS = at
	return &moved, at
}

// readClosed performs a follower read of spans, as decision decides. It reads the applied index, the
// collection threshold, the locks and the versions from one state of the engine (closedts, invariant 4).
func (r *Replica) readClosed(decision *closedts.Read, spans []kvpb.Span, refused error, read func(*mvcc.Reader) error) error {
	var notLeader *kvpb.NotLeaderError
	if r.deps.Closing == nil || !errors.As(refused, &notLeader) {
		return refused
	}
	if v := decision.Begin(r.deps.Closing.Closed(r.id, r.applied.Load()), r.Desc(), spans); v != closedts.GoOn {
		return r.verdictError(v, decision, refused, hlc.Timestamp{})
	}
	rd := mvcc.NewReader(r.deps.Engine)
	defer rd.Close()
	st, threshold, ok, err := apply.StateIn(&rd, r.id)
	if err != nil {
		return err
	}
	if v := decision.State(r.deps.Closing.Closed(r.id, st.Index), ok); v != closedts.GoOn {
		return r.verdictError(v, decision, refused, threshold)
	}
	v, err := decideLocks(decision, &rd, spans)
	if err != nil {
		return err
	}
	if v != closedts.GoOn {
		r.stats.ClosedLocked.Add(1)
		return r.verdictError(v, decision, refused, threshold)
	}
	if err := read(&rd); err != nil {
		return err
	}
	if v := decision.End(r.Desc(), threshold); v != closedts.GoOn {
		return r.verdictError(v, decision, refused, threshold)
	}
	r.stats.ClosedReads.Add(1)
	return nil
}

// decideLocks passes the durable locks in spans to decision, up to the first one that blocks the read.
func decideLocks(decision *closedts.Read, rd *mvcc.Reader, spans []kvpb.Span) (v closedts.Verdict, err error) {
	for _, s := range spans {
		err := rd.Each(keys.LockSpan(keys.Span{Start: s.Key, End: s.EndKey}), func(_, b []byte) (more bool, err error) {
			in, err := txnintent.DecodeIntent(b)
			if err == nil {
				v = decision.Lock(in.TS)
			}
			return v == closedts.GoOn, err
		})
		if err != nil || v != closedts.GoOn {
			return v, err
		}
	}
	return v, nil
}

// verdictError returns the error of a verdict other than GoOn. refused is the default.
func (r *Replica) verdictError(v closedts.Verdict, decision *closedts.Read, refused error, threshold hlc.Timestamp) error {
	switch v {
	case closedts.WrongBounds:
		return r.mismatch()
	case closedts.TooOld:
		return &kvpb.SnapshotTooOldError{ReadTS: decision.At(), Threshold: threshold}
	}
	return refused
}
