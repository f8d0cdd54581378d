package sql

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/config/setting"
	"github.com/lichendb/lichen/internal/eventlog"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/advisory"
	"github.com/lichendb/lichen/internal/sql/audit"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/clustersetting"
	"github.com/lichendb/lichen/internal/sql/contention"
	"github.com/lichendb/lichen/internal/sql/copyio"
	"github.com/lichendb/lichen/internal/sql/diag"
	"github.com/lichendb/lichen/internal/sql/distsql"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/fingerprint"
	"github.com/lichendb/lichen/internal/sql/ids"
	"github.com/lichendb/lichen/internal/sql/notify"
	"github.com/lichendb/lichen/internal/sql/pgcatalog"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/ranges"
	"github.com/lichendb/lichen/internal/sql/stats"
	"github.com/lichendb/lichen/internal/sql/stmtstats"
	"github.com/lichendb/lichen/internal/tempstore"
	"github.com/lichendb/lichen/internal/trace"
)

// firstPID is where a node's process ids begin.
const firstPID = 1000

// Config is what a Server is made of.
type Config struct {
	DB      *kv.DB
	Catalog *catalog.Store
	Mem     *quota.Pool
	// Version follows "PostgreSQL 15.0 " in version().
	Version string
	Logger  *slog.Logger
	// Audit takes the events of the audit log; nil: there is none.
	Audit *slog.Logger
	// Ranges gives access to the ranges of the cluster; without it the statements
	// about ranges fail with 0A000.
	Ranges ranges.Cluster
	// Settings gives access to the cluster settings; without it the statements about
	// them fail with 0A000.
	Settings clustersetting.Source
	// SpanSize returns the bytes that a key span takes on disk.
	SpanSize func(start, end []byte) (int64, error)
	// FamilyPerColumn gives each column of a new table that states no families one of
	// its own: for tests.
	FamilyPerColumn bool
	// IngestAlways is that of statement.Env: for tests.
	IngestAlways bool
	// BatchRows bounds the batches of rows that statements work on, 0 meaning
	// rowcontainer.BatchRows: tests make it small.
	BatchRows int
	// Temp has the temporary files of operators that spill; nil: none does.
	Temp *tempstore.Store
	// WorkMem, if set, stands in for work_mem: tests make it small, so that everything spills.
	WorkMem int64
	// NoAutoStats has tables analysed by ANALYZE only: for tests whose plans must not change
	// on the way.
	NoAutoStats bool
	// OnEvent, if set, is told what committed transactions have changed: tables, roles, settings. It does not wait.
	OnEvent func(eventlog.Event)
	// QueueBytes is that of notify.Config: for tests.
	QueueBytes int64
	// Traces exports the traces of some statements; nil: none are exported.
	Traces trace.Exporter
	// Nodes reaches the servers of other nodes; nil if there are none, ever.
	Nodes Nodes
	// Fragments runs parts of queries on the nodes that have their rows (Server.Fragment); nil: all is run here.
	Fragments operator.Fragments
}

// Server is the SQL layer of a node: what its sessions share.
type Server struct {
	cfg          Config
	copies       *quota.Pool // see copyio.ReplayPool
	held         *quota.Pool // see heldPool
	plans        *prepared.Cache
	fingerprints fingerprint.Cache
	statements   stmtstats.Registry
	txnStats     stmtstats.Txns
	slow         stmtstats.SlowLog
	indexes      stmtstats.Indexes
	diagnostics  diag.Store
	workers      *operator.Workers
	distsql      *distsql.Server
	stats        *stats.Tables
	started      time.Time

	mu       sync.Mutex
	sessions map[int32]*Session
	clients  int // sessions that are not internal
	nextPID  int32

	advisory *advisory.Manager
	audit    *audit.Log
	notify   *notify.Queue

	txnIDs     ids.Txns
	uniqueIDs  ids.Unique
	contention contention.Node
	memory     memoryQueue
	takeovers  takeovers
	stopping   atomic.Bool // see LeaveJobs
	// reserveAfter is the constant of that name but in tests.
	reserveAfter time.Duration
}

// NewServer returns a server without sessions.
func NewServer(cfg Config) *Server {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		audit: audit.New(cfg.Audit, func() *setting.Values { return clustersetting.Get(cfg.Settings) }),
		stats: stats.New(statsConfig(&cfg)), advisory: advisory.NewManager(cfg.DB, cfg.Nodes),
		cfg: cfg, copies: copyio.ReplayPool(cfg.Mem), held: heldPool(cfg.Mem), plans: prepared.NewCache(cfg.Mem.Limit() / cachedShare), started: time.Now(),
		workers: operator.NewWorkers(runtime.GOMAXPROCS(0)), distsql: distsql.NewServer(cfg.DB, cfg.Mem, cfg.Temp),
		sessions: map[int32]*Session{}, nextPID: firstPID, reserveAfter: reserveAfter, memory: memoryQueue{turn: make(chan struct{}, 1), wait: memoryWait, locked: lockedMemoryWait},
	}
	s.stats.Busy = func() bool { return s.othersRun(nil) > 0 }
	s.notify = notify.NewQueue(notify.Config{DB: cfg.DB, Node: s.nodeID, Memory: cfg.Mem, Logger: cfg.Logger, QueueBytes: cfg.QueueBytes})
	return s
}

// Fragment runs a part of a query for a node, or for this one, and returns its answer.
func (s *Server) Fragment(ctx context.Context, req []byte) []byte { return s.distsql.Serve(ctx, req) }

const (
	// heldShare is the part of the node's memory that sessions may keep between statements, all
	// of them together: prepared statements with their plans, and portals, but small unnamed ones.
	heldShare = 2
	// cachedShare is the part that the cached plans may take.
	cachedShare = 8
)

// heldPool returns the pool of what sessions keep between statements.
func heldPool(mem *quota.Pool) *quota.Pool {
	if mem == nil {
		return nil
	}
	return mem.Child("prepared statements and portals", mem.Limit()/heldShare)
}

// statsConfig is what a server's statistics are made of.
func statsConfig(cfg *Config) stats.Config {
	c := stats.Config{DB: cfg.DB, Catalog: cfg.Catalog, Logger: cfg.Logger, SizeHere: cfg.SpanSize}
	if cfg.Ranges != nil {
		c.SizeInCluster = cfg.Ranges.Size
	}
	c.Automatic = func() bool { return !cfg.NoAutoStats && clustersetting.Get(cfg.Settings).AutoStats }
	return c
}

// size returns how to find the size of the rows in a span; nil if the server can't tell.
func (s *Server) size() func(context.Context, keys.Span) (int64, error) {
	if s.cfg.Ranges == nil {
		return nil
	}
	return s.cfg.Ranges.Size
}

// VersionString is what version() returns.
func (s *Server) VersionString() string {
	return fmt.Sprintf("PostgreSQL 15.0 (Lichen %s) on Linux, compiled by Go, 64-bit", s.cfg.Version)
}

// Encryption is what protects the connection of a session.
type Encryption = pgcatalog.Encryption

// SessionArgs say who connects to what.
type SessionArgs struct {
	User, Database, RemoteAddr string
	// Encryption is what protects the connection; nil: nothing does.
	Encryption *Encryption
	// Params are parameters given at start-up.
	Params map[string]string
	// Internal says that the server itself opens the session: it is not one of the
	// connections that are limited.
	Internal bool
}

// NewSession starts a session; 53300 if there are as many as the cluster settings allow.
func (s *Server) NewSession(ctx context.Context, a SessionArgs) (*Session, error) {
	if err := s.admissible(a); err != nil {
		return nil, err
	}
	ses := &Session{encryption: a.Encryption}
	ses.ex.init(s, a)
	ses.fingerprints.Init(&s.fingerprints)
	s.stats.Follow(ctx)
	if err := ses.ex.connect(ctx, a); err != nil {
		return nil, err
	}
	var secret [4]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return nil, err
	}
	ses.secret = binary.BigEndian.Uint32(secret[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.admissibleLocked(a); err != nil {
		return nil, err
	}
	if err := s.withinLimitLocked(ses); err != nil {
		return nil, err
	}
	base := s.pidBase()
	for s.sessions[base+s.nextPID] != nil || s.nextPID < firstPID || s.nextPID >= 1<<pidBits {
		if s.nextPID++; s.nextPID >= 1<<pidBits {
			s.nextPID = firstPID
		}
	}
	ses.ex.conn.pid = base + s.nextPID
	s.nextPID++
	s.sessions[ses.ex.conn.pid] = ses
	if !a.Internal {
		s.clients++
	}
	ses.ex.coll.SetTempOwner(ses.ex.tempOwner())
	return ses, nil
}

func (s *Server) forget(ses *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[ses.ex.conn.pid] == ses && !ses.ex.who.Internal() {
		s.clients--
	}
	delete(s.sessions, ses.ex.conn.pid)
}

func (s *Server) session(pid int32) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[pid]
}

// Sessions returns all sessions.
func (s *Server) Sessions() []*Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*Session, 0, len(s.sessions))
	for _, ses := range s.sessions {
		out = append(out, ses)
	}
	return out
}

// Close ends background work; the sessions are closed by their connections.
func (s *Server) Close() {
	s.notify.Close()
	s.stats.Close()
}
