package sql

import (
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/sql/advise"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/statview"
	"github.com/lichendb/lichen/internal/sql/stmtstats"
)

// maxStatements bounds the fingerprints that a node reports.
const maxStatements = 1000

// figures returns the figures of this node that are wanted.
func (s *Server) figures(req statview.Request) statview.Node {
	n := statview.Node{Node: s.nodeID()}
	if req.Statements {
		n.Statements = s.statements.List(maxStatements)
	}
	if req.Plans {
		n.Plans = s.statements.Plans(maxStatements)
	}
	return n
}

// ran is what a statement that has run adds to the statistics of its fingerprint, once it has ended.
type ran struct {
	entry   *stmtstats.Entry // nil: nothing is counted
	outcome stmtstats.Outcome
	planned *plan.Prepared // nil: it has no plan
}

// note notes what the execution came to. Statements within others count as part of those, and what the server itself asks
// does not count. before is how many entries the session's transactions had read when it began.
func (x *execution) note(err error, before int64) {
	s := x.s
	if x.within != nil || s.internal {
		return
	}
	e := x.prepared.Stats
	if e == nil || e.Gone() || !e.Is(s.db.Name, s.user) {
		e = s.srv.statements.Entry(fingerprintOf(x.prepared), s.db.Name, s.user)
		x.prepared.Stats = e
	}
	s.ran = ran{entry: e, planned: x.auditing.planned, outcome: stmtstats.Outcome{
		Rows: max(x.rows, x.affected), Read: s.entriesRead() - before, Written: x.affected, Retries: x.retries, Failed: err != nil,
	}}
}

// entriesRead is how many entries the session's transactions have read.
func (s *Session) entriesRead() int64 {
	if t := s.txn.KV(); t != nil {
		return t.ReadEntries()
	}
	return 0
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
	if r.planned != nil && r.entry.Due(took, at) {
		r.look()
	}
	r.entry.Record(&r.outcome)
	r.entry, r.planned = nil, nil
}

// look keeps the plan that the statement was run by.
func (r *ran) look() {
	root := r.planned.Root
	switch root.(type) {
	case *plan.DDL, *plan.Utility, *plan.Copy, *plan.Explain:
		return
	}
	r.entry.Look(r.outcome.Took, r.outcome.Ended, stmtstats.Seen{
		Shape: planText(root, false), Text: func() string { return planText(root, true) }, Reads: func() []stmtstats.Read { return advise.Reads(root) },
	})
}

// planText is a plan as EXPLAIN shows it, without constants.
func planText(root plan.Node, costs bool) string {
	return strings.Join(plan.Format(root, plan.ExplainOptions{Costs: costs, NoConstants: true}), "\n")
}

// Statements returns the statistics of the statements that clients have run on this node.
func (s *Server) Statements() *stmtstats.Registry { return &s.statements }
