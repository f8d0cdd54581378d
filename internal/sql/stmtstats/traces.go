package stmtstats

import (
	"sync/atomic"
	"time"
)

// Limits of the traces of statements that were slow.
const (
	// TraceFor is how long after a slow execution others of its fingerprint are traced, TraceEvery how often at most.
	TraceFor   = 10 * time.Minute
	TraceEvery = time.Second
	// MaxSlowTrace bounds the text of a trace that is kept with a slow statement, in bytes.
	MaxSlowTrace = 16_000
)

// traces says whether executions are traced, in Unix nanoseconds.
type traces struct {
	until atomic.Int64 // 0: they are not
	next  atomic.Int64
}

// TraceNext has the next executions traced: one was slow, and nobody knows where it spent its time.
func (e *Entry) TraceNext(at time.Time) { e.traces.until.Store(at.Add(TraceFor).UnixNano()) }

// Traces reports whether an execution that begins is to be traced.
func (e *Entry) Traces() bool {
	until := e.traces.until.Load()
	if until == 0 {
		return false
	}
	now := time.Now().UnixNano()
	if now > until {
		e.traces.until.CompareAndSwap(until, 0)
		return false
	}
	next := e.traces.next.Load()
	return now >= next && e.traces.next.CompareAndSwap(next, now+int64(TraceEvery))
}
