package liveness

import (
	"math"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/plant"
)

// From returns the cell with the support that a store gives to this node's leaderships. A store has one
// cell for ever. The stores of this node support it for ever.
func (l *Liveness) From(s kvpb.StoreID) *Cell {
	if e := (*l.stores.Load())[s]; e != nil {
		return &e.cell
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return &l.entry(s).cell
}

// Supports reports whether this node now supports the leaderships of store s. After it has returned
// false, new support has another epoch.
func (l *Liveness) Supports(s kvpb.StoreID) bool { return l.Granted(s).Epoch != 0 }

// Draining reports whether the node of store s has said that it drains.
func (l *Liveness) Draining(s kvpb.StoreID) bool {
	e := (*l.stores.Load())[s]
	if e == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.own.Load() {
		return l.self.Draining
	}
	p := e.node.Load()
	return p != nil && l.registry[p.id].Draining
}

// Granted returns the support that this node gives to store s; zero if none. It withdraws support
// that has expired.
func (l *Liveness) Granted(s kvpb.StoreID) Support {
	e := (*l.stores.Load())[s]
	if e == nil {
		return Support{}
	}
	if e.own.Load() {
		return ownSupport
	}
	p := e.node.Load()
	if p == nil {
		return Support{}
	}
	g := p.grant.Load()
	if g == nil {
		return Support{}
	}
	if ts, ok := l.o.Clock.TryNow(); !ok || ts.WallTime <= g.Until.WallTime {
		return *g // a clock that stands still passes no time
	}
	// The support is over, unless answerRequest is renewing it at this moment. With mu held, no renewal
	// can follow: the caller relies on the end of the epoch.
	l.mu.Lock()
	defer l.mu.Unlock()
	var ev events
	now, _ := l.now()
	if l.withdrawIfPassed(p, now, &ev); len(ev.changed) > 0 {
		// The caller may hold locks that OnChange takes, so the goroutine calls it.
		l.pending = append(l.pending, ev.changed...)
		l.wake()
	}
	if g = p.grant.Load(); g != nil {
		return *g
	}
	return Support{}
}

// MayVote reports whether this node may vote or campaign. After a start it returns false until the
// clock has passed every possible grant of an earlier incarnation.
func (l *Liveness) MayVote() bool {
	if l.mayVote.Load() || plant.On(plant.VoteAfterRestart) {
		return true
	}
	after := l.voteAfter.Load()
	if after == 0 {
		return false
	}
	if now, ok := l.o.Clock.TryNow(); !ok || now.WallTime <= after {
		return false
	}
	l.mayVote.Store(true)
	return true
}

// answerRequest grants the support that a peer's message requests, as far as the invariants allow. now was
// read with mu held.
func (l *Liveness) answerRequest(p *peer, m *message, now int64, ev *events) {
	l.withdrawIfPassed(p, now, ev)
	if m.echo == 0 || m.to != l.self.Incarnation {
		return // the peer does not receive this node's messages, so it can't lead
	}
	lastAck := now - (l.sinceStart() - m.echo)
	until := min(m.requestUntil, now+int64(SupportFor+l.o.MaxOffset), lastAck+int64(echoFor))
	if until <= now {
		return
	}
	g := p.grant.Load()
	switch {
	case g == nil:
		g = &Support{Epoch: now, Until: hlc.Timestamp{WallTime: until}, Incarnation: m.incarnation}
		ev.stores(p)
	case g.Incarnation != m.incarnation:
		return // the support of an earlier incarnation must expire first, so that its followers see the end
	case until <= g.Until.WallTime:
		return
	default:
		g = &Support{Epoch: g.Epoch, Until: hlc.Timestamp{WallTime: until}, Incarnation: g.Incarnation}
	}
	p.grant.Store(g)
}

// withdrawIfPassed ends the support of a peer once the clock has passed it.
func (l *Liveness) withdrawIfPassed(p *peer, now int64, ev *events) {
	g := p.grant.Load()
	if g == nil || now <= g.Until.WallTime {
		return
	}
	p.grant.Store(nil)
	ev.stores(p)
}

// takeGrant records the support that a peer gave.
func (l *Liveness) takeGrant(p *peer, g grantMsg, now int64, ev *events) {
	until := min(g.until, l.requestedUntil)
	if g.epoch <= 0 || g.incarnation != l.self.Incarnation || until <= now || g.epoch < p.got.Epoch {
		return
	}
	again := g.epoch == p.got.Epoch
	if again && until <= p.got.Until.WallTime {
		return
	}
	before := p.got.Until
	p.got = Support{Epoch: g.epoch, Until: hlc.Timestamp{WallTime: until}}
	anew := !again || !p.counted
	p.counted = true
	p.publish()
	// A caller that found the old support passed must be notified (invariant 8).
	if anew || !l.o.Clock.Reading().Less(before) {
		ev.stores(p)
	}
}

// publish puts the support received from p into the cells of its stores.
func (p *peer) publish() {
	var v *Support
	if p.counted {
		got := p.got
		v = &got
	}
	for _, e := range p.stores {
		e.cell.Set(v)
	}
}

// expire ends all given support that the clock has passed, and all received support that the steady
// clock has passed.
func (l *Liveness) expire(now, steady int64, ev *events) {
	for _, p := range l.peers {
		l.withdrawIfPassed(p, now, ev)
		if p.counted && p.got.Until.WallTime < steady {
			p.counted = false
			p.publish()
			ev.stores(p)
		}
	}
}

// untilExpiry returns the time until the next support ends: given support by the clock, received
// support by the steady clock.
func (l *Liveness) untilExpiry(physical, steady int64) int64 {
	first := int64(math.MaxInt64)
	for _, p := range l.peers {
		if g := p.grant.Load(); g != nil && !l.clockStalled { // while stuck, awaitClock triggers the next step
			first = min(first, g.Until.WallTime-physical)
		}
		if p.counted {
			first = min(first, p.got.Until.WallTime-steady)
		}
	}
	return first
}

// entry returns the entry of a store and creates it if needed.
func (l *Liveness) entry(s kvpb.StoreID) *storeEntry {
	old := *l.stores.Load()
	if e := old[s]; e != nil {
		return e
	}
	e := &storeEntry{id: s}
	grown := make(map[kvpb.StoreID]*storeEntry, len(old)+1)
	for k, v := range old {
		grown[k] = v
	}
	grown[s] = e
	l.stores.Store(&grown)
	return e
}

// attach assigns a store to the node that names it as its own. The assignment is final, since another
// node would not know the first one's promises.
func (l *Liveness) attach(s kvpb.StoreID, p *peer, ev *events) {
	e := l.entry(s)
	switch at := e.node.Load(); {
	case at == p:
		return
	case at != nil || e.own.Load():
		l.o.Logger.Error("two nodes have one store", "store", s, "node", p.id)
		return
	}
	p.stores = append(p.stores, e)
	e.node.Store(p)
	if p.counted {
		got := p.got
		e.cell.Set(&got)
	}
	if p.counted || p.grant.Load() != nil {
		ev.changed = append(ev.changed, e)
	}
}

// attachOwn marks a store of this node.
func (l *Liveness) attachOwn(s kvpb.StoreID) {
	e := l.entry(s)
	if e.own.Load() {
		return
	}
	if p := e.node.Load(); p != nil {
		l.o.Logger.Error("two nodes have one store", "store", s, "node", p.id)
		return
	}
	must.True(e.cell.v.Load() == nil, "liveness: store %d of this node has support from elsewhere", s)
	own := ownSupport
	e.cell.Set(&own)
	e.own.Store(true)
}
