package sql

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/activity"
	"github.com/lichendb/lichen/internal/sql/advisory"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/charset"
	"github.com/lichendb/lichen/internal/sql/clustersetting"
	"github.com/lichendb/lichen/internal/sql/contention"
	"github.com/lichendb/lichen/internal/sql/deferral"
	"github.com/lichendb/lichen/internal/sql/fingerprint"
	"github.com/lichendb/lichen/internal/sql/pgcatalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/portal"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/routine"
	"github.com/lichendb/lichen/internal/sql/sessionvar"
	"github.com/lichendb/lichen/internal/sql/settings"
	"github.com/lichendb/lichen/internal/sql/stats"
	"github.com/lichendb/lichen/internal/sql/stmtstats"
	"github.com/lichendb/lichen/internal/sql/transaction"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Session is one client's connection to the database as SQL sees it. One goroutine uses it at a
// time; only Terminate, OnInterrupt and what asks for its activity may come from others.
type Session struct {
	srv        *Server
	pid        int32
	secret     uint32
	user       string
	auth       identity
	remote     string
	encryption *Encryption
	// internal says that it is the server's own; see SessionArgs.
	internal bool
	vals     *settings.Values
	vars     sessionvar.Vars
	coll     *catalog.Collection
	// commitDeadline is that of coll: a method value would be made anew for each commit.
	commitDeadline func() hlc.Timestamp
	cats           *pgcatalog.Catalog
	db             *catalog.Database

	started      time.Time
	statements   prepared.Statements
	planner      prepared.Planner
	portals      portal.Set
	current      activity.Current
	ran          ran
	block        stmtstats.Block // the present one, for the statistics
	extended     execution
	pipelined    pipelined
	fingerprints fingerprint.Session

	txn       transaction.Transaction
	contended contention.Session
	deferral  deferral.Constraints
	bctx      *call.Context
	sequences sequenceState
	advisory  advisory.Locks
	// struck says that the running statement has cancelled itself, or ended its session: it
	// goes no further than the row that did.
	struck   bool
	contents stats.InTxn
	routines routine.Runner
	opened   bool    // a routine has opened a cursor in the transaction
	out      Results // of the statement that runs, for the notices of routines
	noticed  bool    // routines have sent notices since the statement, or this attempt at it, began
	pending  pending
	warnings []*pgerr.Error // for the end of the statement
}

func (s *Session) connect(ctx context.Context, a SessionArgs) error {
	if err := s.identify(); err != nil {
		return err
	}
	name := a.Database
	if name == "" {
		name = "defaultdb"
	}
	if catalog.TemplateByName(name) != nil {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "database \"%s\" is not currently accepting connections", name)
	}
	db, err := s.srv.cfg.Catalog.DatabaseByName(ctx, name)
	if err != nil {
		return hintDatabase(err, a)
	}
	s.db = db
	s.planner.Init(s.srv.plans, planning{s}, statementSource, s.coll, s.vals)
	s.planner.SetDatabase(db.ID)
	s.coll.SetSession(db, s)
	s.coll.SetUser(s.role, access.MayUseSchema)
	if err := s.mayConnect(db); err != nil {
		return err
	}
	s.cats = s.newCatalogs()
	s.vals.Format.Names = s.cats
	s.vals.Format.TypeByOid = s.cats.TypeByOid
	s.vals.Format.CheckDomain = (&domainInputs{s: s}).check
	if err := clustersetting.SetDefaults(s.srv.cfg.Settings, s.vals); err != nil {
		return err
	}
	if !a.Internal {
		s.vars.SetStored(uint32(s.auth.login), s.srv.cfg.Catalog.ClusterSettings(), s.db.Settings, s.warnSoon)
	}
	if err := s.vars.SetGiven(a.Params); err != nil {
		return err
	}
	s.current.Connect(db.Name, s.vals.Fast.ApplicationName)
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

// SearchPathSetting returns the search_path as set, "$user" replaced.
func (s *Session) SearchPathSetting() []string {
	path := s.vals.Fast.SearchPath
	for i, p := range path {
		if p == "$user" {
			path = append(append(append([]string(nil), path[:i]...), s.currentUser()), path[i+1:]...)
			break
		}
	}
	return path
}

// PID returns the number by which other sessions name this one.
func (s *Session) PID() int32 { return s.pid }

// Secret returns the key that a cancel request must carry.
func (s *Session) Secret() uint32 { return s.secret }

// Format returns the settings for text forms.
func (s *Session) Format() *types.FormatContext { return &s.vals.Format }

// Encoding returns what the client's text is converted from and to; nil if that is UTF8.
func (s *Session) Encoding() *charset.Encoding { return s.vals.Fast.Encoding }

// Close rolls back and gives everything up.
func (s *Session) Close() {
	s.txn.Rollback(context.Background())
	s.pending.notify.Close()
	s.advisory.Close()
	s.portals.CloseNamed()
	s.dropUnnamed()
	s.statements.CloseAll()
	s.dropTemp()
	s.coll.Close()
	s.srv.forget(s)
}

// ParamStatus is a parameter that is reported to clients.
type ParamStatus struct{ Name, Value string }

// ParamStatus returns the parameters to report after start-up.
func (s *Session) ParamStatus() []ParamStatus {
	var out []ParamStatus
	for _, p := range settings.All() {
		if p.Report {
			v, _ := s.vals.Get(p.Name)
			out = append(out, ParamStatus{p.Name, v})
		}
	}
	return out
}

// TakeParamChanges returns the reported parameters that changed since the last
// call.
func (s *Session) TakeParamChanges() []ParamStatus {
	names := s.vals.TakeReported()
	if names == nil {
		return nil
	}
	var out []ParamStatus
	seen := map[string]bool{}
	for _, p := range settings.All() {
		for _, n := range names {
			if strings.EqualFold(p.Name, n) && !seen[n] {
				seen[n] = true
				v, _ := s.vals.Get(n)
				out = append(out, ParamStatus{p.Name, v})
			}
		}
	}
	return out
}

// OnInterrupt sets what is called when the running statement is cancelled, or the session asked to
// end: its front may be waiting for the client. f must not call the session.
func (s *Session) OnInterrupt(f func(ends bool)) { s.current.OnInterrupt(f) }

// Watched returns when the running statement began, and how often its front shall look
// whether the client is still there; 0 if no statement runs or it need not.
func (s *Session) Watched() (began time.Time, every time.Duration) { return s.current.Watched() }

// Canceled returns why the running statement, or the session, must end; nil if it need not.
func (s *Session) Canceled() error { return s.current.Canceled() }

// Terminate ends the running statement and refuses later ones: the client is
// gone or the node stops. It may come from any goroutine.
func (s *Session) Terminate() { s.current.Interrupt(activity.ErrTerminated) }

// Terminated reports whether the session must end.
func (s *Session) Terminated() bool { return s.current.Terminated() }

// begin marks the session busy with a statement and returns the statement's context.
func (s *Session) begin(text string) *activity.Context {
	s.advisory.EnterStatement()
	s.struck = false
	v := &s.vals.Fast
	return s.current.Begin(text, activity.Settings{
		Application: v.ApplicationName, ClientCheck: v.ClientCheck, Timeout: v.StatementTimeout, Began: s.pipelined.began,
	})
}

// end marks the session idle.
func (s *Session) end() {
	s.advisory.LeaveStatement()
	if s.bctx != nil {
		s.bctx.EndStatement()
	}
	took, at := s.current.End(s.txn.Status())
	s.count(took, at)
}

// IdleTimeout returns how long the session may wait for the client's next
// message, 0 for ever; inTxn says that idle_in_transaction_session_timeout
// applies rather than idle_session_timeout.
func (s *Session) IdleTimeout() (d time.Duration, inTxn bool) {
	if s.txn.InBlock() {
		return s.vals.Fast.IdleInTxnTimeout, true
	}
	return s.vals.Fast.IdleTimeout, false
}

// WantsNotice reports whether client_min_messages lets a message through.
func (s *Session) WantsNotice(severity string) bool {
	return slices.Index(settings.Severities, strings.ToLower(severity)) >= s.vals.Fast.MinMessages || severity == "INFO"
}
