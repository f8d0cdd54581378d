package sql

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/hlc"
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
	"github.com/lichendb/lichen/internal/sql/sessionvar"
	"github.com/lichendb/lichen/internal/sql/settings"
	"github.com/lichendb/lichen/internal/sql/stats"
	"github.com/lichendb/lichen/internal/sql/transaction"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Session is one client's connection to the database as SQL sees it. One
// goroutine uses it at a time; only interrupt may come from others.
type Session struct {
	srv        *Server
	pid        int32
	secret     uint32
	user       string
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
	looked   func() // of the contexts of statements
	pending  pending
	warnings []*pgerr.Error // for the end of the statement

	mu struct {
		sync.Mutex
		ctx        *stmtContext
		timer      *time.Timer // of statement_timeout
		running    bool
		terminated bool
		// onInterrupt wakes the front.
		onInterrupt func(ends bool)
		idle        byte // the Status that the last statement left
		query       string
		began       time.Time // the last statement
		since       time.Time // the state
		statement   uint64    // number of the last statement
		application string
		clientCheck time.Duration // client_connection_check_interval
	}
}

func (s *Session) connect(ctx context.Context, a SessionArgs) error {
	if a.User != "root" {
		return pgerr.New(pgerr.InvalidAuthorizationSpecification, "role %q does not exist", a.User)
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
	s.planner.Init(s.srv.plans, planning{s}, statementSource, s.coll, s.vals, s.user)
	s.planner.SetDatabase(db.ID)
	s.coll.SetSession(db, s)
	s.cats = s.newCatalogs()
	s.vals.Format.Names = s.cats
	s.vals.Format.TypeByOid = s.cats.TypeByOid
	s.vals.Format.CheckDomain = (&domainInputs{s: s}).check
	if err := clustersetting.SetDefaults(s.srv.cfg.Settings, s.vals); err != nil {
		return err
	}
	if !a.Internal {
		s.vars.SetStored(s.srv.cfg.Catalog.ClusterSettings(), s.db.Settings, s.warnSoon)
	}
	if err := s.vars.SetGiven(a.Params); err != nil {
		return err
	}
	s.mu.application = s.vals.Fast.ApplicationName
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
			path = append(append(append([]string(nil), path[:i]...), s.user), path[i+1:]...)
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
	s.advisory.Close()
	s.portals.CloseNamed()
	s.closeUnnamedPortal()
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

// interrupt ends the running statement with cause; with errTerminated also all
// later ones.
func (s *Session) interrupt(cause *pgerr.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cause == errTerminated {
		s.mu.terminated = true
	}
	if s.mu.ctx == nil {
		s.mu.ctx = s.newStmtContext()
	}
	if s.mu.running || s.mu.terminated {
		s.cancelLocked(s.mu.ctx, cause)
	}
}

// cancelLocked cancels a statement, and wakes the front: it may be waiting for the client.
func (s *Session) cancelLocked(ctx *stmtContext, cause *pgerr.Error) {
	ctx.cancel(cause)
	if s.mu.onInterrupt != nil {
		s.mu.onInterrupt(s.mu.terminated)
	}
}

// OnInterrupt sets what is called, with the session's mutex held, when the running statement
// is cancelled, or the session told to end: its front may be waiting for the client.
func (s *Session) OnInterrupt(f func(ends bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.onInterrupt = f
}

// Watched returns when the running statement began, and how often its front shall look
// whether the client is still there; 0 if no statement runs or it need not.
func (s *Session) Watched() (began time.Time, every time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.running {
		return time.Time{}, 0
	}
	return s.mu.began, s.mu.clientCheck
}

// runs reports whether the session runs a statement.
func (s *Session) runs() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.running
}

// Canceled returns why the running statement, or the session, must end; nil if it need not.
func (s *Session) Canceled() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.mu.terminated:
		return errTerminated
	case s.mu.running && s.mu.ctx != nil:
		return s.mu.ctx.Err()
	}
	return nil
}

// Terminate ends the running statement and refuses later ones: the client is
// gone or the node stops. It may come from any goroutine.
func (s *Session) Terminate() { s.interrupt(errTerminated) }

// Terminated reports whether the session must end.
func (s *Session) Terminated() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.terminated
}

// begin marks the session busy with a statement and returns the statement's
// context, which ends on a cancel request and after statement_timeout. A context
// serves statement after statement until one is cancelled.
func (s *Session) begin(text string) *stmtContext {
	s.advisory.EnterStatement()
	s.struck = false
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.ctx == nil || s.mu.ctx.Err() != nil && !s.mu.terminated {
		s.mu.ctx = s.newStmtContext()
	}
	if s.mu.terminated {
		s.mu.ctx.cancel(errTerminated)
	}
	s.mu.running = true
	s.mu.query, s.mu.began = text, time.Now()
	s.mu.since = s.mu.began
	s.mu.statement++
	s.mu.application = s.vals.Fast.ApplicationName
	s.mu.clientCheck = s.vals.Fast.ClientCheck
	if d := s.vals.Fast.StatementTimeout; d > 0 {
		if from := s.pipelined.began; !from.IsZero() {
			d -= s.mu.began.Sub(from)
		}
		ctx := s.mu.ctx
		s.mu.timer = time.AfterFunc(d, func() { s.timeout(ctx) })
	}
	return s.mu.ctx
}

// maxShownQuery is track_activity_query_size, a zero byte included.
const maxShownQuery = 1 << 10

// shownQuery returns what pg_stat_activity shows of a statement's text.
func shownQuery(text string) string {
	if len(text) < maxShownQuery {
		return text
	}
	n := maxShownQuery - 1
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func (s *Session) timeout(ctx *stmtContext) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.running && s.mu.ctx == ctx {
		s.cancelLocked(ctx, errStmtTimeout)
	}
}

func (s *Session) end() {
	s.advisory.LeaveStatement()
	if s.bctx != nil {
		s.bctx.EndStatement()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.running = false
	if len(s.mu.query) > prepared.LongText {
		s.mu.query = strings.Clone(shownQuery(s.mu.query)) // the whole is not kept
	}
	s.mu.since = time.Now()
	s.mu.idle = s.txn.Status()
	if s.mu.timer != nil {
		s.mu.timer.Stop()
		s.mu.timer = nil
		s.mu.ctx = nil // the timer may have fired: never reuse its context
	}
}

// stmtContext is the context of a statement: cancelled with an error that a
// client can be told as it is.
type stmtContext struct {
	done chan struct{}
	err  atomic.Pointer[pgerr.Error]
	// looked, if not nil, is called when somebody looks whether the statement goes on: for
	// tests.
	looked func()
}

func (s *Session) newStmtContext() *stmtContext {
	return &stmtContext{done: make(chan struct{}), looked: s.looked}
}

func (c *stmtContext) cancel(cause *pgerr.Error) {
	if c.err.CompareAndSwap(nil, cause) {
		close(c.done)
	}
}

// Deadline implements context.Context.
func (c *stmtContext) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done implements context.Context.
func (c *stmtContext) Done() <-chan struct{} {
	if c.looked != nil {
		c.looked()
	}
	return c.done
}

// Err implements context.Context; it returns the cause.
func (c *stmtContext) Err() error {
	if c.looked != nil {
		c.looked()
	}
	if e := c.err.Load(); e != nil {
		return e
	}
	return nil
}

// Value implements context.Context.
func (c *stmtContext) Value(any) any { return nil }

func (s *Session) stateLocked() string {
	switch {
	case s.mu.running:
		return "active"
	case s.mu.idle == 'T':
		return "idle in transaction"
	case s.mu.idle == 'E':
		return "idle in transaction (aborted)"
	}
	return "idle"
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
