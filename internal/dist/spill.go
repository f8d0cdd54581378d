package dist

import (
	"bytes"
	"context"
	"sync"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
)

// Spill implements kvpb.Spiller. It visits the anchor's range first, which keeps the transaction's record: a
// transaction that finds another intent must find the record.
func (d *Router) Spill(ctx context.Context, req *kvpb.SpillRequest) error {
	defer must.Report(d.cfg.OnFatal)
	rest := *req
	if rest.Anchor == nil {
		rest.Anchor = req.Writes[0].Key
	}
	for len(rest.Writes) > 0 {
		n := 0
		err := d.route(ctx, rest.Writes[0].Key, false, func(t target) error {
			part := rest
			for n = 0; n < len(rest.Writes) && t.desc.ContainsKey(rest.Writes[n].Key); {
				n++
			}
			part.Writes, part.Positions, part.Locks, part.LockTableIDs = rest.Writes[:n], rest.Positions[:n], nil, nil
			for i, k := range req.Locks {
				if t.desc.ContainsKey(k) {
					part.Locks, part.LockTableIDs = append(part.Locks, k), append(part.LockTableIDs, req.LockTableIDs[i])
				}
			}
			return t.Spill(ctx, &part)
		})
		if err != nil {
			return err
		}
		rest.Writes, rest.Positions = rest.Writes[n:], rest.Positions[n:]
	}
	return nil
}

// Spilled implements kvpb.Spiller. Like Scan, it reads from one range per call.
func (d *Router) Spilled(ctx context.Context, req *kvpb.SpilledRequest) (resp kvpb.SpilledResponse, err error) {
	defer must.Report(d.cfg.OnFatal)
	if len(req.Span.EndKey) > 0 && req.Reverse {
		return d.spilledReverse(ctx, req)
	}
	err = d.route(ctx, req.Span.Key, false, func(t target) (err error) {
		part := *req
		more := false
		if len(part.Span.EndKey) > 0 && bytes.Compare(t.desc.EndKey, part.Span.EndKey) < 0 {
			part.Span.EndKey, more = t.desc.EndKey, true
		}
		resp, err = t.Spilled(ctx, &part)
		if err == nil && more && resp.Resume == nil {
			resp.Resume = bytes.Clone(t.desc.EndKey)
		}
		return err
	})
	return resp, err
}

func (d *Router) spilledReverse(ctx context.Context, req *kvpb.SpilledRequest) (resp kvpb.SpilledResponse, err error) {
	var r retry
	for {
		t, err := d.findBefore(ctx, req.Span.Key, req.Span.EndKey, &r)
		if err == nil {
			part := *req
			more := bytes.Compare(part.Span.Key, t.desc.StartKey) < 0
			if more {
				part.Span.Key = t.desc.StartKey
			}
			if resp, err = t.Spilled(ctx, &part); err == nil {
				if more && resp.Resume == nil {
					resp.Resume = bytes.Clone(t.desc.StartKey)
				}
				return resp, nil
			}
		}
		if err = r.next(ctx, d, t, req.Span.Key, err); err != nil {
			return resp, err
		}
	}
}

// Unspill implements kvpb.Spiller. It visits the anchor's range last, so that the record exists as long as
// intents do elsewhere. Each request names its part of the span, and a range refuses keys that it no longer
// holds. So no change of bounds leaves intents out.
func (d *Router) Unspill(ctx context.Context, req *kvpb.UnspillRequest) error {
	defer must.Report(d.cfg.OnFatal)
	if req.Abort {
		return d.abortSpilled(ctx, req)
	}
	for range maxAttempts {
		last, err := d.unspillOthers(ctx, req)
		if err != nil {
			return err
		}
		err = d.route(ctx, req.Anchor, false, func(t target) error {
			if len(last.EndKey) > 0 && !holdsSpan(t.desc, last) {
				return errMoved
			}
			one := *req
			one.Span = last
			return t.Unspill(ctx, &one)
		})
		if err != errMoved {
			return err
		}
	}
	return &kvpb.RetryError{Reason: "the bounds of the ranges changed too often"}
}

// unspillOthers undoes the spill in all ranges but the anchor's, in parallel. last is the part of
// the span that the anchor's range holds.
func (d *Router) unspillOthers(ctx context.Context, req *kvpb.UnspillRequest) (last kvpb.Span, err error) {
	if len(req.Span.EndKey) == 0 {
		return last, nil
	}
	var mu sync.Mutex
	err = d.inParallel(ctx, []kvpb.Span{req.Span}, false, func(ctx context.Context, t target, part []kvpb.Span) error {
		for _, s := range part {
			if t.desc.ContainsKey(req.Anchor) {
				mu.Lock()
				if last.Key == nil || bytes.Compare(s.Key, last.Key) < 0 {
					last.Key = s.Key
				}
				if bytes.Compare(last.EndKey, s.EndKey) < 0 {
					last.EndKey = s.EndKey
				}
				mu.Unlock()
				continue
			}
			one := *req
			one.Span = s
			if err := t.Unspill(ctx, &one); err != nil {
				return err
			}
		}
		return nil
	})
	return last, err
}

// abortSpilled undoes all spills of a transaction. If they are in several ranges, the transaction is aborted
// as soon as its record says so. The intents are then resolved in the background, as after a commit.
func (d *Router) abortSpilled(ctx context.Context, req *kvpb.UnspillRequest) error {
	within := false
	err := d.route(ctx, req.Anchor, false, func(t target) error {
		if within = len(req.Span.EndKey) == 0 || holdsSpan(t.desc, req.Span); within {
			return t.Unspill(ctx, req)
		}
		return nil
	})
	if within || err != nil {
		return err
	}
	e := &ending{
		d: d, txn: *req.Txn, anchor: bytes.Clone(req.Anchor), action: kvpb.EndAbort,
		span: kvpb.Span{Key: bytes.Clone(req.Span.Key), EndKey: bytes.Clone(req.Span.EndKey)},
	}
	var answer kvpb.EndTxnResponse
	if err = e.endTxn(ctx, &answer); err == nil {
		e.setOutcome(&answer)
	}
	e.finish() // finish retries what failed
	return err
}
