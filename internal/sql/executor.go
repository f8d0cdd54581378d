package sql

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/activity"
	"github.com/lichendb/lichen/internal/sql/advisory"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/clustersetting"
	"github.com/lichendb/lichen/internal/sql/contention"
	"github.com/lichendb/lichen/internal/sql/deferral"
	"github.com/lichendb/lichen/internal/sql/identity"
	"github.com/lichendb/lichen/internal/sql/jobs"
	"github.com/lichendb/lichen/internal/sql/pgcatalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/portal"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/routine"
	"github.com/lichendb/lichen/internal/sql/sessionvar"
	"github.com/lichendb/lichen/internal/sql/settings"
	"github.com/lichendb/lichen/internal/sql/stats"
	"github.com/lichendb/lichen/internal/sql/transaction"
)

// executor is what the statements of a session share and leave for each other. It knows nothing of the connection, nor in which
// messages a statement came.
type executor struct {
	srv  *Server
	conn connection
	who  identity.Session
	vals *settings.Values
	vars sessionvar.Vars

	coll *catalog.Collection
	// event is that of the event trigger whose function runs.
	event *call.DDLEvent
	// commitDeadline is that of coll: a method value would be made anew for each commit.
	commitDeadline func() hlc.Timestamp
	cats           *pgcatalog.Catalog

	statements prepared.Statements
	planner    prepared.Planner
	portals    portal.Set
	eval       evaluator
	routines   routine.Runner
	opened     bool // a routine has opened a cursor in the transaction
	sequences  sequenceState

	txn       transaction.Transaction
	contended contention.Session
	deferral  deferral.Constraints
	advisory  advisory.Locks
	contents  stats.InTxn
	pending   pending

	current  activity.Current
	goesOn   *jobs.Job // whose statement the session runs, in place of a node that died; nil: it runs its own
	recorder recorder
	auditor  auditor

	running running
}

// running is the executor's state of the statement that runs.
type running struct {
	// arrived is when its first message came, if statement_timeout counts from there.
	arrived time.Time
	// endedItself: the statement cancelled itself or terminated its own session; it stops after this row.
	endedItself bool
	out         Results        // for the notices of routines
	noticed     bool           // routines have sent notices since it, or this attempt at it, began
	warnings    []*pgerr.Error // for its end
}

// connection is what is known of a client's connection.
type connection struct {
	pid     int32
	remote  string // address
	started time.Time
	db      *catalog.Database
}

// id names the session in the cluster and for ever: node, process id and when it began.
func (c *connection) id(s *Server) string {
	return fmt.Sprintf("%d.%d.%x", s.nodeID(), c.pid, c.started.UnixNano())
}

// init makes the parts of an executor known to each other.
func (ex *executor) init(srv *Server, a SessionArgs) {
	ex.srv, ex.conn = srv, connection{remote: a.RemoteAddr, started: time.Now()}
	ex.vals = settings.New(ex.fixed)
	ex.who.Init(a.User, a.Internal, ex.vals)
	ex.coll = srv.cfg.Catalog.NewCollection()
	ex.commitDeadline = ex.coll.CommitDeadline
	ex.statements.Init(srv.held, ex.reparse)
	ex.portals.Init(srv.held)
	ex.routines.Init(routineHost{ex})
	ex.txn.Init(srv.cfg.DB, &srv.txnIDs, callbacks{ex})
	ex.contents.Init(srv.stats, ex.txn.Open)
	ex.deferral.Init(callbacks{ex}.makeChecks)
	ex.vars.Init(ex.vals, &ex.txn, varOwner{Session: &ex.who, ex: ex})
	ex.advisory.Init(srv.advisory, advisoryOwner{ex})
	ex.pending.notify.Init(srv.notify, notifyHost{ex})
	ex.recorder = recorder{srv: srv, conn: &ex.conn, who: &ex.who, txn: &ex.txn, vals: ex.vals}
	ex.auditor = auditor{srv: srv, conn: &ex.conn, who: &ex.who, coll: ex.coll, vals: ex.vals}
	ex.planner.Init(srv.plans, planning{ex}, statementSource, ex.coll, ex.vals)
	ex.cats = ex.newCatalogs()
	ex.eval = evaluator{
		srv: srv, who: &ex.who, vals: ex.vals, coll: ex.coll, cats: ex.cats, txn: &ex.txn, planner: &ex.planner, auditor: &ex.auditor,
		constraints: &ex.deferral, statements: ex, triggers: triggers{ex}, session: &sessionFuncs{ex: ex, Catalog: ex.cats},
	}
	ex.vals.Format.Names = ex.cats
	ex.vals.Format.TypeByOid = ex.cats.TypeByOid
	ex.vals.Format.CheckDomain = (&domainInputs{ex: ex}).check
	ex.vals.Format.Cast = (&castInputs{ex: ex}).cast
}

// fixed returns the parameters that nobody sets.
func (ex *executor) fixed(name string) (string, bool) {
	if v, ok := ex.who.Parameter(name); ok {
		return v, true
	}
	return ex.srv.fixed(name)
}

// connect connects to a database as a user, with the parameters that the client has given.
func (ex *executor) connect(ctx context.Context, a SessionArgs) error {
	if err := ex.who.LogIn(ex.srv.cfg.Catalog, ex.coll); err != nil {
		return err
	}
	name := a.Database
	if name == "" {
		name = "defaultdb"
	}
	if catalog.TemplateByName(name) != nil {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "database \"%s\" is not currently accepting connections", name)
	}
	db, err := ex.srv.cfg.Catalog.DatabaseByName(ctx, name)
	if err != nil {
		return hintDatabase(err, a)
	}
	ex.conn.db = db
	ex.planner.SetDatabase(db.ID)
	ex.coll.SetSession(db, ex)
	ex.coll.SetUser(ex.who.Role, access.MayUseSchema)
	if err := ex.who.MayConnect(db); err != nil {
		return err
	}
	if err := clustersetting.SetDefaults(ex.srv.cfg.Settings, ex.vals); err != nil {
		return err
	}
	if !a.Internal {
		ex.vars.SetStored(uint32(ex.who.Login()), ex.srv.cfg.Catalog.ClusterSettings(), db.Settings, ex.warnSoon)
	}
	if err := ex.vars.SetGiven(a.Params); err != nil {
		return err
	}
	ex.current.Connect(db.Name, ex.vals.Fast.ApplicationName)
	return nil
}

// hintDatabase says what to do to those whose client has asked for the database that is named
// as the user, as libpq does without the name of another.
func hintDatabase(err error, a SessionArgs) error {
	var e *pgerr.Error
	if a.Database == a.User && errors.As(err, &e) && e.Code == pgerr.InvalidCatalogName {
		return e.WithHint("Clients ask for the database with the name of the user if they are given none: name defaultdb.")
	}
	return err
}

// close rolls back and gives up what the session has.
func (ex *executor) close() {
	ex.txn.Rollback(context.Background())
	ex.pending.notify.Close()
	ex.advisory.Close()
	ex.portals.CloseNamed()
	ex.portals.CloseUnnamed()
	ex.statements.CloseAll()
	ex.statements.Close("")
	ex.dropTemp()
	ex.coll.Close()
}

// SearchPathSetting implements catalog.Session: the search_path as set, "$user" replaced.
func (ex *executor) SearchPathSetting() []string {
	path := ex.vals.Fast.SearchPath
	for i, p := range path {
		if p == "$user" {
			path = append(append(append([]string(nil), path[:i]...), ex.who.CurrentUser()), path[i+1:]...)
			break
		}
	}
	return path
}

// begin marks the session busy with a statement and returns the statement's context.
func (ex *executor) begin(text string) *activity.Context {
	ex.advisory.EnterStatement()
	ex.running.endedItself = false
	v := &ex.vals.Fast
	return ex.current.Begin(text, activity.Settings{
		Application: v.ApplicationName, ClientCheck: v.ClientCheck, Timeout: v.StatementTimeout, Began: ex.running.arrived,
	})
}

// end marks the session idle.
func (ex *executor) end() {
	ex.advisory.LeaveStatement()
	if ex.eval.functions != nil {
		ex.eval.functions.EndStatement()
	}
	took, at := ex.current.End(ex.txn.Status())
	ex.recorder.count(took, at)
}

// warnSoon keeps a warning for the end of the statement.
func (ex *executor) warnSoon(e *pgerr.Error) {
	for _, w := range ex.running.warnings {
		if w.Message == e.Message {
			return
		}
	}
	ex.running.warnings = append(ex.running.warnings, e)
}
