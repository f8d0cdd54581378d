package node

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/drain"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/pgwire"
)

const (
	// farewell is the least time that a stopping node stays up, so that the others learn of its
	// stop.
	farewell = 50 * time.Millisecond
	// quorumPoll is how often a draining node looks whether there still is a quorum.
	quorumPoll = 100 * time.Millisecond
	// askedLately is how long a readiness check counts. A load balancer checks again much sooner.
	askedLately = 30 * time.Second
)

// drainState is the progress of a drain.
type drainState struct {
	once    sync.Once
	done    chan struct{} // closed when nothing is served any more
	leaders atomic.Int64  // ranges that other nodes have yet to take over
	err     error         // of closing the connections, once done
}

// BeginDrain begins to end the node's service, unless it has begun. The node is no longer ready,
// waits until load balancers know that, transfers its leaderships, and closes its clients'
// connections.
func (n *Node) BeginDrain() {
	n.drain.once.Do(func() {
		balanced := time.Since(time.Unix(0, n.readyAsked.Load())) < askedLately
		n.ready.Store(false)
		n.draining.Store(true)
		if n.SQL != nil && n.SQL.Server() != nil {
			n.SQL.Server().LeaveJobs()
		}
		n.KV.GossipInfo()
		go func() {
			begun := time.Now()
			defer func() {
				if n.KV.Live != nil {
					<-time.After(max(farewell-time.Since(begun), 0))
				}
				close(n.drain.done)
				n.log.Info("drained", "took", time.Since(begun))
			}()
			if balanced {
				n.awaitLoadBalancers()
			}
			n.moveLeaders()
			n.log.Info("leaders moved", "left", n.drain.leaders.Load(), "took", time.Since(begun))
			n.servingMu.Lock()
			serving := n.serving.Load() // no other server replaces it from now on
			n.servingMu.Unlock()
			if serving != nil {
				ctx, cancel := context.WithTimeout(context.Background(), n.Settings.Get().DrainTimeout)
				defer cancel()
				go n.cutWithoutQuorum(ctx, cancel)
				n.drain.err = n.endSessions(ctx, serving)
				n.moveLeaders() // some leaderships may have come back
			}
		}()
	})
}

// awaitLoadBalancers serves on until load balancers have seen that the node is not ready: then they
// send no new clients.
func (n *Node) awaitLoadBalancers() {
	over := time.NewTimer(n.Settings.Get().DrainWait)
	defer over.Stop()
	again := time.NewTicker(quorumPoll)
	defer again.Stop()
	for !n.quorumGone() { // without a quorum nothing is served
		select {
		case <-over.C:
			return
		case <-again.C:
		}
	}
}

// endSessions closes the clients' connections. If some were cut off because they waited for a lost
// quorum, the stop has not failed.
func (n *Node) endSessions(ctx context.Context, srv *pgwire.Server) error {
	err := srv.Shutdown(ctx)
	if errors.Is(err, context.Canceled) {
		n.log.Warn("sessions were cut off: their statements wait for ranges that have no quorum")
		return nil
	}
	return err
}

// cutWithoutQuorum ends the wait for running statements, by calling cut, when
// the cluster can't serve them: without a quorum they would use up the drain time.
func (n *Node) cutWithoutQuorum(ctx context.Context, cut func()) {
	t := time.NewTicker(quorumPoll)
	defer t.Stop()
	for !n.quorumGone() {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
	if n.KV.Router != nil {
		n.KV.Router.FailFast()
	}
	cut()
}

// quorumGone reports whether the addresses of the ranges, or the cluster's records,
// which every statement needs, can't be reached: fewer than a quorum of their
// voters is live.
func (n *Node) quorumGone() bool {
	if n.KV.Live == nil {
		return false
	}
	descs := []*kvpb.RangeDescriptor{n.KV.Addresses.Known()}
	record := membershipKey(n.NodeID())
	if r := n.KV.Store.At(record); r != nil && r.Initialized() {
		descs = append(descs, r.Desc())
	}
	for _, d := range descs {
		if d != nil && drain.QuorumLost(d, func(id kvpb.NodeID) bool { return id == n.NodeID() || n.answers(id) }) {
			return true
		}
	}
	return false
}

// answers reports whether another node answers. One that has drained and ended does not, though its
// last heartbeat may be recent.
func (n *Node) answers(id kvpb.NodeID) bool {
	i, ok := n.KV.Live.Node(id)
	return ok && n.KV.Live.Live(id) && (!i.Draining || n.RPC.Connected(id))
}

// drained reports whether the node serves nothing any more.
func (n *Node) drained() bool {
	select {
	case <-n.drain.done:
		return true
	default:
		return false
	}
}

// moveLeaders transfers the leaderships of the node to others.
func (n *Node) moveLeaders() {
	n.KV.MoveLeaders(func(left int) { n.drain.leaders.Store(int64(left)) })
}
