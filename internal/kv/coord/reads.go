package coord

import (
	"bytes"

	"github.com/lichendb/lichen/internal/kvpb"
)

// maxReadSpans bounds how many spans a transaction remembers; beyond it they
// are merged into the one span that covers them all, which is safe (a refresh
// may then fail without need) and small.
const maxReadSpans = 4096

// ReadSet is what a SERIALIZABLE transaction has read: what a refresh must find
// unchanged for the transaction to move to a later timestamp.
type ReadSet struct {
	spans []kvpb.Span
	arena []byte
}

// Len returns the number of spans: a position that Truncate takes.
func (r *ReadSet) Len() int { return len(r.spans) }

// Spans returns the spans; they stay valid until Reset.
func (r *ReadSet) Spans() []kvpb.Span { return r.spans }

// Reset empties the set.
func (r *ReadSet) Reset() {
	if cap(r.spans) > 1024 || cap(r.arena) > 2*arenaChunk {
		*r = ReadSet{}
		return
	}
	r.spans, r.arena = r.spans[:0], r.arena[:0]
}

// Truncate forgets the spans from position n on. After a merge into one span,
// positions before it mean that span.
func (r *ReadSet) Truncate(n int) {
	if n < len(r.spans) {
		r.spans = r.spans[:n]
	}
}

func (r *ReadSet) copyBytes(p []byte) []byte {
	if cap(r.arena)-len(r.arena) < len(p) {
		r.arena = make([]byte, 0, max(1024, min(2*cap(r.arena), arenaChunk), len(p)))
	}
	n := len(r.arena)
	r.arena = append(r.arena, p...)
	return r.arena[n : n+len(p) : n+len(p)]
}

// AddKey records the read of one key.
func (r *ReadSet) AddKey(key []byte) {
	if n := len(r.spans); n > 0 && r.spans[n-1].Contains(key) {
		return
	}
	r.add(kvpb.Span{Key: r.copyBytes(key)})
}

// AddSpan records the read of [start, end); adjoining spans become one.
func (r *ReadSet) AddSpan(start, end []byte) {
	if n := len(r.spans); n > 0 {
		last := &r.spans[n-1]
		if len(last.EndKey) > 0 && bytes.Equal(last.EndKey, start) {
			last.EndKey = r.copyBytes(end)
			return
		}
	}
	r.add(kvpb.Span{Key: r.copyBytes(start), EndKey: r.copyBytes(end)})
}

func (r *ReadSet) add(s kvpb.Span) {
	r.spans = append(r.spans, s)
	if len(r.spans) < maxReadSpans {
		return
	}
	cover := kvpb.Span{Key: s.Key, EndKey: append(bytes.Clone(s.Key), 0)}
	for _, s := range r.spans {
		end := s.EndKey
		if len(end) == 0 {
			end = append(bytes.Clone(s.Key), 0)
		}
		if bytes.Compare(s.Key, cover.Key) < 0 {
			cover.Key = s.Key
		}
		if bytes.Compare(end, cover.EndKey) > 0 {
			cover.EndKey = end
		}
	}
	r.spans = append(r.spans[:0], cover)
}
