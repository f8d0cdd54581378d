package dist

import (
	"bytes"
	"context"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Get implements kvpb.Sender.
func (d *Router) Get(ctx context.Context, req *kvpb.GetRequest, resp *kvpb.GetResponse) error {
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

// Lock implements kvpb.Sender. A lock may be asked for again: who has it already
// gets it.
func (d *Router) Lock(ctx context.Context, req *kvpb.LockRequest, resp *kvpb.LockResponse) error {
	var r retry
	for {
		t, err := d.find(ctx, req.Key, &r)
		if err == nil {
			if err = t.Lock(ctx, req, resp); err == nil {
				resp.Unsure = !r.sent.IsZero()
				return nil
			}
		}
		if err = r.next(ctx, d, t, req.Key, err); err != nil {
			return err
		}
	}
}

// Scan implements kvpb.Sender. One call reads from one range; where the range
// ends before the span does, the response says where to go on.
func (d *Router) Scan(ctx context.Context, req *kvpb.ScanRequest, resp *kvpb.ScanResponse) error {
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

// scanPart reads the part of a scan that lies in one range; more is where the
// rest begins.
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
