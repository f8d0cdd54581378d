package lease

import (
	"cmp"
	"slices"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Rank returns how many other voters of a range, among those whose stores are there, campaign
// before a replica when the range needs a leader. They take turns in an order that the range's
// id shifts, so that each leads its share. ok is false if the replica is no voter.
func Rank(d *kvpb.RangeDescriptor, self kvpb.ReplicaID, there func(kvpb.StoreID) bool) (rank int, ok bool) {
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
	for i := int(uint64(d.RangeID) % uint64(voters)); i != own; i = (i + 1) % voters {
		if there(stores[i]) {
			rank++
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

// Candidates returns the other voters whose stores are there, who has most of the log first and
// otherwise in an order that the range's id shifts, so that no store gets all leaderships.
func (l *Lease) Candidates(d *kvpb.RangeDescriptor, self kvpb.ReplicaID, there func(kvpb.StoreID) bool) []kvpb.ReplicaDescriptor {
	var list []kvpb.ReplicaDescriptor
	match := map[kvpb.ReplicaID]uint64{}
	for i := range d.Replicas {
		r := d.Replicas[(uint64(i)+uint64(d.RangeID))%uint64(len(d.Replicas))]
		if in, _ := IsVoter(r.Type); in && r.Replica != self && there(r.Store) {
			list = append(list, r)
		}
	}
	for _, s := range l.quorums[0] {
		if s.match != nil {
			match[s.replica] = s.match.Load()
		}
	}
	slices.SortStableFunc(list, func(a, b kvpb.ReplicaDescriptor) int { return cmp.Compare(match[b.Replica], match[a.Replica]) })
	return list
}
