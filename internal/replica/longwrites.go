package replica

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"golang.org/x/sync/semaphore"
)

// Limits of the writes in flight. Until a command is applied a store holds up to three copies of it: its
// entry in raft and in the log's cache, and in turn the command, the log's frame or the engine's batch.
// No other limit covers these copies.
const (
	// longWrite is the size from which a request counts against the limit.
	longWrite = 1 << 20
	// maxLongWrites bounds the bytes of a store's long writes in flight. A longer one runs alone.
	maxLongWrites = 32 << 20
	// longWriteWait bounds the wait for room. Afterwards a write proceeds without: the writes before
	// it may be waiting for its transaction.
	longWriteWait = 3 * time.Second
)

// LongWrites is the room that the long writes of a store share. A nil *LongWrites is unbounded.
type LongWrites struct{ room *semaphore.Weighted }

// NewLongWrites returns the room of one store.
func NewLongWrites() *LongWrites { return &LongWrites{room: semaphore.NewWeighted(maxLongWrites)} }

// enter acquires room for long writes and returns its size, for leave. It fails if ctx ends first.
func (l *LongWrites) enter(ctx context.Context, writes []kvpb.Write) (taken int64, err error) {
	n := int64(0)
	for i := range writes {
		n += int64(len(writes[i].Key) + len(writes[i].Value))
	}
	if n < longWrite || l == nil {
		return 0, nil
	}
	n = min(n, maxLongWrites)
	waiting, cancel := context.WithTimeout(ctx, longWriteWait)
	defer cancel()
	if l.room.Acquire(waiting, n) == nil {
		return n, nil
	}
	return 0, ctx.Err()
}

// leave releases the room that enter returned.
func (l *LongWrites) leave(taken int64) {
	if taken > 0 {
		l.room.Release(taken)
	}
}
