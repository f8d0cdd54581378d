package sql

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/activity"
	"github.com/lichendb/lichen/internal/sql/ast"
)

// replays counts how often several statements were run again after conflicts.
type replays struct {
	attempt int
	met     time.Time // when they met their first conflict
}

// next reports whether statements of a transaction that has been rolled back are to be run
// once more, and waits as long as they have to before that.
func (r *replays) next(ex *executor, text string) bool {
	if ex.txn.Open() || ex.advisory.Any() {
		return false
	}
	if r.attempt++; r.attempt == 1 {
		r.met = time.Now()
	}
	if time.Since(r.met) > maxRetryTime {
		return false
	}
	ctx := ex.begin(text)
	defer ex.end()
	return backOff(ctx, r.attempt) == nil
}

// pipelined is what a session knows of the statements of the extended protocol since the last
// Sync. They share a transaction: an implicit one, or a block that begins among them.
type pipelined struct {
	replays
	text string // of the last one
	// fixed says that one of them did more than read and write rows, or follows a COMMIT, ended
	// that there was one.
	fixed, ended bool
}

func (p *pipelined) note(text string, stmt ast.Statement) {
	p.text = text
	if p.ended || !repeatable(stmt) {
		p.fixed = true
	}
	_, p.ended = stmt.(*ast.Commit)
}

// BeginPipeline says that the next message of the extended protocol is the first after
// Sync.
func (s *Session) BeginPipeline() {
	s.pipelined = pipelined{}
	s.ex.running.arrived = time.Time{}
}

// Tick says that a message of the extended protocol has come: 57014 if its statement has
// taken longer than statement_timeout allows.
func (s *Session) Tick() error {
	d := s.ex.vals.Fast.StatementTimeout
	switch arrived := &s.ex.running.arrived; {
	case d <= 0:
	case arrived.IsZero():
		*arrived = time.Now()
	case time.Since(*arrived) >= d:
		return activity.ErrTimeout
	}
	return nil
}

// RunsAgain reports whether the connection may send all that came since BeginPipeline to the
// session again, after RepeatPipeline, if it can take back what it has answered: err, with which
// it ended, is a conflict, and a rollback has taken back all that was done.
func (s *Session) RunsAgain(err error) bool {
	p := &s.pipelined
	return kv.IsRetryable(err) && !p.fixed && p.next(&s.ex, p.text)
}

// RepeatPipeline says that all that came since BeginPipeline, a time without a block, comes again.
func (s *Session) RepeatPipeline() {
	s.endFailedBlock()
	s.pipelined.ended = false
}

// endFailedBlock ends a block that a conflict has undone, for its statements to be run again.
func (s *Session) endFailedBlock() {
	if s.ex.txn.InBlock() {
		s.ex.txn.Rollback(context.Background())
	}
}

// Unanswered returns how much output of several statements a connection holds back so that it can
// be taken back.
func (s *Session) Unanswered() int { return maxHeld }
