package storage

import (
	"context"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/sync/semaphore"

	"github.com/lichendb/lichen/internal/quota"
)

const (
	// largeReadBytes is how many bytes of large values are read at once: each is a block of its own, which is
	// read and decompressed into memory outside the heap and, as it is larger than what the cache has for a
	// block, lies beside the cache. One that is larger is read alone.
	largeReadBytes = 32 << 20
	// largeReadWait is how long a read waits for others at most. They hold their blocks for the time of a
	// copy; a read that would wait longer goes on.
	largeReadWait = 2 * time.Second
)

// largeReads lets a few reads of large values hold their blocks at once.
type largeReads struct{ sem *semaphore.Weighted }

func newLargeReads() largeReads { return largeReads{semaphore.NewWeighted(largeReadBytes)} }

// acquire waits until n bytes more may be read and returns what release takes.
func (l *largeReads) acquire(n int) int64 {
	w := min(int64(n), largeReadBytes)
	if l.sem.TryAcquire(w) {
		return w
	}
	ctx, cancel := context.WithTimeout(context.Background(), largeReadWait)
	defer cancel()
	if l.sem.Acquire(ctx, w) != nil {
		return 0
	}
	return w
}

func (l *largeReads) release(n int64) { l.sem.Release(n) }

// heldBlock is what an iterator holds for the block of a large value.
type heldBlock struct {
	turn     int64 // in largeReads
	mem      *quota.Values
	reserved int64
}

// hold waits for the turn of a large value, and reserves memory for its block in place of the one before as far as
// there is any: who has got this far has memory for the value, and the turns bound the blocks that are not reserved.
func (it *PooledIter) hold(n int, mem *quota.Values) {
	it.free()
	it.block.turn = it.pool.e.largeReads.acquire(n)
	if mem.TryReserve(int64(n)) {
		it.block.mem, it.block.reserved = mem, int64(n)
	}
}

// free gives back what hold has taken.
func (it *PooledIter) free() {
	if it.block.turn > 0 {
		it.pool.e.largeReads.release(it.block.turn)
	}
	if it.block.reserved > 0 {
		it.block.mem.Release(it.block.reserved)
	}
	it.block = heldBlock{}
}

// Fetch returns the value of the present key; a large one is read while few others are. Its block counts
// against mem, if that has room, until the iterator reads another large one or is released.
func (it *PooledIter) Fetch(mem *quota.Values) ([]byte, error) {
	lv := it.LazyValue()
	if n := lv.Len(); n > maxIdleValue {
		it.gen = stale
		if lv.Fetcher != nil { // it lies in a block that has to be read
			it.hold(n, mem)
		}
	}
	var v []byte
	var err error
	if lv.Fetcher != nil {
		v, err = it.separate()
	} else {
		v, err = it.Iterator.ValueAndErr()
	}
	return v, it.pool.e.ReadError(err)
}

// withoutMetadata is how Pebble panics where a file of values can't be opened because it is damaged: it wants to report that with
// the file's metadata, which it does not have at hand (fileCacheHandle.findOrCreateBlob of v2.1.7).
const withoutMetadata = "unknown metadata type: <nil>"

// separate reads a value that lies apart from its key.
func (it *PooledIter) separate() (v []byte, err error) {
	defer func() {
		switch p := recover(); {
		case p == withoutMetadata:
			v, err = nil, fmt.Errorf("%w: a file of values", pebble.ErrCorruption)
			it.pool.e.opts.Logger.Error("damaged file", "err", err)
		case p != nil:
			panic(p)
		}
	}()
	return it.Iterator.ValueAndErr()
}
