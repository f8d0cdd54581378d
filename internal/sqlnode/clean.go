package sqlnode

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/jobs"
	"github.com/lichendb/lichen/internal/sql/ranges"
)

// clean gives back the space of dropped tables and indexes.
func (n *Node) clean(ctx context.Context) {
	c := catalog.Cleaner{
		Store: n.catalog, ClearSpan: n.ClearSpan,
		Delay:   func() time.Duration { return n.kv.Config.TTL(nil, []byte{0}) },
		Claimed: jobs.Claimed,
	}
	c.Run(ctx)
}

// ClearSpan gives up the manual splits in [start, end) and drops all versions of the keys there,
// whoever leads their ranges.
func (n *Node) ClearSpan(ctx context.Context, start, end []byte) error {
	span := keys.Span{Start: start, End: end}
	if err := ranges.UnsplitSpan(ctx, n.Ranges(), span); err != nil {
		return err
	}
	return n.kv.Admin.Clear(ctx, span)
}
