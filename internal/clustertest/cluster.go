package clustertest

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/config/setting"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvnode"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/store"
)

// MaxOffset is how far apart the nodes' clocks may be.
const MaxOffset = 250 * time.Millisecond

// Dir is the directory of a node's store on its disk.
const Dir = "store"

// diskSize is the size that disks are said to have.
const diskSize = 1 << 40

// Options say what differs from a common cluster.
type Options struct {
	// Snapshots bounds the snapshots sent and received.
	Snapshots store.SnapshotLimits
	// BeforeStart, if set, is called for each incarnation when its store is open, before it starts.
	BeforeStart func(*Node)
}

// Cluster is a cluster of nodes joined by a network.
type Cluster struct {
	T     testing.TB
	Net   *Network
	Nodes []*Node
	o     Options
	txns  atomic.Uint64 // transactions begun by Put and Get
}

// Node is a node with its disk. Fields that belong to an incarnation are those of the latest one.
type Node struct {
	ID   kvpb.NodeID
	Disk *fs.MemFS // unless Open opened it
	// WrapDisk, if set, returns the disk that later incarnations use.
	WrapDisk func(fs.FS) fs.FS

	Clock *hlc.Clock
	Port  *Port
	KV    *kvnode.Node
	Store *store.Store // the only one of KV.Store
	DB    *kv.DB       // the gateway, once it is open
	// Settings are the cluster settings that hold on the node.
	Settings *setting.Live

	t       testing.TB
	onClock atomic.Pointer[func()]
	// ended is done when the incarnation ends. running counts what uses the incarnation.
	ended   context.Context
	end     context.CancelFunc
	running sync.WaitGroup
	disks   atomic.Pointer[[]liveness.StoreInfo] // as others received them
}

// New starts a cluster of nodes. All ranges are on the first one.
func New(t testing.TB, nodes int) *Cluster { return NewWith(t, nodes, Options{}) }

// NewWith is New with options.
func NewWith(t testing.TB, nodes int, o Options) *Cluster {
	t.Helper()
	c := &Cluster{T: t, Net: newNetwork(t), o: o}
	for i := range nodes {
		nd := newNode(kvpb.NodeID(i + 1))
		nd.t, nd.Disk = t, fs.NewCrashableMem()
		c.Nodes = append(c.Nodes, nd)
		c.Start(nd)
	}
	c.Introduce()
	return c
}

// newNode returns a node that has not begun.
func newNode(id kvpb.NodeID) *Node {
	nd := &Node{ID: id, Settings: setting.NewLive(setting.Default())}
	nd.ended, nd.end = context.WithCancel(context.Background())
	return nd
}

// Start starts a node.
func (c *Cluster) Start(nd *Node) {
	c.T.Helper()
	nd.ended, nd.end = context.WithCancel(context.Background())
	nd.Clock = hlc.New(nd.now, MaxOffset)
	if nd.Port != nil {
		nd.Port.crash() // unless the former incarnation has ended
	}
	nd.Port = c.Net.port(nd.ID, nd.Clock)
	n, err := kvnode.New(nd.options(c.o.Snapshots))
	if err != nil {
		c.T.Fatal(err)
	}
	nd.KV, nd.Store, nd.DB = n, n.Store.First(), nil
	if nd.Store.Identity() == (store.Identity{}) {
		id := store.Identity{Cluster: "test", Node: nd.ID, Store: kvpb.StoreID(nd.ID)}
		if nd.ID == 1 {
			err = nd.Store.Bootstrap(id)
		} else {
			err = nd.Store.Join(id)
		}
		if err != nil {
			c.T.Fatal(err)
		}
	}
	if c.o.BeforeStart != nil {
		c.o.BeforeStart(nd)
	}
	if err := n.Store.Start(); err != nil {
		c.T.Fatal(err)
	}
	n.Live.Start()
}

// options returns the options of the node's next incarnation.
func (nd *Node) options(limits store.SnapshotLimits) kvnode.Options {
	var disk fs.FS = nd.Disk
	if nd.WrapDisk != nil {
		disk = nd.WrapDisk(disk)
	}
	log := logger().With("node", nd.ID)
	return kvnode.Options{
		Store: store.Options{
			FS: disk, Clock: nd.Clock, Logger: log, CacheBytes: 1 << 20, MemTableBytes: 1 << 20, NoTableStats: true, Snapshots: limits,
		},
		Dirs: []string{Dir}, Transport: nd.Port, MaxOffset: MaxOffset, Self: nd.info,
		ClockOK: yes, RoundTrip: unmeasured, Ready: yes, Check: fine, Capacity: capacity,
		Settings: nd.Settings, Go: nd.running.Go, Logger: log,
	}
}

func yes() bool                                      { return true }
func fine() error                                    { return nil }
func unmeasured(kvpb.NodeID) (time.Duration, bool)   { return 0, false }
func capacity(*store.Store) (total, used, own int64) { return diskSize, 0, 0 }

// logger writes to the standard error if LICHEN_TEST_LOG is set.
func logger() *slog.Logger {
	if os.Getenv("LICHEN_TEST_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, nil))
}

// now is the node's physical clock.
func (nd *Node) now() int64 {
	if stop := nd.onClock.Swap(nil); stop != nil {
		(*stop)()
	}
	return time.Now().UnixNano()
}

// OnClock has whoever looks at the node's physical clock next call stop first, once; nil: nobody.
func (nd *Node) OnClock(stop func()) {
	if stop == nil {
		nd.onClock.Store(nil)
		return
	}
	nd.onClock.Store(&stop)
}

// info is what the node tells the others about itself. It notes itself that its disk has changed,
// which a node that looks after ranges learns.
func (nd *Node) info() liveness.NodeInfo {
	is := nd.KV.StoreInfos()
	if was := nd.disks.Swap(&is); was != nil && !slices.Equal(*was, is) {
		nd.KV.Stats.Changed()
	}
	return liveness.NodeInfo{ID: nd.ID, Incarnation: nd.KV.Incarnation, Seq: nd.KV.Stats.Seq(), Stores: is}
}

// Introduce tells all nodes of one another, as a gateway to the cluster would.
func (c *Cluster) Introduce() {
	for _, a := range c.Nodes {
		for _, b := range c.Nodes {
			if a != b {
				a.KV.Live.Learn(b.info())
			}
		}
	}
}

// Gateway returns the gateway of the node's present incarnation, which it opens the first time.
func (nd *Node) Gateway() *kv.DB {
	if nd.DB == nil {
		nd.KV.OpenGateway(nd.ended)
		nd.DB = nd.KV.DB
	}
	return nd.DB
}

// StartRanges has the node look after its ranges: measure them, end merges that were given up,
// follow the configuration and its disk. It places none.
func (nd *Node) StartRanges() {
	nd.Gateway()
	if nd.KV.Balance == nil {
		nd.KV.StartRanges(nd.ended)
	}
}

// Go runs a function that ends before the node's store is closed.
func (nd *Node) Go(fn func()) { nd.running.Go(fn) }

// Context returns a context that ends with the node's present incarnation.
func (nd *Node) Context() context.Context { return nd.ended }

// Close shuts a node down, if it runs.
func (c *Cluster) Close(nd *Node) {
	c.T.Helper()
	if nd.Port.Down() {
		return
	}
	if err := nd.stop(); err != nil {
		c.T.Error(err)
	}
}

// Crash kills a node: what its engine has not flushed, and its log not synced, is lost. A seed
// says which part of it. users end once the replicas have stopped: the engine is not closed under
// those who still read it.
func (c *Cluster) Crash(nd *Node, seed uint64, users ...<-chan struct{}) {
	nd.Port.crash()
	left := fs.CrashClone(nd.Disk, 0, seed)
	for _, r := range nd.Store.Replicas() {
		r.Stop()
	}
	for _, u := range users {
		<-u
	}
	_ = nd.stop() // what it still writes reaches the disk that is given up
	nd.Disk = left
}

// stop ends the node's process.
func (nd *Node) stop() error {
	nd.Port.crash()
	nd.end()
	if nd.KV.Live != nil {
		nd.KV.Live.Close()
	}
	nd.running.Wait()
	nd.KV.Disconnect()
	return nd.KV.Store.Close()
}

// CloseAll closes all nodes.
func (c *Cluster) CloseAll() {
	c.T.Helper()
	for _, nd := range c.Nodes {
		c.Close(nd)
	}
}
