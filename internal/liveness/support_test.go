package liveness

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// TestPassedUnnoticed renews a support that has passed by the clock of who reads it, though
// not before this package has last looked: that is a change like that of a new support.
func TestPassedUnnoticed(t *testing.T) {
	bubble(t, 2, func(t *testing.T, n *network) {
		n.run(2*time.Second, nil)
		nd := n.nodes[1]
		changes := 0
		nd.setHooks(hooks{onChange: func(kvpb.StoreID) { changes++ }})
		renew := func(ahead time.Duration) {
			ev := nd.l.begin()
			p := nd.l.peers[2]
			_, steady := nd.l.physical()
			nd.l.requestedUntil = p.got.Until.WallTime + int64(ahead)
			if ahead > HeartbeatEvery {
				nd.clock.Forward(hlc.Timestamp{WallTime: p.got.Until.WallTime})
			}
			nd.l.takeGrant(p, grantMsg{incarnation: nd.l.self.Incarnation, epoch: p.got.Epoch, until: nd.l.requestedUntil}, steady, ev)
			nd.l.end(ev)
			synctest.Wait()
		}
		renew(HeartbeatEvery)
		if changes != 0 {
			t.Fatalf("%d changes by a renewal in time", changes)
		}
		renew(2 * HeartbeatEvery)
		if changes != 2 { // two stores
			t.Fatalf("%d changes by a renewal of what had passed", changes)
		}
	})
}
