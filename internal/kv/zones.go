package kv

import (
	"context"
	"fmt"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/keys"
)

// ZoneSpans reads the stored zones, in the order of their starts: the placement
// rules as the transaction sees them. zone.NewSet tells what they mean for a key.
func ZoneSpans(ctx context.Context, t *Txn) ([]zone.Span, error) {
	return ZoneSpansIn(ctx, t, keys.ZoneSpan())
}

// ZoneSpansIn reads the zones whose keys lie in a span, for example
// keys.ZonesWithin a table.
func ZoneSpansIn(ctx context.Context, t *Txn, span keys.Span) ([]zone.Span, error) {
	var out []zone.Span
	var page ScanResult
	for start := span.Start; start != nil; {
		if err := t.Scan(ctx, start, span.End, ScanOptions{}, &page); err != nil {
			return nil, err
		}
		for i := range page.Len() {
			at, ok := keys.DecodeZone(page.Key(i))
			if !ok {
				return nil, fmt.Errorf("key %s is no zone", keys.Pretty(page.Key(i)))
			}
			r, err := zone.Decode(page.Value(i))
			if err != nil {
				return nil, fmt.Errorf("zone at %s: %w", keys.Pretty(at), err)
			}
			out = append(out, zone.Span{Start: append([]byte(nil), at...), Record: r})
		}
		if start = nil; page.Resume != nil {
			start = append([]byte(nil), page.Resume...)
		}
	}
	return out, nil
}
