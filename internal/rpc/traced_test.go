package rpc

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/trace"
)

// spans is a handler that begins a span.
const spans Method = FirstMethod + 20

// TestTraced: the spans of a handler come back with its answer, whether it succeeds or not, and answers are those of calls that nobody
// traces.
func TestTraced(t *testing.T) {
	w := newNetwork(t)
	a, b := w.node(1), w.node(2)
	b.Handle(spans, func(ctx context.Context, from kvpb.NodeID, req []byte) ([]byte, error) {
		s := trace.Begin(ctx, "the handler's")
		defer s.End(nil)
		if string(req) == "fail" {
			return nil, errors.New("no luck")
		}
		return req, nil
	})
	tr := trace.New(1, trace.MaxSpans)
	ctx := trace.With(t.Context(), tr)
	for _, size := range []int{0, 1, chunkSize + 1, 3 * chunkSize} {
		req := payload(size)
		if resp, err := a.Call(ctx, 2, spans, req); err != nil || !bytes.Equal(resp, req) {
			t.Fatalf("%d bytes: got %d, %v", size, len(resp), err)
		}
	}
	var remote *RemoteError
	if _, err := a.Call(ctx, 2, spans, []byte("fail")); !errors.As(err, &remote) || remote.Msg != "no luck" {
		t.Errorf("error of a handler: %v", err)
	}
	if _, err := a.Call(ctx, 2, nobody, nil); !errors.Is(err, ErrNotSent) {
		t.Errorf("method without handler: %v", err)
	}
	if _, err := a.Call(ctx, 2, methodTraced, nil); err == nil {
		t.Error("an envelope in an envelope")
	}
	text := tr.Text()
	if n := strings.Count(text, "n2      the handler's"); n != 5 || strings.Count(text, "n1    call ") != 7 || !strings.Contains(text, "error: no luck") {
		t.Errorf("%d spans of the handler:\n%s", n, text)
	}
}

// TestTracedOldNode: a node that does not know the envelope is called without.
func TestTracedOldNode(t *testing.T) {
	w := newNetwork(t)
	a, b := w.node(1), w.node(2)
	old := maps.Clone(b.handlers.Load().calls)
	delete(old, methodTraced)
	b.handlers.Store(&handlers{calls: old})
	tr := trace.New(1, trace.MaxSpans)
	if resp, err := a.Call(trace.With(t.Context(), tr), 2, echo, []byte("x")); err != nil || string(resp) != "x" {
		t.Fatal(string(resp), err)
	}
	if text := tr.Text(); strings.Count(text, "n1    call ") != 1 || strings.Contains(text, "error") {
		t.Error(text)
	}
}
