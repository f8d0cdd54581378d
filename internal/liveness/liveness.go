package liveness

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
)

const (
	// SupportFor is the duration of support that a node requests, from the reading of its own
	// clock.
	SupportFor = 1200 * time.Millisecond
	// HeartbeatEvery is the interval of heartbeats to each other node.
	HeartbeatEvery = 400 * time.Millisecond
	// heartbeatGap is the least time between two rounds of heartbeats, even if HeartbeatNow is
	// called.
	heartbeatGap = 10 * time.Millisecond
	// DeadGatewayAfter is the time after its last message at which a gateway counts as dead. Its
	// locks are dropped then.
	DeadGatewayAfter = 5 * time.Second
	// LiveFor is the time after its last message for which a node counts as live.
	LiveFor = 4 * HeartbeatEvery
	// echoFor bounds the support of a requester, from the time of the last message that it received
	// from this node. A node that no answer reaches can't lead, and should not be supported much
	// longer than one that is gone. In a healthy cluster that message is at most one heartbeat old.
	echoFor = SupportFor + HeartbeatEvery
	// minWake is the timer's shortest interval: it keeps step from spinning while the clock stands
	// still.
	minWake = time.Millisecond
)

// Options configure a Liveness. Clock and Self are required.
type Options struct {
	// Clock must have been started (past its persisted bound) before Start.
	Clock *hlc.Clock
	// MaxOffset is the maximum offset between the clocks of two nodes.
	MaxOffset time.Duration
	// Self returns this node's info for the others: its ids, addresses, stores and flags. Other
	// nodes receive a change only if Seq rose. If ID is 0, the node has no id yet and sends
	// nothing. Incarnation must rise with each start of the node: take it from the started Clock.
	Self func() NodeInfo
	// NoPast says that the node never voted in an earlier incarnation.
	NoPast bool
	// ClockOK, if not nil, reports whether this node's clock is near enough to the others'.
	// Otherwise the node requests no support.
	ClockOK func() bool
	// OldestRead, if not nil, returns the oldest timestamp at which this node's gateway may still
	// read, zero if there is none. The other nodes retain the versions visible there.
	OldestRead func() hlc.Timestamp
	// Send sends a one-way message without waiting. It may keep msg. False means that the message is
	// certainly lost.
	Send func(to kvpb.NodeID, msg []byte) bool
	// Logger may be nil.
	Logger *slog.Logger
	// OnChange is called when support between this node and a store began, ended or began anew, in
	// either direction. Calls may come out of order, so the callee reads Cell.Support or Granted.
	// The goroutine of l, Receive and Learn call it; it must not block, and may be nil.
	OnChange func(kvpb.StoreID)
	// OnNode is called when a node became known or changed. Calls may come out of order: Node has
	// the latest info. An info about this node itself is newer than its own: the node is being
	// decommissioned, was removed, or has a later incarnation. OnNode may be nil.
	OnNode func(NodeInfo)
	// OnFatal is called with a panic, before any further message is sent. It ends the process. It may
	// be nil.
	OnFatal func(error)
}

// Liveness exchanges support and addresses with all other nodes.
type Liveness struct {
	o       Options
	stop    chan struct{}
	stopped sync.WaitGroup
	poke    chan struct{} // requests a step before the timer fires

	mayVote   atomic.Bool
	voteAfter atomic.Int64 // the node votes once the clock has passed it; 0 before Start
	// stores is a map that never changes: to add a store, a larger copy replaces it.
	stores atomic.Pointer[map[kvpb.StoreID]*storeEntry]

	mu               sync.Mutex
	started          time.Time
	closed           bool
	self             NodeInfo // as last announced; ID 0 until Start
	seqLift          uint64   // added to Self().Seq to exceed the Seq that others have
	selfRemoved      bool
	oldest           int64 // wall time of the own gateway's oldest read, as last announced
	laterIncarnation int64 // the latest incarnation of this node that others know, if it is not this one
	requesting       bool
	requestedUntil   int64 // the latest time until which support was requested
	peers            map[kvpb.NodeID]*peer
	registry         map[kvpb.NodeID]NodeInfo // this node included
	digest           uint64                   // of registry
	changes          map[kvpb.NodeID]origin   // to be sent to every node with the next heartbeat
	nextBeat         time.Time                // when the next heartbeats are due
	lastBeat         time.Time                // when the last ones were sent
	pending          []*storeEntry            // OnChange is to be called for them
	wakeAt           time.Time                // when the timer fires
	steady           steady
	clockStalled     bool // the clock waits for a disk
}

// peer is another node. All but grant is guarded by Liveness.mu.
type peer struct {
	id     kvpb.NodeID
	stores []*storeEntry

	incarnation int64     // the latest known incarnation
	sender      int64     // the incarnation that sent the latest message
	known       time.Time // when the peer became known
	received    time.Time // when its latest message came
	sent        int64     // timestamp of its latest message, to be echoed
	has         version   // of this node's info at the peer
	mismatches  int       // consecutive heartbeats with a digest that differs from ours
	badSeen     bool      // a malformed message was logged
	oldest      int64     // wall time of its gateway's oldest read; 0: none

	// grant is the support that this node gives; nil if none. mu is held for writing.
	grant atomic.Pointer[Support]

	got     Support // the latest support received
	counted bool    // the cells have got, and its end has not been noticed
}

// storeEntry is a store of a known node, or one for which From was called.
type storeEntry struct {
	id   kvpb.StoreID
	cell Cell
	own  atomic.Bool
	node atomic.Pointer[peer] // nil while its node is not known
}

// New returns a Liveness that is not started. From, Learn and the node registry work before Start.
func New(o Options) *Liveness {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	now := time.Now()
	l := &Liveness{
		o: o, stop: make(chan struct{}), poke: make(chan struct{}, 1), started: now, nextBeat: now,
		peers: map[kvpb.NodeID]*peer{}, registry: map[kvpb.NodeID]NodeInfo{}, changes: map[kvpb.NodeID]origin{},
	}
	l.stores.Store(&map[kvpb.StoreID]*storeEntry{})
	l.mayVote.Store(o.NoPast)
	return l
}

// Start begins the exchange with the other nodes. It is called once.
func (l *Liveness) Start() {
	wait := int64(SupportFor + l.o.MaxOffset)
	l.voteAfter.Store(l.o.Clock.Now().WallTime + wait)
	self, requesting := l.observe()
	ev := l.begin()
	l.refreshSelf(self, requesting, ev)
	l.end(ev)
	l.stopped.Go(l.run)
}

// Close stops the goroutine and waits for it. Support that was given or received expires.
func (l *Liveness) Close() {
	l.mu.Lock()
	was := l.closed
	l.closed = true
	l.mu.Unlock()
	if !was {
		close(l.stop)
	}
	l.stopped.Wait()
}

func (l *Liveness) run() {
	defer must.Report(l.o.OnFatal)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-timer.C:
		case <-l.poke:
		}
		timer.Reset(l.step())
	}
}

// step expires support, sends heartbeats if they are due, and returns the time until the next step.
func (l *Liveness) step() time.Duration {
	l.mu.Lock()
	due := !time.Now().Before(l.nextBeat)
	l.mu.Unlock()
	var self NodeInfo
	var requesting bool
	var oldest int64
	if due {
		self, requesting = l.observe()
		oldest = l.ownOldestRead()
	}
	ev := l.begin()
	ev.timer = true
	ev.changed, l.pending = l.pending, nil
	defer l.end(ev)
	defer must.Report(l.o.OnFatal)
	_, steady := l.physical()
	now, ok := l.now() // 0 if unavailable: then no support that was given ends
	l.expire(now, max(now, steady), ev)
	if due && ok { // otherwise the heartbeats follow when the clock goes on
		l.refreshSelf(self, requesting, ev)
		l.oldest = oldest
		l.beat(ev)
		now := time.Now()
		l.lastBeat = now
		if l.nextBeat = l.nextBeat.Add(HeartbeatEvery); l.nextBeat.Before(now) {
			l.nextBeat = now.Add(HeartbeatEvery)
		}
	}
	sleep := max(minWake, time.Until(l.nextBeat))
	if l.clockStalled {
		sleep = HeartbeatEvery
	}
	physical, steady := l.physical()
	if first := l.untilExpiry(physical, steady); first < int64(sleep) {
		sleep = max(minWake, time.Duration(first)+1)
	}
	l.wakeAt = time.Now().Add(sleep)
	return sleep
}

// HeartbeatNow sends the next heartbeats at once. It is called when Self returns a change that other
// nodes need soon.
func (l *Liveness) HeartbeatNow() {
	l.mu.Lock()
	soon := time.Now()
	if least := l.lastBeat.Add(heartbeatGap); soon.Before(least) {
		soon = least
	}
	if soon.Before(l.nextBeat) {
		l.nextBeat = soon
	}
	l.mu.Unlock()
	l.wake()
}

// observe calls the owner's hooks, which may block for a while.
func (l *Liveness) observe() (self NodeInfo, requesting bool) {
	return l.o.Self(), l.o.ClockOK == nil || l.o.ClockOK()
}

// events are calls to make after mu is released.
type events struct {
	changed []*storeEntry
	nodes   []NodeInfo
	sends   []outgoing
	timer   bool // the timer is set anyway
}

type outgoing struct {
	to  kvpb.NodeID
	msg []byte
}

func (ev *events) stores(p *peer) { ev.changed = append(ev.changed, p.stores...) }

func (ev *events) send(to kvpb.NodeID, e *encoder) {
	ev.sends = append(ev.sends, outgoing{to, e.b})
}

// begin locks the state. end unlocks it and makes the calls.
func (l *Liveness) begin() *events {
	l.mu.Lock()
	return &events{}
}

func (l *Liveness) end(ev *events) {
	closed := l.closed
	if !ev.timer && l.untilExpiry(l.physical()) < int64(time.Until(l.wakeAt)-minWake) {
		l.wake()
	}
	l.mu.Unlock()
	if l.o.OnChange != nil {
		for _, e := range ev.changed {
			l.o.OnChange(e.id)
		}
	}
	if l.o.OnNode != nil {
		for _, n := range ev.nodes {
			l.o.OnNode(n)
		}
	}
	if closed || l.o.Send == nil {
		return
	}
	for _, s := range ev.sends {
		l.o.Send(s.to, s.msg)
	}
}

// wake makes the goroutine take a step.
func (l *Liveness) wake() {
	select {
	case l.poke <- struct{}{}:
	default:
	}
}

// now returns the clock's time, and false while the clock waits for a disk. Meanwhile this node grants,
// withdraws and requests nothing; it does not wait for the clock. The caller holds mu, so that the
// readings order grants and withdrawals.
func (l *Liveness) now() (int64, bool) {
	ts, ok := l.o.Clock.TryNow()
	if !ok && !l.clockStalled {
		l.clockStalled = true
		go l.awaitClock()
	}
	return ts.WallTime, ok
}

// awaitClock waits until the clock goes on, and then triggers a step. It has a goroutine of its own.
// Close does not wait for it, since the disk may never answer.
func (l *Liveness) awaitClock() {
	defer must.Report(l.o.OnFatal)
	l.o.Clock.Now()
	if _, ok := l.o.Clock.TryNow(); !ok { // the clock was stopped
		select {
		case <-l.stop:
		case <-time.After(HeartbeatEvery):
		}
	}
	l.mu.Lock()
	l.clockStalled = false
	l.mu.Unlock()
	l.wake()
}

// sinceStart is the timestamp of this node's messages. It is above 0.
func (l *Liveness) sinceStart() int64 { return int64(time.Since(l.started)) + 1 }

// physical returns the physical clock and the steady clock. The caller holds mu.
func (l *Liveness) physical() (physical, steady int64) {
	physical = l.o.Clock.PhysicalNow()
	return physical, l.steady.now(physical, time.Now())
}
