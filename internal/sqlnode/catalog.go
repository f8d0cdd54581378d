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

// newCatalog builds the catalog and, in a cluster, has it answer those of other nodes.
func (n *Node) newCatalog() *catalog.Store {
	o := catalog.Options{DB: n.kv.DB, Waits: n.kv.Store.Waits(), Virtual: pgcatalog.Schemas()}
	if !n.o.Alone {
		o.Node, o.Incarnation, o.Peers, o.Clock = n.kv.ID(), n.kv.Incarnation, catalogPeers{n}, n.kv.Clock
	}
	cat := catalog.NewStore(o)
	if !n.o.Alone {
		n.o.Transport.Handle(methodCatalog, cat.HandlePeer)
	}
	return cat
}

// openCatalog loads the catalog and, in a cluster, registers the node as one that serves SQL.
func (n *Node) openCatalog(ctx context.Context) error {
	if n.catalog == nil {
		n.catalog = n.newCatalog() // a former attempt may have failed later
	}
	if n.o.Alone {
		return n.catalog.Bootstrap(ctx)
	}
	return n.catalog.StartGateway(ctx)
}

// catalogPeers reach the catalogs of the other nodes.
type catalogPeers struct{ n *Node }

// Call implements catalog.Peers.
func (p catalogPeers) Call(ctx context.Context, to kvpb.NodeID, req []byte) ([]byte, error) {
	return p.n.o.Transport.Call(ctx, to, methodCatalog, req)
}

// RemoteWait implements catalog.Peers.
func (p catalogPeers) RemoteWait(txn kvpb.TxnID, to kvpb.NodeID) (done func()) {
	return p.n.kv.Deadlocks.RemoteWait(txn, to)
}
