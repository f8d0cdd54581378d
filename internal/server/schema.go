package server

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgcatalog"
)

// methodCatalog is how the catalogs of nodes agree on changes.
const methodCatalog rpc.Method = 56

// catalogPeers reach the catalogs of the other nodes.
type catalogPeers struct{ n *Node }

// Call implements catalog.Peers.
func (p catalogPeers) Call(ctx context.Context, to kvpb.NodeID, req []byte) ([]byte, error) {
	return p.n.rpc.Call(ctx, to, methodCatalog, req)
}

// Away implements catalog.Peers.
func (p catalogPeers) Away(txn kvpb.TxnID, to kvpb.NodeID) (back func()) {
	return p.n.kv.Deadlocks.Away(txn, to)
}

// openCatalog opens the catalog and, in a cluster, makes the node one of those that
// serve SQL.
func (n *Node) openCatalog(ctx context.Context) (*catalog.Store, error) {
	o := catalog.Options{DB: n.kv.DB, Waits: n.kv.Store.Waits(), Virtual: pgcatalog.Schemas()}
	if !n.cfg.SingleNode {
		o.Node, o.Life, o.Peers, o.Clock = n.NodeID(), n.kv.Life, catalogPeers{n}, n.clock
	}
	cat := catalog.NewStore(o)
	if n.cfg.SingleNode {
		return cat, cat.Bootstrap(ctx)
	}
	n.rpc.Handle(methodCatalog, cat.HandlePeer)
	return cat, cat.StartGateway(ctx)
}

// leaveTimeout bounds how long a stopping node takes to tell that it serves SQL no
// more; without that the others wait until its lease has expired.
const leaveTimeout = 3 * time.Second

func (n *Node) closeCatalog() {
	if n.cat == nil || n.cfg.SingleNode {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	go n.cutWithoutQuorum(ctx, cancel)
	n.cat.StopGateway(ctx)
}
