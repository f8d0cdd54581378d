package raftgroup

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
)

// Limits of the writes in flight. Until a command is applied a store holds up to three copies of it: its
// entry in raft and in the log's cache, and in turn the command, the log's frame or the engine's batch.
// No other limit covers these copies.
const (
	// LongWrite is the size from which a request counts against the limit.
	LongWrite = 1 << 20
	// DefaultLongWrites bounds the bytes of a store's long writes in flight. A longer one runs alone.
	DefaultLongWrites = 32 << 20
	// longWriteWait bounds the wait for room. Afterwards a write proceeds without: the writes before
	// it may be waiting for its transaction.
	longWriteWait = 3 * time.Second
)

// LongWrites is the room that the long writes of a store share. A nil *LongWrites is unbounded.
type LongWrites struct {
	room    *semaphore.Weighted
	limit   int64
	flushed func(ctx context.Context, bytes int64) error
}

// NewLongWrites returns the room of one store, of limit bytes. flushed, if not nil, waits until the
// engine has written the long writes before one of so many bytes.
func NewLongWrites(limit int64, flushed func(ctx context.Context, bytes int64) error) *LongWrites {
	return &LongWrites{room: semaphore.NewWeighted(limit), limit: limit, flushed: flushed}
}

// Enter acquires room for writes of n bytes and returns its size, for Leave. It fails if ctx ends first.
func (l *LongWrites) Enter(ctx context.Context, n int64) (taken int64, err error) {
	if n < LongWrite || l == nil {
		return 0, nil
	}
	waiting, cancel := context.WithTimeout(ctx, longWriteWait)
	defer cancel()
	taken = min(n, l.limit)
	if l.room.Acquire(waiting, taken) != nil {
		return 0, ctx.Err()
	}
	if l.flushed != nil && l.flushed(waiting, n) != nil && ctx.Err() != nil {
		l.room.Release(taken)
		return 0, ctx.Err()
	}
	return taken, nil
}

// Leave releases the room that Enter returned.
func (l *LongWrites) Leave(taken int64) {
	if taken > 0 {
		l.room.Release(taken)
	}
}
