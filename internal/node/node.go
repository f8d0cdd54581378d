package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/config/setting"
	"github.com/lichendb/lichen/internal/eventlog"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvnode"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/pgwire"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/security"
	"github.com/lichendb/lichen/internal/sqlnode"
	"github.com/lichendb/lichen/internal/store"
	"github.com/lichendb/lichen/internal/tempstore"
	"github.com/lichendb/lichen/internal/trace"
)

// Version is the program's version.
const Version = "0.1.0-dev"

// Options are what a Node is built over.
type Options struct {
	Config config.Node
	// Store says on which file system and by which clock the stores are opened, and how.
	Store store.Options
	// Dial opens connections to other nodes; nil: TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Certs are the certificates of the node; nil: it is insecure.
	Certs *security.Node
	// Listeners are open before Start.
	Listeners Listeners
	// Capacity is rangestats.Options.Capacity.
	Capacity func(*store.Store) (total, used, own int64)
	// OnFatal is called when the node can't go on, OnTwin when another process is this node. Both end
	// the process: what it would say from now on could be wrong.
	OnFatal, OnTwin func(error)
	// Intercept is that of kvnode.Options: for tests.
	Intercept func(kvpb.Sender) kvpb.Sender
	// OnEvent, FamilyPerColumn and NoAutoStats are those of sql.Config.
	OnEvent                      func(eventlog.Event)
	FamilyPerColumn, NoAutoStats bool
	// EncryptTemp has temporary files encrypted.
	EncryptTemp bool
	// MaxConns and MaxRefused are those of pgwire.Options.
	MaxConns, MaxRefused int
	// Logger is the node's log, Audit takes the events of its audit log; nil: it has none.
	Logger, Audit *slog.Logger
	// Traces is that of sql.Config.
	Traces trace.Exporter
}

// Listeners are where others reach a node.
type Listeners interface {
	// AdvertisedAddr and AdvertisedHTTPAddr are the addresses that the node tells the others.
	AdvertisedAddr() string
	AdvertisedHTTPAddr() string
	// CloseClients ends what accepts nodes and SQL clients, CloseHTTP what serves HTTP. Both are
	// called when the node has been drained, the latter once nothing uses the stores any more.
	CloseClients() error
	CloseHTTP() error
}

// Node is a node of a cluster, or one that is a cluster by itself.
type Node struct {
	o   Options
	cfg config.Node // Options.Config
	log *slog.Logger
	KV  *kvnode.Node
	SQL *sqlnode.Node
	RPC *rpc.Node
	// Memory is what statements count against.
	Memory *quota.Pool
	// Temp has the temporary files of statements.
	Temp     *tempstore.Store
	Settings *setting.Live

	cancel     context.CancelFunc
	background sync.WaitGroup // ends before the store is closed

	initMu     sync.Mutex
	member     chan struct{}           // closed when the node has founded a cluster
	joined     bool                    // the node joined its cluster at this start
	unanswered atomic.Pointer[reasons] // why --join addresses don't take the node in

	ready      atomic.Bool
	recovering atomic.Bool // enough other nodes are not there yet
	draining   atomic.Bool
	drain      drainState
	// decommissioning: the node's replicas are to move to others.
	decommissioning atomic.Bool
	clockBad        atomic.Bool  // the clock is off, nothing is served
	readyAsked      atomic.Int64 // when a load balancer last asked whether the node is ready, Unix nanoseconds

	serving   atomic.Pointer[pgwire.Server]
	notYet    atomic.Pointer[pgwire.Server] // instead of serving until then
	servingMu sync.Mutex                    // orders changes of serving with the begin of a drain
}

// New opens the stores of a node and builds the parts that do not depend on its cluster.
func New(o Options) (*Node, error) {
	n := &Node{
		o: o, cfg: o.Config, log: o.Logger, member: make(chan struct{}), Settings: setting.NewLive(baseSettings(&o.Config)),
		Memory: quota.NewPool("node", o.Config.StatementMemory()), drain: drainState{done: make(chan struct{})},
	}
	n.newRPC()
	var err error
	if n.KV, err = kvnode.New(n.kvOptions()); err != nil {
		return nil, err
	}
	if n.Temp, err = n.openTemp(); err != nil {
		return nil, errors.Join(err, n.KV.Store.Close())
	}
	n.handleAdmin()
	if n.cfg.SingleNode {
		n.refuseJoins()
	} else {
		n.handleCluster()
	}
	n.SQL = sqlnode.New(sqlnode.Options{
		KV: n.KV, Transport: n.RPC, Alone: n.cfg.SingleNode, Settings: n.Settings, Go: n.background.Go, Memory: n.Memory, Temp: n.Temp,
		OnEvent: o.OnEvent, Version: Version, FamilyPerColumn: o.FamilyPerColumn, NoAutoStats: o.NoAutoStats, Logger: n.log, Audit: o.Audit, Traces: o.Traces,
	})
	n.sayNotYet()
	return n, nil
}

// TempDir is the directory in the first store that has the temporary files.
const TempDir = "temp"

// openTemp opens the temporary files; the store's lock is held, so that no other process has any.
func (n *Node) openTemp() (*tempstore.Store, error) {
	f := n.o.Store.FS
	return tempstore.Open(tempstore.Options{
		FS: f, Dir: f.PathJoin(n.cfg.Dirs()[0], TempDir), MaxBytes: n.cfg.MaxTemp, Encrypt: n.o.EncryptTemp,
	})
}

// newRPC builds what speaks with other nodes and with the command line.
func (n *Node) newRPC() {
	o := rpc.Options{
		ClusterID: n.ClusterID, NodeID: n.NodeID, Version: Version, Clock: n.o.Store.Clock, MaxOffset: n.cfg.MaxOffset, Logger: n.log, OnFatal: n.o.OnFatal,
		Resolve: n.resolve, Incarnation: func() int64 { return n.KV.Incarnation }, OnTwin: n.endAsTwin, Dial: n.o.Dial, Urgent: []rpc.Method{kvnode.MethodLiveness},
	}
	if n.cfg.SingleNode {
		o.Clock = hlc.NewSystem(n.cfg.MaxOffset) // who calls does not set this node's clock
	}
	if c := n.o.Certs; c != nil {
		o.ServerTLS, o.ClientTLS = c.PeerServerTLS(rpc.ALPN), c.PeerClientTLS(rpc.ALPN)
	}
	n.RPC = rpc.New(o)
}

// resolve says where a node is.
func (n *Node) resolve(id kvpb.NodeID) (string, bool) {
	if n.KV.Live == nil {
		return "", false
	}
	i, ok := n.KV.Live.Node(id)
	return i.Addr, ok && i.Addr != ""
}

// kvOptions are those of the node's key-value part.
func (n *Node) kvOptions() kvnode.Options {
	return kvnode.Options{
		Store: n.o.Store, Dirs: n.cfg.Dirs(), Transport: n.RPC, Alone: n.cfg.SingleNode, MaxOffset: n.cfg.MaxOffset, Self: n.info, Locality: n.cfg.Locality,
		ClockOK: func() bool { return !n.clockBad.Load() }, RoundTrip: n.roundTrip, Ready: n.ready.Load, Check: n.checkOpen,
		Capacity: n.o.Capacity, OnNode: n.noteNode, OnFatal: n.o.OnFatal, Settings: n.Settings, Intercept: n.o.Intercept,
		Go: n.background.Go, Memory: n.Memory, MergeAfter: n.cfg.MergeAfter, Pace: n.cfg.RangePace, Logger: n.log,
	}
}

// checkOpen fails until the gateway is open.
func (n *Node) checkOpen() error {
	if n.KV.Gateway() == nil {
		return errNotInitialized
	}
	return nil
}

func (n *Node) roundTrip(id kvpb.NodeID) (time.Duration, bool) {
	_, rtt, ok := n.RPC.Offset(id)
	return rtt, ok
}

// Start starts the parts, which run until the node is stopped or ctx ends. A new node of a cluster
// returns only when it is part of one. After an error everything is closed.
func (n *Node) Start(ctx context.Context) error {
	ctx, n.cancel = context.WithCancel(ctx)
	if err := n.bringUp(ctx); err != nil {
		return errors.Join(err, n.giveUp())
	}
	n.ready.Store(true)
	return nil
}

// bringUp is Start until the node is ready.
func (n *Node) bringUp(ctx context.Context) error {
	if err := n.startCluster(ctx); err != nil {
		return err
	}
	if err := n.KV.Store.Start(); err != nil {
		return err
	}
	if err := n.checkAlone(); err != nil {
		return err
	}
	n.KV.OpenGateway(ctx)
	if err := n.rejoin(ctx); err != nil {
		return err
	}
	if err := n.retry(ctx, "ids of its new stores", n.joinStores); err != nil {
		return err
	}
	if !n.cfg.SingleNode {
		if err := n.retry(ctx, "the first range", n.KV.Admin.SplitFirstRange); err != nil {
			return fmt.Errorf("splitting the first range: %w", err)
		}
	}
	n.KV.StartRanges(ctx)
	n.KV.StartPlacement(ctx)
	if err := n.retry(ctx, "the ranges of the catalog", n.SQL.Open); err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	n.serving.Store(n.newSQLServer())
	n.SQL.Start(ctx)
	n.background.Go(func() { n.watchDisk(ctx) })
	if n.KV.Live != nil {
		n.background.Go(func() { n.watchClock(ctx) })
	}
	return nil
}

// startCluster makes the node part of its cluster.
func (n *Node) startCluster(ctx context.Context) error {
	if n.cfg.SingleNode {
		return nil
	}
	if n.isMember() {
		if err := n.checkJoin(ctx); err != nil {
			return err
		}
	}
	if err := n.join(ctx); err != nil {
		return err
	}
	n.sayNotYet()
	if err := n.checkOwnAddress(ctx); err != nil {
		return err
	}
	n.KV.Live.Start()
	return nil
}

// joinStores makes the stores that are new part of the cluster, each under an id of its
// own. It comes after the node's membership, and before it leads anything for good.
func (n *Node) joinStores(ctx context.Context) error {
	if n.cfg.SingleNode {
		return nil
	}
	for _, st := range n.KV.Store.Empty() {
		v, err := n.KV.DB.Increment(ctx, storeIDs, 1)
		if err != nil {
			return fmt.Errorf("an id for the store in %s: %w", st.Dir(), err)
		}
		id := n.KV.Store.Identity()
		id.Store = kvpb.StoreID(v)
		if err := st.Join(id); err != nil {
			return fmt.Errorf("the new store in %s: %w", st.Dir(), err)
		}
		if err := st.Start(); err != nil {
			return fmt.Errorf("the new store in %s: %w", st.Dir(), err)
		}
		n.log.Info("a new store joined", "dir", st.Dir(), "store", id.Store)
		n.KV.GossipInfo()
	}
	return nil
}

// Fresh reports whether the node's store was created at this start.
func (n *Node) Fresh() bool { return n.KV.Store.Fresh() }

// ClusterID returns the id of the cluster.
func (n *Node) ClusterID() string { return n.KV.Store.Identity().Cluster }

// NodeID returns the node's id in its cluster.
func (n *Node) NodeID() kvpb.NodeID { return n.KV.Store.Identity().Node }

// Joined reports whether the node joined its cluster at this start.
func (n *Node) Joined() bool { return n.joined }

// Waiting reports whether the node waits for a cluster.
func (n *Node) Waiting() bool { return !n.isMember() }

// Ready reports whether the node is open: from the end of its start until it is drained.
func (n *Node) Ready() bool { return n.ready.Load() }

// NotReady says why the node does not accept SQL, "" if it does.
func (n *Node) NotReady() string {
	switch {
	case n.draining.Load():
		return "draining"
	case n.clockBad.Load():
		return "clock off"
	case !n.ready.Load():
		return "starting"
	case n.quorumGone():
		return "no quorum"
	}
	return ""
}

// AskReady is NotReady for a load balancer, which asks again: a drain waits for that.
func (n *Node) AskReady() string {
	n.readyAsked.Store(time.Now().UnixNano())
	return n.NotReady()
}
