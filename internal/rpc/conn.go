package rpc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
)

// conn is an established connection, or one in the handshake.
type conn struct {
	n           *Node
	nc          net.Conn
	fr          *frameReader
	class       class
	dialled     bool            // by this node
	peer        kvpb.NodeID     // 0: a node without id
	link        *link           // that dialled it; nil: none
	ctx         context.Context // of handlers; made by the reader
	ended       chan struct{}   // closed when the reader has returned
	incarnation *incarnation    // of the peer's process; nil: not recorded
	born        time.Time
	read        atomic.Int64 // when bytes last arrived, since born
	wrote       atomic.Int64 // when a write last ended, since born

	mu struct {
		sync.Mutex
		err      error              // why the connection ended; nil: it is open
		cancel   context.CancelFunc // ends ctx
		unhook   func() bool        // from the node's Close
		timer    *time.Timer
		tickDue  time.Duration
		writing  bool // a writer exists
		out      []byte
		spare    []byte // the next out
		messages int    // in out
		large    []*transfer
		largeLen int    // bytes of large not yet in a batch
		batch    uint64 // number of batches handed to the network
		room     *sync.Cond
		waiting  int // handlers waiting for room

		lastID  uint64
		pending map[uint64]*pendingCall       // calls of this node
		running map[uint64]context.CancelFunc // calls of the peer
	}

	// Of the reader only.
	partial      map[uint64]*assembly // large requests that are not complete
	partialBytes int
	message      *assembly // large message that is not complete
}

func (n *Node) newConn(nc net.Conn, cl class, dialled bool) *conn {
	c := &conn{n: n, nc: nc, class: cl, dialled: dialled, ended: make(chan struct{}), born: time.Now()}
	c.fr = newFrameReader(c)
	c.mu.room = sync.NewCond(&c.mu.Mutex)
	c.mu.pending = map[uint64]*pendingCall{}
	c.mu.running = map[uint64]context.CancelFunc{}
	return c
}

// Read reads from the network for the frame reader and records the time of the last bytes.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.nc.Read(b)
	if n > 0 {
		c.n.stats.bytesReceived.Add(uint64(n))
		c.read.Store(int64(c.age()))
	}
	return n, err
}

// age is the time since the connection was made, on the monotonic clock.
func (c *conn) age() time.Duration { return time.Since(c.born) }

// run reads until the connection ends. The caller has called enter.
func (c *conn) run() {
	defer close(c.ended)
	defer must.Report(c.n.o.OnFatal)
	if !c.begin() {
		return
	}
	for {
		f, err := c.fr.next()
		if err == nil {
			err = c.receive(f)
		}
		if err != nil {
			c.fail(err)
			return
		}
	}
}

// begin sets up the state of an open connection. It returns false if the connection has failed.
func (c *conn) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.err != nil {
		return false
	}
	now := c.age()
	c.read.Store(int64(now))
	c.ctx, c.mu.cancel = context.WithCancel(c.n.ctx)
	c.mu.tickDue = now + PingInterval
	c.mu.timer = time.AfterFunc(PingInterval, c.tick)
	c.mu.unhook = context.AfterFunc(c.n.ctx, c.closed)
	return true
}

// receive handles a frame.
func (c *conn) receive(f frame) error {
	switch f.typ {
	case frameClock:
		if !validClock(int64(f.id)) {
			return corrupt("clock at %d", int64(f.id))
		}
		if err := c.n.o.Clock.Update(hlc.Timestamp{WallTime: int64(f.id)}); err != nil {
			return refuse(RefusedClock, "clock of node %d: %v", c.peer, err)
		}
		return nil
	case framePing:
		var now [8]byte
		binary.LittleEndian.PutUint64(now[:], uint64(c.n.o.Clock.PhysicalNow()))
		c.sendControl(framePong, f.id, now[:])
		return nil
	case framePong:
		own := c.n.o.Clock.PhysicalNow() // before the end of the round trip is taken, so that a pause in between counts as part of it
		return c.measured(c.age()-time.Duration(f.id), int64(binary.LittleEndian.Uint64(f.payload)), own)
	case frameVoid:
		return nil
	case frameMessage:
		if c.class.oneWay() && !c.dialled {
			return c.receiveMessage(f)
		}
	case frameCall:
		if c.class == classCalls && !c.dialled {
			return c.receiveCall(f)
		}
	case frameCancel:
		if c.class == classCalls && !c.dialled {
			c.receiveCancel(f.id)
			return nil
		}
	case frameAnswer:
		if c.class == classCalls && c.dialled {
			return c.receiveAnswer(f)
		}
	}
	return corrupt("type %d on a connection for %v", f.typ, c.class)
}

// assembly collects the pieces of a large payload.
type assembly struct {
	code  uint16
	total int
	have  int
	buf   []byte // nil: refused, the pieces are dropped
}

func newAssembly(f frame, keep bool) *assembly {
	a := &assembly{code: f.code, total: f.total}
	if keep {
		a.buf = make([]byte, 0, f.total)
	}
	return a
}

// add appends a piece and reports whether the payload is complete.
func (a *assembly) add(piece []byte) (bool, error) {
	a.have += len(piece)
	if a.have > a.total || len(piece) == 0 {
		return false, corrupt("piece of %d bytes after %d of %d", len(piece), a.have-len(piece), a.total)
	}
	if a.buf != nil {
		a.buf = append(a.buf, piece...)
	}
	return a.have == a.total, nil
}

func (c *conn) receiveMessage(f frame) error {
	if f.flags == 0 {
		if c.message != nil {
			return corrupt("message within a message")
		}
		c.deliver(Method(f.code), append([]byte(nil), f.payload...))
		return nil
	}
	if f.flags == flagFirst != (c.message == nil) {
		return corrupt("pieces of messages out of order")
	}
	if c.message == nil {
		c.message = newAssembly(f, true)
	}
	done, err := c.message.add(f.payload)
	if done {
		a := c.message
		c.message = nil
		c.deliver(Method(a.code), a.buf)
	}
	return err
}

func (c *conn) deliver(m Method, msg []byte) {
	c.n.stats.messagesReceived.Add(1)
	if h := c.n.messageHandler(m); h != nil {
		h(c.peer, msg)
	} else {
		c.n.stats.messagesUnknown.Add(1)
	}
}

// tick sends a ping, and ends a connection from which nothing has arrived for long.
func (c *conn) tick() {
	defer must.Report(c.n.o.OnFatal)
	c.mu.Lock()
	now := c.age()
	if now-c.mu.tickDue > PingInterval/2 {
		// This process was suspended, so the silence says nothing about the peer.
		c.read.Store(int64(now))
	}
	idle := now - time.Duration(c.read.Load())
	next := min(PingInterval, DeadTimeout-idle)
	alive := c.mu.err == nil
	if alive && next > 0 {
		c.mu.tickDue = now + next
		c.mu.timer.Reset(next)
	}
	c.mu.Unlock()
	switch {
	case !alive:
	case next <= 0:
		c.fail(fmt.Errorf("nothing heard for %v", DeadTimeout))
	case c.dialled || now-time.Duration(c.wrote.Load()) > PingInterval*3/2:
		// Pongs show the dialler that the acceptor is alive. The acceptor itself pings only when
		// the dialler's pings are stuck behind large payloads.
		c.sendControl(framePing, uint64(now), nil)
	}
}

// measured records the offset of the peer's physical clock. own is this node's clock at the end of
// the round trip.
func (c *conn) measured(rtt time.Duration, physical, own int64) error {
	if rtt < 0 || !validClock(physical) {
		return corrupt("pong with the clock at %d for a ping %v ago", physical, rtt)
	}
	offset := time.Duration(physical-own) + rtt/2
	if c.peer != 0 {
		c.n.peer(c.peer).record(offset, rtt)
	}
	if limit := c.n.o.MaxOffset; limit > 0 && offset.Abs()-rtt/2 > limit {
		return refuse(RefusedClock, "the clock of node %d is off by %v, more than the maximum offset %v: synchronise the clocks",
			c.peer, offset, limit)
	}
	return nil
}

// fail ends the connection. Only the first call has an effect.
func (c *conn) fail(err error) {
	c.mu.Lock()
	if c.mu.err != nil {
		c.mu.Unlock()
		return
	}
	c.mu.err = err
	pending, cancel := c.mu.pending, c.mu.cancel
	batch, dropped := c.mu.batch, c.mu.messages
	c.mu.pending, c.mu.running, c.mu.large, c.mu.out, c.mu.spare, c.mu.messages = nil, nil, nil, nil, nil, 0
	if cancel != nil { // the reader has begun
		c.mu.timer.Stop()
		c.mu.unhook()
	}
	c.mu.room.Broadcast()
	c.mu.Unlock()

	c.logEnd(err)
	c.n.stats.messagesDropped.Add(uint64(dropped))
	if c.link != nil {
		c.link.lost(c, err)
	}
	c.failPending(pending, batch, err)
	if cancel != nil {
		cancel()
	}
	c.nc.Close()
}

// closed ends the connection because the node is closed.
func (c *conn) closed() {
	defer must.Report(c.n.o.OnFatal)
	c.fail(ErrClosed)
}

// errDone ends a connection that is no longer needed.
var errDone = errors.New("rpc: done")

func (c *conn) logEnd(err error) {
	var refused *RefusedError
	log := c.n.o.Logger.Info
	switch {
	case errors.Is(err, ErrClosed), errors.Is(err, errDone):
		return
	case errors.Is(err, errCorrupt), errors.As(err, &refused):
		log = c.n.o.Logger.Error
		c.n.stats.connsBroken.Add(1)
	}
	log("connection between nodes ended", "peer", uint64(c.peer), "addr", c.nc.RemoteAddr(),
		"class", c.class.String(), "dialled", c.dialled, "reason", err)
}
