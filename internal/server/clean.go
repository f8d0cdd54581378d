package server

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/sql/catalog"
)

// clean gives back the space of dropped tables and indexes.
func (n *Node) clean(ctx context.Context, cat *catalog.Store) {
	c := catalog.Cleaner{
		Store: cat, ClearSpan: n.store.ClearSpan,
		Delay: func() time.Duration { return n.store.GCTTL() },
	}
	c.Run(ctx)
}
