package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/dist"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/pgwire"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgcatalog"
	"github.com/lichendb/lichen/internal/store"
)

// Version is the program's version.
const Version = "0.1.0-dev"

// Node is a running node.
type Node struct {
	cfg    config.Node
	log    *slog.Logger
	store  *store.Store
	db     *kv.DB
	sql    *sql.Server
	mem    *quota.Pool
	front  *pgwire.Server
	ln     net.Listener
	httpLn net.Listener
	http   *http.Server
	ready  atomic.Bool
	start  time.Time
	cancel context.CancelFunc
	failed chan error
}

// Options are what New needs beside the configuration.
type Options struct {
	// FS is the file system of the store.
	FS     fs.FS
	Logger *slog.Logger
}

// New opens the store of a node and builds its parts.
func New(cfg config.Node, o Options) (*Node, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	n := &Node{cfg: cfg, log: o.Logger, start: time.Now(), failed: make(chan error, 1)}
	clock := hlc.NewSystem(0) // one node: its clock is the only one
	var oldest atomic.Pointer[kv.DB]
	var err error
	n.store, err = store.Open(store.Options{
		FS: o.FS, Dir: cfg.Store, Clock: clock, CacheBytes: cfg.CacheBytes, GCTTL: cfg.GCTTL, Logger: o.Logger,
		OldestRead: func() hlc.Timestamp {
			if db := oldest.Load(); db != nil {
				return db.OldestRead()
			}
			return hlc.Timestamp{}
		},
		OnFatal: n.fatal,
	})
	if err != nil {
		return nil, err
	}
	// The clock never shows the same time twice, across restarts too.
	n.db = kv.NewDB(dist.New(n.store), clock, uint64(clock.Now().WallTime))
	oldest.Store(n.db)
	n.mem = quota.NewPool("node", cfg.MaxMemory)
	n.db.SetMemory(n.mem)
	return n, nil
}

// fatal ends the process: the store can't go on, and what it would say from now
// on could be wrong.
func (n *Node) fatal(err error) {
	n.log.Error("the store failed; the node ends", "err", err)
	fmt.Fprintf(os.Stderr, "ERROR: the store at %s failed: %v\n", n.cfg.Store, err)
	os.Exit(7)
}

// Start starts the parts and listens.
func (n *Node) Start(ctx context.Context) error {
	ctx, n.cancel = context.WithCancel(ctx)
	if err := n.store.Start(); err != nil {
		return errors.Join(err, n.store.Close())
	}
	cat := catalog.NewStore(catalog.Options{DB: n.db, Waits: n.store.Waits(), Virtual: pgcatalog.Schemas()})
	if err := cat.Bootstrap(ctx); err != nil {
		return errors.Join(fmt.Errorf("bootstrap: %w", err), n.store.Close())
	}
	n.sql = sql.NewServer(sql.Config{
		DB: n.db, Catalog: cat, Mem: n.mem, Version: Version, Logger: n.log, SpanSize: n.spanSize,
	})
	n.front = pgwire.New(pgwire.Options{SQL: n.sql, Logger: n.log})
	if err := n.listen(); err != nil {
		return errors.Join(err, n.store.Close())
	}
	go func() {
		if err := n.front.Serve(n.ln); err != nil && !errors.Is(err, net.ErrClosed) {
			n.log.Error("SQL listener", "err", err)
		}
	}()
	go func() {
		if err := n.http.Serve(n.httpLn); err != nil && !errors.Is(err, http.ErrServerClosed) {
			n.log.Error("HTTP listener", "err", err)
		}
	}()
	go n.clean(ctx, cat)
	n.ready.Store(true)
	return nil
}

func (n *Node) listen() (err error) {
	n.ln, err = net.Listen("tcp", n.cfg.ListenAddr)
	if err != nil {
		return fmt.Errorf("cannot listen for SQL on %s: %w (is another node running? choose --listen-addr)", n.cfg.ListenAddr, err)
	}
	n.httpLn, err = net.Listen("tcp", n.cfg.HTTPAddr)
	if err != nil {
		return errors.Join(
			fmt.Errorf("cannot listen for HTTP on %s: %w (choose --http-addr)", n.cfg.HTTPAddr, err), n.ln.Close())
	}
	n.http = &http.Server{Handler: n.httpHandler(), ReadHeaderTimeout: 10 * time.Second}
	return nil
}

func (n *Node) spanSize(start, end []byte) (int64, error) {
	size, err := n.store.Engine().ApproximateSize(start, end)
	return int64(size), err
}

// Addr returns the address on which SQL clients connect.
func (n *Node) Addr() net.Addr { return n.ln.Addr() }

// HTTPAddr returns the address of the HTTP listener.
func (n *Node) HTTPAddr() net.Addr { return n.httpLn.Addr() }

// Fresh reports whether the node's store was created at this start.
func (n *Node) Fresh() bool { return n.store.Fresh() }

// ClusterID returns the id of the cluster.
func (n *Node) ClusterID() string { return n.store.Ident().ClusterID.String() }

// SQL returns the SQL layer, for clients in the same process.
func (n *Node) SQL() *sql.Server { return n.sql }

// Stop stops the node: running statements get the drain time, then end with
// 57P01; the store is flushed and closed.
func (n *Node) Stop(ctx context.Context) error {
	n.ready.Store(false)
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Drain)
	defer cancel()
	err := n.front.Shutdown(ctx)
	n.cancel()
	n.sql.Close()
	if herr := n.http.Close(); err == nil {
		err = herr
	}
	return errors.Join(err, n.store.Close())
}
