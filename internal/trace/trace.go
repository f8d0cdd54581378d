package trace

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Limits of a trace.
const (
	// MaxSpans is how many spans a trace keeps on the node of the statement, MaxRemoteSpans how many come with the answer to one call.
	MaxSpans       = 5000
	MaxRemoteSpans = 200
	// MaxText bounds each text of a span, in bytes.
	MaxText = 200
)

// CallPrefix begins the names of spans that are calls of other nodes.
const CallPrefix = "call "

// ID is the number of a trace.
type ID [16]byte

// String returns it in hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Record is what is known of a span.
type Record struct {
	ID, Parent uint64 // Parent is 0 for the first one
	Node       uint64
	Name       string
	// Keys tells which rows it was about, Note anything else.
	Keys, Note string
	// Began is when it began, from the beginning of the trace on.
	Began time.Duration
	Took  time.Duration
	// Open says that it had not ended when the trace did.
	Open bool
	Err  string // why it failed
}

// Trace has the spans of a statement.
type Trace struct {
	id    ID
	node  uint64
	most  int
	began time.Time

	mu       sync.Mutex
	spans    []Record
	dropped  int
	finished bool
}

// New begins the trace of a statement on a node, of at most so many spans.
func New(node uint64, most int) *Trace {
	var id ID
	for i := 0; i < len(id); i += 8 {
		binary.LittleEndian.PutUint64(id[i:], newID())
	}
	return newTrace(id, node, most)
}

func newTrace(id ID, node uint64, most int) *Trace {
	return &Trace{id: id, node: node, most: most, began: time.Now()}
}

// ID returns the trace's number.
func (t *Trace) ID() ID { return t.id }

// Began returns when the trace began.
func (t *Trace) Began() time.Time { return t.began }

// Span is a part of what a statement does, which has begun. The methods of a nil Span, which stands for one that nobody traces, do
// nothing.
type Span struct {
	trace *Trace
	id    uint64
	at    int // in trace.spans
	began time.Time
}

// start begins a span; nil: there are too many, or the trace has ended.
func (t *Trace) start(parent uint64, name string) *Span {
	now := time.Now()
	s := &Span{trace: t, id: newID(), began: now}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.addLocked(Record{ID: s.id, Parent: parent, Node: t.node, Name: name, Began: now.Sub(t.began), Open: true}) {
		return nil
	}
	s.at = len(t.spans) - 1
	return s
}

// addLocked adds a span unless there are enough.
func (t *Trace) addLocked(r Record) bool {
	switch {
	case t.finished:
		return false
	case len(t.spans) >= t.most:
		t.dropped++
		return false
	}
	t.spans = append(t.spans, r)
	return true
}

// newID returns a number that no other span has, and that is not 0.
func newID() uint64 { return rand.Uint64() | 1 }

// set changes the record of the span while the trace goes on.
func (s *Span) set(f func(*Record)) {
	t := s.trace
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.finished {
		f(&t.spans[s.at])
	}
}

// Note adds to what the span tells. It must have no values of rows.
func (s *Span) Note(format string, args ...any) {
	if s == nil {
		return
	}
	text := fmt.Sprintf(format, args...)
	s.set(func(r *Record) {
		if r.Note != "" {
			r.Note += ", "
		}
		r.Note = cut(r.Note + text)
	})
}

// Keys says which rows the span is about.
func (s *Span) Keys(text string) {
	if s != nil {
		s.set(func(r *Record) { r.Keys = cut(text) })
	}
}

// End ends the span; err, if there is one, is why it failed.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	took := time.Since(s.began)
	s.set(func(r *Record) {
		r.Took, r.Open = took, false
		if err != nil {
			r.Err = cut(err.Error())
		}
	})
}

// Finish ends the trace: what is under way still, as pages that are read ahead are, is told no more.
func (t *Trace) Finish() {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.finished {
		return
	}
	t.finished = true
	for i := range t.spans {
		if r := &t.spans[i]; r.Open {
			r.Took = now.Sub(t.began) - r.Began
		}
	}
}

// Spans returns the spans, in the order in which they began, and how many were left out.
func (t *Trace) Spans() (spans []Record, dropped int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	spans = slices.Clone(t.spans)
	for i := range spans {
		if r := &spans[i]; r.Open && !t.finished {
			r.Took = time.Since(t.began) - r.Began
		}
	}
	return spans, t.dropped
}

// cut returns the beginning of a text that is longer than those of a span may be.
func cut(text string) string {
	if len(text) <= MaxText {
		return text
	}
	const more = "…"
	n := MaxText - len(more)
	for n > 0 && text[n]&0xc0 == 0x80 { // within a character
		n--
	}
	return text[:n] + more
}
