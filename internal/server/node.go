package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/dist"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/pgwire"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/security"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/store"
)

// Version is the program's version.
const Version = "0.1.0-dev"

// Node is a running node.
type Node struct {
	cfg    config.Node
	log    *slog.Logger
	clock  *hlc.Clock
	life   int64 // when this life of the node began, by its clock
	store  *store.Store
	db     *kv.DB
	router *dist.Router
	sql    *sql.Server
	cat    *catalog.Store
	mem    *quota.Pool
	front  *pgwire.Server
	ln     net.Listener
	httpLn net.Listener
	http   *http.Server
	ready  atomic.Bool
	start  time.Time
	cancel context.CancelFunc
	failed chan error

	certs    *security.Node // nil: insecure
	rpc      *rpc.Node
	dial     func(ctx context.Context, addr string) (net.Conn, error)
	leave    leaving
	newLives newLives

	// What a node by itself does without.
	live       *liveness.Liveness
	initMu     sync.Mutex
	member     chan struct{} // closed when the node has founded a cluster
	draining   atomic.Bool
	recovering atomic.Bool // enough other nodes are not there yet
	// decommissioning: the node's replicas are to move to others.
	decommissioning atomic.Bool
	firstRange      atomic.Pointer[kvpb.RangeDescriptor] // as last heard
	unpublished     chan kvpb.RangeID
	rules           ruleBook
	placing         placing
	measured        measurements
	background      sync.WaitGroup // ends before the store is closed
	joined          bool
	openDB          atomic.Pointer[kv.DB]
	serving         atomic.Pointer[pgwire.Server]
}

// Options are what New needs beside the configuration.
type Options struct {
	// FS is the file system of the store.
	FS     fs.FS
	Logger *slog.Logger
	// Dial opens connections to other nodes; nil: TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
}

// New opens the store of a node and builds the parts that do not depend on its
// cluster.
func New(cfg config.Node, o Options) (*Node, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	n := &Node{
		cfg: cfg, log: o.Logger, start: time.Now(), failed: make(chan error, 1),
		member: make(chan struct{}), unpublished: make(chan kvpb.RangeID, maxUnpublished),
	}
	offset := cfg.MaxOffset
	if cfg.SingleNode {
		offset = 0 // its clock is the only one
	}
	n.clock = hlc.NewSystem(offset)
	n.dial, n.leave.done = o.Dial, make(chan struct{})
	err := n.loadCerts()
	if err != nil {
		return nil, err
	}
	n.store, err = store.Open(store.Options{
		FS: o.FS, Dir: cfg.Store, Clock: n.clock, CacheBytes: cfg.CacheBytes, GCTTL: cfg.GCTTL, Logger: o.Logger,
		Bootstrap: cfg.SingleNode, OldestRead: n.oldestRead, OnFatal: n.fatal,
	})
	if err != nil {
		return nil, err
	}
	if !cfg.SingleNode {
		n.awaitClock()
	}
	n.life = n.clock.Now().WallTime // never the same twice, across restarts too
	n.mem = quota.NewPool("node", cfg.MaxMemory)
	n.newRPC()
	if !cfg.SingleNode {
		n.network()
	}
	return n, nil
}

func (n *Node) oldestRead() hlc.Timestamp {
	if db := n.openDB.Load(); db != nil {
		return db.OldestRead()
	}
	return hlc.Timestamp{}
}

// fatal ends the process: the store can't go on, and what it would say from now
// on could be wrong.
func (n *Node) fatal(err error) {
	n.log.Error("the store failed; the node ends", "err", err)
	fmt.Fprintf(os.Stderr, "ERROR: the store at %s failed: %v\n", n.cfg.Store, err)
	os.Exit(7)
}

// Start starts the parts and listens. A new node of a cluster returns only when it
// is part of one.
func (n *Node) Start(ctx context.Context) error {
	ctx, n.cancel = context.WithCancel(ctx)
	if err := n.Listen(); err != nil {
		return errors.Join(err, n.store.Close())
	}
	if err := n.startCluster(ctx); err != nil {
		return errors.Join(err, n.store.Close())
	}
	if err := n.store.Start(); err != nil {
		return errors.Join(err, n.store.Close())
	}
	n.openGateway(ctx)
	if err := n.rejoin(ctx); err != nil {
		return errors.Join(err, n.store.Close())
	}
	if err := n.startRanges(ctx); err != nil {
		return errors.Join(err, n.store.Close())
	}
	cat, err := n.openCatalog(ctx)
	if err != nil {
		return errors.Join(fmt.Errorf("catalog: %w", err), n.store.Close())
	}
	n.cat = cat
	n.sql = sql.NewServer(sql.Config{
		DB: n.db, Catalog: cat, Mem: n.mem, Version: Version, Logger: n.log, SpanSize: n.spanSize, Ranges: sqlRanges{n},
	})
	front := n.newFront()
	n.front = front
	n.serving.Store(front)
	n.background.Go(func() { n.clean(ctx, cat) })
	n.ready.Store(true)
	return nil
}

// openGateway builds what sends requests to ranges.
func (n *Node) openGateway(ctx context.Context) {
	id := n.store.Identity()
	if n.cfg.SingleNode {
		n.router = dist.New(n.store)
	} else {
		n.router = dist.NewRouter(dist.Config{
			Node: id.Node, Local: localRanges{n}, Caller: n.rpc, FirstRange: n.findFirstRange, Now: n.clock.Now,
		})
	}
	n.db = kv.NewDB(n.router, n.clock, kvpb.GatewayLife(id.Node, startOf(n.life)))
	n.db.SetMemory(n.mem)
	n.db.SetMaxOffset(n.clock.MaxOffset())
	n.openDB.Store(n.db)
	n.store.ConnectTxns(replica.TxnDeps{Peers: n.router, GatewayAlive: n.gatewayAlive()})
	if !n.cfg.SingleNode {
		n.background.Go(func() { n.publisher(ctx) })
	}
}

// Listen opens the listeners, whose addresses are known from then on. Start does it
// otherwise.
func (n *Node) Listen() (err error) {
	if n.ln != nil {
		return nil
	}
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
	go n.accept()
	go func() {
		if err := n.http.Serve(n.httpListener()); err != nil && !errors.Is(err, http.ErrServerClosed) {
			n.log.Error("HTTP listener", "err", err)
		}
	}()
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
func (n *Node) ClusterID() string { return n.store.Identity().Cluster }

// Joined reports whether the node joined its cluster at this start.
func (n *Node) Joined() bool { return n.joined }

// Waiting reports whether the node waits for a cluster.
func (n *Node) Waiting() bool { return !n.isMember() }

// NodeID returns the node's id in its cluster.
func (n *Node) NodeID() kvpb.NodeID { return n.store.Identity().Node }

// SQL returns the SQL layer, for clients in the same process.
func (n *Node) SQL() *sql.Server { return n.sql }

// Stop stops the node: others take over the ranges that it leads, running statements
// get the drain time, then end with 57P01; the store is flushed and closed.
func (n *Node) Stop(ctx context.Context) error {
	n.beginDrain()
	var err error
	select {
	case <-n.leave.done:
		err = n.leave.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	_ = n.ln.Close()
	n.cancel()
	n.background.Wait()
	n.sql.Close()
	n.closeCatalog()
	if herr := n.http.Close(); err == nil {
		err = herr
	}
	if n.live != nil {
		n.live.Close()
	}
	n.router.Close()
	if n.rpc != nil {
		n.rpc.Close() // and with it the requests of other nodes, which use the store
	}
	serr := n.store.Close()
	return errors.Join(err, serr)
}
