package rangeops

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/rangestats"
)

// sizeRequest asks a node with a replica of a range for the size of a part of it.
type sizeRequest struct {
	Range kvpb.RangeID
	Span  keys.Span
}

var errNoReplica = errors.New("no replica of the range answers")

func (a *Admin) handleSize(_ context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
	var q sizeRequest
	if err := json.Unmarshal(req, &q); err != nil {
		return nil, err
	}
	size, err := a.sizeHere(q)
	if err != nil {
		return nil, err
	}
	return json.Marshal(size)
}

// Size returns the size of the rows in a span, in bytes, by one replica of each range.
func (a *Admin) Size(ctx context.Context, span keys.Span) (total int64, err error) {
	wait, cancel := context.WithTimeout(ctx, addressTimeout)
	defer cancel()
	var last error
	err = watch(wait, func() (bool, error) { // replicas may move away meanwhile
		total, last = a.sumSizes(wait, span)
		return last == nil, nil
	})
	if err != nil && ctx.Err() == nil {
		return 0, last
	}
	return total, err
}

// sumSizes adds up the sizes of the parts of a span that lie in each range.
func (a *Admin) sumSizes(ctx context.Context, span keys.Span) (total int64, err error) {
	descs, err := a.Recorded(ctx, span)
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
		size, err := a.askSize(ctx, d, sizeRequest{Range: d.RangeID, Span: part})
		if err != nil {
			return 0, fmt.Errorf("size of range %d: %w", d.RangeID, err)
		}
		total += size
	}
	return total, nil
}

// askSize asks the replicas of a range, one here first, until one answers.
func (a *Admin) askSize(ctx context.Context, d *kvpb.RangeDescriptor, q sizeRequest) (size int64, err error) {
	if size, err = a.sizeHere(q); err == nil || a.o.Alone {
		return size, err
	}
	req, err := json.Marshal(q)
	if err != nil {
		return 0, err
	}
	for _, rep := range d.Replicas {
		if rep.Node == a.o.Node() || !a.o.Live.Live(rep.Node) {
			continue
		}
		if p, err := a.o.Transport.Call(ctx, rep.Node, methodSize, req); err == nil {
			return size, json.Unmarshal(p, &size)
		}
	}
	return 0, errNoReplica
}

func (a *Admin) sizeHere(q sizeRequest) (int64, error) {
	r, ok := a.o.Store.Replica(q.Range)
	if !ok || !r.Initialized() {
		return 0, errNoReplica
	}
	return rangestats.SpanSize(a.o.Store.Of(r).Engine(), q.Span)
}
