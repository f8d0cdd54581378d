package node

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

const (
	// clockWatchEvery is how often a node compares its clock with those of others.
	clockWatchEvery = 250 * time.Millisecond
	// clockWatchRTT is the longest round trip of a measurement that is precise enough.
	clockWatchRTT = 500 * time.Millisecond
)

// watchClock compares the node's clock with the others'. While it is off by more than half of the
// maximum offset from most measured clocks, the node serves nothing: it requests no support, which
// ends its leases, and cuts clients off. Two nodes that are both within half are within the maximum
// offset of each other.
func (n *Node) watchClock(ctx context.Context) {
	if n.cfg.MaxOffset == 0 {
		return // clocks are not compared
	}
	t := time.NewTicker(clockWatchEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		off, measured, wrong := n.clockOffset()
		bad := n.clockBad.Load()
		switch {
		case wrong && !bad:
			n.clockWrong(off)
		case bad && !wrong && measured && !n.clockAhead():
			n.clockRight()
		}
	}
}

// clockSample is a measurement of another node's clock.
type clockSample struct {
	ahead, rtt time.Duration
	ok         bool // it was measured, lately and well
	live       bool // the node sent a heartbeat lately
}

// clockOffset returns by how much this node's clock is ahead of most others': the smallest such figure. It
// also reports whether that is too much.
func (n *Node) clockOffset() (off time.Duration, measured, wrong bool) {
	var all []clockSample
	for _, o := range n.KV.Live.Nodes() {
		if o.ID == n.NodeID() || o.Removed {
			continue
		}
		theirs, rtt, ok := n.RPC.FreshOffset(o.ID)
		all = append(all, clockSample{theirs, rtt, ok && rtt <= clockWatchRTT, n.KV.Live.Live(o.ID)})
	}
	return judgeClock(all, n.cfg.MaxOffset/2)
}

// judgeClock is clockOffset for given samples. A live node without a measurement does not count
// against this clock. Otherwise a node with a wrong clock, which is measured whenever it is
// refused, would outvote the right ones in a busy network.
func judgeClock(all []clockSample, limit time.Duration) (off time.Duration, measured, wrong bool) {
	voters, far := 0, 0
	for _, s := range all {
		if s.ok || s.live {
			voters++
		}
		measured = measured || s.ok
		if s.ok && s.ahead.Abs()-s.rtt/2 > limit {
			if far++; far == 1 || s.ahead.Abs() < off.Abs() {
				off = -s.ahead
			}
		}
	}
	return off, measured, 2*far > voters
}

// clockAhead reports whether the node's hybrid clock is so far ahead of its physical clock that others
// would refuse its times.
func (n *Node) clockAhead() bool {
	return n.KV.Clock.Now().WallTime-n.KV.Clock.PhysicalNow() > int64(n.cfg.MaxOffset/4)
}

// clockWrong ends the service until the clocks agree again.
func (n *Node) clockWrong(off time.Duration) {
	n.clockBad.Store(true)
	how := "ahead of"
	if off < 0 {
		how = "behind"
	}
	n.log.Error("this node's clock is "+how+" those of most other nodes: it serves nothing until they agree; check how its clock is synchronised",
		"by", off.Abs(), "limit", n.cfg.MaxOffset/2)
	n.refuseSQL(pgerr.New(pgerr.CannotConnectNow,
		"the clock of node %d is %s %s those of most other nodes, more than half of --max-offset", n.NodeID(), off.Abs().Round(time.Millisecond), how).
		WithHint("Connect to another node, and synchronise this node's clock."))
}

// clockRight begins to serve again.
func (n *Node) clockRight() {
	n.log.Info("this node's clock agrees with those of most other nodes again: it serves")
	n.clockBad.Store(false)
	n.acceptSQL()
}
