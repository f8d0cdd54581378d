package server

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

const (
	// maxUnpublished bounds the ranges whose address waits to be published; what
	// does not fit is found again when the range is looked at next.
	maxUnpublished = 1 << 16
	publishRetry   = 500 * time.Millisecond
	// republishEvery is how often a node looks whether the addresses of the ranges
	// that it leads are right.
	republishEvery = time.Minute
)

// knownFirstRange returns the descriptor of the range that holds the addresses, if
// a replica of it is here.
func (n *Node) knownFirstRange() *kvpb.RangeDescriptor {
	if r, ok := n.store.Replica(1); ok && r.Initialized() {
		return r.Desc()
	}
	return n.firstRange.Load()
}

// findFirstRange returns where the addresses are.
func (n *Node) findFirstRange(ctx context.Context) (kvpb.RangeDescriptor, error) {
	if r, ok := n.store.Replica(1); ok && r.Initialized() {
		return *r.Desc(), nil
	}
	var newest *kvpb.RangeDescriptor
	for _, o := range n.live.Nodes() {
		if o.ID == n.store.Identity().Node {
			continue
		}
		c, cancel := context.WithTimeout(ctx, callDeadline)
		p, err := n.rpc.Call(c, o.ID, MethodFirstRange, nil)
		cancel()
		d := new(kvpb.RangeDescriptor)
		if err != nil || json.Unmarshal(p, d) != nil {
			continue
		}
		if newest == nil || newest.Generation < d.Generation {
			newest = d
		}
	}
	if newest == nil {
		if newest = n.firstRange.Load(); newest == nil {
			return kvpb.RangeDescriptor{}, errors.New("no node that can be reached knows the first range")
		}
	}
	n.firstRange.Store(newest)
	return *newest, nil
}

// publish notes that the address of a range that is led here may have to be
// written. It does not block.
func (n *Node) publish(r *replica.Replica) {
	select {
	case n.unpublished <- r.RangeID():
	default:
	}
}

// publisher writes the addresses of ranges.
func (n *Node) publisher(ctx context.Context) {
	again := time.NewTicker(republishEvery)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
			for _, r := range n.store.Replicas() {
				if r.Leads() {
					n.publish(r)
				}
			}
		case id := <-n.unpublished:
			// Whoever has applied a descriptor may write it: the newest one stays.
			r, ok := n.store.Replica(id)
			if !ok || !r.Initialized() {
				continue
			}
			if err := n.writeAddress(ctx, r.Desc()); err != nil && ctx.Err() == nil {
				n.log.Warn("address of a range", "range", id, "err", err)
				time.AfterFunc(publishRetry, func() { n.publish(r) })
			}
		}
	}
}

// writeAddress puts descriptors into the meta records of their ranges, unless newer
// ones are there.
func (n *Node) writeAddress(ctx context.Context, descs ...*kvpb.RangeDescriptor) error {
	ctx, cancel := context.WithTimeout(ctx, callDeadline)
	defer cancel()
	return n.db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		for _, d := range descs {
			key := keys.Meta(d.EndKey)
			v, ok, err := t.Get(ctx, key)
			if err != nil {
				return err
			}
			if ok {
				old, err := apply.DecodeDescriptor(v)
				if err == nil && old.Generation >= d.Generation {
					continue
				}
			}
			if err := t.Put(key, apply.EncodeDescriptor(d)); err != nil {
				return err
			}
		}
		return nil
	})
}
