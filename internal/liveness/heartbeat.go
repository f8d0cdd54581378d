package liveness

import (
	"errors"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
)

// beat sends a heartbeat to every member of the cluster.
func (l *Liveness) beat(ev *events) {
	if l.self.ID == 0 {
		return
	}
	for id, n := range l.registry {
		if id == l.self.ID || n.Removed {
			continue
		}
		l.heartbeat(l.peers[id], ev)
	}
	clear(l.changes)
}

// heartbeat sends a heartbeat to p: the request for support, the support given to p, and the infos that
// p does not have yet.
func (l *Liveness) heartbeat(p *peer, ev *events) {
	e := l.header(p)
	if now, ok := l.now(); l.requesting && ok {
		l.requestedUntil = max(l.requestedUntil, now+int64(SupportFor))
		e.requestUntil(l.requestedUntil)
	}
	l.addGrant(e, p)
	if l.oldest != 0 {
		e.oldest(l.oldest)
	}
	if p.has != l.self.version() {
		e.info(&l.self)
	}
	infos := 0
	for id, from := range l.changes {
		if n, ok := l.registry[id]; ok && (id != p.id || from == fromOwner) && e.infoFits(infos) {
			e.info(&n)
			infos++
		}
	}
	e.digest(l.digest)
	ev.send(p.id, e)
}

func (l *Liveness) header(p *peer) *encoder {
	var has version
	if n, ok := l.registry[p.id]; ok {
		has = n.version()
	}
	return newMessage(l.self.Incarnation, l.sinceStart(), p.sent, p.sender, has)
}

func (l *Liveness) addGrant(e *encoder, p *peer) {
	if g := p.grant.Load(); g != nil {
		e.grant(grantMsg{incarnation: g.Incarnation, epoch: g.Epoch, until: g.Until.WallTime})
	}
}

// Receive processes a message of another node.
func (l *Liveness) Receive(from kvpb.NodeID, msg []byte) {
	m, err := decode(msg)
	ev := l.begin()
	defer l.end(ev)
	defer must.Report(l.o.OnFatal)
	if l.closed || l.self.ID == 0 || from == l.self.ID {
		return
	}
	p := l.peer(from)
	if p == nil {
		return
	}
	if err != nil {
		if !p.badSeen {
			p.badSeen = true
			level := l.o.Logger.Warn
			if errors.Is(err, errVersion) {
				level = l.o.Logger.Error
			}
			level("heartbeat refused", "node", from, "err", err)
		}
		return
	}
	if m.incarnation < p.incarnation {
		return // sent by an incarnation that has ended
	}
	l.receive(p, m, ev)
}

func (l *Liveness) receive(p *peer, m *message, ev *events) {
	fresh := p.sender != m.incarnation
	if fresh {
		p.sender, p.sent, p.has, p.mismatches = m.incarnation, 0, version{}, 1
	}
	p.incarnation, p.received = m.incarnation, time.Now()
	if m.sent > p.sent {
		p.sent, p.has = m.sent, m.has
		if m.beat {
			p.oldest = m.oldest
		}
	}
	for _, n := range m.infos {
		from := fromThird
		if n.ID == p.id {
			from = fromItself
		}
		l.merge(n, from, ev)
	}
	if n := l.registry[p.id]; n.Removed {
		if m.beat { // replies are not answered
			e := l.header(p)
			e.info(&n)
			ev.send(p.id, e)
		}
		return
	}
	now, ok := l.now()
	_, steady := l.physical()
	steady = max(steady, now)
	l.expire(now, steady, ev)
	l.takeGrant(p, m.grant, steady, ev)
	if m.requestUntil != 0 && ok {
		l.answerRequest(p, m, now, ev)
	}
	switch {
	case fresh:
		// p gets support only once it echoes a message of this node. So it gets one now.
		l.heartbeat(p, ev)
	case m.requestUntil != 0:
		e := l.header(p)
		l.addGrant(e, p)
		ev.send(p.id, e)
	}
	l.compareRegistries(p, m, ev)
}

// compareRegistries reconciles the two node registries. Most differences vanish by themselves, so that it
// acts only on one that lasts for two heartbeats.
func (l *Liveness) compareRegistries(p *peer, m *message, ev *events) {
	if m.listed {
		l.answerVersions(p, m, ev)
	}
	if !m.beat {
		return
	}
	if m.digest == l.digest {
		p.mismatches = 0
		return
	}
	if p.mismatches++; p.mismatches < 2 {
		return
	}
	p.mismatches = 0
	e := l.header(p)
	e.versions(l.versions(), false)
	ev.send(p.id, e)
}

func (l *Liveness) versions() []nodeVersion {
	vs := make([]nodeVersion, 0, len(l.registry))
	for _, n := range l.sorted() {
		vs = append(vs, nodeVersion{n.ID, n.version()})
	}
	return vs
}

// answerVersions sends p the infos that it lacks. If p has newer ones, it also sends this node's
// list of versions, unless p's list was such an answer itself.
func (l *Liveness) answerVersions(p *peer, m *message, ev *events) {
	theirs := make(map[kvpb.NodeID]version, len(m.versions))
	need := false
	for _, v := range m.versions {
		theirs[v.id] = v.version
		mine, ok := l.registry[v.id]
		need = need || v.id != l.self.ID && (!ok || mine.version().less(v.version))
	}
	e := l.header(p)
	infos := 0
	for _, n := range l.sorted() {
		v, ok := theirs[n.ID]
		if (!ok || v.less(n.version())) && e.infoFits(infos) {
			e.info(&n)
			infos++
		}
	}
	if need = need && !m.answer; need {
		e.versions(l.versions(), true)
	}
	if need || infos > 0 {
		ev.send(p.id, e)
	}
}
