package sql

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/activity"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/identity"
	"github.com/lichendb/lichen/internal/sql/pgcatalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// cancelRequest asks to end a statement or a session: by the id of either, by process
// id, or as a client does, by process id and secret.
type cancelRequest struct {
	ID     string `json:",omitempty"` // of a session, or with a fourth part of a statement
	PID    int32  `json:",omitempty"`
	Secret *uint32
	// May is whose sessions may be ended; nil: all.
	May *identity.Signaler `json:",omitempty"`
	// Terminate ends the session, not only what it runs.
	Terminate bool
}

// cancelHere does so for a session of this node; false if there is none.
func (s *Server) cancelHere(c *cancelRequest) (found bool, err error) {
	if c.ID != "" {
		for _, ses := range s.Sessions() {
			id := ses.ex.conn.id(s)
			rest, query := strings.CutPrefix(c.ID, id+".")
			switch {
			case c.ID != id && !query:
			case !c.May.Covers(s.cfg.Catalog, ses.ex.who.Login()):
				return false, identity.DeniedSignal()
			case query:
				n, err := strconv.ParseUint(rest, 10, 64)
				return err == nil && ses.ex.current.Stop(n), nil
			default:
				ses.stop(c.Terminate)
				return true, nil
			}
		}
		return false, nil
	}
	ses := s.session(c.PID)
	switch {
	case ses == nil || c.Secret != nil && *c.Secret != ses.secret:
		return false, nil
	case !c.May.Covers(s.cfg.Catalog, ses.ex.who.Login()):
		return false, identity.DeniedSignal()
	}
	ses.stop(c.Terminate)
	return true, nil
}

func (s *Session) stop(terminate bool) {
	if terminate {
		s.Terminate()
	} else {
		s.ex.current.Interrupt(activity.ErrUserCancel)
	}
}

// cancelAt does what c says on the node where the session is.
func (s *Server) cancelAt(ctx context.Context, n kvpb.NodeID, c *cancelRequest) (bool, error) {
	if n == s.nodeID() {
		return s.cancelHere(c)
	}
	if s.cfg.Nodes == nil {
		return false, nil
	}
	for _, o := range s.cfg.Nodes.Others() {
		if o == n {
			a, err := s.ask(ctx, n, &question{Cancel: c})
			if err != nil {
				return false, pgerr.New(pgerr.CannotConnectNow, "node %d does not answer", n)
			}
			if a.Denied {
				return false, identity.DeniedSignal()
			}
			return a.Found, nil
		}
	}
	return false, nil
}

// Cancel cancels the running statement of the session with that process id, on
// whichever node it is, if the secret is its own.
func (s *Server) Cancel(pid int32, secret uint32) {
	// Nobody waits for the outcome, and a node that does not answer has no clients.
	_, _ = s.cancelAt(context.Background(), pidNode(pid), &cancelRequest{PID: pid, Secret: &secret})
}

// CancelBackend implements call.Session.
func (f *sessionFuncs) CancelBackend(pid int32, terminate bool) (bool, error) {
	if pid <= 0 {
		f.ex.warnSoon(pgerr.New(pgerr.Warning, "PID %d is not a PostgreSQL backend process", pid))
		return false, nil
	}
	found, err := f.ex.srv.cancelAt(f.ex.eval.functions.Ctx, pidNode(pid), &cancelRequest{PID: pid, Terminate: terminate, May: f.ex.who.Signaler()})
	if !found && err == nil {
		f.ex.warnSoon(pgerr.New(pgerr.Warning, "PID %d is not a PostgreSQL backend process", pid))
	}
	f.ex.running.endedItself = f.ex.running.endedItself || found && pid == f.ex.conn.pid
	return found, err
}

// cancel executes CANCEL QUERY, CANCEL SESSION, and CANCEL, PAUSE and RESUME JOB.
func (x *execution) cancel(ctx context.Context, st *ast.Cancel) (string, error) {
	ex := x.ex
	if st.Verb != "CANCEL" && st.Kind != ast.CancelJobs {
		return "", pgerr.Unsupported("%s is not supported", st.Tag()).WithHint("Jobs can be paused and resumed.")
	}
	ids, err := x.cancelIDs(ctx, st)
	if err != nil {
		return "", err
	}
	if st.Kind == ast.CancelJobs {
		return x.wishJobs(ctx, st, ids)
	}
	what, parts := "query", 4
	if st.Kind == ast.CancelSessions {
		what, parts = "session", 3
	}
	n := 0
	for _, id := range ids {
		p := strings.Split(id, ".")
		node, err := strconv.ParseUint(p[0], 10, 64)
		if len(p) != parts || err != nil {
			return "", pgerr.New(pgerr.InvalidParameterValue, "invalid %s id \"%s\"", what, id).
				WithHint("Ids are listed in lichen_internal.cluster_queries and cluster_sessions.")
		}
		found, err := ex.srv.cancelAt(ctx, kvpb.NodeID(node), &cancelRequest{ID: id, Terminate: st.Kind == ast.CancelSessions, May: ex.who.Signaler()})
		switch {
		case err != nil:
			return "", err
		case !found && !st.IfExists:
			return "", pgerr.New(pgerr.UndefinedObject, "%s \"%s\" does not exist", what, id)
		case found:
			n++
		}
	}
	return fmt.Sprintf("%s %d", st.Tag(), n), ctx.Err() // it may have been this session
}

// cancelIDs evaluates what CANCEL names.
func (x *execution) cancelIDs(ctx context.Context, st *ast.Cancel) ([]string, error) {
	ex := x.ex
	sel := st.Query
	if sel == nil {
		sel = &ast.Select{}
		for _, e := range st.IDs {
			sel.Items = append(sel.Items, ast.SelectItem{X: e})
		}
	}
	ex.txn.Ensure()
	ex.txn.KV().BeginStatement()
	prep, err := ex.eval.plan(ctx, sel)
	if err != nil {
		return nil, err
	}
	if st.Query != nil && len(prep.Columns) != 1 {
		return nil, pgerr.New(pgerr.SyntaxError, "%s expects one column of ids", st.Tag())
	}
	for _, c := range prep.Columns {
		if st.Kind == ast.CancelJobs && c.Type.IsInteger() {
			continue
		}
		if c.Type.Family != types.StringFamily && c.Type.Oid != types.Unknown.Oid {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "%s expects ids of type text, not %s", st.Tag(), types.FormatType(c.Type))
		}
	}
	pr, err := exec.Compile(prep)
	if err != nil {
		return nil, err
	}
	var env operator.Env
	ex.eval.fill(ctx, &env, nil)
	rows, err := pr.Rows(&env)
	var ids []string
	for _, r := range rows {
		for i, d := range r {
			switch {
			case d.IsNull():
			case prep.Columns[i].Type.IsInteger():
				ids = append(ids, strconv.FormatInt(d.Int(), 10))
			default:
				ids = append(ids, d.Str())
			}
		}
	}
	return ids, err
}

// BlockingPIDs returns the process ids of the sessions that one waits for, for
// pg_blocking_pids.
func (f *sessionFuncs) BlockingPIDs(pid int32) ([]int32, error) {
	r, err := f.ex.srv.report(f.ctx(), pgcatalog.ReportRequest{Sessions: true}, f.ex.warnSoon)
	if err != nil {
		return nil, err
	}
	return r.BlockingPIDs(pid), nil
}
