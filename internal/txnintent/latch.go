package txnintent

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
)

// maxShared bounds the spills that share a latch, and so the commands of one transaction in flight in a range.
const maxShared = 4

// latch orders the requests of one transaction. One request holds it, or several spills of different keys
// share it: one is prepared while another is applied. The longest waiting request is first, so that
// spills do not keep another request waiting. The zero value is free. The mutex of its owner guards it.
type latch struct {
	exclusive bool
	shared    []kvpb.Span
	queue     []*latchWaiter
}

// latchWaiter is a request that waits for a latch.
type latchWaiter struct {
	span    *kvpb.Span // of a spill; nil for a request that shares with nobody
	granted chan struct{}
}

// held reports whether somebody has the latch.
func (l *latch) held() bool { return l.exclusive || len(l.shared) > 0 }

// acquire acquires the latch, alone or for a spill of a span, or returns a waiter to which it will be granted.
func (l *latch) acquire(span *kvpb.Span) *latchWaiter {
	if len(l.queue) == 0 && l.free(span) {
		l.grant(span)
		return nil
	}
	w := &latchWaiter{span: span, granted: make(chan struct{})}
	l.queue = append(l.queue, w)
	return w
}

// free reports whether a request need not wait for those that have the latch.
func (l *latch) free(span *kvpb.Span) bool {
	if span == nil || l.exclusive {
		return !l.held()
	}
	return len(l.shared) < maxShared && !slices.ContainsFunc(l.shared, func(o kvpb.Span) bool {
		return bytes.Compare(o.Key, span.EndKey) < 0 && bytes.Compare(span.Key, o.EndKey) < 0
	})
}

func (l *latch) grant(span *kvpb.Span) {
	if span == nil {
		l.exclusive = true
		return
	}
	l.shared = append(l.shared, *span)
}

// release gives up the latch, which was acquired for span. next grants it to those who wait.
func (l *latch) release(span *kvpb.Span) {
	must.True(l.held() && l.exclusive == (span == nil), "a latch is released that is not held so")
	if span == nil {
		l.exclusive = false
		return
	}
	i := slices.IndexFunc(l.shared, func(o kvpb.Span) bool { return bytes.Equal(o.Key, span.Key) })
	must.True(i >= 0, "a spill releases a latch that it does not share")
	l.shared = slices.Delete(l.shared, i, i+1)
}

// next grants the latch to those of the queue whose turn it is.
func (l *latch) next() {
	for len(l.queue) > 0 && l.free(l.queue[0].span) {
		w := l.queue[0]
		l.queue = slices.Delete(l.queue, 0, 1)
		l.grant(w.span)
		close(w.granted)
	}
}

// leave ends a wait, and reports whether the latch was granted before.
func (l *latch) leave(w *latchWaiter) (granted bool) {
	i := slices.Index(l.queue, w)
	if i < 0 {
		return true
	}
	l.queue = slices.Delete(l.queue, i, i+1)
	l.next() // perhaps those behind it waited only for their turn
	return false
}

// acquireLatch waits for a latch that mu guards, for as long as ctx lives.
func acquireLatch(ctx context.Context, mu *sync.Mutex, l *latch, span *kvpb.Span) error {
	mu.Lock()
	w := l.acquire(span)
	mu.Unlock()
	if w == nil {
		return nil
	}
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
	}
	mu.Lock()
	defer mu.Unlock()
	if l.leave(w) {
		l.release(span)
		l.next()
	}
	return ctx.Err()
}
