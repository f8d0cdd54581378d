package sql

import (
	"time"

	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/stmtstats"
)

// ran is what a statement that has run adds to the statistics of its fingerprint, once it has ended.
type ran struct {
	entry   *stmtstats.Entry // nil: nothing is counted
	outcome stmtstats.Outcome
}

// note notes what the execution came to. Statements within others count as part of those, and what the server itself asks
// does not count.
func (x *execution) note(err error) {
	s := x.s
	if x.within != nil || s.internal {
		return
	}
	e := x.prepared.Stats
	if e == nil || e.Gone() || !e.Is(s.db.Name, s.user) {
		e = s.srv.statements.Entry(fingerprintOf(x.prepared), s.db.Name, s.user)
		x.prepared.Stats = e
	}
	s.ran.entry = e
	s.ran.outcome = stmtstats.Outcome{Rows: max(x.rows, x.affected), Retries: x.retries, Failed: err != nil}
}

// fingerprintOf returns the text of a statement without its constants.
func fingerprintOf(p *prepared.Statement) string {
	return parser.WithoutConstants(ownText(p), parser.Options{Escapes: p.Stmt.Escapes}, stmtstats.MaxText)
}

// ownText returns the statement's own part of a text that may have several.
func ownText(p *prepared.Statement) string {
	st, text := &p.Stmt, p.Text
	if end := st.Offset + len(st.SQL); st.SQL != "" && end <= len(text) && text[st.Offset:end] == st.SQL {
		return st.SQL
	}
	return text
}

// count adds it.
func (r *ran) count(took time.Duration, at time.Time) {
	if r.entry == nil {
		return
	}
	r.outcome.Took, r.outcome.Ended = took, at
	r.entry.Record(&r.outcome)
	r.entry = nil
}

// Statements returns the statistics of the statements that clients have run on this node.
func (s *Server) Statements() *stmtstats.Registry { return &s.statements }
