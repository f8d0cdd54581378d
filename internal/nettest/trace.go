package nettest

import (
	"fmt"
	"hash/fnv"
	"io"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/rpc"
)

// defaultTraceEvents is how many of the last events a Trace keeps unless told.
const defaultTraceEvents = 4096

// traceKind says what happened to a packet; traceText stands for other events.
type traceKind uint8

const (
	traceText traceKind = iota
	traceMessage
	traceRequest
	traceReply
	traceDrop
	traceExpire
)

var traceNames = [...]string{"", "msg", "req", "rep", "drop", "expire"}

type traceEvent struct {
	at       time.Duration
	kind     traceKind
	from, to kvpb.NodeID
	method   rpc.Method
	size     int
	text     string
}

// Trace keeps the last events of a run, for the report of its failure, and a sum
// over all of them: two runs with one sum took the same course.
type Trace struct {
	mu     sync.Mutex
	start  time.Time
	ring   []traceEvent
	total  int
	sum    uint64
	method func(rpc.Method) string
}

// NewTrace returns a trace that keeps the last n events (0: a few thousand) and
// begins now.
func NewTrace(n int) *Trace {
	if n <= 0 {
		n = defaultTraceEvents
	}
	return &Trace{start: time.Now(), ring: make([]traceEvent, 0, n), sum: 14695981039346656037}
}

// NameMethods makes the trace print methods by name.
func (t *Trace) NameMethods(name func(rpc.Method) string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.method = name
}

// Addf records an event in words. A nil Trace records nothing.
func (t *Trace) Addf(format string, args ...any) {
	if t != nil {
		t.add(traceEvent{text: fmt.Sprintf(format, args...)})
	}
}

func (t *Trace) packet(kind traceKind, p *packet) {
	if t != nil {
		t.add(traceEvent{kind: kind, from: p.link.from, to: p.link.to, method: p.method, size: len(p.payload)})
	}
}

func (t *Trace) add(e traceEvent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.at = time.Since(t.start)
	for _, v := range [...]uint64{uint64(e.at), uint64(e.kind), uint64(e.from), uint64(e.to), uint64(e.method), uint64(e.size)} {
		t.sum = (t.sum ^ v) * 1099511628211
	}
	if e.text != "" {
		h := fnv.New64a()
		_, _ = io.WriteString(h, e.text) // a hash never fails
		t.sum = (t.sum ^ h.Sum64()) * 1099511628211
	}
	if len(t.ring) < cap(t.ring) {
		t.ring = append(t.ring, e)
	} else {
		t.ring[t.total%len(t.ring)] = e
	}
	t.total++
}

// Sum returns the sum over all events so far, those no longer kept included.
func (t *Trace) Sum() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sum
}

// Len returns the number of events so far.
func (t *Trace) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total
}

// Lines returns the events kept, oldest first, one a line.
func (t *Trace) Lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := make([]string, 0, len(t.ring))
	for i := range t.ring {
		lines = append(lines, t.line(t.ring[(max(t.total-len(t.ring), 0)+i)%len(t.ring)]))
	}
	return lines
}

func (t *Trace) line(e traceEvent) string {
	if e.kind == traceText {
		return fmt.Sprintf("%14.9f %s", e.at.Seconds(), e.text)
	}
	method := fmt.Sprint(e.method)
	if t.method != nil {
		method = t.method(e.method)
	}
	return fmt.Sprintf("%14.9f %-6s %d→%d %s %dB", e.at.Seconds(), traceNames[e.kind], e.from, e.to, method, e.size)
}

// WriteTo writes the events kept, one a line.
func (t *Trace) WriteTo(w io.Writer) (int64, error) {
	var n int64
	for _, line := range t.Lines() {
		m, err := fmt.Fprintln(w, line)
		n += int64(m)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
