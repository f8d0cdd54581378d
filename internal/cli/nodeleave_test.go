package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/node"
)

// desc is a range with a voter on each of some nodes.
func desc(id kvpb.RangeID, nodes ...kvpb.NodeID) kvpb.RangeDescriptor {
	d := kvpb.RangeDescriptor{RangeID: id}
	for _, n := range nodes {
		d.Replicas = append(d.Replicas, kvpb.ReplicaDescriptor{Node: n, Type: kvpb.Voter})
	}
	return d
}

// TestDecommissionStuck: what is left on a node that leaves can move, or never will as it is.
func TestDecommissionStuck(t *testing.T) {
	lost := []node.LostRange{{Range: 7, Holds: []string{"app.public.orders"}, Silent: []kvpb.NodeID{4, 5}}}
	for _, tc := range []struct {
		name      string
		remaining node.Remaining
		stuck     string
	}{
		{"on its way", node.Remaining{Ranges: 1, Examples: []kvpb.RangeDescriptor{desc(6, 1, 2, 4)}, Others: []kvpb.NodeID{1, 2, 3}}, ""},
		{"no quorum", node.Remaining{Ranges: 1, Lost: 1, LostSome: lost, Examples: []kvpb.RangeDescriptor{desc(7, 1, 4, 5)}, Others: []kvpb.NodeID{1, 2, 3}}, "without a quorum"},
		{"some may move", node.Remaining{Ranges: 2, Lost: 1, LostSome: lost, Examples: []kvpb.RangeDescriptor{desc(6, 1, 2, 4), desc(7, 1, 4, 5)}, Others: []kvpb.NodeID{1, 2, 3}}, ""},
		{"too few nodes", node.Remaining{Ranges: 1, Examples: []kvpb.RangeDescriptor{desc(6, 1, 2, 3, 4, 5)}, Others: []kvpb.NodeID{1, 2, 3}}, "too few nodes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := leaving{remaining: []node.Remaining{tc.remaining}, sum: tc.remaining.Ranges, lost: tc.remaining.Lost}
			if got := l.stuck(); (got == "") != (tc.stuck == "") || !strings.Contains(got, tc.stuck) {
				t.Errorf("stuck: %q", got)
			}
			var out bytes.Buffer
			explainRemaining(&streams{err: &out}, 4, &tc.remaining, stuckAfter)
			const named = "range 7 (app.public.orders) waits for nodes 4, 5"
			if strings.Contains(out.String(), named) != (tc.remaining.Lost > 0) {
				t.Errorf("the explanation: %s", out.String())
			}
		})
	}
}
