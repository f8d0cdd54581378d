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
	// DiskTimeout is the time after which clients that wait for a stalled disk are disconnected:
	// their statements can't be cancelled.
	DiskTimeout = 5 * time.Second
)

// watchDisk informs the clients of a node whose disks are stalled; it can do no more for them.
// kvnode withholds support requests, and full stores give up their leaderships.
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
			n.RPC.HangUp() // requests of other nodes wait for the disk, and only the end of the connection can tell their callers
		}
		stalled = all
		switch {
		case all && !cut && n.stuckFor() > store.StallAfter+DiskTimeout:
			cut = true
			n.refuseSQL(pgerr.New(pgerr.IOError, "the disk of node %d does not answer", n.NodeID()).
				WithHint("Connect to another node."))
		case !all && cut:
			cut = false
			n.acceptSQL()
		}
	}
}

// stuckFor returns how long no disk of the node has answered. A disk that answers again counts as
// stalled for a while longer; clients may stay meanwhile.
func (n *Node) stuckFor() time.Duration {
	least := time.Duration(math.MaxInt64)
	for _, st := range n.KV.Store.Stores() {
		least = min(least, st.DiskWatch().Oldest())
	}
	return least
}
