package server

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/lichendb/lichen/internal/dist"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/store"
)

// firstBytes is how much of a connection tells who is calling, sniffTimeout how
// long that may take.
const (
	firstBytes   = 8
	sniffTimeout = 30 * time.Second
)

// network builds what a node of a cluster speaks with others by.
func (n *Node) network() {
	n.live = liveness.New(liveness.Options{
		Clock: n.clock, MaxOffset: n.cfg.MaxOffset, Self: n.info, Logger: n.log,
		OldestRead: n.ownOldestRead,
		NoPast:     !n.isMember(), ClockOK: func() bool { return !n.clockBad.Load() && n.disksOK() },
		Send:     func(to kvpb.NodeID, msg []byte) bool { return n.rpc.Send(to, methodLiveness, msg) },
		OnChange: func(s kvpb.StoreID) { n.store.SupportChanged(s) },
		OnNode:   n.noteNode,
		OnFatal:  n.fatal,
	})
	n.newRanges()
	n.store.Connect(store.Network{
		Transport: n.rpc, Support: n.live, OnLeader: n.noteLeader, OthersAnswer: n.live.OthersAnswer,
		OnDescriptor: func(r *replica.Replica) {
			if r.Leads() {
				n.addresses.Publish(r)
			}
		},
	})
	n.handleCluster()
	n.ranges.admin.Handle()
	n.handleSQL()
	n.deadlocks = dist.NewDeadlocks(n.NodeID, n.store.Waits(), n.rpc)
	n.rpc.Handle(dist.MethodWaits, func(_ context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
		return n.deadlocks.Serve(req)
	})
	n.rpc.Handle(dist.MethodClock, func(context.Context, kvpb.NodeID, []byte) ([]byte, error) {
		return dist.ServeClock(n.clock), nil
	})
	n.rpc.Handle(dist.MethodKV, func(ctx context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
		return dist.Serve(ctx, n.sender, req), nil
	})
}

// sender finds the replica that a request from another node is for.
func (n *Node) sender(id kvpb.RangeID) (kvpb.Sender, error) {
	if r, ok := n.store.Replica(id); ok && r.Initialized() {
		if n.store.Of(r).Disk().Stalled {
			return nil, &kvpb.NotLeaderError{Range: id}
		}
		return n.ranges.stats.Of(r), nil
	}
	if d, ok := n.store.MergedInto(id); ok {
		return nil, &kvpb.RangeMismatchError{Range: id, Known: []kvpb.RangeDescriptor{*d}}
	}
	return nil, &kvpb.RangeMismatchError{Range: id}
}

// localRanges shows the store's replicas to the router.
type localRanges struct{ n *Node }

// Replica implements dist.Local. One whose disk stands still is not asked: others lead.
func (l localRanges) Replica(id kvpb.RangeID) (kvpb.Sender, bool) {
	r, ok := l.n.store.Replica(id)
	if !ok || !r.Initialized() || l.n.store.Of(r).Disk().Stalled {
		return nil, false
	}
	return l.n.ranges.stats.Of(r), true
}

// startCluster makes the node part of its cluster.
func (n *Node) startCluster(ctx context.Context) error {
	if n.cfg.SingleNode {
		return nil
	}
	if n.isMember() {
		if err := n.checkJoin(ctx); err != nil {
			return err
		}
	}
	if err := n.join(ctx); err != nil {
		return err
	}
	n.sayNotYet()
	if err := n.checkOwnAddress(ctx); err != nil {
		return err
	}
	n.live.Start()
	return nil
}

// accept serves the connections of the shared listener: nodes and SQL clients.
func (n *Node) accept() {
	for {
		c, err := n.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			n.log.Error("listener", "err", err)
			<-time.After(acceptPause)
			continue
		}
		go n.serveConn(c)
	}
}

// acceptPause keeps a listener that fails, for want of descriptors perhaps, from
// spinning.
const acceptPause = 10 * time.Millisecond

// serveConn finds out who is calling.
func (n *Node) serveConn(c net.Conn) {
	_ = c.SetReadDeadline(time.Now().Add(sniffTimeout))
	first := make([]byte, firstBytes)
	k, err := io.ReadFull(c, first)
	if err != nil {
		_ = c.Close()
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	first = first[:k]
	if n.certs != nil && first[0] == tlsHandshake {
		n.serveTLS(c, first)
		return
	}
	if rpc.IsRPC(first) {
		n.rpc.ServeConn(c, first)
		return
	}
	n.front().ServeConn(context.Background(), c, first)
}
