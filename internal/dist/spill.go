package dist

import (
	"context"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Spill implements kvpb.Spiller.
func (d *Router) Spill(ctx context.Context, req *kvpb.SpillRequest) error {
	s, err := d.only(req.Writes, req.Locks)
	if err != nil {
		return err
	}
	return s.Spill(ctx, req)
}

// Spilled implements kvpb.Spiller.
func (d *Router) Spilled(ctx context.Context, req *kvpb.SpilledRequest) ([]kvpb.SpilledWrite, error) {
	var out []kvpb.SpilledWrite
	err := d.eachRange([]kvpb.Span{req.Span}, func(s kvpb.Sender, spans []kvpb.Span) error {
		for _, sp := range spans {
			part := *req
			part.Span = sp
			w, err := s.Spilled(ctx, &part)
			if err != nil {
				return err
			}
			out = append(out, w...)
		}
		return nil
	})
	return out, err
}

// Unspill implements kvpb.Spiller. A transaction spills into one range only.
func (d *Router) Unspill(ctx context.Context, req *kvpb.UnspillRequest) error {
	s, _, err := d.loc.Lookup(req.Anchor)
	if err != nil {
		return err
	}
	return s.Unspill(ctx, req)
}
