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
	// clockNear is within what time a node usually answers that is waited for, one of the same
	// region: every block waits so long. clockWait is how long it waits at the most.
	clockNear = 5 * time.Millisecond
	clockWait = 20 * time.Millisecond
	// clockTimeout bounds a question that nobody waits for any more.
	clockTimeout = time.Second
	// clockNeeded is how long a node counts as one that transactions read at after a request
	// to it.
	clockNeeded = 10 * time.Second
	// maxClocks bounds the nodes that are asked: those that requests went to last.
	maxClocks = 15
)

// ServeClock answers a question for the clock of this node.
func ServeClock(c *hlc.Clock) []byte {
	return binary.LittleEndian.AppendUint64(nil, uint64(c.Reading().WallTime))
}

// clocks asks other nodes for their clocks. A reading says something to those transactions only
// that began before it was taken (invariant D9), so one answer serves all who have asked before
// the question left, and those who ask while it is under way share the next.
type clocks struct {
	mu    sync.RWMutex
	peers map[kvpb.NodeID]*peerClock
}

// peerClock is the clock of another node.
type peerClock struct {
	node kvpb.NodeID
	used atomic.Int64 // when a request went there last

	mu     sync.Mutex
	asking bool          // askClocks runs
	now    *question     // under way
	next   *question     // leaves after that
	usual  time.Duration // that an answer takes: a moving average; 0: none came yet
}

// question is one that others may share until it leaves.
type question struct {
	left    time.Time // zero: not yet
	done    chan struct{}
	reading hlc.Timestamp // then: of the clock; empty without an answer
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

// use notes that a request goes to the node.
func (p *peerClock) use() { p.used.Store(time.Now().UnixNano()) }

// needed returns the nodes whose clocks matter: those that requests went to lately.
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

// Clocks asks the nodes that requests went to lately for their clocks, and appends to dst what
// those that answer at once have shown since it was called. Who is far
// away, or silent, is asked but not waited for.
func (d *Router) Clocks(ctx context.Context, dst []kvpb.Observation) []kvpb.Observation {
	defer must.Report(d.cfg.OnFatal)
	if d.loc != nil || d.cfg.Caller == nil {
		return dst
	}
	peers := d.clocks.needed()
	if len(peers) == 0 {
		return dst
	}
	asked := make([]*question, len(peers))
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

// askClock has the node asked, and returns the question if its answer is to be waited for.
func (d *Router) askClock(p *peerClock) *question {
	p.mu.Lock()
	defer p.mu.Unlock()
	near := p.usual > 0 && p.usual <= clockNear && (p.now == nil || time.Since(p.now.left) <= clockWait)
	switch {
	case !near && p.asking:
		return nil
	case plant.On(plant.StaleClock) && p.now != nil:
		return p.now
	case !p.asking:
		bg, ok := d.finishing.admit()
		if !ok {
			return nil
		}
		p.asking = true
		go d.askClocks(bg, p)
	}
	if p.next == nil {
		p.next = &question{done: make(chan struct{})}
	}
	must.True(p.next.left.IsZero(), "D9: a question is shared that has left")
	if !near {
		return nil
	}
	return p.next
}

// askClocks sends the next question, and those that come up meanwhile.
func (d *Router) askClocks(ctx context.Context, p *peerClock) {
	defer d.finishing.leave()
	for p.leave() {
		p.now.reading = d.readClock(ctx, p.node)
		close(p.now.done)
	}
}

// leave ends the question under way and begins the next, if there is one.
func (p *peerClock) leave() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q := p.now; q != nil {
		p.learn(time.Since(q.left))
	}
	p.now, p.next = p.next, nil
	p.asking = p.now != nil
	if p.asking {
		p.now.left = time.Now()
	}
	return p.asking
}

// learn takes in how long the last answer took, or the question that found none.
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
