package rangeops

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
)

const (
	// infosTimeout bounds the wait for what a node knows of its replicas.
	infosTimeout = 2 * time.Second
	// addressTimeout bounds the wait for the addresses of ranges that have just been split
	// off.
	addressTimeout = 3 * time.Second
)

// Info is what a node knows of a range by its replica.
type Info struct {
	Desc   kvpb.RangeDescriptor
	Leader kvpb.StoreID // 0: not known
	Leads  bool         // the replica itself, and it may serve
	Size   int64
	QPS    float64
}

// supersedes reports whether i is to be believed rather than o.
func (i *Info) supersedes(o *Info) bool {
	return i.Leads && !o.Leads || i.Leads == o.Leads && i.Desc.Generation > o.Desc.Generation
}

// infosHere returns what the replicas of this node know of ranges.
func (a *Admin) infosHere(ids []kvpb.RangeID) []Info {
	out := make([]Info, 0, len(ids))
	for _, id := range ids {
		r, ok := a.o.Store.Replica(id)
		if !ok || !r.Initialized() {
			continue
		}
		i := Info{Desc: *r.Desc(), Leads: r.Leads()}
		if l, ok := r.Leader(); ok {
			i.Leader = l.Store
		}
		if i.Leads {
			s := a.o.Stats.Of(r)
			i.Leader, i.QPS, i.Size = a.o.Store.Of(r).Identity().Store, s.QPS(), s.Size()
		}
		out = append(out, i)
	}
	return out
}

// askInfos asks all nodes with replicas of some ranges what they know of them. A node that does
// not answer is left out.
func (a *Admin) askInfos(ctx context.Context, descs []kvpb.RangeDescriptor) map[kvpb.RangeID]Info {
	ctx, cancel := context.WithTimeout(ctx, infosTimeout)
	defer cancel()
	byNode := map[kvpb.NodeID][]kvpb.RangeID{}
	for i := range descs {
		for _, rep := range descs[i].Replicas {
			byNode[rep.Node] = append(byNode[rep.Node], descs[i].RangeID)
		}
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	out := map[kvpb.RangeID]Info{}
	for node, ids := range byNode {
		wg.Go(func() {
			list := a.infosAt(ctx, node, ids)
			mu.Lock()
			defer mu.Unlock()
			for _, i := range list {
				if old, ok := out[i.Desc.RangeID]; !ok || i.supersedes(&old) {
					out[i.Desc.RangeID] = i
				}
			}
		})
	}
	wg.Wait()
	return out
}

// infosAt asks one node; nil if it does not answer.
func (a *Admin) infosAt(ctx context.Context, node kvpb.NodeID, ids []kvpb.RangeID) []Info {
	if node == a.o.Node() {
		return a.infosHere(ids)
	}
	if !a.o.Live.Live(node) {
		return nil
	}
	req, err := json.Marshal(ids)
	if err != nil {
		return nil
	}
	p, err := a.o.Transport.Call(ctx, node, methodInfos, req)
	var list []Info
	if err != nil || json.Unmarshal(p, &list) != nil {
		return nil
	}
	return list
}

// Ranges returns the ranges that share a key with span, in order. The addresses may be behind:
// the replicas know better. Where both leave a gap, the address of a new range is on its way.
func (a *Admin) Ranges(ctx context.Context, span keys.Span) ([]Info, error) {
	var list []Info
	wait, cancel := context.WithTimeout(ctx, addressTimeout)
	defer cancel()
	err := watch(wait, func() (bool, error) {
		descs, err := a.Recorded(ctx, span)
		if err != nil {
			return false, err
		}
		list = merged(descs, a.askInfos(ctx, descs), span)
		return covers(list, span), nil
	})
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return list, nil // as far as it is known
	}
	return list, err
}

// merged returns the ranges in span by their addresses and by what replicas say of them, in
// order.
func merged(descs []kvpb.RangeDescriptor, known map[kvpb.RangeID]Info, span keys.Span) (list []Info) {
	seen := map[kvpb.RangeID]bool{}
	for i := range descs {
		info, ok := known[descs[i].RangeID]
		if !ok || info.Desc.Generation < descs[i].Generation {
			info.Desc = descs[i]
		}
		if d := &info.Desc; !seen[d.RangeID] && span.Overlaps(keys.Span{Start: d.StartKey, End: d.EndKey}) {
			seen[d.RangeID] = true
			list = append(list, info)
		}
	}
	slices.SortFunc(list, func(a, b Info) int { return bytes.Compare(a.Desc.StartKey, b.Desc.StartKey) })
	return list
}

// covers reports whether ranges in order hold all of span and none overlap.
func covers(list []Info, span keys.Span) bool {
	at := span.Start
	for i := range list {
		d := &list[i].Desc
		if i == 0 && bytes.Compare(d.StartKey, at) > 0 || i > 0 && !bytes.Equal(d.StartKey, at) {
			return false
		}
		at = d.EndKey
	}
	all := keys.ReplicatedSpan()
	if len(list) == 0 {
		return !span.Overlaps(all)
	}
	return span.IsPoint() || bytes.Compare(at, span.End) >= 0 || bytes.Equal(at, all.End)
}

// Recorded returns the addresses of the ranges that share a key with span, as they are recorded.
func (a *Admin) Recorded(ctx context.Context, span keys.Span) ([]kvpb.RangeDescriptor, error) {
	var out []kvpb.RangeDescriptor
	if a.o.Alone {
		for _, r := range a.o.Store.Replicas() {
			if d := r.Desc(); span.Overlaps(keys.Span{Start: d.StartKey, End: d.EndKey}) {
				out = append(out, *d)
			}
		}
		return out, nil
	}
	end := keys.Next(span.Start)
	if !span.IsPoint() {
		end = span.End
	}
	// The record of a range is at its end: the first that counts is behind span.Start.
	records := keys.Span{Start: keys.Next(keys.Meta(span.Start)), End: keys.MetaSpan().End}
	err := a.o.DB().Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		out = out[:0]
		return kv.Each(ctx, t, records, func(k, v []byte) (bool, error) {
			d, err := apply.DecodeDescriptor(v)
			if err != nil {
				return false, fmt.Errorf("the address at %s: %w", keys.Pretty(k), err)
			}
			if bytes.Compare(d.StartKey, end) < 0 {
				out = append(out, *d)
			}
			return bytes.Compare(d.EndKey, end) < 0, nil
		})
	})
	return out, err
}

// rangeAt returns the range that holds key.
func (a *Admin) rangeAt(ctx context.Context, key []byte) (*kvpb.RangeDescriptor, error) {
	if a.o.Alone {
		_, d, err := a.o.Store.Lookup(key)
		return d, err
	}
	list, err := a.Ranges(ctx, keys.Span{Start: key})
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].Desc.ContainsKey(key) {
			return &list[i].Desc, nil
		}
	}
	return nil, fmt.Errorf("no range is known to hold %s", keys.Pretty(key))
}

// Right returns what is known of the range after one that is led here, from its leader; false if
// there is none or its leader does not answer.
func (a *Admin) Right(ctx context.Context, d *kvpb.RangeDescriptor) (*Info, bool) {
	list, err := a.Ranges(ctx, keys.Span{Start: d.EndKey})
	if err != nil {
		return nil, false
	}
	for i := range list {
		if o := &list[i]; o.Leads && bytes.Equal(o.Desc.StartKey, d.EndKey) {
			return o, true
		}
	}
	return nil, false
}
