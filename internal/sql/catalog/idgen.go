package catalog

import (
	"context"
	"encoding/binary"
	"sync"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// idBlock is how many ids a node reserves at once.
const idBlock = 64

// idGenerator gives out numbers that are never used twice. They are reserved in
// transactions of their own: a rollback leaves a gap.
type idGenerator struct {
	key   []byte
	first uint64
	limit uint64 // no id is >= limit

	mu        sync.Mutex
	next, end uint64
}

// take returns the next number.
func (g *idGenerator) take(ctx context.Context, db *kv.DB) (uint64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == g.end {
		if err := g.reserve(ctx, db); err != nil {
			return 0, err
		}
	}
	g.next++
	return g.next - 1, nil
}

func (g *idGenerator) reserve(ctx context.Context, db *kv.DB) error {
	var next uint64
	err := db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		res, err := t.Lock(ctx, g.key, lock.Update, lock.WaitBlock)
		if err != nil {
			return err
		}
		next = g.first
		if res.Found {
			if len(res.Value) != 8 {
				return pgerr.New(pgerr.DataCorrupted, "damaged id generator in the catalog")
			}
			next = binary.BigEndian.Uint64(res.Value)
		}
		if next+idBlock > g.limit {
			return pgerr.New(pgerr.ProgramLimitExceeded, "the catalog has run out of ids (limit %d)", g.limit)
		}
		return t.Put(g.key, binary.BigEndian.AppendUint64(nil, next+idBlock))
	})
	if err == nil {
		g.next, g.end = next, next+idBlock
	}
	return err
}
