package readset

import (
	"bytes"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
)

// maxSpans bounds how many spans a transaction remembers; beyond it they become
// maxCondensed, which cover them. That is safe: a refresh may then fail without need.
const (
	maxSpans     = 4096
	maxCondensed = maxSpans / 4
	// maxBlock is the largest block that keys are copied into.
	maxBlock = 32 << 10
)

// Set is what a SERIALIZABLE transaction has read. The transaction moves to a later timestamp
// only if a refresh finds all of it unchanged.
type Set struct {
	spans []kvpb.Span
	arena []byte
	// merged is the memory of condense, which exchanges it with spans.
	merged []kvpb.Span
	// condensed is the number of leading spans that stand for earlier reads; their exact keys are
	// no longer known.
	condensed int
}

// Len returns the number of spans. It is a position for Truncate.
func (r *Set) Len() int { return len(r.spans) }

// Spans returns the spans; they stay valid until Reset.
func (r *Set) Spans() []kvpb.Span { return r.spans }

// Reset empties the set.
func (r *Set) Reset() {
	if cap(r.spans) > 1024 || cap(r.arena) > 2*maxBlock {
		*r = Set{}
		return
	}
	r.spans, r.arena, r.merged, r.condensed = r.spans[:0], r.arena[:0], nil, 0
}

// Truncate drops the spans from position n on. Condensed spans stay, since a part of them may have
// been read before, unless n is 0.
func (r *Set) Truncate(n int) {
	if n == 0 {
		r.condensed = 0
	}
	if n = max(n, r.condensed); n < len(r.spans) {
		r.spans = r.spans[:n]
	}
}

// Copy copies a key into the memory of the set, where it stays until Reset.
func (r *Set) Copy(p []byte) []byte {
	if cap(r.arena)-len(r.arena) < len(p) {
		r.arena = make([]byte, 0, max(1024, min(2*cap(r.arena), maxBlock), len(p)))
	}
	n := len(r.arena)
	r.arena = append(r.arena, p...)
	return r.arena[n : n+len(p) : n+len(p)]
}

// AddKey records the read of one key.
func (r *Set) AddKey(key []byte) {
	if n := len(r.spans); n > 0 && r.spans[n-1].Contains(key) {
		return
	}
	r.add(kvpb.Span{Key: r.Copy(key)})
}

// AddSpan records the read of [start, end) and joins adjoining spans.
func (r *Set) AddSpan(start, end []byte) {
	if n := len(r.spans); n > 0 {
		last := &r.spans[n-1]
		if len(last.EndKey) > 0 && bytes.Equal(last.EndKey, start) {
			last.EndKey = r.Copy(end)
			return
		}
	}
	r.add(kvpb.Span{Key: r.Copy(start), EndKey: r.Copy(end)})
}

func (r *Set) add(s kvpb.Span) {
	if r.spans = append(r.spans, s); len(r.spans) >= maxSpans {
		r.condense()
	}
}

// condense reduces many spans to a few. It joins spans of one table before it joins distant ones.
// While there is room for one span per table, no span covers the keys of other tables: the session
// may write these beside its transaction, for example those of a sequence.
func (r *Set) condense() {
	sorted, scratch := mergeRuns(r.spans, r.merged)
	out := sorted[:1]
	for _, s := range sorted[1:] {
		out = appendJoined(out, s)
	}
	r.spans, r.merged = out, scratch
	if len(out) > maxCondensed {
		r.spans = joinNearest(out, len(out)-maxCondensed)
	}
	r.condensed = len(r.spans)
}

// mergeRuns sorts spans that consist of a few sorted runs: what was condensed before, and the keys of each request
// since. It returns the memory of spans and scratch that does not hold the result.
func mergeRuns(spans, scratch []kvpb.Span) (sorted, unused []kvpb.Span) {
	for {
		first := run(spans)
		if len(first) == len(spans) {
			return spans, scratch
		}
		out := scratch[:0]
		for rest := spans; len(rest) > 0; {
			a := run(rest)
			rest = rest[len(a):]
			b := run(rest)
			rest = rest[len(b):]
			out = appendMerged(out, a, b)
		}
		spans, scratch = out, spans
	}
}

// run returns the sorted spans with which spans begin.
func run(spans []kvpb.Span) []kvpb.Span {
	n := min(1, len(spans))
	for n < len(spans) && bytes.Compare(spans[n-1].Key, spans[n].Key) <= 0 {
		n++
	}
	return spans[:n]
}

// appendMerged appends two sorted runs as one.
func appendMerged(out, a, b []kvpb.Span) []kvpb.Span {
	for len(a) > 0 && len(b) > 0 {
		from := &a
		if bytes.Compare(b[0].Key, a[0].Key) < 0 {
			from = &b
		}
		out = append(out, (*from)[0])
		*from = (*from)[1:]
	}
	return append(append(out, a...), b...)
}

// appendJoined appends a span to sorted ones, or joins it to the last one if they touch.
func appendJoined(spans []kvpb.Span, s kvpb.Span) []kvpb.Span {
	if n := len(spans); n > 0 && bytes.Compare(s.Key, spans[n-1].End()) <= 0 {
		join(&spans[n-1], s)
		return spans
	}
	return append(spans, s)
}

// joinNearest joins n pairs of neighbours among sorted spans: those with the longest common prefix.
func joinNearest(spans []kvpb.Span, n int) []kvpb.Span {
	var count [maxPrefix + 1]int // number of pairs by the length of their common prefix
	for i := 1; i < len(spans); i++ {
		count[commonPrefix(spans[i-1].Key, spans[i].Key)]++
	}
	at := maxPrefix
	for ; count[at] < n; at-- {
		n -= count[at]
	}
	out := spans[:1]
	key := spans[0].Key // of the previous span, which may have been joined
	for _, s := range spans[1:] {
		l := commonPrefix(key, s.Key)
		key = s.Key
		switch {
		case l > at:
			join(&out[len(out)-1], s)
		case l == at && n > 0:
			n--
			join(&out[len(out)-1], s)
		default:
			out = append(out, s)
		}
	}
	return out
}

// maxPrefix caps the length of common prefixes.
const maxPrefix = 255

func commonPrefix(a, b []byte) int {
	return keys.CommonPrefix(a[:min(len(a), maxPrefix)], b)
}

// join extends a span to the end of a later one.
func join(s *kvpb.Span, later kvpb.Span) {
	if end := later.End(); bytes.Compare(end, s.End()) > 0 {
		s.EndKey = end
	}
}
