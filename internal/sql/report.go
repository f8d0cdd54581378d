package sql

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/activity"
	"github.com/lichendb/lichen/internal/sql/ids"
	"github.com/lichendb/lichen/internal/sql/pgcatalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/statview"
	"github.com/lichendb/lichen/internal/sql/stmtstats"
)

const (
	// answerTimeout bounds one question about sessions and locks to another node.
	answerTimeout = 2 * time.Second
	// maxReported bounds the locks and the waits that a node reports.
	maxReported = 10_000
)

// Nodes is how a server reaches those of other nodes. It is safe for concurrent use.
type Nodes interface {
	Self() kvpb.NodeID
	// Others returns the other nodes of the cluster, those that don't answer too.
	Others() []kvpb.NodeID
	// Ask has the server of another node answer a question (Server.Answer).
	Ask(ctx context.Context, node kvpb.NodeID, question []byte) ([]byte, error)
	// Locks calls fn for the locks in the lock tables of the replicas that lead here,
	// until it returns false.
	Locks(fn func(kvpb.RangeID, concurrency.Lock) bool)
	// WaitGraph has the waits that are on this node.
	WaitGraph() *concurrency.WaitGraph
	// Alone reports whether this is the only node, for good.
	Alone() bool
	// TxnFinalized finds out whether a transaction has ended, or its gateway has; false if
	// that can't be known now.
	TxnFinalized(id kvpb.TxnID) bool
}

// question is what a node asks another.
type question struct {
	Report *pgcatalog.ReportRequest `json:",omitempty"`
	Cancel *cancelRequest           `json:",omitempty"`
	Txns   *ids.Question            `json:",omitempty"`
	Forget *stmtstats.Selection     `json:",omitempty"`
}

// answer is what it gets: of Cancel, whether there was something to cancel.
type answer struct {
	Report *pgcatalog.Report `json:",omitempty"`
	Found  bool              `json:",omitempty"`
	Denied bool              `json:",omitempty"`
	Txns   *ids.Answer       `json:",omitempty"`
}

// Answer answers the question of another node.
func (s *Server) Answer(req []byte) ([]byte, error) {
	var q question
	if err := json.Unmarshal(req, &q); err != nil {
		return nil, err
	}
	var a answer
	if q.Report != nil {
		a.Report = s.ownReport(*q.Report)
	}
	if q.Cancel != nil {
		var err error
		a.Found, err = s.cancelHere(q.Cancel)
		a.Denied = err != nil
	}
	if q.Txns != nil {
		a.Txns = s.txnIDs.Answer(q.Txns)
	}
	if q.Forget != nil {
		s.statements.Forget(*q.Forget, time.Now())
	}
	return json.Marshal(a)
}

func (s *Server) ask(ctx context.Context, n kvpb.NodeID, q *question) (a answer, err error) {
	req, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	p, err := s.cfg.Nodes.Ask(ctx, n, req)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(p, &a)
}

// nodeID is this node's id, 1 of a server that knows no others.
func (s *Server) nodeID() kvpb.NodeID {
	if s.cfg.Nodes == nil {
		return 1
	}
	return s.cfg.Nodes.Self()
}

// ownReport returns what goes on at this node.
func (s *Server) ownReport(req pgcatalog.ReportRequest) *pgcatalog.Report {
	r := &pgcatalog.Report{}
	if req.Sessions {
		for _, ses := range s.Sessions() {
			r.Sessions = append(r.Sessions, ses.Activity())
		}
		slices.SortFunc(r.Sessions, func(a, b pgcatalog.Activity) int { return int(a.PID) - int(b.PID) })
	}
	if !req.Stats.None() {
		r.Stats = []statview.Node{s.figures(req.Stats)}
	}
	nodes := s.cfg.Nodes
	if nodes == nil {
		return r
	}
	self, own := nodes.Self(), map[kvpb.TxnID]kvpb.TxnID{}
	for _, ses := range s.Sessions() {
		if a := ses.Activity(); !a.Advisory.IsZero() {
			own[a.Txn], own[a.Advisory] = a.Advisory, a.Txn
		}
	}
	waits := nodes.WaitGraph().List(maxReported)
	r.Cut = len(waits) == maxReported
	for _, w := range waits {
		x := pgcatalog.Wait{Node: self, Txn: kvpb.TxnID(w.Txn), Since: w.Since}
		for _, b := range w.Blockers {
			if id := kvpb.TxnID(b); !slices.Contains(x.Blockers, id) {
				x.Blockers = append(x.Blockers, id)
			}
		}
		if !withinSession(&x, own) {
			r.Waits = append(r.Waits, x)
		}
	}
	if req.Locks {
		nodes.Locks(func(id kvpb.RangeID, l concurrency.Lock) bool {
			if len(r.Locks) >= maxReported {
				r.Cut = true
				return false
			}
			r.Locks = append(r.Locks, pgcatalog.Lock{
				Node: self, Range: id, Key: slices.Clone(l.Key), Txn: kvpb.TxnID(l.Txn), Strength: l.Strength, Waiting: l.Waiting,
			})
			return true
		})
	}
	return r
}

// withinSession reports whether a wait is between a session's transaction and the holder
// of its advisory locks, which own pairs: deadlocks are found by such, but nobody waits.
func withinSession(w *pgcatalog.Wait, own map[kvpb.TxnID]kvpb.TxnID) bool {
	if len(w.Blockers) > 1 {
		return false
	}
	o, ok := own[w.Txn]
	return ok && (len(w.Blockers) == 0 || w.Blockers[0] == o)
}

// report asks the nodes of the cluster. warn is told who does not answer.
func (s *Server) report(ctx context.Context, req pgcatalog.ReportRequest, warn func(*pgerr.Error)) (*pgcatalog.Report, error) {
	r := s.ownReport(req)
	if req.Here || s.cfg.Nodes == nil {
		return r, ctx.Err()
	}
	others := s.cfg.Nodes.Others()
	answers, errs := make([]answer, len(others)), make([]error, len(others))
	var wg sync.WaitGroup
	for i, n := range others {
		wg.Go(func() { answers[i], errs[i] = s.ask(ctx, n, &question{Report: &req}) })
	}
	wg.Wait()
	for i, n := range others {
		if errs[i] != nil || answers[i].Report == nil {
			warn(pgerr.New(pgerr.Warning, "node %d did not answer: what goes on there is missing", n))
			continue
		}
		o := answers[i].Report
		r.Sessions = append(r.Sessions, o.Sessions...)
		r.Locks = append(r.Locks, o.Locks...)
		r.Waits = append(r.Waits, o.Waits...)
		r.Stats = append(r.Stats, o.Stats...)
		r.Cut = r.Cut || o.Cut
	}
	return r, ctx.Err()
}

// forgetStatements has all nodes forget what statements have cost. Who does not answer is named in a warning.
func (s *Server) forgetStatements(ctx context.Context, of stmtstats.Selection, warn func(*pgerr.Error)) error {
	s.statements.Forget(of, time.Now())
	if s.cfg.Nodes == nil {
		return nil
	}
	others := s.cfg.Nodes.Others()
	errs := make([]error, len(others))
	var wg sync.WaitGroup
	for i, n := range others {
		wg.Go(func() { _, errs[i] = s.ask(ctx, n, &question{Forget: &of}) })
	}
	wg.Wait()
	for i, n := range others {
		if errs[i] != nil {
			warn(pgerr.New(pgerr.Warning, "node %d did not answer: its statistics of statements are as they were", n))
		}
	}
	return ctx.Err()
}

// pidBits are the bits of a process id that count the sessions of one node; those
// above say which node it is, so that any node finds the session.
const (
	pidBits    = 18
	maxPidNode = 1 << (31 - pidBits)
)

// pidNode returns the node of a process id, given how many bits it has for one.
func pidNode(pid int32) kvpb.NodeID { return kvpb.NodeID(pid>>pidBits) + 1 }

func (s *Server) pidBase() int32 {
	return int32((s.nodeID()-1)%maxPidNode) << pidBits
}

// Activity returns what the session does. Any goroutine may call it.
func (s *Session) Activity() pgcatalog.Activity {
	ex := &s.ex
	a := pgcatalog.Activity{Node: ex.srv.nodeID(), PID: ex.conn.pid, Session: ex.conn.id(ex.srv), User: ex.who.User(), Remote: ex.conn.remote, Encryption: s.encryption, Started: ex.conn.started}
	if start := ex.txn.Began(); start != 0 {
		a.XactStart = time.Unix(0, start)
		a.Txn = kvpb.TxnID(ex.coll.TxnID())
	}
	now := ex.current.Snapshot()
	a.Database, a.Application = now.Database, now.Application
	a.State, a.Query = now.State(), activity.Redacted(now.Query)
	a.QueryStart, a.Since = now.Began, now.Since
	a.Advisory = ex.advisory.Holder()
	if now.Running {
		a.QueryID = fmt.Sprintf("%s.%d", a.Session, now.Statement)
	}
	return a
}
