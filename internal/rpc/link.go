package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
)

// peer is the local state of another node.
type peer struct {
	id                      kvpb.NodeID
	messages, urgent, calls link
	samples                 samples
}

// attempt is an attempt to connect.
type attempt struct {
	done chan struct{} // closed when it has ended
	c    *conn
	err  error
}

// link is the connection of one class to one peer.
type link struct {
	n     *Node
	to    kvpb.NodeID
	class class
	conn  atomic.Pointer[conn] // nil: not connected

	mu struct {
		sync.Mutex
		attempt *attempt // in progress; nil: none
		failed  error    // why the last attempt, or the connection, failed
		logged  string   // the reason logged last
		backoff time.Duration
		retryAt time.Time
		woken   time.Time // time of the last wake
		ever    bool      // it was connected before
		queue   []byte    // messages that wait for the attempt, as frames
		queued  int       // their number
	}
}

var errNoAddress = errors.New("its address is not known")

// startLocked returns the attempt in progress, or starts one unless the last one failed a moment
// ago.
func (l *link) startLocked() (*attempt, error) {
	if a := l.mu.attempt; a != nil {
		return a, nil
	}
	if l.mu.failed != nil && time.Now().Before(l.mu.retryAt) {
		return nil, l.mu.failed
	}
	addr, ok := l.n.o.Resolve(l.to)
	if !ok {
		return nil, errNoAddress
	}
	if !l.n.enter() {
		return nil, ErrClosed
	}
	a := &attempt{done: make(chan struct{})}
	l.mu.attempt = a
	go func() {
		defer l.n.leave()
		defer must.Report(l.n.o.OnFatal)
		a.c, a.err = l.n.connect(l.n.ctx, addr, l.class, l.to)
		l.ended(a, addr)
	}()
	return a, nil
}

// ended records the result of an attempt.
func (l *link) ended(a *attempt, addr string) {
	l.mu.Lock()
	l.mu.attempt = nil
	queue, queued := l.mu.queue, l.mu.queued
	l.mu.queue, l.mu.queued = nil, 0
	if a.err == nil {
		l.establishedLocked(a.c, queue, queued)
	} else {
		l.n.stats.dialFailures.Add(1)
		l.n.stats.messagesDropped.Add(uint64(queued))
		l.failedLocked(a.err)
	}
	news := a.err != nil && l.mu.logged != a.err.Error() && l.n.ctx.Err() == nil
	if news {
		l.mu.logged = a.err.Error()
	}
	l.mu.Unlock()
	if news {
		l.n.o.Logger.Warn("cannot connect to node", "peer", uint64(l.to), "addr", addr,
			"class", l.class.String(), "reason", a.err)
	}
	close(a.done)
}

// establishedLocked puts a connection into use. Queued messages go first.
func (l *link) establishedLocked(c *conn, queue []byte, queued int) {
	c.link = l
	l.n.stats.connects.Add(1)
	if l.mu.ever {
		l.n.stats.reconnects.Add(1)
	}
	l.mu.ever, l.mu.failed, l.mu.logged = true, nil, ""
	l.n.wg.Go(c.run)
	if queued > 0 {
		c.mu.Lock()
		if c.mu.err == nil {
			c.beginLocked()
			c.mu.out = append(c.mu.out, queue...)
			c.mu.messages = queued
			c.kickLocked()
		} else {
			l.n.stats.messagesDropped.Add(uint64(queued))
		}
		c.mu.Unlock()
	}
	l.conn.Store(c)
}

// failedLocked sets the time of the next attempt.
func (l *link) failedLocked(err error) {
	l.mu.failed = err
	l.mu.backoff = min(max(2*l.mu.backoff, MinBackoff), MaxBackoff)
	l.mu.retryAt = time.Now().Add(l.mu.backoff)
}

// lost takes a connection out of use. If it lasted for a while, the next use dials at once;
// otherwise the loss counts as a failed attempt.
func (l *link) lost(c *conn, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.conn.CompareAndSwap(c, nil) {
		return
	}
	if c.age() >= MaxBackoff {
		l.mu.backoff, l.mu.retryAt, l.mu.failed = 0, time.Time{}, err
		return
	}
	l.failedLocked(err)
}

// wake retries at once after a failure, because the peer has shown that it is alive. It is
// rate-limited: otherwise two nodes whose connections break right after the handshake would wake
// each other in a loop.
func (l *link) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.failed == nil || l.conn.Load() != nil || time.Since(l.mu.woken) < MaxBackoff {
		return
	}
	l.mu.woken = time.Now()
	l.mu.backoff, l.mu.retryAt = 0, time.Time{}
	_, _ = l.startLocked() // the next use gets the error again
}

// reconnectWait bounds the wait of a call for an attempt to connect after a failure. It is short,
// since the caller can try other nodes.
const reconnectWait = 250 * time.Millisecond

// get returns the connection. It waits for an attempt to connect.
func (l *link) get(ctx context.Context) (*conn, error) {
	if c := l.conn.Load(); c != nil {
		return c, nil
	}
	l.mu.Lock()
	if c := l.conn.Load(); c != nil {
		l.mu.Unlock()
		return c, nil
	}
	a, err := l.startLocked()
	failed := l.mu.failed
	l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var timeout <-chan time.Time
	if failed != nil {
		t := time.NewTimer(reconnectWait)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case <-a.done:
		return a.c, a.err
	case <-timeout:
		return nil, fmt.Errorf("no new connection within %v: %w", reconnectWait, failed)
	case <-ctx.Done():
		return nil, fmt.Errorf("connecting: %w", ctxError(ctx))
	}
}

// send queues a message. It returns false if the message was dropped.
func (l *link) send(m Method, msg []byte) bool {
	if c := l.conn.Load(); c != nil {
		return c.sendMessage(m, msg)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.conn.Load(); c != nil {
		return c.sendMessage(m, msg)
	}
	if _, err := l.startLocked(); err != nil {
		return false
	}
	if l.mu.queued >= l.n.limits.queueMessages ||
		l.mu.queued > 0 && len(l.mu.queue)+len(msg) > l.n.limits.queueBytes {
		return false
	}
	l.mu.queue = appendMessage(l.mu.queue, m, msg)
	l.mu.queued++
	return true
}

// sampleAge is the age up to which a clock measurement is valid.
const sampleAge = 10 * time.Second

// freshAge is the age up to which FreshOffset uses measurements: a few pings, so that a step of a
// clock shows soon.
const freshAge = 2500 * time.Millisecond

// samples are the latest measurements of a peer's clock. The one with the shortest round trip is
// the most precise.
type samples struct {
	mu   sync.Mutex
	ring [8]sample
	next int
}

type sample struct {
	at          time.Time
	offset, rtt time.Duration
}

func (p *peer) record(offset, rtt time.Duration) {
	s := &p.samples
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ring[s.next%len(s.ring)] = sample{at: time.Now(), offset: offset, rtt: rtt}
	s.next++
}

func (s *samples) best(age time.Duration) (best sample, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.ring[:min(s.next, len(s.ring))] {
		if time.Since(x.at) <= age && (!ok || x.rtt < best.rtt) {
			best, ok = x, true
		}
	}
	return best, ok
}
