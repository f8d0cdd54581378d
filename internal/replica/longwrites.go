package replica

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"golang.org/x/sync/semaphore"
)

// Limits of the writes that are on their way through raft. Until a command is applied a store
// holds it up to three times at once: as its raft entry in raft and the log's cache, and as the
// command, the log's frame or the engine's batch, one after the other. Nobody accounts for
// these copies, so they are bounded here.
const (
	// longWrite is the size from which on a request's writes are counted.
	longWrite = 1 << 20
	// maxLongWrites bounds the bytes of all that a store has under way. A longer one goes alone.
	maxLongWrites = 32 << 20
	// longWriteWait is how long a write waits for room at most. It goes without then: the writes
	// before it may be waiting for its transaction.
	longWriteWait = 3 * time.Second
)

// LongWrites is the room that the long writes of a store share. A nil *LongWrites has room for
// all.
type LongWrites struct{ room *semaphore.Weighted }

// NewLongWrites returns the room of one store.
func NewLongWrites() *LongWrites { return &LongWrites{room: semaphore.NewWeighted(maxLongWrites)} }

// enter waits for room for writes, if they are long, and returns how much they take: leave gives
// that back. It fails if ctx ends first.
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

// leave gives back what enter returned.
func (l *LongWrites) leave(taken int64) {
	if taken > 0 {
		l.room.Release(taken)
	}
}
