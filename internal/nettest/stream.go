package nettest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

const (
	// retransmit is after what time bytes that were lost are sent again, streamTimeout how long
	// that is tried, connectTimeout the same of the first packet.
	retransmit     = 200 * time.Millisecond
	streamTimeout  = 15 * time.Second
	connectTimeout = 3 * time.Second
	// maxLosses bounds how often a segment of a lossy link is lost.
	maxLosses = 5
	// streamWindow bounds the bytes that were written and not read yet.
	streamWindow = 1 << 20
	// maxBacklog bounds the connections that wait to be accepted.
	maxBacklog = 1024
	// port is where every node listens unless it says otherwise. Ports that the network gives out
	// follow firstPort.
	port      = "26257"
	firstPort = 30000
)

// Addr returns the address at which a node listens unless it says otherwise.
func Addr(id kvpb.NodeID) string {
	return net.JoinHostPort("n"+strconv.FormatUint(uint64(id), 10), port)
}

// NodeAt returns the node that listens at an address, or did last.
func (n *Network) NodeAt(addr string) (id kvpb.NodeID, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if id, ok = n.addrs[addr]; !ok {
		_, err := fmt.Sscanf(addr, "n%d:"+port, &id)
		ok = err == nil
	}
	return id, ok
}

// streamAddr implements net.Addr.
type streamAddr string

// Network implements net.Addr.
func (streamAddr) Network() string { return "simulated" }

func (a streamAddr) String() string { return string(a) }

// Stream is one end of a connection over links, as TCP makes one: bytes arrive in order, or the
// connection ends. What a link loses is sent again.
type Stream struct {
	n        *Network
	number   uint64 // in the order in which they begin
	own      *Endpoint
	peer     *Stream
	out      *link
	addr     string     // at which the connection was accepted
	accepted bool       // at this end
	readable *sync.Cond // in, eof, err or a deadline has changed
	writable *sync.Cond // of this end: room, err or a deadline

	// The network's mutex guards these.
	in       []byte
	eof      bool  // the peer has closed
	err      error // the connection has ended
	segments []segment
	unread   int // bytes written here and not read there
	stuck    time.Duration
	read     deadline
	write    deadline
}

// segment is what one write sends.
type segment struct {
	due time.Duration
	p   []byte
	fin bool
}

var _ net.Conn = (*Stream)(nil)

// deadline wakes those who wait when its time has come.
type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

// setLocked changes the deadline. c wakes those who wait for it.
func (d *deadline) setLocked(at time.Time, c *sync.Cond) {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if d.at = at; !at.IsZero() {
		d.timer = time.AfterFunc(time.Until(at), func() {
			c.L.Lock()
			defer c.L.Unlock()
			c.Broadcast()
		})
	}
	c.Broadcast()
}

func (n *Network) newStream(own *Endpoint, to kvpb.NodeID) *Stream {
	s := &Stream{n: n, own: own, out: n.linkLocked(own.id, to), readable: sync.NewCond(&n.mu), writable: sync.NewCond(&n.mu)}
	n.lastStream++
	s.number = n.lastStream
	own.streams[s] = struct{}{}
	return s
}

// Dial connects with the node at an address.
func (e *Endpoint) Dial(ctx context.Context, addr string) (net.Conn, error) {
	id, ok := e.n.NodeAt(addr)
	if !ok {
		return nil, dialError(addr, syscall.ECONNREFUSED)
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	c := &connecting{from: e, to: id, addr: addr, answer: make(chan error, 1)}
	e.n.mu.Lock()
	if e.dead || e.n.closed {
		e.n.mu.Unlock()
		return nil, errDied
	}
	c.near = e.n.newStream(e, id)
	c.near.addr = addr
	c.sendLocked()
	e.n.mu.Unlock()
	var err error
	select {
	case err = <-c.answer:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil {
		return c.near, nil
	}
	e.n.mu.Lock()
	defer e.n.mu.Unlock()
	c.near.breakLocked(err)
	return nil, dialError(addr, err)
}

func dialError(addr string, err error) error {
	return &net.OpError{Op: "dial", Net: streamAddr("").Network(), Addr: streamAddr(addr), Err: err}
}

// connecting is a connection that is being made.
type connecting struct {
	from   *Endpoint
	to     kvpb.NodeID
	addr   string
	near   *Stream
	answer chan error
}

// sendLocked sends the first packet, which is sent again until it arrives.
func (c *connecting) sendLocked() {
	n, l := c.from.n, c.near.out
	n.eventLocked(l, n.now()+l.streamDelay(n.now(), 0), func(now time.Duration) {
		e := n.nodes[c.to]
		switch {
		case c.near.err != nil:
		case l.isCut(now) || e == nil && n.off[c.to]:
			n.eventLocked(l, now+retransmit, func(time.Duration) { c.sendLocked() })
		case e == nil || e.ports[c.addr] == nil || len(e.ports[c.addr].calls) == maxBacklog:
			c.backLocked(syscall.ECONNREFUSED)
		default:
			far := n.newStream(e, c.from.id)
			far.addr, far.accepted, far.peer, c.near.peer = c.addr, true, c.near, far
			e.ports[c.addr].calls <- far
			c.backLocked(nil)
		}
	})
}

// backLocked answers the first packet.
func (c *connecting) backLocked(err error) {
	n := c.from.n
	back := n.linkLocked(c.to, c.from.id)
	n.eventLocked(back, n.now()+back.streamDelay(n.now(), 0), func(now time.Duration) {
		if back.isCut(now) {
			n.eventLocked(back, now+retransmit, func(time.Duration) { c.backLocked(err) })
			return
		}
		c.answer <- err
	})
}

// streamDelay draws how long a packet of a connection takes, losses included.
func (l *link) streamDelay(now time.Duration, size int) time.Duration {
	l.packets++
	d := dice{mix(l.seed ^ uint64(now) ^ uint64(size)<<40 ^ l.packets<<20)}
	t := d.delay(&l.quality)
	for range maxLosses {
		if !d.chance(l.quality.Loss) {
			break
		}
		t += retransmit
	}
	return t
}

// eventLocked has fn called with the network's mutex held at a time.
func (n *Network) eventLocked(l *link, due time.Duration, fn func(now time.Duration)) {
	n.pushLocked(&packet{kind: event, link: l, due: due, arrive: fn})
}

// Read implements net.Conn.
func (s *Stream) Read(p []byte) (int, error) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	for {
		switch {
		case s.err != nil:
			return 0, s.err
		case s.read.passed():
			return 0, os.ErrDeadlineExceeded
		case len(s.in) > 0:
			k := copy(p, s.in)
			s.in = s.in[k:]
			s.peer.unread -= k
			s.peer.writable.Broadcast()
			return k, nil
		case s.eof:
			return 0, io.EOF
		}
		s.readable.Wait()
	}
}

// Write implements net.Conn.
func (s *Stream) Write(p []byte) (int, error) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	for s.err == nil && s.unread > 0 && s.unread+len(p) > streamWindow {
		if s.write.passed() {
			return 0, os.ErrDeadlineExceeded
		}
		s.writable.Wait()
	}
	if s.err != nil {
		return 0, s.err
	}
	s.unread += len(p)
	s.sendLocked(segment{p: clone(p)})
	return len(p), nil
}

// sendLocked puts a segment on its way, behind those before it.
func (s *Stream) sendLocked(g segment) {
	now := s.n.now()
	g.due = now + s.out.streamDelay(now, len(g.p))
	if k := len(s.segments); k > 0 {
		g.due = max(g.due, s.segments[k-1].due)
	}
	s.segments = append(s.segments, g)
	if len(s.segments) == 1 {
		s.n.eventLocked(s.out, g.due, s.arriveLocked)
	}
}

// arriveLocked delivers the segments that are due.
func (s *Stream) arriveLocked(now time.Duration) {
	far := s.peer
	switch {
	case s.own.dead || len(s.segments) == 0:
		return // what a dead process has written is lost with it
	case s.out.isCut(now), far.own.dead && s.n.off[far.own.id]:
		if s.stuck += retransmit; s.stuck > streamTimeout {
			s.breakLocked(syscall.ETIMEDOUT)
			return
		}
		s.n.eventLocked(s.out, now+retransmit, s.arriveLocked)
		return
	case far.err != nil:
		s.n.eventLocked(s.out, now+s.out.usual(), func(time.Duration) { s.breakLocked(syscall.ECONNRESET) })
		return
	}
	s.stuck = 0
	for len(s.segments) > 0 && s.segments[0].due <= now {
		g := s.segments[0]
		s.segments = s.segments[1:]
		far.in, far.eof = append(far.in, g.p...), far.eof || g.fin
	}
	far.readable.Broadcast()
	if len(s.segments) > 0 {
		s.n.eventLocked(s.out, s.segments[0].due, s.arriveLocked)
	}
}

// breakLocked ends this side of the connection.
func (s *Stream) breakLocked(err error) {
	if s.err == nil {
		s.err = err
	}
	delete(s.own.streams, s)
	s.read.setLocked(time.Time{}, s.readable)
	s.write.setLocked(time.Time{}, s.writable)
}

// Close implements net.Conn. What was written before still arrives.
func (s *Stream) Close() error {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	if s.err == nil && s.peer != nil {
		s.sendLocked(segment{fin: true})
	}
	s.breakLocked(net.ErrClosed)
	return nil
}

// crashLocked ends the streams of a process that has died. A machine that goes on tells their peers.
func (e *Endpoint) crashLocked(how End) {
	streams := slices.SortedFunc(maps.Keys(e.streams), func(a, b *Stream) int { return cmp.Compare(a.number, b.number) })
	for _, s := range streams {
		s.breakLocked(errDied)
		if far := s.peer; far != nil && how == Killed {
			e.n.eventLocked(s.out, e.n.now()+s.out.usual(), func(now time.Duration) {
				if !s.out.isCut(now) {
					far.breakLocked(syscall.ECONNRESET)
				}
			})
		}
	}
	for _, addr := range slices.Sorted(maps.Keys(e.ports)) {
		e.ports[addr].closeLocked()
	}
}

// LocalAddr implements net.Conn.
func (s *Stream) LocalAddr() net.Addr {
	if s.accepted {
		return streamAddr(s.addr)
	}
	return streamAddr(Addr(s.out.from))
}

// RemoteAddr implements net.Conn.
func (s *Stream) RemoteAddr() net.Addr {
	if s.accepted {
		return streamAddr(Addr(s.out.to))
	}
	return streamAddr(s.addr)
}

// SetDeadline implements net.Conn.
func (s *Stream) SetDeadline(t time.Time) error {
	_ = s.SetReadDeadline(t) // neither fails
	return s.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (s *Stream) SetReadDeadline(t time.Time) error {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	s.read.setLocked(t, s.readable)
	return nil
}

// SetWriteDeadline implements net.Conn.
func (s *Stream) SetWriteDeadline(t time.Time) error {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	s.write.setLocked(t, s.writable)
	return nil
}

// Listen opens the usual listener of this incarnation of the node.
func (e *Endpoint) Listen() net.Listener {
	e.n.mu.Lock()
	defer e.n.mu.Unlock()
	return e.listenLocked(Addr(e.id))
}

// ListenAt opens a listener at an address, which the network completes if its port is 0. The host may be
// any.
func (e *Endpoint) ListenAt(addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	n := e.n
	n.mu.Lock()
	defer n.mu.Unlock()
	if port == "0" {
		n.lastPort++
		addr = net.JoinHostPort(host, strconv.Itoa(firstPort+n.lastPort))
	}
	if o := n.nodes[n.addrs[addr]]; o != nil && o.ports[addr] != nil {
		return nil, fmt.Errorf("%s: %w", addr, syscall.EADDRINUSE)
	}
	return e.listenLocked(addr), nil
}

func (e *Endpoint) listenLocked(addr string) *listener {
	l := &listener{e: e, addr: addr, calls: make(chan net.Conn, maxBacklog), closed: make(chan struct{})}
	e.ports[addr], e.n.addrs[addr] = l, e.id
	return l
}

// listener implements net.Listener.
type listener struct {
	e      *Endpoint
	addr   string
	calls  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.calls:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.e.n.mu.Lock()
	defer l.e.n.mu.Unlock()
	l.closeLocked()
	return nil
}

func (l *listener) closeLocked() {
	if l.e.ports[l.addr] == l {
		delete(l.e.ports, l.addr)
	}
	l.once.Do(func() { close(l.closed) })
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return streamAddr(l.addr) }
