package server

import (
	"bytes"
	"context"
	"time"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ranges"
)

// clean gives back the space of dropped tables and indexes.
func (n *Node) clean(ctx context.Context, cat *catalog.Store) {
	c := catalog.Cleaner{
		Store: cat, ClearSpan: n.clearSpan,
		Delay: func() time.Duration { return n.ttl(nil, []byte{0}) },
	}
	c.Run(ctx)
}

// clearSpan drops all versions of the keys in [start, end), whoever leads their
// ranges, and gives up the borders between them.
func (n *Node) clearSpan(ctx context.Context, start, end []byte) error {
	if err := ranges.UnsplitSpan(ctx, sqlRanges{n}, keys.Span{Start: start, End: end}); err != nil {
		return err
	}
	for at := start; bytes.Compare(at, end) < 0; {
		var to []byte
		err := n.eachRange(ctx, at, func(d *kvpb.RangeDescriptor) (*rangeOp, bool) {
			if to = d.EndKey; bytes.Compare(end, to) < 0 {
				to = end
			}
			return &rangeOp{Kind: opClear, Range: d.RangeID, Key: at, End: to}, true
		})
		if err != nil {
			return err
		}
		at = to
	}
	return nil
}
