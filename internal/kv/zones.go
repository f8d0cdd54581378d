package kv

import (
	"context"
	"fmt"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/keys"
)

// ZoneSpans reads the stored zone configurations as the transaction sees them, in the order of their
// starts. zone.NewSet finds the one that holds for a key.
func ZoneSpans(ctx context.Context, t *Txn) ([]zone.Span, error) {
	return ZoneSpansIn(ctx, t, keys.ZoneSpan())
}

// ZoneSpansIn reads the zones whose keys lie in a span, for example
// keys.ZonesWithin a table.
func ZoneSpansIn(ctx context.Context, t *Txn, span keys.Span) ([]zone.Span, error) {
	var out []zone.Span
	err := Each(ctx, t, span, func(key, value []byte) (bool, error) {
		at, ok := keys.DecodeZone(key)
		if !ok {
			return false, fmt.Errorf("key %s is no zone", keys.Pretty(key))
		}
		r, err := zone.Decode(value)
		if err != nil {
			return false, fmt.Errorf("zone at %s: %w", keys.Pretty(at), err)
		}
		out = append(out, zone.Span{Start: append([]byte(nil), at...), Record: r})
		return true, nil
	})
	return out, err
}
