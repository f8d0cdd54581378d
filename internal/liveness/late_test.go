package liveness

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

// TestOthersAnswer: whether most other stores have disks that answer, as their nodes have said of
// late. Each node of the test has two stores.
func TestOthersAnswer(t *testing.T) {
	bubble(t, 3, func(t *testing.T, n *network) {
		const fresh = 500 * time.Millisecond
		n.run(2*HeartbeatEvery, nil)
		l := n.nodes[1].l
		want := func(what string, answer bool) {
			t.Helper()
			if got := l.OthersAnswer(store(1), fresh); got != answer {
				t.Errorf("%s: %v", what, got)
			}
		}
		late := func(ids ...kvpb.NodeID) {
			for _, id := range ids {
				info, _ := l.Node(id)
				info.Seq += 100
				for i := range info.Stores {
					info.Stores[i].Late = true
				}
				l.Learn(info)
			}
		}
		want("all answer", true) // the other one of this node, and two each of two more
		n.sever(2, 1, true)
		time.Sleep(2 * fresh)
		synctest.Wait()
		want("one node is silent", true)
		n.sever(3, 1, true)
		time.Sleep(2 * fresh)
		synctest.Wait()
		want("two nodes are silent", false)
		n.sever(2, 1, false)
		n.sever(3, 1, false)
		time.Sleep(fresh)
		synctest.Wait()
		want("they speak again", true)
		late(2)
		want("the disks of one are late", true)
		late(3)
		want("the disks of two are late", false)
	})
}

// TestHeartbeatNow: what a node says of itself is known to the others at once if it asks for that.
func TestHeartbeatNow(t *testing.T) {
	bubble(t, 3, func(t *testing.T, n *network) {
		n.run(2*HeartbeatEvery+HeartbeatEvery/4, nil)
		nd := n.nodes[2]
		nd.mu.Lock()
		nd.info.Draining = true
		nd.info.Seq++
		nd.mu.Unlock()
		n.run(HeartbeatEvery/4, nil)
		if i, _ := n.nodes[1].l.Node(2); i.Draining {
			t.Fatal("the others know before they could")
		}
		nd.l.HeartbeatNow()
		n.run(20*time.Millisecond, nil)
		if i, _ := n.nodes[1].l.Node(2); !i.Draining {
			t.Error("the others do not know yet")
		}
		before := n.messages.Load()
		const calls = 100
		for range calls {
			nd.l.HeartbeatNow()
			time.Sleep(time.Millisecond)
		}
		if got, most := n.messages.Load()-before, 2*2*int64(calls*time.Millisecond/heartbeatGap+2); got > most {
			t.Errorf("%d messages for %d calls, more than %d", got, calls, most)
		}
	})
}
