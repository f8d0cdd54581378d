package dist

import (
	"context"
	"fmt"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/kvpb/kvwire"
)

// Limits of range lookups.
const (
	// prefetch is how many meta records one lookup reads.
	prefetch = 8
	// maxLookups bounds the lookups that run at a time. Most of those that wait then find their range in
	// the cache.
	maxLookups = 16
)

// MetaLookup finds the range that holds key in the meta records. It is the rangecache.Lookup of a
// Router. Config.FirstRange has the address of the meta records' own range.
func (d *Router) MetaLookup(ctx context.Context, key []byte) ([]kvpb.RangeDescriptor, error) {
	meta := metaSpan()
	if meta.Contains(key) {
		return d.firstRange(ctx)
	}
	select {
	case d.lookups <- struct{}{}:
		defer func() { <-d.lookups }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	before := d.cache.Cached(key)
	// Concurrent callers share one lookup of the first range.
	if _, err := d.cache.Find(ctx, meta.Start); err != nil {
		return nil, err
	}
	if e := d.cache.Cached(key); e != before {
		return nil, nil // another lookup found it, or the first range of a young cluster holds everything
	}
	return d.scanMeta(ctx, keys.Next(keys.Meta(key)), meta.End)
}

// firstRange returns the range of the meta records. No record could verify its address.
func (d *Router) firstRange(ctx context.Context) ([]kvpb.RangeDescriptor, error) {
	desc, err := d.cfg.FirstRange(ctx)
	if err != nil {
		return nil, fmt.Errorf("finding the first range: %w", err)
	}
	return []kvpb.RangeDescriptor{desc}, nil
}

// scanMeta reads the first meta records of [start, end), in the order of the ranges.
func (d *Router) scanMeta(ctx context.Context, start, end []byte) ([]kvpb.RangeDescriptor, error) {
	req := kvpb.ScanRequest{
		Txn: &kvpb.TxnMeta{Isolation: kvpb.ReadCommitted}, Start: start, End: end, MaxKeys: prefetch,
	}
	req.Txn.ReadTS = d.cfg.Now()
	req.Txn.StartTS = req.Txn.ReadTS
	var resp kvpb.ScanResponse
	if err := d.Scan(ctx, &req, &resp); err != nil {
		return nil, err
	}
	var out []kvpb.RangeDescriptor
	for i := range resp.Len() {
		desc, err := kvwire.DecodeDescriptor(resp.Value(i))
		if err != nil {
			return nil, fmt.Errorf("meta record %s: %w", keys.Pretty(resp.Key(i)), err)
		}
		out = append(out, *desc)
	}
	return out, nil
}

// metaSpan covers the meta records.
func metaSpan() keys.Span {
	start := keys.Meta(nil)
	return keys.Span{Start: start, End: keys.PrefixEnd(start)}
}
