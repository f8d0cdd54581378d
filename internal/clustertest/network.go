package clustertest

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/nettest"
	"github.com/lichendb/lichen/internal/rpc"
)

const (
	// latency is how long a packet takes.
	latency = time.Millisecond
	// timeout is after what time a connection that brings nothing is given up.
	timeout = 50 * time.Millisecond
	// maxNodes is the largest id that a node may have.
	maxNodes = 16
)

// Network joins the nodes of a cluster. Packets take a millisecond and arrive unless the link is
// cut, one of its ends is down, or Lose says otherwise.
type Network struct {
	net *nettest.Network

	mu     sync.Mutex
	heal   map[link]func() // of the links that Cut has cut
	lose   func(from, to kvpb.NodeID, m rpc.Method, msg []byte) bool
	onCall func(from, to kvpb.NodeID, m rpc.Method, req []byte) error
}

// link is one direction between two nodes.
type link struct{ from, to kvpb.NodeID }

// newNetwork returns a network that is closed when the test ends.
func newNetwork(t testing.TB) *Network {
	n := &Network{heal: map[link]func(){}}
	n.net = nettest.NewNetwork(nettest.NetworkOptions{Seed: 1, Quality: nettest.Quality{Latency: latency, Timeout: timeout}})
	t.Cleanup(n.net.Close)
	return n
}

// Lose sets which messages get lost when they arrive, from now on; nil: none.
func (n *Network) Lose(lose func(from, to kvpb.NodeID, m rpc.Method, msg []byte) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lose = lose
}

// OnCall sets what sees each call before it leaves; the caller gets its error. It may change the
// request.
func (n *Network) OnCall(see func(from, to kvpb.NodeID, m rpc.Method, req []byte) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.onCall = see
}

// Cut cuts the link from a node to another, or mends it.
func (n *Network) Cut(from, to kvpb.NodeID, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := link{from, to}
	switch heal := n.heal[l]; {
	case cut && heal == nil:
		n.heal[l] = n.net.Cut(from, to)
	case !cut && heal != nil:
		heal()
		delete(n.heal, l)
	}
}

// Port is the transport of one incarnation of a node.
type Port struct {
	*nettest.Endpoint
	n *Network

	// The network's mutex guards these.
	ended bool
	heal  func() // ends that the node is cut off; nil if it is not
}

var _ rpc.Transport = (*Port)(nil)

// port returns the transport of a node that starts.
func (n *Network) port(id kvpb.NodeID, clock *hlc.Clock) *Port {
	n.mu.Lock()
	defer n.mu.Unlock()
	must.True(id <= maxNodes, "clustertest: node %d is more than %d", id, maxNodes)
	p := &Port{n: n, Endpoint: n.net.Start(id, nettest.Hooks{Stamp: clock.Reading, Observe: func(ts hlc.Timestamp) { _ = clock.Update(ts) }})}
	return p
}

// SetDown has the node reach nobody and be reached by nobody, or ends that.
func (p *Port) SetDown(down bool) {
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	switch {
	case down && p.heal == nil:
		var others []kvpb.NodeID // those that start meanwhile too
		for id := kvpb.NodeID(1); id <= maxNodes; id++ {
			if id != p.Node() {
				others = append(others, id)
			}
		}
		p.heal = p.n.net.Partition([]kvpb.NodeID{p.Node()}, others)
	case !down && p.heal != nil:
		p.heal()
		p.heal = nil
	}
}

// crash ends the incarnation: its peers' connections are reset.
func (p *Port) crash() {
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	if p.ended {
		return
	}
	p.ended = true
	p.n.net.Crash(p.Node(), nettest.Killed)
	if p.heal != nil {
		p.heal()
		p.heal = nil
	}
}

// Down reports whether the node is cut off or its incarnation has ended.
func (p *Port) Down() bool {
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	return p.ended || p.heal != nil
}

// HandleMessage implements rpc.Transport.
func (p *Port) HandleMessage(m rpc.Method, h rpc.MessageHandler) {
	p.Endpoint.HandleMessage(m, func(from kvpb.NodeID, msg []byte) {
		p.n.mu.Lock()
		lose := p.n.lose
		p.n.mu.Unlock()
		if lose == nil || !lose(from, p.Node(), m, msg) {
			h(from, msg)
		}
	})
}

// Call implements rpc.Transport.
func (p *Port) Call(ctx context.Context, to kvpb.NodeID, m rpc.Method, req []byte) ([]byte, error) {
	p.n.mu.Lock()
	see := p.n.onCall
	p.n.mu.Unlock()
	if see != nil {
		req = bytes.Clone(req)
		if err := see(p.Node(), to, m, req); err != nil {
			return nil, err
		}
	}
	return p.Endpoint.Call(ctx, to, m, req)
}
