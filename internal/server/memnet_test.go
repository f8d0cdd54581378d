package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// memNet is a network in memory: under testing/synctest what waits for it lets virtual
// time pass, as what waits for a socket would not. Hosts don't matter, ports do.
type memNet struct {
	mu        sync.Mutex
	listeners map[string]*memListener // by port
	last      int                     // the port that was given out last
	conns     []memLink
	cut       map[int]bool // nodes that nobody reaches, nor they others
}

// memLink is a connection from a node, -1 for a client, to a port.
type memLink struct {
	from int
	port string
	conn *memConn
}

// isolate cuts a node that listens at addr off from all others, until it is joined again.
func (m *memNet) isolate(node int, addr net.Addr) {
	_, port, _ := net.SplitHostPort(addr.String())
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cut[node] = true
	delete(m.listeners, port)
	for _, l := range m.conns {
		if l.from == node || l.port == port {
			_ = l.conn.Close()
			_ = l.conn.peer.Close()
		}
	}
}

// rejoin lets a node reach others again.
func (m *memNet) rejoin(node int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cut[node] = false
}

// dialer is net.Dialer.DialContext of a node.
func (m *memNet) dialer(node int) func(ctx context.Context, addr string) (net.Conn, error) {
	return func(ctx context.Context, addr string) (net.Conn, error) { return m.dialFrom(ctx, node, addr) }
}

func newMemNet() *memNet { return &memNet{listeners: map[string]*memListener{}, cut: map[int]bool{}} }

// listen is net.Listen.
func (m *memNet) listen(addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if port == "0" {
		m.last++
		port = strconv.Itoa(20000 + m.last)
	}
	if m.listeners[port] != nil {
		return nil, fmt.Errorf("address %s is in use", addr)
	}
	l := &memListener{net: m, addr: memAddr{host, port}, calls: make(chan net.Conn), closed: make(chan struct{})}
	m.listeners[port] = l
	return l, nil
}

// dial is net.Dialer.DialContext of a client.
func (m *memNet) dial(ctx context.Context, addr string) (net.Conn, error) {
	return m.dialFrom(ctx, -1, addr)
}

func (m *memNet) dialFrom(ctx context.Context, node int, addr string) (net.Conn, error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	l, cut := m.listeners[port], m.cut[node]
	m.mu.Unlock()
	if l == nil || cut {
		return nil, fmt.Errorf("nobody listens at %s", addr)
	}
	near, far := memPipe(memAddr{"127.0.0.1", "1"}, l.addr)
	m.mu.Lock()
	m.conns = append(m.conns, memLink{node, port, near})
	m.mu.Unlock()
	select {
	case l.calls <- far:
		return near, nil
	case <-l.closed:
		return nil, fmt.Errorf("nobody listens at %s any more", addr)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// memListener implements net.Listener.
type memListener struct {
	net    *memNet
	addr   memAddr
	calls  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

// Accept implements net.Listener.
func (l *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.calls:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *memListener) Close() error {
	l.once.Do(func() {
		l.net.mu.Lock()
		delete(l.net.listeners, l.addr.port)
		l.net.mu.Unlock()
		close(l.closed)
	})
	return nil
}

// Addr implements net.Listener.
func (l *memListener) Addr() net.Addr { return l.addr }

// memConn is an end of a connection. What is written waits for its reader, as much as it
// may be.
type memConn struct {
	addr    memAddr
	peer    *memConn
	changed *sync.Cond // of both ends, with their mutex
	in      []byte     // written by the peer
	closed  bool
	until   time.Time // the deadline of reads
	timer   *time.Timer
}

var _ net.Conn = (*memConn)(nil)

// memPipe returns both ends of a connection.
func memPipe(near, far memAddr) (*memConn, *memConn) {
	changed := sync.NewCond(new(sync.Mutex))
	a, b := &memConn{addr: near, changed: changed}, &memConn{addr: far, changed: changed}
	a.peer, b.peer = b, a
	return a, b
}

// Read implements net.Conn.
func (c *memConn) Read(p []byte) (int, error) {
	c.changed.L.Lock()
	defer c.changed.L.Unlock()
	for {
		switch {
		case c.closed:
			return 0, net.ErrClosed
		case !c.until.IsZero() && !time.Now().Before(c.until):
			return 0, os.ErrDeadlineExceeded
		case len(c.in) > 0:
			n := copy(p, c.in)
			c.in = c.in[n:]
			return n, nil
		case c.peer.closed:
			return 0, io.EOF
		}
		c.changed.Wait()
	}
}

// Write implements net.Conn.
func (c *memConn) Write(p []byte) (int, error) {
	c.changed.L.Lock()
	defer c.changed.L.Unlock()
	switch {
	case c.closed:
		return 0, net.ErrClosed
	case c.peer.closed:
		return 0, syscall.EPIPE
	}
	c.peer.in = append(c.peer.in, p...)
	c.changed.Broadcast()
	return len(p), nil
}

// Close implements net.Conn.
func (c *memConn) Close() error {
	c.changed.L.Lock()
	defer c.changed.L.Unlock()
	c.closed = true
	c.setTimer(time.Time{})
	c.changed.Broadcast()
	return nil
}

// SetReadDeadline implements net.Conn.
func (c *memConn) SetReadDeadline(t time.Time) error {
	c.changed.L.Lock()
	defer c.changed.L.Unlock()
	c.until = t
	c.setTimer(t)
	c.changed.Broadcast()
	return nil
}

// setTimer has readers wake up at t, unless it is zero.
func (c *memConn) setTimer(t time.Time) {
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	if !t.IsZero() && !c.closed {
		c.timer = time.AfterFunc(time.Until(t), c.changed.Broadcast)
	}
}

// SetWriteDeadline implements net.Conn: no write waits.
func (c *memConn) SetWriteDeadline(time.Time) error { return nil }

// SetDeadline implements net.Conn.
func (c *memConn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// LocalAddr implements net.Conn.
func (c *memConn) LocalAddr() net.Addr { return c.addr }

// RemoteAddr implements net.Conn.
func (c *memConn) RemoteAddr() net.Addr { return c.peer.addr }

// memAddr implements net.Addr.
type memAddr struct{ host, port string }

// Network implements net.Addr.
func (memAddr) Network() string { return "memory" }

func (a memAddr) String() string { return net.JoinHostPort(a.host, a.port) }
