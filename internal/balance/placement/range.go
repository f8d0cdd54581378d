package placement

import (
	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/kvpb"
)

// Range is a range as its leader sees it.
type Range struct {
	Desc       *kvpb.RangeDescriptor
	Leader     kvpb.StoreID
	Size       int64   // bytes of one replica
	QPS        float64 // requests per second at the leader
	WriteBytes float64 // bytes per second written to each replica
	// Progress holds the followers; one that is missing counts as not caught up.
	Progress []Progress
}

// Progress is how far a follower is.
type Progress struct {
	Store  kvpb.StoreID
	Behind uint64 // entries between it and the leader's last
	Active bool   // it answered lately
}

func (r *Range) caughtUp(s kvpb.StoreID, maxBehind uint64) bool {
	if s == r.Leader {
		return true
	}
	for _, p := range r.Progress {
		if p.Store == s {
			return p.Active && p.Behind <= maxBehind
		}
	}
	return false
}

// Quorum is how many of n voters must agree.
func Quorum(n int) int { return n/2 + 1 }

// UnderReplicated reports whether a range has fewer voters on stores that are not
// dead than its configuration asks for.
func (c *Cluster) UnderReplicated(d *kvpb.RangeDescriptor, z *zone.Config) bool {
	n := 0
	for _, r := range d.Replicas {
		if r.Type.Votes() && r.Type != kvpb.VoterOutgoing && !c.lookup(r.Store, r.Node).dead {
			n++
		}
	}
	return n < goalOf(c, z).voters
}
