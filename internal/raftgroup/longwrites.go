package raftgroup

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
)

// Limits on long writes in flight. Until a command is applied, a store holds up to three copies of it: the
// entry in raft, the entry in the log's cache, and, one after the other, the command, the log's frame and the
// engine's batch. No other limit covers these copies.
const (
	// LongWrite is the size from which a request counts against the limit.
	LongWrite = 1 << 20
	// DefaultLongWrites bounds the bytes of a store's long writes in flight. A single write that exceeds
	// it runs alone.
	DefaultLongWrites = 32 << 20
	// longWriteWait bounds the wait for room. Then a write goes ahead without: those before it may be
	// waiting for its own transaction.
	longWriteWait = 3 * time.Second
)

// LongWrites limits the bytes of a store's long writes in flight. A nil *LongWrites has no limit.
type LongWrites struct {
	room    *semaphore.Weighted
	limit   int64
	flushed func(ctx context.Context, bytes int64) error
}

// NewLongWrites returns the limit of one store. flushed, if not nil, is called before a write of so many bytes
// and waits until the engine has flushed the long writes before it.
func NewLongWrites(limit int64, flushed func(ctx context.Context, bytes int64) error) *LongWrites {
	return &LongWrites{room: semaphore.NewWeighted(limit), limit: limit, flushed: flushed}
}

// Enter waits for room for writes of n bytes. Leave returns the room that was taken. Enter fails if ctx ends.
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

// Leave returns the room that Enter took.
func (l *LongWrites) Leave(taken int64) {
	if taken > 0 {
		l.room.Release(taken)
	}
}
