package node

import (
	"context"
	"math"
	"time"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/store"
)

const (
	// diskPoll is how often a node looks at the state of its disk.
	diskPoll = 100 * time.Millisecond
	// DiskTimeout is how long clients wait for a disk that was found to stand still before
	// they are cut off: nothing of their statements can be stopped.
	DiskTimeout = 5 * time.Second
)

// watchDisk does what a node whose disks stand still can do for its clients: tell them. That it
// asks for no support, and that full stores leave their leaderships to others, is up to kvnode.
func (n *Node) watchDisk(ctx context.Context) {
	t := time.NewTicker(diskPoll)
	defer t.Stop()
	stalled, cut := false, false
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		all := n.KV.Store.AllStalled()
		if all && !stalled {
			n.RPC.HangUp() // the requests of others wait for the disk, in the midst of which nothing else can be sent
		}
		stalled = all
		switch {
		case all && !cut && n.stuckFor() > store.StallAfter+DiskTimeout:
			cut = true
			n.closeFront(pgerr.New(pgerr.IOError, "the disk of node %d does not answer", n.NodeID()).
				WithHint("Connect to another node."))
		case !all && cut:
			cut = false
			n.reopenFront()
		}
	}
}

// stuckFor returns how long no disk of the node has answered. One that does again counts as
// stalled for a while, in which clients may stay.
func (n *Node) stuckFor() time.Duration {
	least := time.Duration(math.MaxInt64)
	for _, st := range n.KV.Store.Stores() {
		least = min(least, st.DiskWatch().Oldest())
	}
	return least
}
