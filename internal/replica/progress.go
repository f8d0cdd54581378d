package replica

import (
	"slices"

	"github.com/lichendb/lichen/internal/kvpb"
)

// FollowerProgress is a leader's knowledge of a follower's log.
type FollowerProgress struct {
	Replica kvpb.ReplicaDescriptor
	// Match is the last entry that the follower is known to have, Behind the number of entries after it.
	// A follower whose Match is 0 waits for a snapshot.
	Match, Behind uint64
}

// Progress calls tell with the progress of the followers, perhaps later and on another goroutine. If the
// replica does not lead, it never does. tell must not block, nor change the list. An idle leader's last answer
// is reused.
func (r *Replica) Progress(tell func([]FollowerProgress)) {
	if list := r.progress.Load(); list != nil && r.idle.Load() && !slices.ContainsFunc(*list, r.lags) {
		tell(*list)
		return
	}
	r.group.Do(func() {
		if r.lease.Load() == nil {
			return
		}
		g := r.group
		progress := g.Raft().Status().Progress
		var list []FollowerProgress
		for _, d := range r.Desc().Replicas {
			p, ok := progress[uint64(d.Replica)]
			if !ok || d.Replica == r.replicaID {
				continue
			}
			f := FollowerProgress{Replica: d, Match: p.Match}
			if last := g.View.State.Last; last > p.Match {
				f.Behind = last - p.Match
			}
			if r.lags(f) { // the entries may have been lost on the way
				g.Unquiesce()
			}
			list = append(list, f)
		}
		if r.idle.Load() {
			r.progress.Store(&list)
		}
		tell(list)
	})
}

// lags reports whether a follower lacks entries although its store is alive.
func (r *Replica) lags(f FollowerProgress) bool {
	return f.Behind > 0 && r.supportedBy(f.Replica.Store)
}
