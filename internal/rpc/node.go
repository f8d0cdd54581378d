package rpc

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/workers"
)

// Node is one node's end of all connections; it implements Transport.
type Node struct {
	o       Options
	limits  limits
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	wg      sync.WaitGroup // readers, writers, handlers, attempts
	workers *workers.Pool  // runs writers and handlers
	stats   counters

	running atomic.Int64 // handlers of calls
	calls   sync.Pool    // *pendingCall
	buffers sync.Pool    // *[]byte

	handlers atomic.Pointer[handlers]
	self     loopback

	mu struct {
		sync.RWMutex
		closed       bool
		peers        map[kvpb.NodeID]*peer
		inbound      map[inbound]*conn  // for messages
		callers      map[*conn]struct{} // on which peers call this node
		incarnations map[kvpb.NodeID]*incarnation
		accepts      int // connections that ServeConn is serving
	}
}

// inbound identifies a connection for messages that a peer has dialled.
type inbound struct {
	peer  kvpb.NodeID
	class class
}

// limits are the named limits, smaller in tests.
type limits struct {
	queueBytes, queueMessages, pendingCalls  int
	callsPerConn, callsPerNode, partialBytes int
	inbound                                  int
}

// handlers is replaced as a whole, so that readers take no lock.
type handlers struct {
	calls    map[Method]Handler
	messages map[Method]MessageHandler
}

var _ Transport = (*Node)(nil)

// New returns a node without connections. They are dialled on first use.
func New(o Options) *Node {
	o.setDefaults()
	n := &Node{o: o, workers: workers.New(0, o.OnFatal), limits: limits{
		queueBytes: MaxQueueBytes, queueMessages: MaxQueueMessages, pendingCalls: MaxPendingCalls,
		callsPerConn: MaxCallsPerConn, callsPerNode: MaxCallsPerNode, partialBytes: MaxPartialBytes,
		inbound: MaxInbound,
	}}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.handlers.Store(&handlers{calls: map[Method]Handler{methodTraced: n.serveTraced}})
	n.self.n = n
	n.mu.peers = map[kvpb.NodeID]*peer{}
	n.mu.inbound = map[inbound]*conn{}
	n.mu.callers = map[*conn]struct{}{}
	n.mu.incarnations = map[kvpb.NodeID]*incarnation{}
	return n
}

// Close ends all connections and waits for their goroutines, handlers included.
// It must not be called by a handler. It does not end calls of the node to itself.
func (n *Node) Close() {
	n.mu.Lock()
	n.mu.closed = true
	n.mu.Unlock()
	n.cancel()
	n.wg.Wait()
	n.workers.Close()
}

// enter makes Close wait until leave. It returns false if the node is closed.
func (n *Node) enter() bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if n.mu.closed {
		return false
	}
	n.wg.Add(1)
	return true
}

func (n *Node) leave() { n.wg.Done() }

// Handle implements Transport.
func (n *Node) Handle(m Method, h Handler) {
	n.setHandlers(m, func(hs *handlers) {
		must.True(hs.calls[m] == nil, "rpc: two handlers for method %v", m)
		hs.calls[m] = h
	})
}

// HandleMessage implements Transport.
func (n *Node) HandleMessage(m Method, h MessageHandler) {
	n.setHandlers(m, func(hs *handlers) {
		must.True(hs.messages[m] == nil, "rpc: two message handlers for method %v", m)
		hs.messages[m] = h
	})
}

func (n *Node) setHandlers(m Method, set func(*handlers)) {
	must.True(m >= FirstMethod, "rpc: method %v is reserved", m)
	n.mu.Lock()
	defer n.mu.Unlock()
	old := n.handlers.Load()
	hs := &handlers{calls: map[Method]Handler{}, messages: map[Method]MessageHandler{}}
	for k, v := range old.calls {
		hs.calls[k] = v
	}
	for k, v := range old.messages {
		hs.messages[k] = v
	}
	set(hs)
	n.handlers.Store(hs)
}

func (n *Node) handler(m Method) Handler { return n.handlers.Load().calls[m] }

func (n *Node) messageHandler(m Method) MessageHandler { return n.handlers.Load().messages[m] }

// Send implements Transport.
func (n *Node) Send(to kvpb.NodeID, m Method, msg []byte) bool {
	defer must.Report(n.o.OnFatal)
	var ok bool
	switch {
	case to == 0 || len(msg) > MaxPayload:
	case to == n.o.NodeID():
		ok = n.self.send(m, msg)
	case slices.Contains(n.o.Urgent, m):
		ok = n.peer(to).urgent.send(m, msg)
	default:
		ok = n.peer(to).messages.send(m, msg)
	}
	if !ok {
		n.stats.messagesDropped.Add(1)
	}
	return ok
}

// peer returns the state of another node.
func (n *Node) peer(id kvpb.NodeID) *peer {
	n.mu.RLock()
	p := n.mu.peers[id]
	n.mu.RUnlock()
	if p != nil {
		return p
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if p = n.mu.peers[id]; p == nil {
		p = &peer{id: id}
		p.messages.n, p.messages.to, p.messages.class = n, id, classMessages
		p.urgent.n, p.urgent.to, p.urgent.class = n, id, classUrgent
		p.calls.n, p.calls.to, p.calls.class = n, id, classCalls
		n.mu.peers[id] = p
	}
	return p
}

// knownPeer returns nil for a node without any contact so far.
func (n *Node) knownPeer(id kvpb.NodeID) *peer {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.mu.peers[id]
}

// Offset returns the lead of a node's physical clock over this node's, and the round trip of the
// measurement; ok is false without a recent one. The error of the offset is at most half the round
// trip.
func (n *Node) Offset(id kvpb.NodeID) (offset, rtt time.Duration, ok bool) {
	if id == n.o.NodeID() {
		return 0, 0, id != 0
	}
	p := n.knownPeer(id)
	if p == nil {
		return 0, 0, false
	}
	s, ok := p.samples.best(sampleAge)
	return s.offset, s.rtt, ok
}

// FreshOffset is Offset from the last few pings. It is less precise, but shows soon that a clock
// was set.
func (n *Node) FreshOffset(id kvpb.NodeID) (offset, rtt time.Duration, ok bool) {
	p := n.knownPeer(id)
	if p == nil {
		return 0, 0, false
	}
	s, ok := p.samples.best(freshAge)
	return s.offset, s.rtt, ok
}

// Connected reports whether this node has a connection that it dialled to another.
func (n *Node) Connected(id kvpb.NodeID) bool {
	if id == n.o.NodeID() {
		return id != 0
	}
	p := n.knownPeer(id)
	return p != nil && (p.messages.conn.Load() != nil || p.urgent.conn.Load() != nil || p.calls.conn.Load() != nil)
}

// ServeConn serves a connection whose first bytes the shared listener has read, and returns when
// the connection ends. A listener that did the TLS handshake passes the *tls.Conn.
func (n *Node) ServeConn(nc net.Conn, first []byte) {
	defer nc.Close()
	if !n.enter() {
		return
	}
	defer n.leave()
	if !n.admitConn() {
		n.o.Logger.Warn("connection of a node refused", "addr", nc.RemoteAddr(), "reason", "too many connections")
		return
	}
	defer n.dismiss()
	c, err := n.accept(nc, first)
	if c != nil {
		defer n.dropIncarnation(c)
	}
	if err != nil {
		if n.ctx.Err() == nil && !errors.Is(err, io.EOF) {
			n.stats.acceptFailures.Add(1)
			n.o.Logger.Warn("connection of a node refused", "addr", nc.RemoteAddr(), "reason", err)
		}
		return
	}
	if c.class.oneWay() {
		n.replaceInbound(c)
		defer n.dropInbound(c)
	} else {
		n.noteCaller(c)
		defer n.dropCaller(c)
	}
	if c.peer != 0 && c.peer != n.o.NodeID() {
		if p := n.knownPeer(c.peer); p != nil {
			p.messages.wake()
			p.urgent.wake()
			p.calls.wake()
		}
	}
	c.run()
}

func (n *Node) admitConn() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.accepts >= n.limits.inbound {
		return false
	}
	n.mu.accepts++
	return true
}

func (n *Node) dismiss() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.accepts--
}

// replaceInbound ends an earlier connection of the same peer and class and waits for its reader, so
// that messages stay in order.
func (n *Node) replaceInbound(c *conn) {
	at := inbound{c.peer, c.class}
	n.mu.Lock()
	old := n.mu.inbound[at]
	n.mu.inbound[at] = c
	n.mu.Unlock()
	if old != nil {
		old.fail(errReplaced)
		<-old.ended
	}
}

var errReplaced = errors.New("the peer has connected anew")

func (n *Node) dropInbound(c *conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if at := (inbound{c.peer, c.class}); n.mu.inbound[at] == c {
		delete(n.mu.inbound, at)
	}
}

func (n *Node) noteCaller(c *conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.callers[c] = struct{}{}
}

func (n *Node) dropCaller(c *conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.mu.callers, c)
}

var errHungUp = errors.New("this node answers no calls for a while")

// HangUp ends the running calls of other nodes by closing their connections. The callers get an
// unknown outcome and may turn to other nodes. The handlers' contexts end, but HangUp does not wait
// for the handlers, which may be stuck. New calls are served.
func (n *Node) HangUp() {
	n.mu.RLock()
	callers := slices.Collect(maps.Keys(n.mu.callers))
	n.mu.RUnlock()
	for _, c := range callers {
		c.fail(errHungUp)
	}
}

// loopback delivers messages of a node to itself, on a goroutine that exists while there are any.
type loopback struct {
	n       *Node
	mu      sync.Mutex
	running bool
	bytes   int
	queue   []selfMessage
}

type selfMessage struct {
	m   Method
	msg []byte
}

func (l *loopback) send(m Method, msg []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) >= l.n.limits.queueMessages || l.bytes > 0 && l.bytes+len(msg) > l.n.limits.queueBytes {
		return false
	}
	if !l.running {
		if !l.n.enter() {
			return false
		}
		l.running = true
		go l.run()
	}
	l.queue = append(l.queue, selfMessage{m, append([]byte(nil), msg...)})
	l.bytes += len(msg)
	return true
}

func (l *loopback) run() {
	defer l.n.leave()
	defer must.Report(l.n.o.OnFatal)
	for {
		l.mu.Lock()
		batch := l.queue
		l.queue, l.bytes = nil, 0
		l.running = len(batch) > 0
		l.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		for _, x := range batch {
			if h := l.n.messageHandler(x.m); h != nil {
				h(l.n.o.NodeID(), x.msg)
			} else {
				l.n.stats.messagesUnknown.Add(1)
			}
		}
	}
}
