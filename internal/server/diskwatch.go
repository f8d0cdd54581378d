package server

import (
	"context"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

const (
	// diskLookEvery is how often a node looks at the state of its disk.
	diskLookEvery = 250 * time.Millisecond
	// diskPatience is how long clients wait for a disk that stands still before they
	// are cut off: nothing of their statements can be stopped.
	diskPatience = 5 * time.Second
	// shedEvery is how often the leaderships that a full store has are offered to
	// others.
	shedEvery = time.Second
)

// watchDisk does what a node whose disk is full or stands still can do for others:
// leave its leaderships to them, and tell its clients. That it asks for no support is
// up to liveness (network).
func (n *Node) watchDisk(ctx context.Context) {
	t := time.NewTicker(diskLookEvery)
	defer t.Stop()
	was := n.store.Disk()
	var stalledAt, shedAt time.Time
	cut := false
	for attempt := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		now, is := time.Now(), n.store.Disk()
		if is != was {
			n.measured.seq.Add(1) // others shall hear of it
		}
		if is.Stalled && !was.Stalled {
			stalledAt = now
		}
		switch {
		case is.Stalled && !cut && now.Sub(stalledAt) > diskPatience:
			cut = true
			n.closeFront(pgerr.New(pgerr.IOError, "the disk of node %d does not answer", n.NodeID()).
				WithHint("Connect to another node."))
		case !is.Stalled && cut:
			cut = false
			n.reopenFront()
		}
		if is.Full && n.live != nil && now.Sub(shedAt) > shedEvery {
			shedAt = now
			attempt++
			n.shedLeaders(attempt)
		}
		was = is
	}
}

// sick reports whether a disk of a node is full or stands still.
func sick(i liveness.NodeInfo) bool {
	return slices.ContainsFunc(i.Stores, func(s liveness.StoreInfo) bool { return s.Stalled || s.Full })
}

// shedLeaders offers the ranges that the node leads to others.
func (n *Node) shedLeaders(attempt int) {
	for _, r := range n.store.Replicas() {
		if !r.Leads() {
			continue
		}
		if to, ok := n.heir(r, attempt); ok {
			r.TransferLeader(to)
		}
	}
}

// closeFront cuts clients off and has new ones told why, until reopenFront.
func (n *Node) closeFront(why error) {
	closed := n.newFrontThatSays(why)
	now, cancel := context.WithCancel(context.Background())
	cancel()
	_ = closed.Shutdown(now) // it has no connections
	n.fronts.Lock()
	old := n.serving.Load()
	if old != nil && !n.draining.Load() {
		n.serving.Store(closed)
	}
	n.fronts.Unlock()
	if old != nil {
		_ = old.Shutdown(now) // its error is that it cuts them off
	}
}

// reopenFront serves clients again.
func (n *Node) reopenFront() {
	n.fronts.Lock()
	defer n.fronts.Unlock()
	if n.serving.Load() != nil && !n.draining.Load() {
		n.serving.Store(n.newFront())
	}
}
