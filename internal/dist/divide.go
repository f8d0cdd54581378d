package dist

import (
	"bytes"
	"context"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Divide cuts sorted, disjoint spans at the boundaries of ranges and groups the pieces by the node that a read of the
// transaction would be sent to. Ranges may move at any time: whoever reads does it through a Router. The nodes come in the
// order of their first pieces.
func (d *Router) Divide(ctx context.Context, txn *kvpb.TxnMeta, spans []kvpb.Span) ([]kvpb.NodeSpans, error) {
	if d.loc != nil {
		return []kvpb.NodeSpans{{Node: d.self(), Spans: spans}}, nil
	}
	var out []kvpb.NodeSpans
	at := map[kvpb.NodeID]int{}
	add := func(n kvpb.NodeID, s kvpb.Span) {
		i, ok := at[n]
		if !ok {
			i = len(out)
			at[n] = i
			out = append(out, kvpb.NodeSpans{Node: n})
		}
		list := out[i].Spans
		if k := len(list); k > 0 && len(list[k-1].EndKey) > 0 && len(s.EndKey) > 0 && bytes.Equal(list[k-1].EndKey, s.Key) {
			list[k-1].EndKey = s.EndKey
			return
		}
		out[i].Spans = append(list, s)
	}
	for _, s := range spans {
		for {
			node, desc, err := d.reader(ctx, txn, s.Key)
			if err != nil {
				return nil, ctx.Err() // who reads here goes on looking
			}
			if len(s.EndKey) == 0 || holdsSpan(desc, s) {
				add(node, s)
				break
			}
			add(node, kvpb.Span{Key: s.Key, EndKey: desc.EndKey})
			s.Key = desc.EndKey
		}
	}
	return out, nil
}

// reader returns the node that a read of key would be sent to, and the range. If no replica can be named it is this node,
// whose Router goes on looking.
func (d *Router) reader(ctx context.Context, txn *kvpb.TxnMeta, key []byte) (kvpb.NodeID, *kvpb.RangeDescriptor, error) {
	e := d.cache.Cached(key)
	if e == nil {
		var err error
		if e, err = d.cache.Find(ctx, key); err != nil {
			return 0, nil, err
		}
	}
	r := d.reading(txn)
	t, err := d.choose(e, &r)
	if err != nil {
		t.node = d.self()
	}
	return t.node, e.Desc(), nil
}
