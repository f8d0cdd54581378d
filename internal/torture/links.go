package torture

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/rpc"
)

const (
	// linkPoll is how often a stalled direction looks whether it may go on.
	linkPoll = 5 * time.Millisecond
	// helloTimeout bounds how long a caller takes to say who it is.
	helloTimeout = 5 * time.Second
	linkBuffer   = 64 << 10
)

// Links is the network between nodes: each node is reached by others through a proxy
// of its own, which learns from the first bytes of a connection who is calling. A
// direction that is cut carries nothing, like a network that drops packets; what was
// sent arrives when the direction is whole again, unless the connection was given up.
type Links struct {
	mu      sync.Mutex
	cut     map[direction]bool
	proxies []*proxy
	closed  bool
}

type direction struct{ from, to kvpb.NodeID }

// proxy stands in front of one node.
type proxy struct {
	l    *Links
	ln   net.Listener
	addr string // of the node

	mu sync.Mutex
	id kvpb.NodeID // of the node, 0 until it is known
}

// NewLinks returns a network without nodes.
func NewLinks() *Links { return &Links{cut: map[direction]bool{}} }

// front makes a proxy for the node that listens at addr, and returns it.
func (l *Links) front(listen, addr string) (*proxy, error) {
	ln, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, err
	}
	p := &proxy{l: l, ln: ln, addr: addr}
	l.mu.Lock()
	l.proxies = append(l.proxies, p)
	l.mu.Unlock()
	go p.accept()
	return p, nil
}

// identify says which node is behind the proxy.
func (p *proxy) identify(id kvpb.NodeID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.id = id
}

func (p *proxy) node() kvpb.NodeID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.id
}

// Cut stops what goes from one node to another.
func (l *Links) Cut(from, to kvpb.NodeID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut[direction{from, to}] = true
}

// CutBoth stops what goes between two nodes.
func (l *Links) CutBoth(a, b kvpb.NodeID) {
	l.Cut(a, b)
	l.Cut(b, a)
}

// Heal makes all directions whole.
func (l *Links) Heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.cut)
}

// HealNode makes all directions from and to a node whole.
func (l *Links) HealNode(n kvpb.NodeID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for d := range l.cut {
		if d.from == n || d.to == n {
			delete(l.cut, d)
		}
	}
}

// open reports whether a direction carries anything; ok is false once the network is
// gone.
func (l *Links) open(d direction) (open, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.cut[d], !l.closed
}

// Close ends the proxies.
func (l *Links) Close() {
	l.mu.Lock()
	l.closed = true
	proxies := l.proxies
	l.mu.Unlock()
	for _, p := range proxies {
		_ = p.ln.Close()
	}
}

func (p *proxy) accept() {
	for {
		c, err := p.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(linkPoll)
			continue
		}
		go p.serve(c)
	}
}

// serve passes one connection on, both ways.
func (p *proxy) serve(in net.Conn) {
	defer in.Close()
	_ = in.SetReadDeadline(time.Now().Add(helloTimeout))
	first := make([]byte, rpc.HelloBytes)
	k, err := io.ReadFull(in, first)
	if err != nil {
		return // whoever it is says less than a node does
	}
	_ = in.SetReadDeadline(time.Time{})
	from, ok := rpc.HelloNode(first[:k])
	if !ok {
		return // clients connect to the node itself
	}
	if !p.await(func() direction { return direction{from, p.node()} }) {
		return
	}
	out, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", p.addr)
	if err != nil {
		return
	}
	defer out.Close()
	if _, err := out.Write(first); err != nil {
		return
	}
	done := make(chan struct{}, 2)
	// The node's id may become known later than its first connections come.
	go func() { p.pump(out, in, func() direction { return direction{from, p.node()} }); done <- struct{}{} }()
	go func() { p.pump(in, out, func() direction { return direction{p.node(), from} }); done <- struct{}{} }()
	<-done // closing both ends the other one
}

// await waits until a direction is whole; false: the network is gone.
func (p *proxy) await(which func() direction) bool {
	for {
		open, ok := p.l.open(which())
		if open || !ok {
			return ok
		}
		time.Sleep(linkPoll)
	}
}

// pump carries bytes in one direction while it is whole.
func (p *proxy) pump(dst io.Writer, src io.Reader, which func() direction) {
	buf := make([]byte, linkBuffer)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			if !p.await(which) {
				return
			}
			if _, werr := dst.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
