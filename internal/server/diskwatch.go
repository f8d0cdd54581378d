package server

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/store"
)

const (
	// diskLookEvery is how often a node looks at the state of its disk.
	diskLookEvery = 100 * time.Millisecond
	// diskTimeout is how long clients wait for a disk that was found to stand still before
	// they are cut off: nothing of their statements can be stopped.
	diskTimeout = 5 * time.Second
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
	was := n.diskStates()
	stalled := false
	var shedAt time.Time
	cut := false
	for attempt := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		now, is := time.Now(), n.diskStates()
		if !slices.Equal(is, was) {
			n.ranges.stats.Changed() // others shall hear of it
			if n.ready.Load() {
				n.ranges.balance.Wake()
			}
		}
		all := n.store.AllStalled()
		if all && !stalled && n.rpc != nil {
			n.rpc.HangUp() // the requests of others wait for the disk, in the midst of which none can be told
		}
		stalled = all
		switch {
		case all && !cut && n.stuckFor() > store.StallAfter+diskTimeout:
			cut = true
			n.closeFront(pgerr.New(pgerr.IOError, "the disk of node %d does not answer", n.NodeID()).
				WithHint("Connect to another node."))
		case !all && cut:
			cut = false
			n.reopenFront()
		}
		if n.live != nil && now.Sub(shedAt) > shedEvery {
			shedAt = now
			attempt++
			for _, st := range n.store.Stores() {
				if st.Disk().Full {
					n.shedLeaders(st, attempt)
				}
			}
		}
		was = is
	}
}

// stuckFor returns how long no disk of the node has answered. One that does again counts as
// stalled for a while, in which clients may stay.
func (n *Node) stuckFor() time.Duration {
	least := time.Duration(math.MaxInt64)
	for _, st := range n.store.Stores() {
		least = min(least, st.DiskWatch().Oldest())
	}
	return least
}

// diskOf returns how the disk of one of a node's stores is, as the node said last.
func diskOf(i liveness.NodeInfo, id kvpb.StoreID) store.DiskState {
	for _, s := range i.Stores {
		if s.ID == id {
			return store.DiskState{Stalled: s.Stalled, Full: s.Full, Slow: s.Slow}
		}
	}
	return store.DiskState{}
}

// shedLeaders offers the ranges that a store leads to others.
func (n *Node) shedLeaders(st *store.Store, attempt int) {
	for _, r := range st.Replicas() {
		if !r.Leads() {
			continue
		}
		if to, ok := n.successor(r, attempt); ok {
			r.TransferLeader(to)
		}
	}
}
