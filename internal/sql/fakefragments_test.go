package sql_test

import (
	"bytes"
	"context"
	"errors"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql"
)

// fakeFragments has a server run all parts of its own queries: those of node 1, which it is, and those of node 2, which is
// said to have every other piece of a span.
type fakeFragments struct {
	server func() *sql.Server
	mute   bool // node 2 does not answer
}

// Self implements operator.Fragments.
func (f *fakeFragments) Self() kvpb.NodeID { return 1 }

// Divide implements operator.Fragments. It cuts spans at keys that begin as they do, wherever rows are.
func (f *fakeFragments) Divide(_ context.Context, _ *kvpb.TxnMeta, spans []kvpb.Span) ([]kvpb.NodeSpans, error) {
	out := []kvpb.NodeSpans{{Node: 1}, {Node: 2}}
	n := 0
	add := func(s kvpb.Span) {
		out[n%2].Spans = append(out[n%2].Spans, s)
		n++
	}
	for _, s := range spans {
		if len(s.EndKey) > 0 {
			prefix := bytes.Clone(s.Key)
			for b := 0x04; b < 0xff; b += 24 {
				cut := append(bytes.Clone(prefix), byte(b))
				if bytes.Compare(s.Key, cut) < 0 && bytes.Compare(cut, s.EndKey) < 0 {
					add(kvpb.Span{Key: s.Key, EndKey: cut})
					s.Key = cut
				}
			}
		}
		add(s)
	}
	if len(out[1].Spans) == 0 {
		out = out[:1]
	}
	return out, nil
}

// Run implements operator.Fragments.
func (f *fakeFragments) Run(ctx context.Context, node kvpb.NodeID, req []byte) ([]byte, error) {
	if f.mute && node == 2 {
		return nil, errors.New("no route")
	}
	return f.server().Fragment(ctx, req), nil
}
