package storepool

import (
	"time"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/kvpb"
)

// maxNamedStores bounds namedStores; a store that is named beyond it is never missed.
const maxNamedStores = 1 << 14

// namedStores are the stores that descriptors name. One whose node is there and does not have it
// is lost: its directory was not given at the node's start any more.
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

// appendLost adds the lost stores to the others: they are down for good, so that their replicas
// are rebuilt after a while, unless the store comes back.
func (n *namedStores) appendLost(all []placement.Store, now time.Time) []placement.Store {
	told := map[kvpb.NodeID]*placement.Store{} // a store of each node that tells of some
	here := map[kvpb.StoreID]bool{}
	for i := range all {
		told[all[i].Node], here[all[i].ID] = &all[i], true
	}
	var lost []placement.Store
	for id, node := range n.node {
		o := told[node]
		if here[id] || o == nil || o.State == placement.Gone {
			delete(n.since, id)
			continue
		}
		since, ok := n.since[id]
		if !ok {
			since = now
			n.since[id] = now
		}
		lost = append(lost, placement.Store{ID: id, Node: node, Locality: o.Locality, State: placement.Down, Since: since, Measured: now})
	}
	return append(all, lost...)
}
