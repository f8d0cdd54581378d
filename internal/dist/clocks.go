package dist

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/rpc"
)

// MethodClock is the method that asks a node for its clock; ServeClock answers it.
const MethodClock = rpc.MethodClock

const (
	// Clocks waits only for nodes whose usual response time is at most clockNear, like that of a node
	// in the same region. It waits at most clockWait.
	clockNear = 5 * time.Millisecond
	clockWait = 20 * time.Millisecond
	// clockTimeout bounds a request for a clock.
	clockTimeout = time.Second
	// clockNeeded is how long after a request to a node Clocks still reads the node's clock.
	clockNeeded = 10 * time.Second
	// maxClocks bounds the nodes whose clocks are read, to the most recently used ones.
	maxClocks = 15
)

// ServeClock answers MethodClock with a reading of this node's clock.
func ServeClock(c *hlc.Clock) []byte {
	return binary.LittleEndian.AppendUint64(nil, uint64(c.Reading().WallTime))
}

// clocks reads the clocks of other nodes. A reading counts only for transactions that began before it
// was taken (invariant D9). So callers that arrive before a request is sent share its answer. Callers
// that arrive while it is in flight share the next one.
type clocks struct {
	mu    sync.RWMutex
	peers map[kvpb.NodeID]*peerClock
}

// peerClock is the clock of another node.
type peerClock struct {
	node kvpb.NodeID
	used atomic.Int64 // time of the last request to the node

	mu       sync.Mutex
	running  bool // askClocks runs
	inFlight *clockRequest
	next     *clockRequest // sent after inFlight
	usual    time.Duration // moving average of the response time, 0 before the first answer
}

// clockRequest is a request for a node's clock. Callers may share it until it is sent.
type clockRequest struct {
	sent    time.Time // zero until it is sent
	done    chan struct{}
	reading hlc.Timestamp // the answer, empty if there is none
}

func (c *clocks) peer(n kvpb.NodeID) *peerClock {
	c.mu.RLock()
	p := c.peers[n]
	c.mu.RUnlock()
	if p != nil {
		return p
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p = c.peers[n]; p == nil {
		if c.peers == nil {
			c.peers = map[kvpb.NodeID]*peerClock{}
		}
		p = &peerClock{node: n}
		c.peers[n] = p
	}
	return p
}

// use records that a request goes to the node.
func (p *peerClock) use() { p.used.Store(time.Now().UnixNano()) }

// needed returns the nodes with recent requests. Only their clocks matter.
func (c *clocks) needed() []*peerClock {
	since := time.Now().Add(-clockNeeded).UnixNano()
	c.mu.RLock()
	defer c.mu.RUnlock()
	var list []*peerClock
	for _, p := range c.peers {
		if p.used.Load() >= since {
			list = append(list, p)
		}
	}
	if len(list) > maxClocks {
		slices.SortFunc(list, func(a, b *peerClock) int { return cmp.Compare(b.used.Load(), a.used.Load()) })
		list = list[:maxClocks]
	}
	return list
}

// Clocks reads the clocks of the nodes with recent requests, and appends to dst the readings that
// arrive soon. All of them are taken after the call. It asks nodes that are far away or do not answer as
// well, but does not wait for them.
func (d *Router) Clocks(ctx context.Context, dst []kvpb.Observation) []kvpb.Observation {
	defer must.Report(d.cfg.OnFatal)
	if d.loc != nil || d.cfg.Caller == nil {
		return dst
	}
	peers := d.clocks.needed()
	if len(peers) == 0 {
		return dst
	}
	asked := make([]*clockRequest, len(peers))
	for i, p := range peers {
		asked[i] = d.askClock(p)
	}
	ctx, cancel := context.WithTimeout(ctx, clockWait)
	defer cancel()
	for i, q := range asked {
		if q == nil {
			continue
		}
		select {
		case <-q.done:
			if !q.reading.IsEmpty() {
				dst = append(dst, kvpb.Observation{Node: peers[i].node, TS: q.reading})
			}
		case <-ctx.Done():
		}
	}
	return dst
}

// askClock requests the node's clock. It returns the request if its answer is worth waiting for.
func (d *Router) askClock(p *peerClock) *clockRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	near := p.usual > 0 && p.usual <= clockNear && (p.inFlight == nil || time.Since(p.inFlight.sent) <= clockWait)
	switch {
	case !near && p.running:
		return nil
	case plant.On(plant.StaleClock) && p.inFlight != nil:
		return p.inFlight
	case !p.running:
		bg, ok := d.finishing.admit()
		if !ok {
			return nil
		}
		p.running = true
		go d.askClocks(bg, p)
	}
	if p.next == nil {
		p.next = &clockRequest{done: make(chan struct{})}
	}
	must.True(p.next.sent.IsZero(), "D9: a request is shared that has been sent")
	if !near {
		return nil
	}
	return p.next
}

// askClocks sends the next request, and then those that are created meanwhile.
func (d *Router) askClocks(ctx context.Context, p *peerClock) {
	defer d.finishing.leave()
	for p.sendNext() {
		p.inFlight.reading = d.readClock(ctx, p.node)
		close(p.inFlight.done)
	}
}

// sendNext ends the request in flight and marks the next one as sent, if there is one.
func (p *peerClock) sendNext() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q := p.inFlight; q != nil {
		p.learn(time.Since(q.sent))
	}
	p.inFlight, p.next = p.next, nil
	p.running = p.inFlight != nil
	if p.running {
		p.inFlight.sent = time.Now()
	}
	return p.running
}

// learn updates the usual response time from the last one.
func (p *peerClock) learn(took time.Duration) {
	if p.usual == 0 {
		p.usual = took
	}
	p.usual += (took - p.usual) / 8
}

func (d *Router) readClock(ctx context.Context, n kvpb.NodeID) hlc.Timestamp {
	ctx, cancel := context.WithTimeout(ctx, clockTimeout)
	defer cancel()
	answer, err := d.cfg.Caller.Call(ctx, n, MethodClock, nil)
	if err != nil || len(answer) != 8 {
		return hlc.Timestamp{}
	}
	return hlc.Timestamp{WallTime: int64(binary.LittleEndian.Uint64(answer))}
}
