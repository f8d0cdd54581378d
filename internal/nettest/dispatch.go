package nettest

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/rpc"
)

// Causes of errors of calls.
var (
	errDied    = errors.New("nettest: this node has died")
	errReset   = errors.New("nettest: connection reset")
	errTimeout = errors.New("nettest: connection timed out")
	errRefused = errors.New("nettest: connection refused")
)

func notSent(cause error) error        { return fmt.Errorf("%w: %w", rpc.ErrNotSent, cause) }
func unknownOutcome(cause error) error { return fmt.Errorf("%w: %w", rpc.ErrUnknownOutcome, cause) }

type packetKind uint8

const (
	message packetKind = iota
	request
	reply
	// giveUp tells the handler of a call that its caller has gone.
	giveUp
	// expire ends a call with err; it is no packet but the caller's own timer.
	expire
	// event is a packet of a connection: arrive says what comes of it.
	event
)

// packet is something that happens at a certain time on a link.
type packet struct {
	due     time.Duration
	seq     uint64
	kind    packetKind
	link    *link
	epoch   uint64 // of the link when it was sent
	lost    bool   // it will not arrive
	to      *Endpoint
	method  rpc.Method
	payload []byte
	stamp   hlc.Timestamp
	call    *call
	err     error                   // of a reply or expire
	ifDead  *link                   // expire only if this link is dead by then
	arrive  func(now time.Duration) // of an event
}

// packetHeap orders packets by time. At one instant the link decides, so that
// the order does not depend on which goroutine sent first.
type packetHeap []*packet

func (h packetHeap) Len() int { return len(h) }
func (h packetHeap) Less(i, j int) bool {
	a, b := h[i], h[j]
	switch {
	case a.due != b.due:
		return a.due < b.due
	case a.link.from != b.link.from:
		return a.link.from < b.link.from
	case a.link.to != b.link.to:
		return a.link.to < b.link.to
	}
	return a.seq < b.seq
}
func (h packetHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *packetHeap) Push(x any) { *h = append(*h, x.(*packet)) }

// Pop implements heap.Interface.
func (h *packetHeap) Pop() any {
	old := *h
	p := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return p
}

// pushLocked puts a packet on its way.
func (n *Network) pushLocked(p *packet) {
	if n.closed {
		return
	}
	n.seq++
	p.seq = n.seq
	heap.Push(&n.queue, p)
	switch {
	case !n.dispatching:
		n.dispatching = true
		n.wg.Go(n.dispatch)
	case n.queue[0] == p:
		select {
		case n.wake <- struct{}{}:
		default:
		}
	}
}

// dispatch delivers packets until none is under way. It waits a nanosecond at
// least between two, which passes only when everybody else is at rest.
func (n *Network) dispatch() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		n.mu.Lock()
		if n.closed || len(n.queue) == 0 {
			n.dispatching = false
			n.mu.Unlock()
			return
		}
		now := n.now()
		wait := max(n.queue[0].due, n.earliest) - now
		if wait <= 0 {
			n.deliverLocked(heap.Pop(&n.queue).(*packet), now)
			n.earliest = now + 1
		}
		n.mu.Unlock()
		if wait <= 0 {
			continue
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-n.wake:
		case <-n.quit:
		}
	}
}

func (n *Network) deliverLocked(p *packet, now time.Duration) {
	if p.kind == event {
		p.arrive(now)
		return
	}
	if p.kind == expire {
		if !p.call.done && (p.ifDead == nil || p.ifDead.isDead(now)) {
			n.trace.packet(traceExpire, p)
			n.finishLocked(p.call, nil, p.err)
		}
		return
	}
	if p.kind == message {
		p.link.inFlight--
	}
	if p.lost || p.link.isCut(now) || p.link.epoch != p.epoch {
		n.dropLocked(p, now, p.link.quality.Timeout)
		return
	}
	if p.to.dead {
		timeout := p.link.quality.Timeout
		if !n.off[p.to.id] {
			timeout = 0 // its machine, or a later incarnation, does not know the connection
		}
		n.dropLocked(p, now, timeout)
		return
	}
	n.stats.Delivered++
	switch p.kind {
	case message:
		n.trace.packet(traceMessage, p)
		n.arrivedLocked(p)
	case request:
		n.trace.packet(traceRequest, p)
		n.handleLocked(p)
	case reply:
		n.trace.packet(traceReply, p)
		p.call.stamp = p.stamp
		n.finishLocked(p.call, p.payload, p.err)
	case giveUp:
		p.call.gone = true
		if p.call.cancel != nil {
			p.call.cancel()
		}
	}
}

// dropLocked loses a packet. If a call hangs on it, the call ends after the timeout.
func (n *Network) dropLocked(p *packet, now, timeout time.Duration) {
	n.stats.Dropped++
	n.trace.packet(traceDrop, p)
	switch {
	case p.kind == message || p.kind == giveUp || p.call.done:
	case timeout == 0:
		n.expireLocked(p.call, now+p.call.back.usual(), unknownOutcome(errReset))
	default:
		n.expireLocked(p.call, now+timeout, unknownOutcome(errTimeout))
	}
}

// expireLocked ends a call at a certain time, unless it has ended by then.
func (n *Network) expireLocked(c *call, due time.Duration, err error) {
	n.pushLocked(&packet{kind: expire, due: due, link: c.back, method: c.method, call: c, err: err})
}

// arrivedLocked hands a message to the reader of its link.
func (n *Network) arrivedLocked(p *packet) {
	l := p.link
	if len(l.arrived) >= maxInFlight {
		n.stats.Dropped++
		return
	}
	l.arrived = append(l.arrived, p)
	if l.more == nil {
		l.more = sync.NewCond(&n.mu)
		n.wg.Go(func() { n.read(l) })
	}
	l.more.Signal()
}

// read calls the handlers of the messages that have arrived on a link, in order, until
// the network closes.
func (n *Network) read(l *link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for {
		for len(l.arrived) == 0 {
			if n.closed {
				return
			}
			l.more.Wait()
		}
		p := l.arrived[0]
		l.arrived[0] = nil
		l.arrived = l.arrived[1:]
		h := p.to.messages[p.method]
		if p.to.dead || h == nil {
			continue
		}
		n.mu.Unlock()
		p.to.observe(p.stamp)
		h(l.from, p.payload)
		n.mu.Lock()
	}
}

// handleLocked runs the handler of a call.
func (n *Network) handleLocked(p *packet) {
	c, h := p.call, p.to.handlers[p.method]
	ctx, cancel := context.WithCancel(p.to.ctx)
	c.cancel = cancel
	if c.gone {
		cancel()
	}
	n.wg.Go(func() {
		defer cancel()
		p.to.observe(p.stamp)
		if h == nil {
			n.answer(p, nil, notSent(fmt.Errorf("node %d has no handler for method %d", p.to.id, p.method)))
			return
		}
		answer, err := h(ctx, p.link.from, p.payload)
		if err != nil {
			answer, err = nil, &rpc.RemoteError{Msg: err.Error()}
		}
		n.answer(p, answer, err)
	})
}

// answer sends what a handler returned back to the caller.
func (n *Network) answer(p *packet, answer []byte, err error) {
	stamp := p.to.stamp()
	n.mu.Lock()
	defer n.mu.Unlock()
	if p.to.dead || n.closed {
		return
	}
	c, l, now := p.call, p.call.back, n.now()
	n.stats.Sent++
	d := l.dice(reply, p.method, now, answer)
	lost := l.isCut(now) || d.chance(l.quality.Loss)
	r := &packet{kind: reply, link: l, epoch: l.epoch, lost: lost, due: now + d.delay(&l.quality), to: c.from, method: p.method,
		payload: clone(answer), stamp: stamp, call: c, err: err}
	n.pushLocked(r)
}

// finishLocked ends a call, once.
func (n *Network) finishLocked(c *call, answer []byte, err error) {
	if c.done {
		return
	}
	c.done = true
	delete(n.calls, c.id)
	c.result <- result{answer, err}
}

// clone copies a payload: sender and receiver share no memory.
func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}
