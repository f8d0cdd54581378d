package server

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ranges"
)

// clean gives back the space of dropped tables and indexes.
func (n *Node) clean(ctx context.Context, cat *catalog.Store) {
	c := catalog.Cleaner{
		Store: cat, ClearSpan: n.clearSpan,
		Delay: func() time.Duration { return n.kv.Config.TTL(nil, []byte{0}) },
	}
	c.Run(ctx)
}

// clearSpan drops all versions of the keys in [start, end), whoever leads their
// ranges, and gives up the manual splits between them.
func (n *Node) clearSpan(ctx context.Context, start, end []byte) error {
	if err := ranges.UnsplitSpan(ctx, sqlRanges{n}, keys.Span{Start: start, End: end}); err != nil {
		return err
	}
	return n.kv.Admin.Clear(ctx, keys.Span{Start: start, End: end})
}
