package pgwire

import "sync/atomic"

type metrics struct {
	accepted, rejected, sessions, queries, errors, cancels atomic.Int64
	messages, bytesIn, bytesOut, panics, refused           atomic.Int64
}

// Metrics are counts since the server began; Connections and Sessions are
// present numbers.
type Metrics struct {
	Connections int64 // open, start-up included
	Sessions    int64 // of them past start-up
	Accepted    int64
	Rejected    int64 // over a limit, or during shutdown
	Refused     int64 // logins
	Queries     int64 // Query and Execute messages
	Errors      int64 // ErrorResponses
	Cancels     int64 // cancel requests
	Messages    int64 // received
	BytesIn     int64
	BytesOut    int64
	Panics      int64 // connections that ended with an internal error
}

// Metrics returns a snapshot.
func (s *Server) Metrics() Metrics {
	m := &s.metrics
	s.mu.Lock()
	open := len(s.mu.conns)
	s.mu.Unlock()
	return Metrics{
		Connections: int64(open), Sessions: m.sessions.Load(), Accepted: m.accepted.Load(), Rejected: m.rejected.Load(),
		Queries: m.queries.Load(), Errors: m.errors.Load(), Cancels: m.cancels.Load(), Messages: m.messages.Load(),
		BytesIn: m.bytesIn.Load(), BytesOut: m.bytesOut.Load(), Panics: m.panics.Load(),
		Refused: m.refused.Load(),
	}
}

// report adds what the connection counted by itself to the server's counters.
func (c *conn) report() {
	m := &c.srv.metrics
	st := c.wire.TakeStats()
	m.messages.Add(int64(st.Messages))
	m.bytesIn.Add(int64(st.BytesIn))
	m.bytesOut.Add(int64(st.BytesOut))
	if c.queries > 0 {
		m.queries.Add(c.queries)
		c.queries = 0
	}
}
