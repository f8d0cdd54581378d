package sqlnode

import (
	"context"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/rpc"
)

// methodFragment asks a SQL layer to run a part of a query over the rows that its node has.
const methodFragment = rpc.MethodFragment

// runFragment answers another node.
func (n *Node) runFragment(ctx context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
	s := n.Server()
	if s == nil {
		return nil, errNotServing
	}
	return s.Fragment(ctx, req), nil
}

// fragments implements operator.Fragments.
type fragments struct{ n *Node }

// Self implements operator.Fragments.
func (f fragments) Self() kvpb.NodeID { return f.n.kv.ID() }

// Divide implements operator.Fragments.
func (f fragments) Divide(ctx context.Context, txn *kvpb.TxnMeta, spans []kvpb.Span) ([]kvpb.NodeSpans, error) {
	if f.n.o.Alone { // its Router knows no nodes
		return []kvpb.NodeSpans{{Node: f.Self(), Spans: spans}}, nil
	}
	return f.n.kv.Router.Divide(ctx, txn, spans)
}

// Run implements operator.Fragments.
func (f fragments) Run(ctx context.Context, node kvpb.NodeID, req []byte) ([]byte, error) {
	if node == f.Self() {
		return f.n.runFragment(ctx, node, req)
	}
	return f.n.o.Transport.Call(ctx, node, methodFragment, req)
}
