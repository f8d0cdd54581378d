package rebalance

import (
	"slices"
	"testing"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

// TestProgress: a follower that has acknowledged nothing is left out, one whose node is silent
// is not active.
func TestProgress(t *testing.T) {
	follower := func(node kvpb.NodeID, match, behind uint64) replica.FollowerProgress {
		return replica.FollowerProgress{Replica: kvpb.ReplicaDescriptor{Node: node, Store: kvpb.StoreID(node)}, Match: match, Behind: behind}
	}
	got := progress([]replica.FollowerProgress{follower(2, 10, 1), follower(3, 0, 11), follower(4, 11, 0)}, func(id kvpb.NodeID) bool { return id != 4 })
	want := []placement.Progress{{Store: 2, Behind: 1, Active: true}, {Store: 4}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
