package sqlnode

import (
	"context"
	"errors"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/rpc"
)

// methodSQL is a question of a SQL layer to that of another node: about its sessions
// and locks, or to cancel a statement.
const methodSQL = rpc.MethodSQL

// errNotServing answers questions before the SQL layer has started.
var errNotServing = errors.New("the node does not serve SQL yet")

// answer answers a question of another node.
func (n *Node) answer(_ context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
	s := n.Server()
	if s == nil {
		return nil, errNotServing
	}
	return s.Answer(req)
}

// nodes implements sql.Nodes.
type nodes struct{ n *Node }

// Self implements sql.Nodes.
func (s nodes) Self() kvpb.NodeID { return s.n.kv.ID() }

// Alone implements sql.Nodes.
func (s nodes) Alone() bool { return s.n.o.Alone }

// Others implements sql.Nodes.
func (s nodes) Others() (out []kvpb.NodeID) {
	if s.n.kv.Live == nil {
		return nil
	}
	for _, i := range s.n.kv.Live.Nodes() {
		if i.ID != s.n.kv.ID() && !i.Removed {
			out = append(out, i.ID)
		}
	}
	return out
}

// Ask implements sql.Nodes.
func (s nodes) Ask(ctx context.Context, node kvpb.NodeID, question []byte) ([]byte, error) {
	return s.n.o.Transport.Call(ctx, node, methodSQL, question)
}

// WaitGraph implements sql.Nodes.
func (s nodes) WaitGraph() *concurrency.WaitGraph { return s.n.kv.Store.Waits() }

// Locks implements sql.Nodes.
func (s nodes) Locks(fn func(kvpb.RangeID, concurrency.Lock) bool) {
	more := true
	for _, r := range s.n.kv.Store.Replicas() {
		if !more {
			return
		}
		r.EachLock(func(l concurrency.Lock) bool {
			more = fn(r.RangeID(), l)
			return more
		})
	}
}

// TxnFinalized implements sql.Nodes.
func (s nodes) TxnFinalized(id kvpb.TxnID) bool { return s.n.kv.TxnFinalized(id) }
