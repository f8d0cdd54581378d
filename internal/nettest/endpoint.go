package nettest

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/rpc"
)

// Endpoint is the transport of one incarnation of a node.
type Endpoint struct {
	n      *Network
	id     kvpb.NodeID
	hooks  Hooks
	ctx    context.Context // of its handlers
	cancel context.CancelFunc

	// The network's mutex guards these.
	dead     bool
	handlers map[rpc.Method]rpc.Handler
	messages map[rpc.Method]rpc.MessageHandler
	streams  map[*Stream]struct{}
	ports    map[string]*listener // by address; elsewhere connections are refused
}

var _ rpc.Transport = (*Endpoint)(nil)

func newEndpoint(n *Network, id kvpb.NodeID, hooks Hooks) *Endpoint {
	e := &Endpoint{n: n, id: id, hooks: hooks,
		handlers: map[rpc.Method]rpc.Handler{}, messages: map[rpc.Method]rpc.MessageHandler{}, streams: map[*Stream]struct{}{}, ports: map[string]*listener{}}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e
}

// deadDelay is how long a call of a dead node takes to fail.
const deadDelay = time.Millisecond

// call is one that has not been answered yet.
type call struct {
	id       uint64
	from, to *Endpoint
	back     *link // that of the answer
	method   rpc.Method
	result   chan result // has room for the one
	stamp    hlc.Timestamp
	cancel   context.CancelFunc // of the handler's context, once it runs
	done     bool
	gone     bool // the handler shall know that nobody waits
}

type result struct {
	answer []byte
	err    error
}

// Node returns whose transport it is.
func (e *Endpoint) Node() kvpb.NodeID { return e.id }

// Alive reports whether this incarnation of the node goes on.
func (e *Endpoint) Alive() bool {
	e.n.mu.Lock()
	defer e.n.mu.Unlock()
	return !e.dead
}

func (e *Endpoint) stamp() hlc.Timestamp {
	if e.hooks.Stamp == nil {
		return hlc.Timestamp{}
	}
	return e.hooks.Stamp()
}

func (e *Endpoint) observe(ts hlc.Timestamp) {
	if e.hooks.Observe != nil && !ts.IsEmpty() {
		e.hooks.Observe(ts)
	}
}

// Handle implements rpc.Transport.
func (e *Endpoint) Handle(m rpc.Method, h rpc.Handler) {
	e.n.mu.Lock()
	defer e.n.mu.Unlock()
	must.True(e.handlers[m] == nil, "nettest: method %d has two handlers", m)
	e.handlers[m] = h
}

// HandleMessage implements rpc.Transport.
func (e *Endpoint) HandleMessage(m rpc.Method, h rpc.MessageHandler) {
	e.n.mu.Lock()
	defer e.n.mu.Unlock()
	must.True(e.messages[m] == nil, "nettest: method %d has two handlers", m)
	e.messages[m] = h
}

// Send implements rpc.Transport.
func (e *Endpoint) Send(to kvpb.NodeID, m rpc.Method, msg []byte) bool {
	stamp := e.stamp()
	n := e.n
	n.mu.Lock()
	defer n.mu.Unlock()
	peer, l, now := n.nodes[to], n.linkLocked(e.id, to), n.now()
	if e.dead || peer == nil || len(msg) > rpc.MaxPayload || l.inFlight >= maxInFlight || l.isDead(now) {
		return false
	}
	n.stats.Sent++
	d := l.dice(message, m, now, msg)
	lost := l.isCut(now) || d.chance(l.quality.Loss)
	p := &packet{kind: message, link: l, epoch: l.epoch, lost: lost, to: peer, method: m, stamp: stamp}
	copies := 1
	if d.chance(l.quality.Duplicate) {
		n.stats.Duplicated++
		copies = 2
	}
	for range copies {
		c := *p
		c.payload, c.due = clone(msg), l.inOrder(m, now, d.delay(&l.quality))
		l.inFlight++
		n.pushLocked(&c)
	}
	return true
}

// Call implements rpc.Transport. A call that fails takes the time of a round
// trip at least, so that one who tries again and again lets virtual time pass.
func (e *Endpoint) Call(ctx context.Context, to kvpb.NodeID, m rpc.Method, req []byte) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, notSent(context.Cause(ctx))
	}
	if len(req) > rpc.MaxPayload {
		return nil, notSent(errRefused)
	}
	c, err := e.begin(to, m, req, e.stamp())
	if err != nil {
		select {
		case <-time.After(deadDelay):
		case <-ctx.Done():
		}
		return nil, err
	}
	var r result
	select {
	case r = <-c.result:
	case <-ctx.Done():
		if !e.giveUp(c) {
			return nil, unknownOutcome(context.Cause(ctx))
		}
		r = <-c.result // it had ended
	}
	e.observe(c.stamp)
	return r.answer, r.err
}

// begin sends the request of a call.
func (e *Endpoint) begin(to kvpb.NodeID, m rpc.Method, req []byte, stamp hlc.Timestamp) (*call, error) {
	n := e.n
	n.mu.Lock()
	defer n.mu.Unlock()
	if e.dead || n.closed {
		return nil, notSent(errDied)
	}
	if len(n.calls) >= maxCalls {
		return nil, notSent(errRefused)
	}
	l, back, now := n.linkLocked(e.id, to), n.linkLocked(to, e.id), n.now()
	n.nextCall++
	c := &call{id: n.nextCall, from: e, to: n.nodes[to], back: back, method: m, result: make(chan result, 1)}
	n.calls[c.id] = c
	n.stats.Sent++
	d := l.dice(request, m, now, req)
	lost := l.isCut(now) || d.chance(l.quality.Loss)
	p := &packet{kind: request, link: l, epoch: l.epoch, lost: lost, due: now + d.delay(&l.quality),
		to: c.to, method: m, stamp: stamp, call: c}
	switch {
	case n.off[to]:
		n.expireLocked(c, now+l.quality.Timeout, notSent(errTimeout))
	case c.to == nil, l.isDead(now), back.isDead(now):
		n.expireLocked(c, p.due+back.usual(), notSent(errRefused))
	default:
		p.payload = clone(req)
		n.pushLocked(p)
	}
	return c, nil
}

// giveUp ends a call whose caller waits no longer, tells its handler, and reports
// whether it had ended already.
func (e *Endpoint) giveUp(c *call) bool {
	n := e.n
	n.mu.Lock()
	defer n.mu.Unlock()
	if c.done {
		return true
	}
	c.done = true
	delete(n.calls, c.id)
	if c.to != nil {
		l := n.linkLocked(e.id, c.to.id)
		now := n.now()
		cut := l.isCut(now) // before its epoch counts
		n.pushLocked(&packet{kind: giveUp, link: l, epoch: l.epoch, lost: cut, due: now + l.usual(), to: c.to, method: c.method, call: c})
	}
	return false
}
