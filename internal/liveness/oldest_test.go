package liveness

import (
	"testing"
	"time"
)

// The oldest read of a gateway is known everywhere after a heartbeat, follows its
// changes, outlasts lost heartbeats and ends with the gateway's incarnation.
func TestOldestRead(t *testing.T) {
	bubble(t, 3, func(t *testing.T, n *network) {
		expect := func(at int, want int64) {
			t.Helper()
			if got := n.nodes[1].l.OldestRead().WallTime; got != want {
				t.Errorf("step %d: node 1 knows %d, want %d", at, got, want)
			}
		}
		beats := func(k int) { n.run(time.Duration(k)*HeartbeatEvery+50*time.Millisecond, nil) }
		beats(1)
		expect(1, 0)
		n.nodes[1].setHooks(hooks{oldest: 50}) // its own does not count
		n.nodes[2].setHooks(hooks{oldest: 200})
		n.nodes[3].setHooks(hooks{oldest: 100})
		beats(1)
		expect(2, 100)
		n.nodes[3].setHooks(hooks{oldest: 300})
		beats(1)
		expect(3, 200)
		n.nodes[2].setHooks(hooks{})
		n.nodes[3].setHooks(hooks{})
		beats(1)
		expect(4, 0)
		n.nodes[2].setHooks(hooks{oldest: 70})
		beats(1)
		n.sever(2, 1, true)
		n.nodes[2].setHooks(hooks{oldest: 90})
		n.run(DeadGatewayAfter/2, nil)
		expect(5, 70)
		n.run(DeadGatewayAfter, nil)
		expect(6, 0)
		n.sever(2, 1, false)
		beats(2)
		expect(7, 90)
	})
}
