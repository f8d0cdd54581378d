package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/rpc"
)

const methodSpanSize rpc.Method = 66 // spanSizeRequest → int64: the size of a part of a range

// spanSizeRequest asks a node with a replica of a range for the size of a part of it.
type spanSizeRequest struct {
	Range kvpb.RangeID
	Span  keys.Span
}

var errNoReplica = errors.New("no replica of the range answers")

func (n *Node) handleSpanSize() {
	n.rpc.Handle(methodSpanSize, func(_ context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
		var q spanSizeRequest
		if err := json.Unmarshal(req, &q); err != nil {
			return nil, err
		}
		size, err := n.spanSizeHere(q)
		if err != nil {
			return nil, err
		}
		return json.Marshal(size)
	})
}

// Size implements ranges.Cluster.
func (s sqlRanges) Size(ctx context.Context, span keys.Span) (total int64, err error) {
	wait, cancel := context.WithTimeout(ctx, addressTimeout)
	defer cancel()
	var last error
	err = watch(wait, func() (bool, error) { // replicas may move away meanwhile
		total, last = s.n.spanSizes(wait, span)
		return last == nil, nil
	})
	if err != nil && ctx.Err() == nil {
		return 0, last
	}
	return total, err
}

// spanSizes adds up the sizes of the parts of a span that lie in each range.
func (n *Node) spanSizes(ctx context.Context, span keys.Span) (total int64, err error) {
	descs, err := n.addressesIn(ctx, span)
	if err != nil {
		return 0, err
	}
	for i := range descs {
		d := &descs[i]
		part := keys.Span{
			Start: slices.MaxFunc([][]byte{span.Start, d.StartKey}, bytes.Compare), End: slices.MinFunc([][]byte{span.End, d.EndKey}, bytes.Compare),
		}
		if !part.Valid() {
			continue
		}
		size, err := n.askSpanSize(ctx, d, spanSizeRequest{Range: d.RangeID, Span: part})
		if err != nil {
			return 0, fmt.Errorf("size of range %d: %w", d.RangeID, err)
		}
		total += size
	}
	return total, nil
}

// askSpanSize asks the replicas of a range, one here first, until one answers.
func (n *Node) askSpanSize(ctx context.Context, d *kvpb.RangeDescriptor, q spanSizeRequest) (size int64, err error) {
	if size, err = n.spanSizeHere(q); err == nil || n.rpc == nil {
		return size, err
	}
	req, err := json.Marshal(q)
	if err != nil {
		return 0, err
	}
	for _, rep := range d.Replicas {
		if rep.Node == n.NodeID() || !n.live.Live(rep.Node) {
			continue
		}
		if p, err := n.rpc.Call(ctx, rep.Node, methodSpanSize, req); err == nil {
			return size, json.Unmarshal(p, &size)
		}
	}
	return 0, errNoReplica
}

// spanSizeHere finds the size of a part of a range, as that of a whole range is found.
func (n *Node) spanSizeHere(q spanSizeRequest) (int64, error) {
	r, ok := n.store.Replica(q.Range)
	if !ok || !r.Initialized() {
		return 0, errNoReplica
	}
	part := &kvpb.RangeDescriptor{StartKey: q.Span.Start, EndKey: q.Span.End}
	budget := maxCounted
	return new(sizing).size(n.store.Of(r).Engine(), part, 0, time.Now(), &budget)
}
