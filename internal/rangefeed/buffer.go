package rangefeed

import (
	"slices"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// Limits of one feed.
const (
	// maxBytes bounds the events that wait for a reader. One that is further behind begins again
	// from what it has.
	maxBytes = 4 << 20
	// PageBytes is the size from which on an answer takes no further event.
	PageBytes = 512 << 10
	// eventOverhead is what an event is charged beside its key and value.
	eventOverhead = 96
)

// Size returns what an event is charged.
func Size(e *kvpb.FeedEvent) int { return len(e.Key) + len(e.Value) + eventOverhead }

// Buffer holds what waits for the reader of a span, in the order in which it was committed.
type Buffer struct {
	Span kvpb.Span
	From hlc.Timestamp // the reader has everything up to here

	events   []kvpb.FeedEvent
	bytes    int
	resolved hlc.Timestamp
	sent     hlc.Timestamp // the last resolved timestamp delivered
}

// Deliver takes those of the events that concern the reader. It reports whether there are any.
func (b *Buffer) Deliver(events []Event) bool {
	n := len(b.events)
	for i := range events {
		if e := &events[i].FeedEvent; b.Span.Contains(e.Key) && b.From.Less(e.TS) {
			b.events = append(b.events, *e)
			b.bytes += Size(e)
		}
	}
	return len(b.events) > n
}

// Full reports whether more waits than may: the feed must end.
func (b *Buffer) Full() bool { return b.bytes > maxBytes }

// Resolve notes that everything committed up to closed was delivered to the buffer, but for
// versions whose locks are still there. locked is the lowest timestamp of these, zero if there
// are none.
func (b *Buffer) Resolve(closed, locked hlc.Timestamp) {
	if !locked.IsEmpty() {
		closed = closed.Min(locked.Prev())
	}
	b.resolved = b.resolved.Max(closed)
}

// Take moves a page of events into a response, and after the last one the resolved timestamp. It
// reports whether the response has any of them.
func (b *Buffer) Take(resp *kvpb.FeedResponse) (ready bool) {
	size, n := 0, 0
	for n < len(b.events) && size <= PageBytes {
		size += Size(&b.events[n])
		n++
	}
	resp.Events = append(resp.Events, b.events[:n]...)
	b.bytes -= size
	b.events = slices.Delete(b.events, 0, n)
	if len(b.events) == 0 {
		b.events = nil
		if b.sent.Less(b.resolved) {
			b.sent, resp.Resolved = b.resolved, b.resolved
		}
	}
	return n > 0 || !resp.Resolved.IsEmpty()
}

// Initial decides which versions of the state in which a feed began its reader receives: those
// after From that were not provisional.
type Initial struct {
	From   hlc.Timestamp
	locked map[string]hlc.Timestamp
}

// Lock notes that the version of a key at ts is provisional.
func (s *Initial) Lock(key []byte, ts hlc.Timestamp) {
	if s.locked == nil {
		s.locked = map[string]hlc.Timestamp{}
	}
	s.locked[string(key)] = ts
}

// Committed reports whether the reader receives the version of key at ts.
func (s *Initial) Committed(key []byte, ts hlc.Timestamp) bool {
	return s.From.Less(ts) && s.locked[string(key)] != ts
}
