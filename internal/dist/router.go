package dist

import (
	"bytes"
	"context"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Locator finds the leader of the range that holds a key.
type Locator interface {
	Lookup(key []byte) (kvpb.Sender, *kvpb.RangeDescriptor, error)
}

// Router implements kvpb.Sender over all ranges.
type Router struct{ loc Locator }

var _ kvpb.Sender = (*Router)(nil)

// New returns a router.
func New(l Locator) *Router { return &Router{loc: l} }

// Get implements kvpb.Sender.
func (d *Router) Get(ctx context.Context, req *kvpb.GetRequest, resp *kvpb.GetResponse) error {
	s, _, err := d.loc.Lookup(req.Key)
	if err != nil {
		return err
	}
	return s.Get(ctx, req, resp)
}

// Lock implements kvpb.Sender.
func (d *Router) Lock(ctx context.Context, req *kvpb.LockRequest, resp *kvpb.LockResponse) error {
	s, _, err := d.loc.Lookup(req.Key)
	if err != nil {
		return err
	}
	return s.Lock(ctx, req, resp)
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
	s, desc, err := d.loc.Lookup(req.Start)
	if err != nil {
		return err
	}
	if bytes.Compare(req.End, desc.EndKey) <= 0 {
		return s.Scan(ctx, req, resp)
	}
	part := *req
	part.End = desc.EndKey
	if err := s.Scan(ctx, &part, resp); err != nil {
		return err
	}
	if resp.Resume == nil {
		resp.Resume = bytes.Clone(desc.EndKey)
	}
	return nil
}

func (d *Router) scanReverse(ctx context.Context, req *kvpb.ScanRequest, resp *kvpb.ScanResponse) error {
	s, desc, err := d.lookupBefore(req.Start, req.End)
	if err != nil {
		return err
	}
	if bytes.Compare(req.Start, desc.StartKey) >= 0 {
		return s.Scan(ctx, req, resp)
	}
	part := *req
	part.Start = desc.StartKey
	if err := s.Scan(ctx, &part, resp); err != nil {
		return err
	}
	if resp.Resume == nil {
		resp.Resume = bytes.Clone(desc.StartKey)
	}
	return nil
}

// lookupBefore finds the range that holds the last keys before end.
func (d *Router) lookupBefore(start, end []byte) (kvpb.Sender, *kvpb.RangeDescriptor, error) {
	s, desc, err := d.loc.Lookup(start)
	for err == nil && bytes.Compare(desc.EndKey, end) < 0 {
		s, desc, err = d.loc.Lookup(desc.EndKey)
	}
	return s, desc, err
}

// Refresh implements kvpb.Sender.
func (d *Router) Refresh(ctx context.Context, req *kvpb.RefreshRequest) error {
	return d.eachRange(req.Spans, func(s kvpb.Sender, spans []kvpb.Span) error {
		part := *req
		part.Spans = spans
		return s.Refresh(ctx, &part)
	})
}

// eachRange calls fn for runs of spans that lie in one range, cut at borders.
func (d *Router) eachRange(spans []kvpb.Span, fn func(kvpb.Sender, []kvpb.Span) error) error {
	for i := 0; i < len(spans); {
		s, desc, err := d.loc.Lookup(spans[i].Key)
		if err != nil {
			return err
		}
		n := i
		for n < len(spans) && desc.ContainsKey(spans[n].Key) && bytes.Compare(spans[n].EndKey, desc.EndKey) <= 0 {
			n++
		}
		if n > i {
			if err := fn(s, spans[i:n]); err != nil {
				return err
			}
			i = n
			continue
		}
		if err := fn(s, []kvpb.Span{{Key: spans[i].Key, EndKey: desc.EndKey}}); err != nil {
			return err
		}
		rest := []kvpb.Span{{Key: desc.EndKey, EndKey: spans[i].EndKey}}
		if err := d.eachRange(rest, fn); err != nil {
			return err
		}
		i++
	}
	return nil
}

// errManyRanges refuses what needs an atomic commit across ranges.
var errManyRanges = &kvpb.UnavailableError{Reason: "transactions across ranges are not supported yet"}

// only returns the sender of the range that holds all keys.
func (d *Router) only(writes []kvpb.Write, locks [][]byte) (kvpb.Sender, error) {
	var s kvpb.Sender
	var desc *kvpb.RangeDescriptor
	check := func(key []byte) (err error) {
		if s == nil {
			s, desc, err = d.loc.Lookup(key)
			return err
		}
		if !desc.ContainsKey(key) {
			return errManyRanges
		}
		return nil
	}
	if len(writes) > 0 { // sorted: the first and the last decide
		if err := check(writes[0].Key); err != nil {
			return nil, err
		}
		if err := check(writes[len(writes)-1].Key); err != nil {
			return nil, err
		}
	}
	for _, k := range locks {
		if err := check(k); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Commit implements kvpb.Sender.
func (d *Router) Commit(ctx context.Context, req *kvpb.CommitRequest, resp *kvpb.CommitResponse) error {
	s, err := d.only(req.Writes, req.Locks)
	if err == nil && s == nil {
		s, _, err = d.loc.Lookup(req.Anchor)
	}
	if err != nil {
		return err
	}
	return s.Commit(ctx, req, resp)
}

// Release implements kvpb.Sender.
func (d *Router) Release(ctx context.Context, req *kvpb.ReleaseRequest) error {
	s, err := d.only(nil, req.Locks)
	if err != nil || s == nil {
		return err
	}
	return s.Release(ctx, req)
}
