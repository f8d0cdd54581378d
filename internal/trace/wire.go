package trace

import (
	"encoding/binary"
	"errors"
	"time"
)

// Version is that of the bytes in which spans travel between nodes.
const Version = 1

// ErrDamaged says that bytes are not what another node sends.
var ErrDamaged = errors.New("trace: damaged spans")

// headerLen is the length of what AppendHeader appends.
const headerLen = 1 + len(ID{})

// AppendHeader appends what a node must know to trace its part of a span.
func (s *Span) AppendHeader(dst []byte) []byte {
	return append(append(dst, Version), s.trace.id[:]...)
}

// Remote begins the part of a trace on another node than that of the statement. It returns what follows the header.
func Remote(b []byte, node uint64) (t *Trace, rest []byte, err error) {
	if len(b) < headerLen || b[0] != Version {
		return nil, nil, ErrDamaged
	}
	return newTrace(ID(b[1:headerLen]), node, MaxRemoteSpans), b[headerLen:], nil
}

// AppendSpans appends how long the trace took and its spans, whose length comes first.
func (t *Trace) AppendSpans(dst []byte) []byte {
	took := time.Since(t.began)
	t.Finish()
	spans, dropped := t.Spans()
	body := []byte{Version}
	body = binary.AppendUvarint(body, uint64(took))
	body = binary.AppendUvarint(body, uint64(dropped))
	body = binary.AppendUvarint(body, uint64(len(spans)))
	for i := range spans {
		body = spans[i].append(body)
	}
	dst = binary.AppendUvarint(dst, uint64(len(body)))
	return append(dst, body...)
}

// Forget drops the spans, and counts them as left out.
func (t *Trace) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dropped += len(t.spans)
	t.spans = nil
}

func (r *Record) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, r.ID)
	dst = binary.LittleEndian.AppendUint64(dst, r.Parent)
	dst = binary.AppendUvarint(dst, r.Node)
	dst = binary.AppendUvarint(dst, uint64(max(r.Began, 0)))
	dst = binary.AppendUvarint(dst, uint64(max(r.Took, 0)))
	open := byte(0)
	if r.Open {
		open = 1
	}
	dst = append(dst, open)
	for _, text := range []string{r.Name, r.Keys, r.Note, r.Err} {
		dst = binary.AppendUvarint(dst, uint64(len(text)))
		dst = append(dst, text...)
	}
	return dst
}

// TakeSpans returns what AppendSpans has appended, and what follows it.
func TakeSpans(b []byte) (spans, rest []byte, err error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)-k) {
		return nil, nil, ErrDamaged
	}
	return b[k : k+int(n)], b[k+int(n):], nil
}

// Include adds the spans that came with the answer to a call, which is the span and has just been answered. Half of the time that the
// call took longer than its handler is what the request was on its way.
func (s *Span) Include(b []byte) error {
	if s == nil {
		return nil
	}
	r := reader{b: b}
	version := r.byte()
	took, dropped, n := time.Duration(r.uvarint()), int(r.uvarint()), r.uvarint()
	if r.bad || version != Version || n > MaxRemoteSpans || dropped < 0 {
		return ErrDamaged
	}
	all := time.Since(s.began)
	shift := s.began.Sub(s.trace.began) + max(all-took, 0)/2
	records := make([]Record, 0, n)
	for range n {
		x := r.record()
		if x.Parent == 0 {
			x.Parent = s.id
		}
		x.Began = shift + min(x.Began, all)
		x.Took = min(x.Took, all)
		records = append(records, x)
	}
	if r.bad {
		return ErrDamaged
	}
	t := s.trace
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range records {
		t.addLocked(records[i])
	}
	if !t.finished {
		t.dropped += dropped
	}
	return nil
}

// reader reads what Record.append has written.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	v, k := binary.Uvarint(r.b)
	if k <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[k:]
	return v
}

func (r *reader) text() string {
	n := r.uvarint()
	if n > MaxText {
		r.bad, r.b = true, nil
	}
	return string(r.take(n))
}

func (r *reader) record() Record {
	x := Record{ID: r.uint64(), Parent: r.uint64(), Node: r.uvarint(), Began: time.Duration(r.uvarint()), Took: time.Duration(r.uvarint()), Open: r.byte() != 0}
	x.Name, x.Keys, x.Note, x.Err = r.text(), r.text(), r.text(), r.text()
	if x.Began < 0 || x.Took < 0 {
		r.bad = true
	}
	return x
}
