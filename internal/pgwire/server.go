package pgwire

import (
	"cmp"
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/idp"
	"github.com/lichendb/lichen/internal/obs"
	"github.com/lichendb/lichen/internal/pgwire/wire"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql"
)

// Limits of a server.
const (
	// leastStarting bounds the connections that have no session yet, as does the limit of
	// sessions if that is more: they log in, or want something cancelled.
	leastStarting = 256
	// DefaultRefused bounds the connections that are receiving why they are not served.
	DefaultRefused = 256
	// startupTimeout bounds the time from accepting to ReadyForQuery.
	startupTimeout = 60 * time.Second
	// silentGrace is how long a connection may say nothing while others can't get in.
	silentGrace = time.Second
	// refuseTimeout bounds the time in which a client that is not served receives why.
	refuseTimeout = 2 * time.Second
	// forcedClose is how long Shutdown waits for terminated statements to end
	// before it closes their connections.
	forcedClose = 2 * time.Second
	// checkEvery is how often the server looks for clients that are gone while their
	// statements run: client_connection_check_interval is no shorter in effect.
	checkEvery = 100 * time.Millisecond
	// maxAcceptDelay bounds the wait after a failure to accept (no descriptors).
	maxAcceptDelay = time.Second
)

// Options say what a Server is made of.
type Options struct {
	SQL    *sql.Server
	Logger *slog.Logger
	// TLS, if not nil, is offered to clients that ask for it, or begin with it.
	TLS *tls.Config
	// Auth says how clients show who they are.
	Auth Auth
	// Certificate returns the server's, to which logins by password can be bound; nil: to none.
	Certificate func() *tls.Certificate
	// Resolver looks up the names of clients' hosts, where rules name hosts; nil: the machine's.
	Resolver Resolver
	// Mem accounts for long messages; nil is no limit.
	Mem *quota.Pool
	// Closed, if not nil, is the error that clients receive that connect after the server was
	// shut down.
	Closed error
	// MaxConns bounds the connections, and MaxRefused those that are receiving why they are not served,
	// by the descriptors that the process may have open; 0: no limit, and DefaultRefused.
	MaxConns, MaxRefused int
}

// Server accepts connections and serves them.
type Server struct {
	sql *sql.Server
	log *slog.Logger
	// sessionLog tells who logs in.
	sessionLog *slog.Logger
	tls        *tls.Config
	auth       Auth
	cert       func() *tls.Certificate
	mock       atomic.Pointer[[]byte] // see mockSecret
	hba        atomic.Pointer[hbaRules]
	ident      atomic.Pointer[identityMaps]
	resolver   Resolver
	keys       *idp.Keys // that issuers of tokens show
	jwt        atomic.Pointer[tokenSettings]
	throttle   throttle
	pool       wire.Buffers
	// closed is the error that clients receive once the server is shut down.
	closed error

	maxConns, maxRefused int // see Options
	grace                time.Duration

	metrics metrics

	mu struct {
		sync.Mutex
		conns    map[*conn]struct{}
		starting int // connections without a session
		// silent are those of them that have not asked for a session yet, the oldest first.
		silent    list.List // of *conn
		listeners map[net.Listener]struct{}
		draining  bool
		idle      chan struct{} // closed when draining and the last connection ends
	}
	stop  chan struct{} // closed when draining
	watch watch

	refusing atomic.Int64 // connections that are receiving why they are not served
}

// New returns a server that does not listen yet.
func New(o Options) *Server {
	s := &Server{sql: o.SQL, log: o.Logger, tls: o.TLS, auth: o.Auth, cert: o.Certificate, closed: o.Closed, stop: make(chan struct{})}
	s.maxConns, s.maxRefused = cmp.Or(o.MaxConns, math.MaxInt), cmp.Or(o.MaxRefused, DefaultRefused)
	s.keys = idp.NewKeys(nil)
	if s.resolver = o.Resolver; s.resolver == nil {
		s.resolver = net.DefaultResolver
	}
	s.pool.Mem, s.grace = o.Mem, silentGrace
	s.watch.alone = make(chan struct{}, 1)
	if s.closed == nil {
		s.closed = errShuttingDown
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.sessionLog = obs.On(s.log, obs.Sessions)
	s.mu.conns = map[*conn]struct{}{}
	s.mu.listeners = map[net.Listener]struct{}{}
	return s
}

// Serve accepts connections from l until it is closed or the server shuts down,
// which closes it; that is no error.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.mu.draining {
		s.mu.Unlock()
		return l.Close()
	}
	s.mu.listeners[l] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.mu.listeners, l)
		s.mu.Unlock()
	}()
	delay := time.Millisecond
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			delay = time.Millisecond
			go s.ServeConn(context.Background(), nc, nil)
		case errors.Is(err, net.ErrClosed):
			return nil
		default:
			s.log.Warn("accepting a connection failed", "err", err)
			if s.stopped(delay) {
				return nil
			}
			delay = min(2*delay, maxAcceptDelay)
		}
	}
}

// stopped waits for d, or reports that the server shuts down.
func (s *Server) stopped(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-s.stop:
		return true
	case <-t.C:
		return false
	}
}

// ServeConn serves one connection to its end, of which first was already read. It
// may be a *tls.Conn, whose configuration then takes the place of Options.TLS. When
// ctx ends, so does the connection.
func (s *Server) ServeConn(ctx context.Context, nc net.Conn, first []byte) {
	c := newConn(s, ctx, nc, first)
	if err := s.add(c); err != nil {
		s.metrics.rejected.Add(1)
		if s.refusing.Add(1) <= int64(s.maxRefused) {
			c.refuseConnection(err)
		}
		s.refusing.Add(-1)
		_ = c.wire.Close()
		c.wire.Release()
		return
	}
	defer s.remove(c)
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, c.terminate)()
	}
	c.serve()
}

// add takes a connection in, or says why it is not served.
func (s *Server) add(c *conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.draining {
		return s.closed
	}
	// A connection that is dropped stays among conns until its goroutine ends; its descriptor is free.
	if len(s.mu.conns) >= s.maxConns && !s.dropSilent() {
		return errDescriptors
	}
	if s.mu.starting >= s.maxStarting() && !s.dropSilent() {
		return sql.ErrTooManyClients
	}
	s.mu.starting++
	c.starting, c.silent, c.accepted = true, s.mu.silent.PushBack(c), time.Now()
	s.mu.conns[c] = struct{}{}
	s.metrics.accepted.Add(1)
	return nil
}

// dropSilent makes room for a connection that may have something to say: it closes the one that has
// said nothing for longest, and long enough. The caller holds mu.
func (s *Server) dropSilent() bool {
	oldest := s.mu.silent.Front()
	if oldest == nil {
		return false
	}
	c := oldest.Value.(*conn)
	if time.Since(c.accepted) < s.grace {
		return false
	}
	s.leave(c)
	_ = c.wire.Close()
	return true
}

// leave no longer counts c among those that start. The caller holds mu.
func (s *Server) leave(c *conn) {
	if c.starting {
		c.starting = false
		s.mu.starting--
	}
	s.mu.silent.Remove(c.silent) // does nothing if it has gone
}

// spoken says that a connection has asked for a session.
func (s *Server) spoken(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.silent.Remove(c.silent)
}

// maxStarting bounds the connections without a session: all clients may connect at once.
func (s *Server) maxStarting() int {
	limit, _ := s.sql.ConnectionLimits()
	return max(limit, leastStarting)
}

// started says that a connection has its session.
func (s *Server) started(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave(c)
}

func (s *Server) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.conns, c)
	s.leave(c)
	if len(s.mu.conns) == 0 {
		s.watch.noteLast()
	}
	if s.mu.idle != nil && len(s.mu.conns) == 0 {
		close(s.mu.idle)
		s.mu.idle = nil
	}
}

func (s *Server) connections() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*conn, 0, len(s.mu.conns))
	for c := range s.mu.conns {
		out = append(out, c)
	}
	return out
}

// Shutdown stops accepting and ends all connections with 57P01: idle ones at
// once, others when their statement ends. When ctx ends first, it terminates
// the statements that still run. It returns when no connection is left, or
// ctx's error if some had to be cut off.
func (s *Server) Shutdown(ctx context.Context) error {
	idle := s.drain()
	for _, c := range s.connections() {
		c.wire.Wake()
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	for _, c := range s.connections() {
		c.terminate()
	}
	t := time.NewTimer(forcedClose)
	defer t.Stop()
	select {
	case <-idle:
		return nil
	case <-t.C:
	}
	for _, c := range s.connections() {
		_ = c.wire.Close()
	}
	return ctx.Err()
}

// drain refuses new connections and returns a channel that is closed when the
// last one ends.
func (s *Server) drain() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.draining {
		s.mu.draining = true
		close(s.stop)
		for l := range s.mu.listeners {
			_ = l.Close()
		}
	}
	if len(s.mu.conns) == 0 {
		done := make(chan struct{})
		close(done)
		return done
	}
	if s.mu.idle == nil {
		s.mu.idle = make(chan struct{})
	}
	return s.mu.idle
}
