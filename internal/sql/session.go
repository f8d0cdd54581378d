package sql

import (
	"slices"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/sql/activity"
	"github.com/lichendb/lichen/internal/sql/charset"
	"github.com/lichendb/lichen/internal/sql/fingerprint"
	"github.com/lichendb/lichen/internal/sql/settings"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Session is one client's connection to the database, as its connection sees it: simple queries and the extended protocol, and what
// a connection asks about parameters, time limits and notices. Its executor runs the statements. One goroutine uses a Session at a
// time; only Terminate, OnInterrupt and what asks for its activity may come from others.
type Session struct {
	ex         executor
	secret     uint32
	encryption *Encryption

	fingerprints fingerprint.Session
	pipelined    pipelined
	extended     execution // of the portal that runs, if it is not kept
}

// PID returns the number by which other sessions name this one.
func (s *Session) PID() int32 { return s.ex.conn.pid }

// Secret returns the key that a cancel request must carry.
func (s *Session) Secret() uint32 { return s.secret }

// Format returns the settings for text forms.
func (s *Session) Format() *types.FormatContext { return &s.ex.vals.Format }

// Encoding returns what the client's text is converted from and to; nil if that is UTF8.
func (s *Session) Encoding() *charset.Encoding { return s.ex.vals.Fast.Encoding }

// Close rolls back and gives everything up.
func (s *Session) Close() {
	s.ex.close()
	s.extended = execution{} // which may refer to parameters
	s.ex.srv.forget(s)
}

// ParamStatus is a parameter that is reported to clients.
type ParamStatus struct{ Name, Value string }

// ParamStatus returns the parameters to report after start-up.
func (s *Session) ParamStatus() []ParamStatus {
	var out []ParamStatus
	for _, p := range settings.All() {
		if p.Report {
			v, _ := s.ex.vals.Get(p.Name)
			out = append(out, ParamStatus{p.Name, v})
		}
	}
	return out
}

// TakeParamChanges returns the reported parameters that changed since the last
// call.
func (s *Session) TakeParamChanges() []ParamStatus {
	names := s.ex.vals.TakeReported()
	if names == nil {
		return nil
	}
	var out []ParamStatus
	seen := map[string]bool{}
	for _, p := range settings.All() {
		for _, n := range names {
			if strings.EqualFold(p.Name, n) && !seen[n] {
				seen[n] = true
				v, _ := s.ex.vals.Get(n)
				out = append(out, ParamStatus{p.Name, v})
			}
		}
	}
	return out
}

// OnInterrupt sets what is called when the running statement is cancelled, or the session asked to
// end: its connection may be waiting for the client. f must not call the session.
func (s *Session) OnInterrupt(f func(ends bool)) { s.ex.current.OnInterrupt(f) }

// Watched returns when the running statement began, and how often its connection shall look
// whether the client is still there; 0 if no statement runs or it need not.
func (s *Session) Watched() (began time.Time, every time.Duration) { return s.ex.current.Watched() }

// Canceled returns why the running statement, or the session, must end; nil if it need not.
func (s *Session) Canceled() error { return s.ex.current.Canceled() }

// Terminate ends the running statement and refuses later ones: the client is
// gone or the node stops. It may come from any goroutine.
func (s *Session) Terminate() { s.ex.current.Interrupt(activity.ErrTerminated) }

// Terminated reports whether the session must end.
func (s *Session) Terminated() bool { return s.ex.current.Terminated() }

// IdleTimeout returns how long the session may wait for the client's next
// message, 0 for ever; inTxn says that idle_in_transaction_session_timeout
// applies rather than idle_session_timeout.
func (s *Session) IdleTimeout() (d time.Duration, inTxn bool) {
	if s.ex.txn.InBlock() {
		return s.ex.vals.Fast.IdleInTxnTimeout, true
	}
	return s.ex.vals.Fast.IdleTimeout, false
}

// WantsNotice reports whether client_min_messages lets a message through.
func (s *Session) WantsNotice(severity string) bool {
	return slices.Index(settings.Severities, strings.ToLower(severity)) >= s.ex.vals.Fast.MinMessages || severity == "INFO"
}
