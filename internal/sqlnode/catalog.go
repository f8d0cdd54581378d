package sqlnode

import (
	"context"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgcatalog"
)

// methodCatalog is how the catalogs of nodes agree on changes.
const methodCatalog = rpc.MethodCatalog

// openCatalog loads the catalog and, in a cluster, registers the node as one that serves SQL.
func (n *Node) openCatalog(ctx context.Context) (*catalog.Store, error) {
	o := catalog.Options{DB: n.kv.DB, Waits: n.kv.Store.Waits(), Virtual: pgcatalog.Schemas()}
	if !n.o.Alone {
		o.Node, o.Life, o.Peers, o.Clock = n.kv.ID(), n.kv.Life, catalogPeers{n}, n.kv.Clock
	}
	cat := catalog.NewStore(o)
	if n.o.Alone {
		return cat, cat.Bootstrap(ctx)
	}
	n.o.Transport.Handle(methodCatalog, cat.HandlePeer)
	return cat, cat.StartGateway(ctx)
}

// catalogPeers reach the catalogs of the other nodes.
type catalogPeers struct{ n *Node }

// Call implements catalog.Peers.
func (p catalogPeers) Call(ctx context.Context, to kvpb.NodeID, req []byte) ([]byte, error) {
	return p.n.o.Transport.Call(ctx, to, methodCatalog, req)
}

// Away implements catalog.Peers.
func (p catalogPeers) Away(txn kvpb.TxnID, to kvpb.NodeID) (back func()) {
	return p.n.kv.Deadlocks.Away(txn, to)
}
