package rpc

import (
	"context"
	"errors"
	"net"
	"runtime"
	"testing"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
)

// TestPanicEnds: a panic of a handler, or of what the node asks, is told to OnFatal on
// whichever goroutine it happens.
func TestPanicEnds(t *testing.T) {
	const bad Method = 100
	call := func(n *testNode, to kvpb.NodeID) { _, _ = n.Call(context.Background(), to, bad, nil) }
	for name, do := range map[string]func(a, b *testNode){
		"message of a peer":    func(a, _ *testNode) { a.Send(2, bad, nil) },
		"message to itself":    func(_, b *testNode) { b.Send(2, bad, nil) },
		"call of a peer":       func(a, _ *testNode) { call(a, 2) },
		"call to itself":       func(_, b *testNode) { call(b, 2) },
		"address for a call":   func(_, b *testNode) { call(b, 50) },
		"address of a message": func(_, b *testNode) { b.Send(50, bad, nil) },
		"dial":                 func(_, b *testNode) { b.Send(51, bad, nil) },
		"dial for a joiner":    func(_, b *testNode) { _, _ = b.CallAddr(context.Background(), addrOf(51), bad, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newNetwork(t)
			fatal := make(chan error, 1)
			a, b := w.node(1), w.node(2, func(o *Options) { breakable(o, fatal) })
			b.Handle(bad, func(context.Context, kvpb.NodeID, []byte) ([]byte, error) { panic("no such call") })
			b.HandleMessage(bad, func(kvpb.NodeID, []byte) { panic("no such message") })
			go do(a, b)
			var p *must.PanicError
			if err := <-fatal; !errors.As(err, &p) {
				t.Errorf("got %v", err)
			}
			a.Close() // the peer's call ends
		})
	}
}

// breakable has what a node asks panic for nodes 50 and 51.
func breakable(o *Options, fatal chan<- error) {
	resolve, dial := o.Resolve, o.Dial
	o.Resolve = func(id kvpb.NodeID) (string, bool) {
		if id == 50 {
			panic("no such node")
		}
		return resolve(id)
	}
	o.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
		if addr == addrOf(51) {
			panic("no such address")
		}
		return dial(ctx, addr)
	}
	o.OnFatal = func(err error) {
		fatal <- err
		runtime.Goexit() // the process ends here
	}
}
