package console

import (
	"strings"
	"testing"
	"time"
)

// TestProblems: each state of a cluster that is not as it should be is told, the worst first, with what to do.
func TestProblems(t *testing.T) {
	live := func(id uint64) NodeInfo {
		return NodeInfo{ID: id, State: stateLive, Stores: []Store{{ID: id, CapacityBytes: 100, UsedBytes: 10, Disk: "ok"}}}
	}
	node := func(change func(*NodeInfo)) *situation {
		n := live(2)
		change(&n)
		return &situation{nodes: []NodeInfo{live(1), n}, health: RangeHealth{RangesKnown: true, Ranges: 5}, deadAfter: 5 * time.Minute}
	}
	ranges := func(h RangeHealth) *situation {
		h.RangesKnown = true
		return &situation{nodes: []NodeInfo{live(1)}, health: h, examples: []string{"range 7: has 1 of 3 voters"}, deadAfter: 5 * time.Minute}
	}
	disk := func(change func(*Store)) *situation { return node(func(n *NodeInfo) { change(&n.Stores[0]) }) }
	for want, s := range map[string]*situation{
		"critical: The cluster has no quorum":                        {notReady: "no quorum"},
		"critical: This node's clock is off":                         {notReady: "clock off", health: RangeHealth{RangesKnown: true}},
		"notice: This node is starting":                              {notReady: "starting"},
		"warning: The ranges of the cluster are not known":           {},
		"critical: 2 ranges are unavailable":                         ranges(RangeHealth{Unavailable: 2}),
		"warning: 1 range has too few live replicas":                 ranges(RangeHealth{UnderReplicated: 1}),
		"notice: 3 ranges are not where the zone configurations ask": ranges(RangeHealth{Misplaced: 3}),
		"warning: Node 2 does not answer":                            node(func(n *NodeInfo) { n.State = stateSuspect }),
		"warning: Node 2 is dead":                                    node(func(n *NodeInfo) { n.State = stateDead; n.Stores[0].Disk = "full" }),
		"notice: Node 2 is draining":                                 node(func(n *NodeInfo) { n.State = stateDraining }),
		"notice: Node 2 is being decommissioned":                     node(func(n *NodeInfo) { n.State = stateDecommissioning }),
		"warning: Node 2 lives, but does not serve SQL":              node(func(n *NodeInfo) { n.State = stateUnavailable }),
		"critical: The disk of store 2 (node 2) does not answer":     disk(func(s *Store) { s.Disk = "stalled" }),
		"critical: The disk of store 2 (node 2) is full":             disk(func(s *Store) { s.Disk, s.UsedBytes = "full", 100 }),
		"warning: The disk of store 2 (node 2) is slow":              disk(func(s *Store) { s.Disk = "slow" }),
		"critical: 1 disk is almost full":                            disk(func(s *Store) { s.UsedBytes = 96 }),
		"warning: 1 disk fills up":                                   disk(func(s *Store) { s.UsedBytes = 81 }),
	} {
		got := findProblems(s)
		if len(got) != 1 || got[0].Severity+": "+got[0].Title != want || got[0].Action == "" {
			t.Errorf("want %s: %+v", want, got)
		}
	}
	if got := findProblems(node(func(*NodeInfo) {})); got == nil || len(got) != 0 {
		t.Errorf("a cluster without problems: %v", got)
	}
	both := ranges(RangeHealth{UnderReplicated: 1, Unavailable: 1, Misplaced: 1})
	var order []string
	for _, p := range findProblems(both) {
		order = append(order, p.Severity)
	}
	if strings.Join(order, " ") != "critical warning notice" {
		t.Errorf("order %v", order)
	}
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{5 * time.Minute: "5m", time.Hour: "1h", 10 * time.Second: "10s", 90 * time.Second: "1m30s", 0: "0s"} {
		if got := short(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
