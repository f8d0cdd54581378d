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
	// SupportFor is how far past its own clock a node asks to be supported.
	SupportFor = 1200 * time.Millisecond
	// HeartbeatEvery is how often a node talks to each other one.
	HeartbeatEvery = 400 * time.Millisecond
	// heartbeatGap is the least time between two rounds of heartbeats, of which one is out of turn.
	heartbeatGap = 10 * time.Millisecond
	// DeadGatewayAfter is how long after its last message a gateway is taken to
	// be gone, so that its locks are.
	DeadGatewayAfter = 5 * time.Second
	// LiveFor is how long after its last message a node counts as live.
	LiveFor = 4 * HeartbeatEvery
	// echoFor is how long past the last message that a requester received from this node it is supported
	// at the most: a node that no answer reaches can't lead, and is not to be supported
	// much longer than one that is gone. What it has received is as old as a heartbeat is
	// late when all is well.
	echoFor = SupportFor + HeartbeatEvery
	// minWake keeps the timer from spinning on a clock that stands still.
	minWake = time.Millisecond
)

// Options says where a Liveness lives. Clock and Self are required.
type Options struct {
	// Clock must have been started (past its persisted bound) before Start.
	Clock *hlc.Clock
	// MaxOffset is how far apart the clocks of two nodes may be.
	MaxOffset time.Duration
	// Self returns what this node tells the others: its ids, addresses, stores,
	// flags. Other nodes learn of a change only when Seq went up. An ID of 0 means
	// that the node has no id yet; it then says nothing. Life must rise from one
	// start of the node to the next: take it from the started Clock.
	Self func() NodeInfo
	// NoPast says that the node never voted in an earlier life.
	NoPast bool
	// ClockOK, if not nil, reports whether this node's clock is near enough to the
	// others; while it is not, the node asks nobody for support.
	ClockOK func() bool
	// OldestRead, if not nil, returns the oldest timestamp at which this node's gateway
	// may still read, zero if it reads nothing: the others keep what is visible there.
	OldestRead func() hlc.Timestamp
	// Send sends a message one way, without waiting; it may keep msg. False means
	// that it is certainly lost.
	Send func(to kvpb.NodeID, msg []byte) bool
	// Logger may be nil.
	Logger *slog.Logger
	// OnChange is called when support between this node and a store began or ended,
	// in either direction, or began anew. It is a hint to look (Cell.Support,
	// Granted); calls may come out of order. It is called from the goroutine of l
	// and from Receive and Learn, must not block, and may be nil.
	OnChange func(kvpb.StoreID)
	// OnNode is called when a node became known or changed. Calls may come out of
	// order: Node has the latest. An info about this node itself means that
	// another node knows a newer one: that this node is being decommissioned or
	// was removed, or that a later life of it exists. May be nil.
	OnNode func(NodeInfo)
	// OnFatal is called with a panic, before half of what led to it is sent: it ends the
	// process. nil: nobody is.
	OnFatal func(error)
}

// Liveness exchanges support and addresses with all other nodes.
type Liveness struct {
	o       Options
	stop    chan struct{}
	stopped sync.WaitGroup
	poke    chan struct{} // a step is due before the timer fires

	mayVote   atomic.Bool
	voteAfter atomic.Int64 // the clock must pass it before a vote; 0 before Start
	// stores is copied when it grows.
	stores atomic.Pointer[map[kvpb.StoreID]*storeEntry]

	mu          sync.Mutex
	started     time.Time
	closed      bool
	self        NodeInfo // as last announced; ID 0 until Start
	seqLift     uint64   // added to Self().Seq, to be above what others have
	selfRemoved bool
	oldest      int64 // wall time of the own gateway's oldest read, as last announced
	laterLife   int64 // the latest life of this node that others know, if not this one
	asking      bool
	asked       int64 // the latest time until which support was asked for
	peers       map[kvpb.NodeID]*peer
	registry    map[kvpb.NodeID]NodeInfo // this node included
	digest      uint64                   // of registry
	hot         map[kvpb.NodeID]origin   // to be sent to every node with the next heartbeat
	beatAt      time.Time                // when the next heartbeats are due
	beaten      time.Time                // when the last ones were sent
	pending     []*storeEntry            // OnChange is to be called for them
	wakeAt      time.Time                // when the timer fires
	steady      steady
	stuck       bool // the clock waits for a disk
}

// peer is another node. All but grant is guarded by Liveness.mu.
type peer struct {
	id     kvpb.NodeID
	stores []*storeEntry

	life     int64     // the latest that is known of
	talkLife int64     // the life that the latest message came from
	known    time.Time // when the peer was first met
	received time.Time // when its latest message came
	sent     int64     // its latest time stamp, to be echoed
	has      version   // of this node's info at the peer
	strikes  int       // heartbeats in a row with another digest than ours
	badSeen  bool      // a malformed message was logged
	oldest   int64     // wall time of its gateway's oldest read, 0: none

	// grant is the support this node gives, nil if none. It is written with mu
	// held.
	grant     atomic.Pointer[Support]
	grantLife int64

	got     Support // the latest support received
	counted bool    // got is in the cells and its end was not seen yet
}

// storeEntry is a store that somebody asked about or a node named as its own.
type storeEntry struct {
	id   kvpb.StoreID
	cell Cell
	own  atomic.Bool
	node atomic.Pointer[peer] // nil while its node is not known
}

// New returns a Liveness that does nothing yet. From, Learn and the node registry
// work before Start.
func New(o Options) *Liveness {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	now := time.Now()
	l := &Liveness{
		o: o, stop: make(chan struct{}), poke: make(chan struct{}, 1), started: now, beatAt: now,
		peers: map[kvpb.NodeID]*peer{}, registry: map[kvpb.NodeID]NodeInfo{}, hot: map[kvpb.NodeID]origin{},
	}
	l.stores.Store(&map[kvpb.StoreID]*storeEntry{})
	l.mayVote.Store(o.NoPast)
	return l
}

// Start begins to talk to the other nodes. It is called once.
func (l *Liveness) Start() {
	wait := int64(SupportFor + l.o.MaxOffset)
	l.voteAfter.Store(l.o.Clock.Now().WallTime + wait)
	self, asking := l.observe()
	ev := l.begin()
	l.refreshSelf(self, asking, ev)
	l.end(ev)
	l.stopped.Go(l.run)
}

// Close ends the talk and waits for the goroutine. Support given and received
// ends by its time.
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

// step does what is due and returns how long to sleep.
func (l *Liveness) step() time.Duration {
	l.mu.Lock()
	due := !time.Now().Before(l.beatAt)
	l.mu.Unlock()
	var self NodeInfo
	var asking bool
	var oldest int64
	if due {
		self, asking = l.observe()
		oldest = l.ownOldestRead()
	}
	ev := l.begin()
	ev.timer = true
	ev.changed, l.pending = l.pending, nil
	defer l.end(ev)
	defer must.Report(l.o.OnFatal)
	_, steady := l.physical()
	now, ok := l.now() // 0 if there is none: no support given ends then
	l.expire(now, max(now, steady), ev)
	if due && ok { // else when the clock goes on
		l.refreshSelf(self, asking, ev)
		l.oldest = oldest
		l.beat(ev)
		now := time.Now()
		l.beaten = now
		if l.beatAt = l.beatAt.Add(HeartbeatEvery); l.beatAt.Before(now) {
			l.beatAt = now.Add(HeartbeatEvery)
		}
	}
	sleep := max(minWake, time.Until(l.beatAt))
	if l.stuck {
		sleep = HeartbeatEvery
	}
	physical, steady := l.physical()
	if first := l.untilExpiry(physical, steady); first < int64(sleep) {
		sleep = max(minWake, time.Duration(first)+1)
	}
	l.wakeAt = time.Now().Add(sleep)
	return sleep
}

// HeartbeatNow has the next heartbeats sent at once: what Self returns has changed, and others should know.
func (l *Liveness) HeartbeatNow() {
	l.mu.Lock()
	soon := time.Now()
	if least := l.beaten.Add(heartbeatGap); soon.Before(least) {
		soon = least
	}
	if soon.Before(l.beatAt) {
		l.beatAt = soon
	}
	l.mu.Unlock()
	l.wake()
}

// observe calls the owner's hooks, which may take their time.
func (l *Liveness) observe() (self NodeInfo, asking bool) {
	return l.o.Self(), l.o.ClockOK == nil || l.o.ClockOK()
}

// events are calls to be made when mu is free.
type events struct {
	changed []*storeEntry
	nodes   []NodeInfo
	sends   []outgoing
	timer   bool // the timer is being set anyway
}

type outgoing struct {
	to  kvpb.NodeID
	msg []byte
}

func (ev *events) stores(p *peer) { ev.changed = append(ev.changed, p.stores...) }

func (ev *events) send(to kvpb.NodeID, e *encoder) {
	ev.sends = append(ev.sends, outgoing{to, e.b})
}

// begin locks the state; end unlocks it and reports what happened.
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

// wake has the goroutine take a step.
func (l *Liveness) wake() {
	select {
	case l.poke <- struct{}{}:
	default:
	}
}

// now returns the clock's time, false while the clock waits for a disk: nothing is
// granted, withdrawn or asked for then, and nobody waits here. The caller holds mu, so
// that grants and withdrawals are ordered by it.
func (l *Liveness) now() (int64, bool) {
	ts, ok := l.o.Clock.TryNow()
	if !ok && !l.stuck {
		l.stuck = true
		go l.awaitClock()
	}
	return ts.WallTime, ok
}

// awaitClock has a step taken when the clock goes on. Nobody waits for it: the disk may
// never answer.
func (l *Liveness) awaitClock() {
	defer must.Report(l.o.OnFatal)
	l.o.Clock.Now()
	if _, ok := l.o.Clock.TryNow(); !ok { // it was stopped
		select {
		case <-l.stop:
		case <-time.After(HeartbeatEvery):
		}
	}
	l.mu.Lock()
	l.stuck = false
	l.mu.Unlock()
	l.wake()
}

// sinceStart is this node's own time of messages, above 0.
func (l *Liveness) sinceStart() int64 { return int64(time.Since(l.started)) + 1 }

// physical returns the physical clock and the steady one. The caller holds mu.
func (l *Liveness) physical() (physical, steady int64) {
	physical = l.o.Clock.PhysicalNow()
	return physical, l.steady.now(physical, time.Now())
}
