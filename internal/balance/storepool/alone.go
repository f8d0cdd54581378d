package storepool

import (
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
)

// Alone implements Nodes for a node that is a cluster by itself: it returns what the node says
// of itself.
type Alone func() liveness.NodeInfo

// Nodes implements Nodes.
func (a Alone) Nodes() []liveness.NodeInfo { return []liveness.NodeInfo{a()} }

// Live implements Nodes.
func (a Alone) Live(kvpb.NodeID) bool { return true }

// LastContact implements Nodes.
func (a Alone) LastContact(kvpb.NodeID) time.Time { return time.Now() }
