package server

import (
	"context"
	"errors"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/rpc"
)

// methodSQL is a question of a SQL layer to that of another node: about its sessions
// and locks, or to cancel a statement.
const methodSQL rpc.Method = 120

// errNotServing answers questions before the SQL layer has started.
var errNotServing = errors.New("the node does not serve SQL yet")

// handleSQL has the SQL layer answer the questions of other nodes.
func (n *Node) handleSQL() {
	n.rpc.Handle(methodSQL, func(_ context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
		if n.serving.Load() == nil { // set after n.sql
			return nil, errNotServing
		}
		return n.sql.Answer(req)
	})
}

// sqlNodes implements sql.Nodes.
type sqlNodes struct{ n *Node }

// Self implements sql.Nodes.
func (s sqlNodes) Self() kvpb.NodeID { return s.n.NodeID() }

// Alone implements sql.Nodes.
func (s sqlNodes) Alone() bool { return s.n.cfg.SingleNode }

// Others implements sql.Nodes.
func (s sqlNodes) Others() (out []kvpb.NodeID) {
	if s.n.kv.Live == nil {
		return nil
	}
	for _, i := range s.n.kv.Live.Nodes() {
		if i.ID != s.n.NodeID() && !i.Removed {
			out = append(out, i.ID)
		}
	}
	return out
}

// Ask implements sql.Nodes.
func (s sqlNodes) Ask(ctx context.Context, node kvpb.NodeID, question []byte) ([]byte, error) {
	return s.n.rpc.Call(ctx, node, methodSQL, question)
}

// WaitGraph implements sql.Nodes.
func (s sqlNodes) WaitGraph() *concurrency.WaitGraph { return s.n.kv.Store.Waits() }

// Locks implements sql.Nodes.
func (s sqlNodes) Locks(fn func(kvpb.RangeID, concurrency.Lock) bool) {
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

// TxnOver implements sql.Nodes.
func (s sqlNodes) TxnOver(id kvpb.TxnID) bool { return s.n.kv.TxnOver(id) }
