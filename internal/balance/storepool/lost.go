package storepool

import (
	"cmp"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
)

// maxNamedStores bounds namedStores; a store that is named beyond it is never missed.
const maxNamedStores = 1 << 14

// namedStores are the stores that descriptors name. One that no node tells of is lost: its
// directory was not given at the node's start any more, or nobody has heard of its node since all
// others started, which forget the nodes that they knew.
type namedStores struct {
	node  map[kvpb.StoreID]kvpb.NodeID
	since map[kvpb.StoreID]time.Time // when it was first missed
}

// note remembers the stores that a descriptor names.
func (n *namedStores) note(d *kvpb.RangeDescriptor) {
	for i := range d.Replicas {
		rep := &d.Replicas[i]
		if _, ok := n.node[rep.Store]; ok {
			continue
		}
		if n.node == nil {
			n.node, n.since = map[kvpb.StoreID]kvpb.NodeID{}, map[kvpb.StoreID]time.Time{}
		}
		if len(n.node) < maxNamedStores {
			n.node[rep.Store] = rep.Node
		}
	}
}

// appendLost adds the lost stores to the others: they are down from when they were first missed, so
// that their replicas are rebuilt after a while, unless the store comes back. Those of removed nodes
// are gone.
func (n *namedStores) appendLost(all []placement.Store, removed map[kvpb.NodeID]bool, now time.Time) []placement.Store {
	locality := map[kvpb.NodeID][]placement.Tier{}
	here := map[kvpb.StoreID]bool{}
	for i := range all {
		locality[all[i].Node], here[all[i].ID] = all[i].Locality, true
	}
	var lost []placement.Store
	for id, node := range n.node {
		if _, reported := locality[node]; here[id] || !reported && plant.On(plant.UnheardStays) {
			delete(n.since, id)
			continue
		}
		since, ok := n.since[id]
		if !ok {
			since = now
			n.since[id] = now
		}
		state := placement.Down
		if removed[node] {
			state = placement.Gone
		}
		lost = append(lost, placement.Store{ID: id, Node: node, Locality: locality[node], State: state, Since: since, Measured: now})
	}
	slices.SortFunc(lost, func(a, b placement.Store) int { return cmp.Compare(a.ID, b.ID) })
	return append(all, lost...)
}
