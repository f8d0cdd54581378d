package node

import (
	"errors"
	"fmt"

	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/rpc"
)

// noteNode takes in a node that became known or changed.
func (n *Node) noteNode(i liveness.NodeInfo) {
	switch {
	case i.ID != n.NodeID():
	case i.Removed:
		n.setMembership(Decommissioned)
	case i.Incarnation > n.KV.Incarnation:
		n.endAsTwin(fmt.Errorf("another process runs as node %d, at %s: it was started later than this one, which ends; two processes run with one store, or with copies of it", i.ID, i.Addr))
	}
}

// endAsTwin ends the process: another one is this node. What this one has promised as the node
// counts no more, and nothing more may be said in its name.
func (n *Node) endAsTwin(err error) {
	var refused *rpc.RefusedError
	if errors.As(err, &refused) {
		err = errors.New(refused.Msg)
	}
	n.log.Error("another process is this node; this one ends", "err", err)
	n.o.OnTwin(err)
}
