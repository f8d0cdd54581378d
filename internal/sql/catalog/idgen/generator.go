// Package idgen gives out the ids of the catalog's objects. Above it: catalog; below it: kv.
package idgen

import (
	"context"
	"encoding/binary"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sleep"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// idBlock is how many ids a node reserves at once.
const idBlock = 64

// Generator gives out numbers that are never used twice. They are reserved in
// transactions of their own: a rollback leaves a gap. It is safe for concurrent use.
type Generator struct {
	key   []byte // that of the next number that no node has reserved
	first uint64
	limit uint64 // no id is >= limit

	mu        sleep.Mutex // held over the transaction
	next, end uint64
}

// New returns a generator of numbers from first on and below limit, the next of which is stored under key.
func New(key []byte, first, limit uint64) *Generator {
	return &Generator{key: key, first: first, limit: limit, mu: sleep.NewMutex()}
}

// Take returns the next number.
func (g *Generator) Take(ctx context.Context, db *kv.DB) (uint64, error) {
	if err := g.mu.LockContext(ctx); err != nil {
		return 0, err
	}
	defer g.mu.Unlock()
	if g.next == g.end {
		if err := g.reserve(ctx, db); err != nil {
			return 0, err
		}
	}
	g.next++
	return g.next - 1, nil
}

func (g *Generator) reserve(ctx context.Context, db *kv.DB) error {
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
