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
