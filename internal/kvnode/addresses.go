package kvnode

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/lichendb/lichen/internal/kv/address"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

// newAddresses returns the registry that keeps the meta records.
func (n *Node) newAddresses() *address.Registry {
	return address.NewRegistry(address.Options{
		Replica: func(id kvpb.RangeID) (*replica.Replica, bool) {
			r, ok := n.Store.Replica(id)
			return r, ok && r.Initialized()
		},
		Replicas:   n.Store.Replicas,
		Superseded: func(r *replica.Replica, d *kvpb.RangeDescriptor) { n.Store.Of(r).Superseded(r, d) },
		Peers: func() (ids []kvpb.NodeID) {
			for _, o := range n.Live.Nodes() {
				if o.ID != n.ID() {
					ids = append(ids, o.ID)
				}
			}
			return ids
		},
		Ask:    n.askFirstRange,
		Logger: n.o.Logger,
	})
}

// askFirstRange asks another node for the descriptor of the first range.
func (n *Node) askFirstRange(ctx context.Context, id kvpb.NodeID) (*kvpb.RangeDescriptor, error) {
	p, err := n.o.Transport.Call(ctx, id, methodFirstRange, nil)
	if err != nil {
		return nil, err
	}
	d := new(kvpb.RangeDescriptor)
	return d, json.Unmarshal(p, d)
}

func (n *Node) handleFirstRange(context.Context, kvpb.NodeID, []byte) ([]byte, error) {
	if d := n.Addresses.Known(); d != nil {
		return json.Marshal(d)
	}
	return nil, errors.New("the first range is not known here")
}
