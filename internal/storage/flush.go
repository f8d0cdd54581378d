package storage

import (
	"context"
	"sync"
)

// flushNews notifies waiters of the end of a flush.
type flushNews struct {
	mu sync.Mutex
	ch chan struct{} // closed by the next end; nil if nobody waits
}

// next returns a channel that the next end of a flush closes.
func (f *flushNews) next() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ch == nil {
		f.ch = make(chan struct{})
	}
	return f.ch
}

func (f *flushNews) ended() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ch != nil {
		close(f.ch)
		f.ch = nil
	}
}

// flushesAlone is the part of a memtable from which on a batch is flushed by itself: the batch stays in
// memory until then, and the flush makes up to three copies of a large value.
const flushesAlone = 2

// AwaitFlush is called before a batch of the given number of bytes is made. If the batch is large, it waits
// until the large batches before it are flushed. It fails if ctx ends first.
func (e *Engine) AwaitFlush(ctx context.Context, bytes int64) error {
	limit := uint64(flushesAlone * e.opts.MemTableBytes)
	if bytes < int64(e.opts.MemTableBytes/flushesAlone) {
		return nil
	}
	for e.Err() == nil {
		next := e.flushed.next()
		if e.Pressure().MemTableBytes <= limit {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return e.Err()
}
