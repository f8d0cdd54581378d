package server

import (
	"context"
	"encoding/json"

	"github.com/lichendb/lichen/internal/kv/address"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

// newAddresses returns what keeps the addresses of ranges, over the node's parts as
// they are when it is used.
func (n *Node) newAddresses() *address.Registry {
	return address.NewRegistry(address.Options{
		Replica: func(id kvpb.RangeID) (*replica.Replica, bool) {
			r, ok := n.store.Replica(id)
			return r, ok && r.Initialized()
		},
		Replicas:   func() []*replica.Replica { return n.store.Replicas() },
		Superseded: func(r *replica.Replica, d *kvpb.RangeDescriptor) { n.store.Of(r).Superseded(r, d) },
		Peers: func() (ids []kvpb.NodeID) {
			for _, o := range n.live.Nodes() {
				if o.ID != n.NodeID() {
					ids = append(ids, o.ID)
				}
			}
			return ids
		},
		Ask: func(ctx context.Context, id kvpb.NodeID) (*kvpb.RangeDescriptor, error) {
			p, err := n.rpc.Call(ctx, id, MethodFirstRange, nil)
			if err != nil {
				return nil, err
			}
			d := new(kvpb.RangeDescriptor)
			return d, json.Unmarshal(p, d)
		},
		Logger: n.log,
	})
}
