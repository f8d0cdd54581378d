package kvnode

import (
	"context"

	"github.com/lichendb/lichen/internal/balance/storepool"
	"github.com/lichendb/lichen/internal/dist"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/store"
)

// The methods of a node's key-value part, beside those of the packages below.
const (
	methodFirstRange = rpc.MethodFirstRange // asks for the descriptor of the first range
	MethodLiveness   = rpc.MethodLiveness
)

func (n *Node) newLiveness() *liveness.Liveness {
	return liveness.New(liveness.Options{
		Clock: n.Clock, MaxOffset: n.o.MaxOffset, Self: n.o.Self, Logger: n.o.Logger, OldestRead: n.ownOldestRead,
		NoPast:   n.Store.Identity() == store.Identity{},
		ClockOK:  func() bool { return n.o.ClockOK() && !n.Store.AllStalled() }, // a stalled store of several resigns by itself
		Send:     func(to kvpb.NodeID, msg []byte) bool { return n.o.Transport.Send(to, MethodLiveness, msg) },
		OnChange: func(s kvpb.StoreID) { n.Store.SupportChanged(s) },
		OnNode:   n.noteNode,
		OnFatal:  n.o.OnFatal,
	})
}

// noteNode handles an info about a node that became known or changed.
func (n *Node) noteNode(i liveness.NodeInfo) {
	n.newGateways.known(incarnation{i.ID, startOf(i.Incarnation)})
	if n.o.OnNode != nil {
		n.o.OnNode(i)
	}
}

// connect connects the stores with the network, and registers the node's handlers.
func (n *Node) connect() {
	t := n.o.Transport
	n.Store.Connect(store.Network{
		Transport: t, Support: n.Live, OnLeader: n.noteLeader, OnDescriptor: n.noteDescriptor, OthersAnswer: n.Live.OthersAnswer,
	})
	t.HandleMessage(MethodLiveness, n.Live.Receive)
	t.Handle(methodFirstRange, n.handleFirstRange)
	t.Handle(dist.MethodWaits, func(_ context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
		return n.Deadlocks.Serve(req)
	})
	t.Handle(dist.MethodClock, func(context.Context, kvpb.NodeID, []byte) ([]byte, error) {
		return dist.ServeClock(n.Clock), nil
	})
	t.Handle(dist.MethodKV, func(ctx context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
		return dist.Serve(ctx, n.Clock, n.o.Store.Values, n.sender, req), nil
	})
	n.Admin.Handle()
}

// noteLeader handles the beginning of a leadership here.
func (n *Node) noteLeader(r *replica.Replica) {
	n.Addresses.Publish(r)
	n.Admin.NoteLeader(r)
	if n.o.OnLeader != nil {
		n.o.OnLeader(r)
	}
}

// noteDescriptor handles a changed descriptor.
func (n *Node) noteDescriptor(r *replica.Replica) {
	if !r.Leads() {
		return
	}
	n.Addresses.Publish(r)
	if n.o.OnDescriptor != nil {
		n.o.OnDescriptor(r)
	}
}

// sender finds the replica that a request from another node is for.
func (n *Node) sender(id kvpb.RangeID) (kvpb.Sender, error) {
	if r, ok := n.Store.Replica(id); ok && r.Initialized() {
		if n.Store.Of(r).Disk().Stalled {
			return nil, &kvpb.NotLeaderError{Range: id}
		}
		return n.Stats.Of(r), nil
	}
	if d, ok := n.Store.MergedInto(id); ok {
		return nil, &kvpb.RangeMismatchError{Range: id, Known: []kvpb.RangeDescriptor{*d}}
	}
	return nil, &kvpb.RangeMismatchError{Range: id}
}

// localRanges shows the store's replicas to the router.
type localRanges struct{ n *Node }

// Replica implements dist.Local. It leaves out a replica whose disk is stalled: others lead.
func (l localRanges) Replica(id kvpb.RangeID) (kvpb.Sender, bool) {
	r, ok := l.n.Store.Replica(id)
	if !ok || !r.Initialized() || l.n.Store.Of(r).Disk().Stalled {
		return nil, false
	}
	return l.n.Stats.Of(r), true
}

// distance returns the distance of a node, and false if the node does not answer.
func (n *Node) distance(id kvpb.NodeID) (int64, bool) {
	if id == n.ID() {
		return 0, true
	}
	i, ok := n.Live.Node(id)
	if !ok || i.Removed || !n.Live.Live(id) {
		return 0, false
	}
	rtt, ok := n.o.RoundTrip(id)
	return storepool.Distance(n.o.Locality, i.Locality, rtt, ok), true
}
