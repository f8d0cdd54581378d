package rangefeed

import (
	"slices"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// Limits of one feed.
const (
	// maxBytes bounds the events that wait for a reader. The feed of a slower reader ends, and the
	// reader begins another at its last resolved timestamp.
	maxBytes = 4 << 20
	// PageBytes is the size from which a response gets no further event.
	PageBytes = 512 << 10
	// eventOverhead is the charge of an event beside its key and value.
	eventOverhead = 96
)

// Size returns the charge of an event.
func Size(e *kvpb.FeedEvent) int { return len(e.Key) + len(e.Value) + eventOverhead }

// Buffer holds the events that wait for the reader of a span, in the order of their commits.
type Buffer struct {
	Span kvpb.Span
	From hlc.Timestamp // the reader has everything up to here

	events   []kvpb.FeedEvent
	bytes    int
	newest   hlc.Timestamp // of all events so far
	resolved hlc.Timestamp
	sent     hlc.Timestamp // the last resolved timestamp delivered
}

// Deliver adds the events in the reader's span. It reports whether there are any.
func (b *Buffer) Deliver(events []Event) bool {
	n := len(b.events)
	for i := range events {
		if e := &events[i].FeedEvent; b.Span.Contains(e.Key) && b.From.Less(e.TS) {
			b.events = append(b.events, *e)
			b.bytes += Size(e)
			b.Note(e.TS)
		}
	}
	return len(b.events) > n
}

// Note notes the timestamp of an event that reaches the reader.
func (b *Buffer) Note(ts hlc.Timestamp) { b.newest = b.newest.Max(ts) }

// Owed returns the timestamp up to which a prompt feed has to resolve: that of the newest event. It is zero if
// that is done.
func (b *Buffer) Owed() hlc.Timestamp {
	if b.newest.LessEq(b.resolved) {
		return hlc.Timestamp{}
	}
	return b.newest
}

// Full reports whether the events exceed maxBytes. Then the feed must end.
func (b *Buffer) Full() bool { return b.bytes > maxBytes }

// Resolve notes that all versions committed up to closed are delivered to the buffer, except for the
// versions that still have locks. locked is the lowest timestamp of these, zero if there are none.
func (b *Buffer) Resolve(closed, locked hlc.Timestamp) {
	if !locked.IsEmpty() {
		closed = closed.Min(locked.Prev())
	}
	b.resolved = b.resolved.Max(closed)
}

// Take moves a page of events into a response, and with the last event the resolved timestamp. It
// reports whether the response has either.
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

// Initial decides which versions a reader receives of the state in which its feed began: those above From
// that were not provisional.
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
