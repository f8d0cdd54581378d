package server

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

const (
	// moveLeadersFor bounds how long a draining node waits for others to take over
	// its ranges; what is left then is taken over when the node is gone.
	moveLeadersFor = 10 * time.Second
	moveAgain      = 20 * time.Millisecond
	// movesAtOnce bounds how many leaderships are handed over at a time.
	movesAtOnce = 256
	// otherHeirAfter is how long a follower has to take over before another one is
	// asked.
	otherHeirAfter = 2 * time.Second
)

// leaving is how far a node is with ending its service.
type leaving struct {
	once    sync.Once
	done    chan struct{} // closed when nothing is served any more
	leaders atomic.Int64  // that wait to be taken over
	err     error         // of ending connections, once done
}

// beginDrain begins to end the node's service, unless that was begun already: it is
// no longer ready, hands over the ranges that it leads, and ends the connections
// of its clients.
func (n *Node) beginDrain() {
	n.leave.once.Do(func() {
		n.ready.Store(false)
		n.draining.Store(true)
		n.measured.seq.Add(1) // others shall hear of it
		go func() {
			defer close(n.leave.done)
			n.moveLeaders()
			if front := n.serving.Load(); front != nil {
				ctx, cancel := context.WithTimeout(context.Background(), n.cfg.Drain)
				defer cancel()
				n.leave.err = front.Shutdown(ctx)
				n.moveLeaders() // some may have come back
			}
		}()
	})
}

// drained reports whether the node serves nothing any more.
func (n *Node) drained() bool {
	select {
	case <-n.leave.done:
		return true
	default:
		return false
	}
}

// moveLeaders hands over the ranges that the node leads to others that are live.
func (n *Node) moveLeaders() {
	if n.live == nil {
		return
	}
	begun := time.Now()
	again := time.NewTicker(moveAgain)
	defer again.Stop()
	for {
		left, passed := 0, time.Since(begun)
		for _, r := range n.store.Replicas() {
			if !r.Leads() {
				continue
			}
			to, ok := n.heir(r, int(passed/otherHeirAfter))
			if !ok {
				continue
			}
			if left++; left <= movesAtOnce {
				r.TransferLeader(to)
			}
		}
		n.leave.leaders.Store(int64(left))
		if left == 0 || passed > moveLeadersFor {
			return
		}
		<-again.C
	}
}

// heir picks who shall lead a range in this node's place. Ranges are spread over
// those who can, and each attempt picks another one.
func (n *Node) heir(r *replica.Replica, attempt int) (kvpb.ReplicaID, bool) {
	var can []kvpb.ReplicaID
	for _, d := range r.Desc().Replicas {
		if d.Type != kvpb.Voter || d.Node == n.NodeID() || !n.live.Live(d.Node) {
			continue
		}
		if i, ok := n.live.Node(d.Node); ok && !i.Draining {
			can = append(can, d.Replica)
		}
	}
	if len(can) == 0 {
		return 0, false
	}
	return can[(int(r.RangeID())+attempt)%len(can)], true
}
