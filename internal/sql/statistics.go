package sql

import (
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/obs"
	"github.com/lichendb/lichen/internal/sql/activity"
	"github.com/lichendb/lichen/internal/sql/advise"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/clustersetting"
	"github.com/lichendb/lichen/internal/sql/identity"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/settings"
	"github.com/lichendb/lichen/internal/sql/statview"
	"github.com/lichendb/lichen/internal/sql/stmtstats"
	"github.com/lichendb/lichen/internal/sql/transaction"
)

// maxStatements bounds the fingerprints that a node reports.
const maxStatements = 1000

// figures returns the figures of this node that are wanted.
func (s *Server) figures(req statview.Request) statview.Node {
	n := statview.Node{Node: s.nodeID()}
	if req.Statements {
		n.Statements = s.statements.List(maxStatements)
		rounds, forgot := s.statements.Kept()
		n.Kept = &statview.Kept{Rounds: rounds, Since: max(forgot, s.started.UnixNano())}
	}
	if req.Plans {
		n.Plans = s.statements.Plans(maxStatements)
	}
	if req.Txns {
		n.Txns = s.txnStats.List(maxStatements)
	}
	if req.Slow {
		n.Slow = s.slow.List()
	}
	if req.Waits && s.cfg.Nodes != nil {
		for _, w := range s.cfg.Nodes.WaitGraph().Log().List() {
			x := statview.Wait{Txn: kvpb.TxnID(w.Txn), Key: w.Key, Since: w.Since.UnixNano(), Nanos: int64(w.Took), Granted: w.Granted}
			for _, b := range w.Blockers {
				x.Blockers = append(x.Blockers, kvpb.TxnID(b))
			}
			n.Waits = append(n.Waits, x)
		}
	}
	if req.Indexes {
		n.Indexes, n.Since = s.indexes.List(), s.started.UnixNano()
	}
	if req.Who != nil {
		n.Recent = s.txnStats.Known(req.Who)
	}
	return n
}

// ran is what a statement that has run adds to the statistics of its fingerprint, once it has ended.
type ran struct {
	entry    *stmtstats.Entry // nil: nothing is counted
	outcome  stmtstats.Outcome
	prepared *prepared.Statement
	planned  *plan.Prepared // nil: it has no plan
	cached   *prepared.Plan // likewise, or it was no query
	err      error
	traced   traced
}

// recorder counts what the statements of a session, and its transactions, have come to.
type recorder struct {
	srv  *Server
	conn *connection
	who  *identity.Session
	txn  *transaction.Transaction
	vals *settings.Values

	ran   ran
	block stmtstats.Block // the present one
}

// note notes what the execution came to. Statements within others count as part of those, and what the server itself asks
// does not count. read is how many entries it has read, waited how long it has waited for other transactions.
func (x *execution) note(err error, read int64, waited time.Duration) {
	ex := x.ex
	if !x.counts() {
		return
	}
	ex.recorder.ran = ran{entry: x.entry(), prepared: x.prepared, cached: x.cached, planned: x.auditing.planned, err: err, traced: x.traced, outcome: stmtstats.Outcome{
		Rows: max(x.rows, x.affected), Read: read, Written: x.affected, Retries: x.retries, Waited: waited, Failed: err != nil,
	}}
}

// counts reports whether the execution counts by itself.
func (x *execution) counts() bool { return x.within == nil && !x.ex.who.Internal() }

// entry is where the executions of the statement are counted.
func (x *execution) entry() *stmtstats.Entry {
	ex, e := x.ex, x.prepared.Stats
	if e == nil || e.Gone() || !e.Is(ex.conn.db.Name, ex.who.User()) {
		e = ex.srv.statements.Entry(fingerprintOf(x.prepared), ex.conn.db.Name, ex.who.User())
		x.prepared.Stats = e
	}
	return e
}

// entriesRead is how many entries the session's transactions have read.
func (c *recorder) entriesRead() int64 {
	if t := c.txn.KV(); t != nil {
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
func (c *recorder) count(took time.Duration, at time.Time) {
	r := &c.ran
	if r.entry == nil {
		return
	}
	r.outcome.Took, r.outcome.Ended = took, at
	root := r.root()
	if root != nil && r.entry.Due(took, at) {
		r.look(root)
	}
	r.entry.Record(&r.outcome)
	if r.cached != nil {
		c.noteIndexes(r.cached, at)
	}
	c.countBlock()
	if took >= stmtstats.MinSlow {
		c.noteSlow(root, at)
	}
	c.export()
	*r = ran{}
}

// root is the plan that the statement was run by; nil if it has none.
func (r *ran) root() plan.Node {
	if r.planned == nil {
		return nil
	}
	switch r.planned.Root.(type) {
	case *plan.DDL, *plan.Utility, *plan.Copy, *plan.Explain:
		return nil
	}
	return r.planned.Root
}

// look keeps the plan.
func (r *ran) look(root plan.Node) {
	r.entry.Look(r.outcome.Took, r.outcome.Ended, stmtstats.Seen{
		Shape: planText(root, false), Text: func() string { return planText(root, true) }, Reads: func() []stmtstats.Read { return advise.Reads(root) },
	})
}

// countBlock counts the statement in its transaction block, and the block where it ends.
func (c *recorder) countBlock() {
	r, b := &c.ran, &c.block
	_, commits := r.prepared.Stmt.AST.(*ast.Commit)
	_, begins := r.prepared.Stmt.AST.(*ast.Begin)
	ends := commits || isRollback(r.prepared.Stmt.AST)
	within := c.txn.Status() != 'I'
	if !b.Open() && !within {
		if r.outcome.Took >= stmtstats.MinRecent { // the list of its one query is made only then
			c.remember(r.outcome.Took, r.entry.Text())
		}
		return
	}
	if !b.Open() {
		b.Begin(r.outcome.Ended.Add(-r.outcome.Took))
	}
	if !begins && !ends {
		b.Add(r.entry, &r.outcome)
	}
	if within && !ends {
		b.Failed = c.txn.Failed()
		return
	}
	took, queries := c.srv.txnStats.End(b, c.conn.db.Name, c.who.User(), commits && r.err == nil && !b.Failed, r.outcome.Ended)
	if within { // AND CHAIN
		b.Begin(r.outcome.Ended)
		return
	}
	c.remember(took, queries...)
}

func isRollback(stmt ast.Statement) bool {
	_, ok := stmt.(*ast.Rollback)
	return ok
}

// remember notes who the transaction was that has ended, for those who had to wait for it, if it may have been worth waiting for.
func (c *recorder) remember(took time.Duration, queries ...string) {
	if t := c.txn.KV(); t != nil && took >= stmtstats.MinRecent {
		id := t.ID()
		c.srv.txnStats.Remember(stmtstats.Recent{ID: [2]uint64{id.Hi, id.Lo}, Queries: queries, Database: c.conn.db.Name, User: c.who.User()})
	}
}

// noteSlow keeps the statement if it took long.
func (c *recorder) noteSlow(root plan.Node, at time.Time) {
	r := &c.ran
	least := clustersetting.Get(c.srv.cfg.Settings).SlowStatement
	if least == 0 || r.outcome.Took < least {
		return
	}
	slow := stmtstats.Slow{Query: activity.Redacted(ownText(r.prepared)), Session: c.conn.id(c.srv), Application: c.vals.Fast.ApplicationName}
	if r.err != nil {
		slow.Code = string(pgerr.From(r.err).Code)
	}
	if root != nil {
		slow.Plan = planText(root, true)
	}
	if slow.Trace = r.traced.text(); slow.Trace == "" {
		r.entry.TraceNext(at)
	}
	c.srv.slow.Add(r.entry, &r.outcome, slow)
	obs.On(c.srv.cfg.Logger, obs.SQLPerf).Info("slow statement", "took", r.outcome.Took, "fingerprint", r.entry.Text(), "database", obs.Sensitive(c.conn.db.Name),
		"user", obs.Sensitive(c.who.User()), "rows", r.outcome.Rows, "read", r.outcome.Read, "retries", r.outcome.Retries, "code", slow.Code)
}

// noteIndexes counts that a plan's indexes are used, once for each execution, which has ended.
func (c *recorder) noteIndexes(p *prepared.Plan, at time.Time) {
	if c.who.Internal() {
		return
	}
	uses := p.Indexes(func() (out []prepared.IndexUse) {
		for _, r := range advise.Reads(p.Prep.Root) {
			if u := c.srv.indexes.Use(stmtstats.IndexKey{Table: r.Table, Index: r.Index}); u != nil {
				out = append(out, prepared.IndexUse{Counter: u, Full: r.Full})
			}
		}
		return out
	})
	if len(uses) == 0 {
		return
	}
	now := at.UnixNano()
	for _, u := range uses {
		u.Counter.Note(u.Full, now)
	}
}

// planText is a plan as EXPLAIN shows it, without constants.
func planText(root plan.Node, costs bool) string {
	return strings.Join(plan.Format(root, plan.ExplainOptions{Costs: costs, NoConstants: true}), "\n")
}

// Statements returns the statistics of the statements that clients have run on this node.
func (s *Server) Statements() *stmtstats.Registry { return &s.statements }
