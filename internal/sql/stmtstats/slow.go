package stmtstats

import (
	"slices"
	"sync"
	"time"
)

// Limits of the slow statements that a node remembers.
const (
	// MaxSlow is how many there are: the last ones.
	MaxSlow = 200
	// MaxSlowText bounds the text of one, in bytes.
	MaxSlowText = 1000
)

// Slow is an execution that took long.
type Slow struct {
	Key                               // of its fingerprint
	Query                      string // with constants, but without passwords
	Session, Application       string
	Began                      int64 // Unix nanoseconds
	Nanos                      int64
	Rows, Read, Written, Retry int64
	Code                       string // SQLSTATE, if it failed
	Plan                       string
	Trace                      string // "" if it was not traced
	Waited                     int64  // nanoseconds, for other transactions
}

// Fingerprint is that of Row.
func (s *Slow) Fingerprint() string { return number(s.Text) }

// SlowLog has the slow statements of a node. The zero value is empty. It is safe for concurrent use.
type SlowLog struct {
	mu   sync.Mutex
	ring []Slow
	next int
}

// Add adds an execution.
func (l *SlowLog) Add(e *Entry, o *Outcome, s Slow) {
	s.Key, s.Nanos, s.Began = e.key, int64(o.Took), o.Ended.Add(-o.Took).UnixNano()
	s.Rows, s.Read, s.Written, s.Retry = o.Rows, o.Read, o.Written, o.Retries
	s.Waited = int64(o.Waited)
	s.Query, s.Plan, s.Trace = cut(s.Query, MaxSlowText), cut(s.Plan, MaxPlanText), cut(s.Trace, MaxSlowTrace)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ring) < MaxSlow {
		l.ring = append(l.ring, s)
		return
	}
	l.ring[l.next] = s
	l.next = (l.next + 1) % MaxSlow
}

// List returns the executions that are remembered, the last one first.
func (l *SlowLog) List() []Slow {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := slices.Concat(l.ring[l.next:], l.ring[:l.next])
	slices.Reverse(out)
	return out
}

// MinSlow is the least time that counts as slow.
const MinSlow = time.Millisecond
