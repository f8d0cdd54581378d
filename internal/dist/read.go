package dist

import (
	"bytes"
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
)

// Get implements kvpb.Sender.
func (d *Router) Get(ctx context.Context, req *kvpb.GetRequest, resp *kvpb.GetResponse) error {
	defer must.Report(d.cfg.OnFatal)
	r := d.reading(req.Txn)
	for {
		t, err := d.find(ctx, req.Key, &r)
		if err == nil {
			if err = t.Get(ctx, req, resp); err == nil {
				return nil
			}
		}
		if err = r.next(ctx, d, t, req.Key, err); err != nil {
			return err
		}
	}
}

// Lock implements kvpb.Sender. The request may be sent again: its transaction keeps a lock that was
// already granted.
func (d *Router) Lock(ctx context.Context, req *kvpb.LockRequest, resp *kvpb.LockResponse) error {
	defer must.Report(d.cfg.OnFatal)
	var r retry
	for {
		t, err := d.find(ctx, req.Key, &r)
		if err == nil {
			if err = t.Lock(ctx, req, resp); err == nil {
				resp.Resent = !r.sent.IsZero()
				return nil
			}
		}
		if err = r.next(ctx, d, t, req.Key, err); err != nil {
			return err
		}
	}
}

// LockMany implements kvpb.Sender. It visits the ranges in parallel.
func (d *Router) LockMany(ctx context.Context, req *kvpb.LockManyRequest, resp *kvpb.LockManyResponse) error {
	defer must.Report(d.cfg.OnFatal)
	done, tried, err := d.lockInOne(ctx, req, resp)
	if done {
		return err
	}
	resp.Locks = make([]kvpb.LockResponse, len(req.Keys))
	spans := points(req.Keys)
	groups, err := d.byRange(ctx, spans)
	if err != nil {
		groups = [][]kvpb.Span{spans} // eachPart retries the lookup or reports its error
	}
	return parallel(ctx, len(groups), false, func(ctx context.Context, i int) error {
		failed := tried // an attempt failed, and its locks may have been granted all the same
		return d.eachPart(ctx, groups[i], func(t target, part []kvpb.Span) error {
			one := *req
			one.Keys = keysOf(part)
			var answer kvpb.LockManyResponse
			if err := t.LockMany(ctx, &one, &answer); err != nil {
				failed = true
				return err
			}
			at, _ := slices.BinarySearchFunc(req.Keys, one.Keys[0], bytes.Compare)
			for j := range answer.Locks {
				answer.Locks[j].Resent = failed && !answer.Locks[j].Skipped
			}
			copy(resp.Locks[at:], answer.Locks)
			return nil
		})
	})
}

// lockInOne tries once to take the locks of sorted keys that all are in one range, as most are: then nothing is divided
// or put together. If it is not done, the keys must be divided. tried says that locks may have been granted all the same.
func (d *Router) lockInOne(ctx context.Context, req *kvpb.LockManyRequest, resp *kvpb.LockManyResponse) (done, tried bool, err error) {
	if len(req.Keys) == 0 {
		return false, false, nil
	}
	var r retry
	first, last := req.Keys[0], req.Keys[len(req.Keys)-1]
	t, err := d.find(ctx, first, &r)
	if err != nil || !t.desc.ContainsKey(first) || !t.desc.ContainsKey(last) {
		return false, false, nil
	}
	if err = t.LockMany(ctx, req, resp); err != nil {
		err = r.next(ctx, d, t, first, err)
		return err != nil, true, err
	}
	return true, true, nil
}

// Scan implements kvpb.Sender. One call reads from one range. If the range ends before the span
// does, the response has the resume key.
func (d *Router) Scan(ctx context.Context, req *kvpb.ScanRequest, resp *kvpb.ScanResponse) error {
	defer must.Report(d.cfg.OnFatal)
	if bytes.Compare(req.Start, req.End) >= 0 {
		resp.Reset()
		return nil
	}
	if req.Reverse {
		return d.scanReverse(ctx, req, resp)
	}
	r := d.reading(req.Txn)
	for {
		t, err := d.find(ctx, req.Start, &r)
		if err == nil {
			if bytes.Compare(req.End, t.desc.EndKey) <= 0 {
				err = t.Scan(ctx, req, resp)
			} else {
				err = scanPart(ctx, t, *req, req.Start, t.desc.EndKey, t.desc.EndKey, resp)
			}
			if err == nil {
				return nil
			}
		}
		if err = r.next(ctx, d, t, req.Start, err); err != nil {
			return err
		}
	}
}

func (d *Router) scanReverse(ctx context.Context, req *kvpb.ScanRequest, resp *kvpb.ScanResponse) error {
	r := d.reading(req.Txn)
	for {
		t, err := d.findBefore(ctx, req.Start, req.End, &r)
		if err == nil {
			if bytes.Compare(req.Start, t.desc.StartKey) >= 0 {
				err = t.Scan(ctx, req, resp)
			} else {
				err = scanPart(ctx, t, *req, t.desc.StartKey, req.End, t.desc.StartKey, resp)
			}
			if err == nil {
				return nil
			}
		}
		if err = r.next(ctx, d, t, req.Start, err); err != nil {
			return err
		}
	}
}

// scanPart reads the part of a scan in one range; more is the resume key.
func scanPart(
	ctx context.Context, t target, part kvpb.ScanRequest, start, end, more []byte, resp *kvpb.ScanResponse,
) error {
	part.Start, part.End = start, end
	if len(part.Spans) > 0 {
		if part.Spans = kvpb.Narrow(part.Spans, start, end); len(part.Spans) == 0 {
			resp.Reset()
			resp.Resume = bytes.Clone(more)
			return nil
		}
	}
	if err := t.Scan(ctx, &part, resp); err != nil {
		return err
	}
	if resp.Resume == nil {
		resp.Resume = bytes.Clone(more)
	}
	return nil
}
