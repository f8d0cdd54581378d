package dist

import (
	"context"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Spill implements kvpb.Spiller. The range of the anchor comes first, which has the
// transaction's record: whoever meets one of the other writes finds it.
func (d *Router) Spill(ctx context.Context, req *kvpb.SpillRequest) error {
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
			part.Writes, part.Positions, part.Locks = rest.Writes[:n], rest.Positions[:n], nil
			for _, k := range req.Locks {
				if t.desc.ContainsKey(k) {
					part.Locks = append(part.Locks, k)
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

// Spilled implements kvpb.Spiller.
func (d *Router) Spilled(ctx context.Context, req *kvpb.SpilledRequest) ([]kvpb.SpilledWrite, error) {
	var out []kvpb.SpilledWrite
	err := d.eachPart(ctx, []kvpb.Span{req.Span}, func(t target, spans []kvpb.Span) error {
		for _, sp := range spans {
			part := *req
			part.Span = sp
			w, err := t.Spilled(ctx, &part)
			if err != nil {
				return err
			}
			out = append(out, w...)
		}
		return nil
	})
	return out, err
}

// Unspill implements kvpb.Spiller. The range of the anchor comes last: while
// something is left in another, the record is there. Each range is told which part of the
// span it is asked for, and refuses what it does not hold any more: nothing is left out
// because borders moved.
func (d *Router) Unspill(ctx context.Context, req *kvpb.UnspillRequest) error {
	for range maxAttempts {
		var last kvpb.Span // what the range of the anchor holds
		if len(req.Span.EndKey) > 0 {
			err := d.eachPart(ctx, []kvpb.Span{req.Span}, func(t target, part []kvpb.Span) error {
				if t.desc.ContainsKey(req.Anchor) {
					last = part[0]
					return nil
				}
				if req.Abort {
					return t.Resolve(ctx, &kvpb.ResolveRequest{Txn: req.Txn.ID, Span: part[0]})
				}
				one := *req
				one.Span = part[0]
				return t.Unspill(ctx, &one)
			})
			if err != nil {
				return err
			}
		}
		err := d.route(ctx, req.Anchor, false, func(t target) error {
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
	return &kvpb.RetryError{Reason: "the borders of the ranges moved too often"}
}
