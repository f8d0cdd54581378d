package clustertest

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/rpc"
)

// latency is how long a message or a request takes.
const latency = time.Millisecond

// Network joins the nodes of a cluster. Messages take a millisecond and arrive unless the link is
// cut, one of its ends is down, or Lose says otherwise.
type Network struct {
	mu     sync.Mutex
	ports  map[kvpb.NodeID]*Port // of the nodes' latest incarnations
	cut    map[link]bool
	lose   func(from, to kvpb.NodeID, m rpc.Method, msg []byte) bool
	onCall func(from, to kvpb.NodeID, m rpc.Method, req []byte) error
}

// link is one direction between two nodes.
type link struct{ from, to kvpb.NodeID }

func newNetwork() *Network {
	return &Network{ports: map[kvpb.NodeID]*Port{}, cut: map[link]bool{}}
}

// Lose sets which messages get lost from now on; nil: none.
func (n *Network) Lose(lose func(from, to kvpb.NodeID, m rpc.Method, msg []byte) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lose = lose
}

// OnCall sets what sees each call before it arrives; the caller gets its error. It may change the
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
	n.cut[link{from, to}] = cut
}

// Port is the transport of one incarnation of a node.
type Port struct {
	n     *Network
	id    kvpb.NodeID
	clock *hlc.Clock

	// The network's mutex guards these.
	handlers map[rpc.Method]rpc.Handler
	messages map[rpc.Method]rpc.MessageHandler
	down     bool
}

var _ rpc.Transport = (*Port)(nil)

// port returns the transport of a node that starts.
func (n *Network) port(id kvpb.NodeID, clock *hlc.Clock) *Port {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := &Port{n: n, id: id, clock: clock, handlers: map[rpc.Method]rpc.Handler{}, messages: map[rpc.Method]rpc.MessageHandler{}}
	n.ports[id] = p
	return p
}

// SetDown has the node reach nobody and be reached by nobody, or ends that.
func (p *Port) SetDown(down bool) {
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	p.down = down
}

// Down reports whether the node is cut off or its incarnation has ended.
func (p *Port) Down() bool {
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	return p.down
}

// Handle implements rpc.Transport.
func (p *Port) Handle(m rpc.Method, h rpc.Handler) {
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	p.handlers[m] = h
}

// HandleMessage implements rpc.Transport.
func (p *Port) HandleMessage(m rpc.Method, h rpc.MessageHandler) {
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	p.messages[m] = h
}

// reachedLocked returns the port at the other end of a link, nil if nothing gets there.
func (p *Port) reachedLocked(to kvpb.NodeID) *Port {
	o := p.n.ports[to]
	if o == nil || o.down || p.down || p.n.cut[link{p.id, to}] {
		return nil
	}
	return o
}

// Send implements rpc.Transport.
func (p *Port) Send(to kvpb.NodeID, m rpc.Method, msg []byte) bool {
	now := p.clock.Reading()
	time.AfterFunc(latency, func() {
		p.n.mu.Lock()
		o, lose := p.reachedLocked(to), p.n.lose
		var receive rpc.MessageHandler
		if o != nil {
			receive = o.messages[m]
		}
		p.n.mu.Unlock()
		if receive == nil || lose != nil && lose(p.id, to, m, msg) {
			return
		}
		_ = o.clock.Update(now)
		receive(p.id, msg)
	})
	return true
}

// Call implements rpc.Transport. The answer takes no time.
func (p *Port) Call(ctx context.Context, to kvpb.NodeID, m rpc.Method, req []byte) ([]byte, error) {
	now := p.clock.Reading()
	select {
	case <-time.After(latency):
	case <-ctx.Done():
		return nil, rpc.ErrNotSent
	}
	p.n.mu.Lock()
	o, see := p.reachedLocked(to), p.n.onCall
	var answer rpc.Handler
	if o != nil {
		answer = o.handlers[m]
	}
	p.n.mu.Unlock()
	if answer == nil {
		return nil, rpc.ErrNotSent
	}
	req = bytes.Clone(req)
	if see != nil {
		if err := see(p.id, to, m, req); err != nil {
			return nil, err
		}
	}
	_ = o.clock.Update(now)
	out, err := answer(ctx, p.id, req)
	_ = p.clock.Update(o.clock.Reading())
	return out, err
}
