package placement

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/kvpb"
)

// TestSmallDisks has two of five disks too small for their share.
func TestSmallDisks(t *testing.T) {
	w := newWorld(5)
	w.stores[1].Capacity.Total, w.stores[4].Capacity.Total = 4<<30, 3<<30
	r := rand.New(rand.NewPCG(4, 4))
	for range 100 { // 300 replicas of 64 MiB, 60 of which are 3.75 GiB
		s := r.Perm(5)
		w.addRange(zoneOf(3), kvpb.StoreID(s[0]+1), kvpb.StoreID(s[1]+1), kvpb.StoreID(s[2]+1))
	}
	w.settle(t)
	c := w.picture()
	for _, id := range []kvpb.StoreID{2, 5} {
		if f := c.byID[id].Capacity.fraction(0); f > c.params.CrowdedAt+0.02 || f < c.params.CrowdedAt-0.1 {
			t.Errorf("the disk of s%d is %.0f %% full", id, 100*f)
		}
	}
	var big []int
	for _, id := range []kvpb.StoreID{1, 3, 4} {
		big = append(big, c.byID[id].Capacity.Ranges)
	}
	for _, n := range big {
		if 10*n < 9*(big[0]+big[1]+big[2])/3 || 10*n > 11*(big[0]+big[1]+big[2])/3 {
			t.Errorf("replicas on the large disks: %v", big)
		}
	}
}

// TestSecondDisk gives three nodes that hold everything a second disk each.
func TestSecondDisk(t *testing.T) {
	w := newWorld(3)
	for range 60 {
		w.addRange(zoneOf(3), 1, 2, 3)
	}
	w.settle(t)
	for i := range 3 {
		w.addStore(nil, i).Node = kvpb.NodeID(i + 1)
	}
	w.moves = 0
	w.settle(t)
	w.checkEven(t, "replicas", 0.1, replicas)
	w.checkEven(t, "leaders", 0.1, leaders)
	if w.moves > 100 {
		t.Errorf("%d moves, 90 replicas had to move", w.moves)
	}
}

// TestCrowdedAlike has nodes join whose disks are as crowded as those of the others, as
// where all are one: they get their share.
func TestCrowdedAlike(t *testing.T) {
	w := newWorld(3)
	for range 20 {
		w.addRange(zoneOf(3), 1, 2, 3)
	}
	w.addStore(nil, 3)
	w.addStore(nil, 4)
	w.shared = 1 << 40 / 5 * 4 // of 1 << 40
	w.settle(t)
	w.checkEven(t, "replicas", 0.1, replicas)
	w.checkEven(t, "leaders", 0.3, leaders)
}

// TestDiversityNeverFalls draws clusters with disks and ranges of all sizes and
// requires that what evens out never brings the replicas of a range closer together,
// and that it ends.
func TestDiversityNeverFalls(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		nodes := rapid.IntRange(3, 9).Draw(rt, "nodes")
		w := newWorld(nodes, []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(rt, "regions")]...)
		z := zoneOf(3)
		used := int64(0)
		for range rapid.IntRange(1, 40).Draw(rt, "ranges") {
			p := w.addRange(z, drawThree(rt, nodes)...)
			p.Size = int64(rapid.IntRange(1, 512).Draw(rt, "MiB")) << 20
			used += 3 * p.Size
		}
		for i := range w.stores { // from disks that are too small to large ones
			w.stores[i].Capacity.Total = used/int64(nodes)*int64(rapid.IntRange(8, 40).Draw(rt, "tenths of a share"))/10 + 1
		}
		w.settled = func(p *Placed, a Action, before, after float64) {
			if a.Class == Balance && a.Kind != TransferLeader && after < before-diversityEpsilon {
				rt.Fatalf("range %d: %v lowers its diversity from %f to %f: %s", p.Desc.RangeID, a, before, after, a.Reason)
			}
		}
		w.settle(rt)
	})
}

func drawThree(rt *rapid.T, nodes int) []kvpb.StoreID {
	first := rapid.IntRange(0, nodes-1).Draw(rt, "first")
	var ids []kvpb.StoreID
	for i := range 3 {
		ids = append(ids, kvpb.StoreID((first+i)%nodes+1))
	}
	return ids
}
