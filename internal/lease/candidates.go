package lease

import (
	"cmp"
	"slices"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Standing is the place of a store in the order of candidates.
type Standing uint8

// The standings.
const (
	Absent  Standing = iota // it does not answer
	Leaving                 // its node drains: its replicas come after all others
	Staying
)

// Rank returns how many other voters of a range campaign before a replica when the range needs a leader. The
// range's id shifts their order, so that each store leads its share. Voters on draining nodes come last. ok is
// false if the replica is no voter.
func Rank(d *kvpb.RangeDescriptor, self kvpb.ReplicaID, standing func(kvpb.StoreID) Standing) (rank int, ok bool) {
	var stores [2 * MaxVoters]kvpb.StoreID
	voters, own := 0, -1
	for _, r := range d.Replicas {
		if in, out := IsVoter(r.Type); !in && !out || voters == len(stores) {
			continue
		}
		if r.Replica == self {
			own = voters
		}
		stores[voters] = r.Store
		voters++
	}
	if own < 0 {
		return 0, false
	}
	leaving := standing(stores[own]) == Leaving
	earlier := true // the store's turn comes before that of the replica's own
	for n, i := 0, int(uint64(d.RangeID)%uint64(voters)); n < voters; n, i = n+1, (i+1)%voters {
		if i == own {
			earlier = false
			continue
		}
		switch standing(stores[i]) {
		case Staying:
			if earlier || leaving {
				rank++
			}
		case Leaving:
			if earlier && leaving {
				rank++
			}
		}
	}
	return rank, true
}

// Electable reports whether a replica could serve if it were elected: a majority of the voters,
// in a joint configuration of both halves, supports its store.
func Electable(d *kvpb.RangeDescriptor, supports func(kvpb.StoreID) bool) bool {
	var votes, supported [2]int
	for _, r := range d.Replicas {
		in, out := IsVoter(r.Type)
		s := supports(r.Store)
		for i, is := range [2]bool{in, out} {
			if is {
				votes[i]++
			}
			if is && s {
				supported[i]++
			}
		}
	}
	return 2*supported[0] > votes[0] && 2*supported[1] > votes[1]
}

// Candidates returns the other voters whose stores answer. Those on draining nodes come last. Otherwise a
// replica with a longer log comes first. Among equals the range's id shifts the order, so that no store gets
// all leaderships.
func (l *Lease) Candidates(d *kvpb.RangeDescriptor, self kvpb.ReplicaID, standing func(kvpb.StoreID) Standing) []kvpb.ReplicaDescriptor {
	var list []kvpb.ReplicaDescriptor
	match := map[kvpb.ReplicaID]uint64{}
	for i := range d.Replicas {
		r := d.Replicas[(uint64(i)+uint64(d.RangeID))%uint64(len(d.Replicas))]
		if in, _ := IsVoter(r.Type); in && r.Replica != self && standing(r.Store) != Absent {
			list = append(list, r)
		}
	}
	for _, s := range l.quorums[0] {
		if s.match != nil {
			match[s.replica] = s.match.Load()
		}
	}
	slices.SortStableFunc(list, func(a, b kvpb.ReplicaDescriptor) int {
		return cmp.Or(cmp.Compare(standing(b.Store), standing(a.Store)), cmp.Compare(match[b.Replica], match[a.Replica]))
	})
	return list
}
