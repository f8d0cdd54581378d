package balance

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/kvpb"
)

// TestSlowMovesRest empties a node of a cluster in which a move takes long, since it is
// busy: then at most half of the time is spent on moves, one at a time on each node. What
// was lost is rebuilt without rest.
func TestSlowMovesRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const moveTime, ran = 10 * time.Second, 10 * time.Minute
		cl := newCluster(5)
		cl.moveTime = moveTime
		r := rand.New(rand.NewPCG(5, 5))
		for range 300 {
			s := r.Perm(5)
			cl.addRange(16*mib, kvpb.StoreID(s[0]+1), kvpb.StoreID(s[1]+1), kvpb.StoreID(s[2]+1))
		}
		cl.run(time.Minute)
		clear(cl.mostInFlight)
		cl.copies = 0
		cl.stores[1].Decommissioning = true
		cl.run(ran)
		if most := int(ran/(2*moveTime)) * 5; cl.copies > most+5 || cl.copies < most/2 {
			t.Errorf("%d replicas moved in %v, %d could have without disturbing", cl.copies, ran, most)
		}
		for n, most := range cl.mostInFlight {
			if most > 1 {
				t.Errorf("n%d had %d moves in progress", n, most)
			}
		}
		cl.copies = 0
		cl.stores[1].Decommissioning = false
		cl.stores[2].State, cl.stores[2].Since = placement.Down, time.Now().Add(-time.Hour)
		cl.elect()
		lost := cl.stores[2].Capacity.Ranges
		cl.run(time.Duration(lost)*moveTime/4/2 + 2*time.Minute) // four nodes, two at a time
		cl.check(t)
		if cl.copies < lost {
			t.Errorf("%d replicas rebuilt of %d", cl.copies, lost)
		}
	})
}

// TestAnyHistoryComesToRest lets nodes come, leave, fail and return, and requires that
// the counts are even afterwards and nothing moves any more.
func TestAnyHistoryComesToRest(t *testing.T) {
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 6))
			cl := newCluster(3 + r.IntN(4))
			for range 60 + r.IntN(60) {
				s := r.Perm(len(cl.stores))
				cl.addRange(int64(1+r.IntN(64))*mib, kvpb.StoreID(s[0]+1), kvpb.StoreID(s[1]+1), kvpb.StoreID(s[2]+1))
			}
			for range 4 {
				s := &cl.stores[r.IntN(len(cl.stores))]
				switch r.IntN(4) {
				case 0:
					cl.addNode()
				case 1:
					if cl.serving() > 3 {
						s.Decommissioning = true
					}
				case 2:
					s.Decommissioning = false
				case 3: // it comes back before it counts as dead
					s.State, s.Since = placement.Down, time.Now()
					cl.elect()
					cl.run(time.Minute)
					s.State = placement.Live
				}
				cl.run(time.Duration(1+r.IntN(120)) * time.Second)
			}
			cl.run(10 * time.Minute)
			cl.check(t)
			cl.checkEven(t, "replicas", replicas)
			cl.checkEven(t, "leaders", leaders)
			for i := range cl.stores {
				if s := &cl.stores[i]; s.Decommissioning && s.Capacity.Ranges > 0 {
					t.Errorf("seed %d: %d replicas left on s%d", seed, s.Capacity.Ranges, s.ID)
				}
			}
			cl.copies, cl.shifts = 0, 0
			cl.run(5 * time.Minute)
			if cl.copies > 0 || cl.shifts > 0 {
				t.Errorf("seed %d: at rest %d replicas and %d leaders moved", seed, cl.copies, cl.shifts)
			}
		})
	}
}

// serving counts the stores that take replicas.
func (cl *cluster) serving() (n int) {
	for i := range cl.stores {
		if cl.stores[i].State == placement.Live && !cl.stores[i].Decommissioning {
			n++
		}
	}
	return n
}
