package activity

import (
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// The errors with which a running statement is cancelled.
var (
	ErrUserCancel = pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
	ErrTimeout    = pgerr.New(pgerr.QueryCanceled, "canceling statement due to statement timeout")
	ErrTerminated = pgerr.New(pgerr.AdminShutdown, "terminating connection due to administrator command")
)

// Current is what a session runs at present. The zero value is that of one that has run nothing.
type Current struct {
	mu         sync.Mutex
	ctx        *Context
	timer      *time.Timer // of statement_timeout
	running    bool
	terminated *pgerr.Error // why the session must end, nil: it need not
	// onInterrupt wakes the connection.
	onInterrupt func(ends bool)
	looked      func() // of the contexts of statements
	snapshot    Snapshot
	clientCheck time.Duration
}

// Snapshot is what others see of a session.
type Snapshot struct {
	Database, Application string
	Query                 string // of the running statement, or of the last one
	Running               bool
	Status                byte      // of the transaction that the last statement has left, as in ReadyForQuery
	Began                 time.Time // the last statement
	Since                 time.Time // the state
	Statement             uint64    // number of the last statement
}

// Settings are those of the session that hold for a statement.
type Settings struct {
	Application string
	ClientCheck time.Duration // client_connection_check_interval
	Timeout     time.Duration // statement_timeout; 0: none
	// Began, if not zero, is when the statements began that share the timeout with this one.
	Began time.Time
}

// Begin marks the session busy with a statement and returns the statement's context, which ends on a
// cancel request and after the timeout. A context serves statement after statement until one is
// cancelled.
func (c *Current) Begin(text string, s Settings) *Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx == nil || c.ctx.cause() != nil && c.terminated == nil {
		c.ctx = c.newContext()
	}
	if c.terminated != nil {
		c.ctx.cancel(c.terminated)
	}
	c.running = true
	now := &c.snapshot
	now.Query, now.Began = text, time.Now()
	now.Since = now.Began
	now.Statement++
	now.Application, c.clientCheck = s.Application, s.ClientCheck
	if d := s.Timeout; d > 0 {
		if !s.Began.IsZero() {
			d -= now.Began.Sub(s.Began)
		}
		ctx := c.ctx
		c.timer = time.AfterFunc(d, func() { c.timeout(ctx) })
	}
	return c.ctx
}

// End marks the session idle; status is that of its transaction. It returns how long the statement took, and when it ended.
func (c *Current) End(status byte) (took time.Duration, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = false
	now := &c.snapshot
	if len(now.Query) > maxKept {
		now.Query = strings.Clone(shown(now.Query)) // the whole is not kept
	}
	now.Since, now.Status = time.Now(), status
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
		c.ctx = nil // the timer may have fired: never reuse its context
	}
	return now.Since.Sub(now.Began), now.Since
}

func (c *Current) newContext() *Context {
	return &Context{done: make(chan struct{}), looked: c.looked}
}

// Interrupt ends the running statement with cause; with ErrTerminated also all later ones.
func (c *Current) Interrupt(cause *pgerr.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.interruptLocked(cause, cause == ErrTerminated)
}

// Terminate ends the running statement and all later ones with why, an error of class AdminShutdown.
func (c *Current) Terminate(why *pgerr.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.interruptLocked(why, true)
}

func (c *Current) interruptLocked(cause *pgerr.Error, ends bool) {
	if ends && c.terminated == nil {
		c.terminated = cause
	}
	if c.ctx == nil {
		c.ctx = c.newContext()
	}
	if c.running || c.terminated != nil {
		c.cancelLocked(c.ctx, cause)
	}
}

// Stop cancels the running statement if it is that of a number, and reports whether it is.
func (c *Current) Stop(number uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.running || c.snapshot.Statement != number || c.ctx == nil {
		return false
	}
	c.cancelLocked(c.ctx, ErrUserCancel)
	return true
}

func (c *Current) timeout(ctx *Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running && c.ctx == ctx {
		c.cancelLocked(ctx, ErrTimeout)
	}
}

// cancelLocked cancels a statement, and wakes the connection: it may be waiting for the client.
func (c *Current) cancelLocked(ctx *Context, cause *pgerr.Error) {
	ctx.cancel(cause)
	if c.onInterrupt != nil {
		c.onInterrupt(c.terminated != nil)
	}
}

// OnInterrupt sets what is called, with the mutex held, when the running statement is cancelled, or
// the session terminated.
func (c *Current) OnInterrupt(f func(ends bool)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onInterrupt = f
}

// OnCancelCheck sets what is called when somebody looks whether a statement goes on: for tests.
func (c *Current) OnCancelCheck(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looked, c.ctx = f, nil
}

// Watched returns when the running statement began, and how often its connection shall look whether the
// client is still there; 0 if no statement runs or it need not.
func (c *Current) Watched() (began time.Time, every time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.running {
		return time.Time{}, 0
	}
	return c.snapshot.Began, c.clientCheck
}

// Canceled returns why the running statement, or the session, must end; nil if it need not.
func (c *Current) Canceled() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.terminated != nil:
		return c.terminated
	case c.running && c.ctx != nil:
		return c.ctx.cause()
	}
	return nil
}

// Terminated reports whether the session must end.
func (c *Current) Terminated() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.terminated != nil
}

// Running reports whether a statement runs.
func (c *Current) Running() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running
}

// Query returns the text of the running statement, or of the last one.
func (c *Current) Query() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.snapshot.Query
}

// Connect records the database of a session that begins, and the name that its client gives.
func (c *Current) Connect(database, application string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.snapshot.Database, c.snapshot.Application = database, application
}

// SetDatabase records the database that the session has changed to.
func (c *Current) SetDatabase(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.snapshot.Database = name
}

// Snapshot returns what the session does.
func (c *Current) Snapshot() Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.snapshot
	s.Query, s.Running = shown(s.Query), c.running
	return s
}

// State is what pg_stat_activity calls the state.
func (s *Snapshot) State() string {
	switch {
	case s.Running:
		return "active"
	case s.Status == 'T':
		return "idle in transaction"
	case s.Status == 'E':
		return "idle in transaction (aborted)"
	}
	return "idle"
}

// maxKept bounds the text that is kept whole once its statement has ended.
const maxKept = 64 << 10

// maxShown is track_activity_query_size, a zero byte included.
const maxShown = 1 << 10

// shown returns what pg_stat_activity shows of a statement's text.
func shown(text string) string {
	if len(text) < maxShown {
		return text
	}
	n := maxShown - 1
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
