package sqlnode

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/config/setting"
	"github.com/lichendb/lichen/internal/eventlog"
	"github.com/lichendb/lichen/internal/kvnode"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/tempstore"
	"github.com/lichendb/lichen/internal/trace"
)

// Options are what a Node is built over.
type Options struct {
	// KV is the key-value part of the node. Its gateway is open before Open is called.
	KV *kvnode.Node
	// Transport connects the node with the others.
	Transport rpc.Transport
	// Alone: the node is a cluster by itself.
	Alone    bool
	Settings *setting.Live
	// Go runs a function that ends before the store is closed.
	Go func(func())
	// Memory is what statements count against.
	Memory *quota.Pool
	// Temp has their temporary files; nil: there are none.
	Temp *tempstore.Store
	// OnEvent is that of sql.Config.
	OnEvent func(eventlog.Event)
	// Version, FamilyPerColumn, NoAutoStats and IngestAlways are those of sql.Config.
	Version                                    string
	FamilyPerColumn, NoAutoStats, IngestAlways bool
	// Logger, Audit and Traces are those of sql.Config.
	Logger, Audit *slog.Logger
	Traces        trace.Exporter
}

// Node is the SQL part of a node.
type Node struct {
	o       Options
	kv      *kvnode.Node
	catalog *catalog.Store
	server  atomic.Pointer[sql.Server] // set after catalog
}

// New builds the part and has it answer other nodes.
func New(o Options) *Node {
	n := &Node{o: o, kv: o.KV}
	if !o.Alone {
		o.Transport.Handle(methodSQL, n.answer)
		o.Transport.Handle(methodFragment, n.runFragment)
	}
	return n
}

// Open loads the catalog and registers the node as one that serves SQL. It may be called again
// after an error, which passes if the ranges of the catalog have no leaders yet.
func (n *Node) Open(ctx context.Context) error {
	if err := n.openCatalog(ctx); err != nil {
		return err
	}
	n.server.Store(sql.NewServer(sql.Config{
		DB: n.kv.DB, Catalog: n.catalog, Mem: n.o.Memory, Temp: n.o.Temp, Version: n.o.Version, Logger: n.o.Logger, Audit: n.o.Audit, Traces: n.o.Traces, SpanSize: n.spanSize,
		Ranges: n.Ranges(), Nodes: nodes{n}, Fragments: fragments{n}, Settings: settings{n},
		OnEvent: n.o.OnEvent, FamilyPerColumn: n.o.FamilyPerColumn, NoAutoStats: n.o.NoAutoStats, IngestAlways: n.o.IngestAlways,
	}))
	return nil
}

// Start begins to sweep up what was dropped and what sessions have left, and to go on with the jobs of nodes that died, until ctx
// ends.
func (n *Node) Start(ctx context.Context) {
	n.o.Go(func() { n.Server().TakeOverJobs(ctx) })
	n.o.Go(func() { n.clean(ctx) })
	n.o.Go(func() { n.Server().SweepTemp(ctx) })
}

// Server returns the SQL server; nil until the node is open.
func (n *Node) Server() *sql.Server { return n.server.Load() }

// Catalog returns the catalog of an open node.
func (n *Node) Catalog() *catalog.Store { return n.catalog }

// Close ends the background work of the SQL server and tells the others that the node serves SQL
// no more: unless they hear that before ctx ends, they wait until its registration has expired.
// The sessions are closed by then.
func (n *Node) Close(ctx context.Context) error {
	s := n.Server()
	if s == nil {
		return nil
	}
	s.Close()
	return n.catalog.StopGateway(ctx)
}

func (n *Node) spanSize(start, end []byte) (int64, error) {
	size, err := n.kv.Store.ApproximateSize(start, end)
	return int64(size), err
}
