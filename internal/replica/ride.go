package replica

import (
	"time"

	"github.com/lichendb/lichen/internal/raftgroup"
)

const (
	// ridePatience is how long a command that nobody waits for waits for one with which it
	// can share an entry and its sync.
	ridePatience = 10 * time.Millisecond
	// maxRiders bounds the commands of a range that wait so.
	maxRiders = 64
)

// riders are commands that clean up after a transaction that has committed: nobody waits
// for them as long as nobody meets what they remove. They go with the next command that
// somebody waits for, after ridePatience, or when somebody is in a hurry. Guarded by
// group.mu.
type riders struct {
	waiting []*proposal
	timer   *time.Timer
	hurries uint64 // how often somebody was in a hurry
}

// board takes all riders along with the queue.
func (rs *riders) board(queue []*proposal) []*proposal {
	if len(rs.waiting) == 0 {
		return queue
	}
	rs.timer.Stop()
	queue = append(queue, rs.waiting...)
	clear(rs.waiting)
	rs.waiting = rs.waiting[:0]
	return queue
}

// refuse tells all riders that they will not be taken.
func (rs *riders) refuse(err error) {
	for _, p := range rs.board(nil) {
		p.err, p.done = err, true
		p.wake <- wakeDone
	}
}

// haste says whether a command may wait for company. The zero value is that of one that
// somebody waits for.
type haste struct {
	patient bool
	// seen is what hurries returned before it was looked whether somebody waits.
	seen uint64
}

// proposeWith is propose, or proposePatiently.
func (g *group) proposeWith(h haste, under raftgroup.Fence, command []byte) error {
	if h.patient {
		return g.proposePatiently(under, command, h.seen)
	}
	return g.propose(under, command)
}

// proposePatiently is propose for a command that may wait for company. seen is what
// hurries returned before the caller looked whether somebody waits for the command.
func (g *group) proposePatiently(under raftgroup.Fence, command []byte, seen uint64) error {
	g.mu.Lock()
	rs := &g.mu.riders
	if g.mu.stopped != nil || rs.hurries != seen || len(rs.waiting) >= maxRiders {
		g.mu.Unlock()
		return g.propose(under, command)
	}
	p := g.newProposal(under, command)
	rs.waiting = append(rs.waiting, p)
	switch {
	case rs.timer == nil:
		rs.timer = time.AfterFunc(ridePatience, g.depart)
	case len(rs.waiting) == 1:
		rs.timer.Reset(ridePatience)
	}
	g.mu.Unlock()
	return g.await(p, 0)
}

// hurries returns how often somebody was in a hurry.
func (g *group) hurries() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.riders.hurries
}

// hurry has the riders go now, and those that are about to wait not wait.
func (g *group) hurry() {
	g.mu.Lock()
	g.mu.riders.hurries++
	g.mu.Unlock()
	g.depart()
}

// depart has the riders go without company.
func (g *group) depart() {
	g.mu.Lock()
	start := len(g.mu.riders.waiting) > 0 && g.mu.started && !g.mu.busy
	g.mu.queue = g.mu.riders.board(g.mu.queue)
	g.mu.busy = g.mu.busy || start
	g.mu.Unlock()
	if start {
		g.r.deps.Schedule(g.work)
	}
}
