package measure

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Latencies are recorded in microseconds, up to an hour, with three digits.
const (
	maxMicros = int64(time.Hour / time.Microsecond)
	digits    = 3
)

// Set is the measurements of a run.
type Set struct {
	mu  sync.Mutex
	ops []*Operation
}

// Operation returns the operation of this name; it makes it at the first call, and
// the report has them in this order.
func (s *Set) Operation(name string) *Operation {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, op := range s.ops {
		if op.name == name {
			return op
		}
	}
	op := &Operation{name: name}
	s.ops = append(s.ops, op)
	return op
}

func (s *Set) operations() []*Operation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Operation(nil), s.ops...)
}

// Operation is the measurements of one kind of operation.
type Operation struct {
	name string

	mu       sync.Mutex
	ok       series
	failed   series
	returns  []returned // in the order of their first appearance
	retries  int64
	interval *hdrhistogram.Histogram // of successful ones since the last status line
	sum      int64                   // of interval
}

type returned struct {
	status string
	n      int64
}

// series is the latencies of a run.
type series struct {
	hist *hdrhistogram.Histogram
	sum  int64
}

func (s *series) add(us int64) {
	if s.hist == nil {
		s.hist = hdrhistogram.New(1, maxMicros, digits)
	}
	record(s.hist, us)
	s.sum += us
}

// record adds a value, cut to what the histogram holds.
func record(h *hdrhistogram.Histogram, us int64) {
	// The only error is a value out of range, which min and max exclude.
	_ = h.RecordValue(min(max(us, 0), maxMicros))
}

// Record adds an operation that took d and returned status.
func (o *Operation) Record(d time.Duration, status string, ok bool) {
	us := d.Microseconds()
	o.mu.Lock()
	defer o.mu.Unlock()
	if ok {
		o.ok.add(us)
		if o.interval == nil {
			o.interval = hdrhistogram.New(1, maxMicros, digits)
		}
		record(o.interval, us)
		o.sum += us
	} else {
		o.failed.add(us)
	}
	for i := range o.returns {
		if o.returns[i].status == status {
			o.returns[i].n++
			return
		}
	}
	o.returns = append(o.returns, returned{status, 1})
}

// Retried counts repetitions of statements within operations.
func (o *Operation) Retried(n int64) {
	if n == 0 {
		return
	}
	o.mu.Lock()
	o.retries += n
	o.mu.Unlock()
}

// Counts returns how many operations succeeded and how many failed.
func (s *Set) Counts() (ok, failed int64) {
	for _, op := range s.operations() {
		op.mu.Lock()
		for _, c := range []struct {
			s *series
			n *int64
		}{{&op.ok, &ok}, {&op.failed, &failed}} {
			if c.s.hist != nil {
				*c.n += c.s.hist.TotalCount()
			}
		}
		op.mu.Unlock()
	}
	return ok, failed
}
