package server

import (
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

// unmeasured stands for the round trip to a node that was not measured lately.
const unmeasured = time.Second

// distance says how far a node is: the more tiers of its locality differ the farther, and
// among those alike the longer a round trip takes. False if it does not answer.
func (n *Node) distance(id kvpb.NodeID) (int64, bool) {
	if id == n.NodeID() {
		return 0, true
	}
	i, ok := n.live.Node(id)
	if !ok || i.Removed || !n.live.Live(id) {
		return 0, false
	}
	_, rtt, ok := n.rpc.Offset(id)
	if !ok || rtt > unmeasured {
		rtt = unmeasured
	}
	own, other := tiers(n.cfg.Locality), tiers(i.Locality)
	alike := 0
	for alike < min(len(own), len(other)) && own[alike] == other[alike] {
		alike++
	}
	return int64(len(own)-alike)*int64(unmeasured+1) + int64(rtt), true
}
