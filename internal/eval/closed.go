package eval

import (
	"context"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

// GetIn is Get in the one state of the engine that a reader sees: for follower reads, which nothing
// else keeps apart from what is applied meanwhile.
func GetIn(r *mvcc.Reader, req *kvpb.GetRequest, resp *kvpb.GetResponse) error {
	s, err := r.Scanner(keys.Span{Start: req.Key}, req.Txn.ReadTS, false)
	if err != nil {
		return err
	}
	resp.Value = resp.Value[:0]
	if resp.Found = s.Next(); resp.Found {
		resp.Value, resp.TS = append(resp.Value, s.Value()...), s.Timestamp()
	}
	return s.Err()
}

// ScanIn is Scan in the one state of the engine that a reader sees.
func ScanIn(ctx context.Context, r *mvcc.Reader, req *kvpb.ScanRequest, resp *kvpb.ScanResponse) error {
	if len(req.Spans) > 0 {
		return scanSpans(ctx, r, req, resp, true)
	}
	return scan(ctx, r, req, resp)
}
