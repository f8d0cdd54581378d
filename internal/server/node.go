package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/config/setting"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvnode"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/pgwire"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/security"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sqlnode"
	"github.com/lichendb/lichen/internal/store"
)

// Version is the program's version.
const Version = "0.1.0-dev"

// Node is a running node.
type Node struct {
	cfg   config.Node
	log   *slog.Logger
	clock *hlc.Clock
	kv    *kvnode.Node
	sql   *sqlnode.Node

	logDir string // Options.LogDir
	mem    *quota.Pool
	ln     net.Listener
	httpLn net.Listener
	http   *http.Server
	ready  atomic.Bool
	start  time.Time
	cancel context.CancelFunc
	failed chan error

	newcomers newcomers // of ln

	certs  *security.Node // nil: insecure
	rpc    *rpc.Node
	dial   func(ctx context.Context, addr string) (net.Conn, error)
	listen func(addr string) (net.Listener, error)
	leave  leaving

	initMu     sync.Mutex
	member     chan struct{}           // closed when the node has founded a cluster
	unanswered atomic.Pointer[reasons] // why --join addresses don't take the node in
	draining   atomic.Bool
	recovering atomic.Bool // enough other nodes are not there yet
	// decommissioning: the node's replicas are to move to others.
	decommissioning atomic.Bool
	settings        *setting.Live
	background      sync.WaitGroup // ends before the store is closed
	joined          bool
	serving         atomic.Pointer[pgwire.Server]
	notYet          atomic.Pointer[pgwire.Server] // instead of serving until then
	fronts          sync.Mutex                    // orders changes of serving with the begin of a drain
	clockBad        atomic.Bool                   // the clock is off, nothing is served
	readyAsked      atomic.Int64                  // when a load balancer last asked whether the node is ready, Unix nanoseconds
	clockFault      *clockFault                   // nil without config.Node.FaultHooks
	commitFault     commitFault                   // of use only with config.Node.FaultHooks
}

// Options are what New needs beside the configuration.
type Options struct {
	// FS is the file system of the store.
	FS     fs.FS
	Logger *slog.Logger
	// Dial opens connections to other nodes; nil: TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Listen opens the listeners, for clients and nodes and for HTTP; nil: TCP.
	Listen func(addr string) (net.Listener, error)
	// LogDir is the directory of the node's logs, which admins may read over HTTP; empty:
	// there is none.
	LogDir string
	// FamilyPerColumn and NoAutoStats are those of sql.Config.
	FamilyPerColumn, NoAutoStats bool
}

// New opens the store of a node and builds the parts that do not depend on its
// cluster.
func New(cfg config.Node, o Options) (*Node, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	n := &Node{
		cfg: cfg, logDir: o.LogDir, log: o.Logger, start: time.Now(), failed: make(chan error, 1),
		member: make(chan struct{}), settings: setting.NewLive(baseSettings(&cfg)),
		newcomers: newcomers{most: maxNewcomers},
	}
	offset := cfg.MaxOffset
	if cfg.SingleNode {
		offset = 0 // its clock is the only one
	}
	n.clock = hlc.NewSystem(offset)
	if cfg.FaultHooks {
		n.clockFault = newClockFault()
		n.clock = hlc.New(n.clockFault.read, offset)
	}
	n.dial, n.listen, n.leave.done = o.Dial, o.Listen, make(chan struct{})
	if n.listen == nil {
		n.listen = func(addr string) (net.Listener, error) { return net.Listen("tcp", addr) }
	}
	err := n.loadCerts()
	if err != nil {
		return nil, err
	}
	n.mem = quota.NewPool("node", cfg.StatementMemory())
	n.newRPC()
	if n.kv, err = kvnode.New(n.kvOptions(o.FS)); err != nil {
		return nil, err
	}
	if cfg.SingleNode {
		n.refuseJoins()
	} else {
		n.handleCluster()
	}
	n.sql = sqlnode.New(sqlnode.Options{
		KV: n.kv, Transport: n.rpc, Alone: cfg.SingleNode, Settings: n.settings, Go: n.background.Go, Memory: n.mem,
		Version: Version, FamilyPerColumn: o.FamilyPerColumn, NoAutoStats: o.NoAutoStats, Logger: n.log,
	})
	return n, nil
}

// kvOptions are those of the node's key-value part.
func (n *Node) kvOptions(disk fs.FS) kvnode.Options {
	o := kvnode.Options{
		Store: store.Options{
			FS: disk, Clock: n.clock, CacheBytes: n.cfg.CacheBytes, LogCacheBytes: n.cfg.LogCache(), GCTTL: n.cfg.GCTTL, Logger: n.log, Bootstrap: n.cfg.SingleNode,
		},
		Dirs: n.cfg.Dirs(), Transport: n.rpc, Alone: n.cfg.SingleNode, MaxOffset: n.cfg.MaxOffset, Self: n.info, Locality: n.cfg.Locality,
		ClockOK: func() bool { return !n.clockBad.Load() }, RoundTrip: n.roundTrip, Ready: n.ready.Load, Check: n.checkOpen,
		Capacity: n.capacity, OnNode: n.noteNode, OnFatal: n.fatal, Settings: n.settings,
		Go: n.background.Go, Memory: n.mem, MergeAfter: n.cfg.MergeAfter, Pace: n.cfg.RangePace, Logger: n.log,
	}
	if n.cfg.FaultHooks {
		o.Intercept = n.commitFault.intercept
	}
	return o
}

// checkOpen fails until the gateway is open.
func (n *Node) checkOpen() error {
	if n.kv.Gateway() == nil {
		return errNotInitialized
	}
	return nil
}

func (n *Node) roundTrip(id kvpb.NodeID) (time.Duration, bool) {
	_, rtt, ok := n.rpc.Offset(id)
	return rtt, ok
}

// fatalExit is the exit code of a node whose store can't go on.
const fatalExit = 7

// fatal ends the process: the store can't go on, and what it would say from now
// on could be wrong.
func (n *Node) fatal(err error) {
	n.log.Error("the store failed; the node ends", "err", err)
	fmt.Fprintf(os.Stderr, "ERROR: the store at %s failed: %v\n", strings.Join(n.cfg.Dirs(), " or "), err)
	var bug *must.PanicError
	switch {
	case errors.As(err, &bug):
		fmt.Fprintln(os.Stderr, "HINT: this is a bug. What was acknowledged is on disk: start the node again, and report the lines above.")
	case len(n.cfg.Stores) > 1:
		fmt.Fprintln(os.Stderr, "HINT: start the node without the --store whose disk is broken: its replicas are made anew on others.")
	}
	os.Exit(fatalExit)
}

// Start starts the parts and listens. A new node of a cluster returns only when it
// is part of one. After an error everything is closed.
func (n *Node) Start(ctx context.Context) error {
	ctx, n.cancel = context.WithCancel(ctx)
	if err := n.Listen(); err != nil {
		return errors.Join(err, n.kv.Store.Close())
	}
	if err := n.bringUp(ctx); err != nil {
		return errors.Join(err, n.giveUp())
	}
	n.ready.Store(true)
	return nil
}

// bringUp is Start once the node listens.
func (n *Node) bringUp(ctx context.Context) error {
	if err := n.startCluster(ctx); err != nil {
		return err
	}
	if err := n.kv.Store.Start(); err != nil {
		return err
	}
	if err := n.checkAlone(); err != nil {
		return err
	}
	n.kv.OpenGateway(ctx)
	if err := n.rejoin(ctx); err != nil {
		return err
	}
	if err := n.again(ctx, "ids of its new stores", n.joinStores); err != nil {
		return err
	}
	if !n.cfg.SingleNode {
		if err := n.again(ctx, "the first range", n.kv.Admin.SplitFirstRange); err != nil {
			return fmt.Errorf("splitting the first range: %w", err)
		}
	}
	n.kv.StartRanges(ctx)
	n.kv.StartPlacement(ctx)
	if err := n.again(ctx, "the ranges of the catalog", n.sql.Open); err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	n.serving.Store(n.newFront())
	n.sql.Start(ctx)
	n.background.Go(func() { n.watchDisk(ctx) })
	if n.kv.Live != nil {
		n.background.Go(func() { n.watchClock(ctx) })
	}
	return nil
}

// Listen opens the listeners, whose addresses are known from then on. Start does it
// otherwise.
func (n *Node) Listen() (err error) {
	if n.ln != nil {
		return nil
	}
	n.ln, err = n.listen(n.cfg.ListenAddr)
	if err != nil {
		return fmt.Errorf("cannot listen for SQL on %s: %w (is another node running? choose --listen-addr)", n.cfg.ListenAddr, err)
	}
	n.httpLn, err = n.listen(n.cfg.HTTPAddr)
	if err != nil {
		return errors.Join(
			fmt.Errorf("cannot listen for HTTP on %s: %w (choose --http-addr)", n.cfg.HTTPAddr, err), n.ln.Close())
	}
	n.sayNotYet()
	n.http = &http.Server{Handler: n.httpHandler(), ReadHeaderTimeout: 10 * time.Second}
	go n.accept()
	go func() {
		if err := n.http.Serve(n.httpListener()); err != nil && !errors.Is(err, http.ErrServerClosed) {
			n.log.Error("HTTP listener", "err", err)
		}
	}()
	return nil
}

// Addr returns the address on which SQL clients connect.
func (n *Node) Addr() net.Addr { return n.ln.Addr() }

// HTTPAddr returns the address of the HTTP listener.
func (n *Node) HTTPAddr() net.Addr { return n.httpLn.Addr() }

// Fresh reports whether the node's store was created at this start.
func (n *Node) Fresh() bool { return n.kv.Store.Fresh() }

// ClusterID returns the id of the cluster.
func (n *Node) ClusterID() string { return n.kv.Store.Identity().Cluster }

// Joined reports whether the node joined its cluster at this start.
func (n *Node) Joined() bool { return n.joined }

// Waiting reports whether the node waits for a cluster.
func (n *Node) Waiting() bool { return !n.isMember() }

// NodeID returns the node's id in its cluster.
func (n *Node) NodeID() kvpb.NodeID { return n.kv.Store.Identity().Node }

// SQL returns the SQL layer, for clients in the same process.
func (n *Node) SQL() *sql.Server { return n.sql.Server() }
