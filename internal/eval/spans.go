package eval

import (
	"cmp"
	"context"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

// spansPerCancelCheck is how many spans a scan reads between looks at its context.
const spansPerCancelCheck = 256

// scanSpans evaluates a scan of several spans. One iterator reads the spans, another one the single
// keys among them. The spans are sorted, so that each seek goes on from where the one before has
// ended. If oneState is set, the same iterator reads both, so that all rows come from one state of
// the engine.
func scanSpans(ctx context.Context, r *mvcc.Reader, req *kvpb.ScanRequest, resp *kvpb.ScanResponse, oneState bool) error {
	page := page{req: req, resp: resp}
	var scanner mvcc.Scanner
	for i, s := range req.Spans {
		s, ok := s.Clip(req.Start, req.End)
		if !ok {
			continue
		}
		if i%spansPerCancelCheck == spansPerCancelCheck-1 && ctx.Err() != nil {
			return ctx.Err()
		}
		if page.full {
			resp.Resume = append([]byte(nil), s.Key...)
			return nil
		}
		if len(s.EndKey) == 0 && !oneState {
			if err := page.point(r, s.Key); err != nil {
				return err
			}
			continue
		}
		if err := r.Rescan(&scanner, keys.Span{Start: s.Key, End: s.EndKey}, req.Txn.ReadTS); err != nil {
			return err
		}
		for scanner.Next() {
			if err := appendRow(r.Values(), resp, scanner.Key(), scanner.Value()); err != nil {
				return err
			}
			if page.added(); page.full {
				resp.Resume = keys.Next(scanner.Key())
				return nil
			}
			if page.rows%rowsPerCancelCheck == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
		}
		if err := scanner.Err(); err != nil {
			return err
		}
	}
	return nil
}

// page is a response within the limits of its request.
type page struct {
	req  *kvpb.ScanRequest
	resp *kvpb.ScanResponse
	rows int
	full bool
}

// added counts a row, and notes whether the page is full.
func (p *page) added() {
	p.rows++
	p.full = p.req.MaxKeys > 0 && p.rows >= p.req.MaxKeys ||
		p.req.MaxBytes > 0 && len(p.resp.Arena) >= p.req.MaxBytes
}

// point adds the row of one key, if it exists.
func (p *page) point(r *mvcc.Reader, key []byte) error {
	arena, _, found, err := r.Append(key, p.req.Txn.ReadTS, append(p.resp.Arena, key...))
	if err != nil || !found {
		return err
	}
	p.resp.Take(arena, len(key))
	p.added()
	return nil
}

// scanSpansVisible is scanSpans but for the versions that are hidden.
func scanSpansVisible(
	ctx context.Context, eng *storage.Engine, req *kvpb.ScanRequest, hidden mvcc.Hidden, resp *kvpb.ScanResponse,
) error {
	page := page{req: req, resp: resp}
	for _, s := range req.Spans {
		s, ok := s.Clip(req.Start, req.End)
		if !ok {
			continue
		}
		if page.full {
			resp.Resume = append([]byte(nil), s.Key...)
			return nil
		}
		if len(s.EndKey) == 0 {
			v, found, err := mvcc.GetVisible(eng, s.Key, req.Txn.ReadTS, hidden, nil)
			if err != nil {
				return err
			}
			if found {
				if err := appendRow(eng.Values(), resp, s.Key, v.Data); err != nil {
					return err
				}
				page.added()
			}
			continue
		}
		span := keys.Span{Start: s.Key, End: s.EndKey}
		var full error
		err := mvcc.ScanVisible(ctx, eng, span, req.Txn.ReadTS, hidden, false, func(key, value []byte) bool {
			if full = appendRow(eng.Values(), resp, key, value); full != nil {
				return false
			}
			if page.added(); page.full {
				resp.Resume = keys.Next(key)
			}
			return !page.full
		})
		if err = cmp.Or(full, err); err != nil || resp.Resume != nil {
			return err
		}
	}
	return nil
}
