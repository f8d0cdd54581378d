package node

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/rpc"
)

// The methods for operators of a cluster. Requests and answers are JSON. Any node answers for
// any other one.
const (
	MethodNodes      = rpc.MethodNodes      // → []NodeStatus
	MethodDrain      = rpc.MethodDrain      // NodeRequest → DrainStatus; begins a drain, and asks how far it is
	MethodMembership = rpc.MethodMembership // MembershipRequest
	MethodRemaining  = rpc.MethodRemaining  // RemainingRequest → Remaining
	methodOwn        = rpc.MethodOwn
	methodBlocked    = rpc.MethodBlocked // → []string: why ranges that the node leads are not where they belong
	MethodDebug      = rpc.MethodDebug   // NodeRequest → DebugInfo
)

// NodeRequest names a node; 0 is the one that is asked.
type NodeRequest struct{ Node kvpb.NodeID }

// NodeStatus is the status of a node, as another one knows it.
type NodeStatus struct {
	ID                      kvpb.NodeID
	Addr, SQLAddr, HTTPAddr string
	Build, Locality         string
	StartedAt, UpdatedAt    time.Time
	Live                    bool // it sent a heartbeat a moment ago
	Available               bool // and it serves clients
	Draining                bool // it ends its service
	Ranges, Leaders         int
	Membership              Membership
	Stores                  []StoreStatus
}

// StoreStatus is the state of a store, as its node announced last.
type StoreStatus struct {
	ID              kvpb.StoreID
	Ranges, Leaders int
	Capacity        int64 // bytes of its disk, or of its share of it
	Available       int64 // of these
	Used            int64 // bytes that the store takes
	Stalled, Full   bool  // its disk does not answer, or has no room
	Slow            bool  // its disk takes long for each write
}

// DrainStatus is the progress of a drain.
type DrainStatus struct {
	Done    bool
	Leaders int // ranges that it still leads and others could
	Clients int // open sessions
	// Info is the node's present info for the others, so that the node that asks has it with
	// the answer.
	Info liveness.NodeInfo
}

func (n *Node) handleAdmin() {
	n.RPC.Handle(MethodNodes, func(context.Context, kvpb.NodeID, []byte) ([]byte, error) {
		if !n.isMember() {
			return nil, errNotInitialized
		}
		return json.Marshal(n.Statuses())
	})
	drain := n.forNode(MethodDrain, func(context.Context) (any, error) { return n.drainMore(), nil })
	n.RPC.Handle(MethodDrain, func(ctx context.Context, from kvpb.NodeID, req []byte) ([]byte, error) {
		p, err := drain(ctx, from, req)
		var s DrainStatus
		if err == nil && n.KV.Live != nil && json.Unmarshal(p, &s) == nil && s.Info.ID != n.NodeID() {
			n.KV.Live.Learn(s.Info)
		}
		return p, err
	})
	n.RPC.Handle(MethodDebug, n.forNode(MethodDebug, func(ctx context.Context) (any, error) { return n.debugInfo(ctx), nil }))
	n.RPC.Handle(MethodRemaining, n.handleRemaining)
	n.RPC.Handle(MethodMembership, n.handleMembership)
	n.RPC.Handle(methodOwn, n.handleOwn)
	n.RPC.Handle(methodBlocked, func(context.Context, kvpb.NodeID, []byte) ([]byte, error) { return json.Marshal(n.blocked()) })
	if n.cfg.SingleNode {
		n.RPC.Handle(MethodInit, n.handleInit)
	}
}

// forNode answers for this node, and asks others for theirs.
func (n *Node) forNode(m rpc.Method, answer func(context.Context) (any, error)) rpc.Handler {
	return func(ctx context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
		if !n.isMember() {
			return nil, errNotInitialized
		}
		var r NodeRequest
		if err := json.Unmarshal(req, &r); err != nil {
			return nil, err
		}
		if r.Node != 0 && r.Node != n.NodeID() {
			if _, err := n.known(r.Node); err != nil {
				return nil, err
			}
			return n.RPC.Call(ctx, r.Node, m, req)
		}
		a, err := answer(ctx)
		if err != nil {
			return nil, err
		}
		return json.Marshal(a)
	}
}

// known returns the info of a node, or an error if there is no such node.
func (n *Node) known(id kvpb.NodeID) (liveness.NodeInfo, error) {
	if n.KV.Live != nil {
		if i, ok := n.KV.Live.Node(id); ok {
			return i, nil
		}
	}
	if id == n.NodeID() {
		return n.info(), nil
	}
	return liveness.NodeInfo{}, fmt.Errorf("there is no node %d in this cluster", id)
}

// everMember returns the info of a node that is or was part of the cluster. If the node has been silent since
// all others started, the info has nothing but its id.
func (n *Node) everMember(ctx context.Context, id kvpb.NodeID) (liveness.NodeInfo, error) {
	i, err := n.known(id)
	if err == nil || id == 0 || n.KV.Live == nil {
		return i, err
	}
	last, readErr := n.KV.DB.Counter(ctx, nodeIDs)
	switch {
	case readErr != nil:
		return i, n.explain(readErr)
	case uint64(id) > last:
		return i, err
	}
	return liveness.NodeInfo{ID: id}, nil
}

// Init makes a node that was built and not yet started the first of a new cluster.
func (n *Node) Init() error {
	_, err := n.handleInit(context.Background(), 0, nil)
	return err
}

// Statuses returns the status of all nodes.
func (n *Node) Statuses() []NodeStatus {
	infos := []liveness.NodeInfo{n.info()}
	if n.KV.Live != nil {
		for _, i := range n.KV.Live.Nodes() {
			if i.ID == n.NodeID() {
				infos[0].Removed = i.Removed
			} else {
				infos = append(infos, i)
			}
		}
	}
	quorum := !n.quorumGone() // which every statement of any node needs
	out := make([]NodeStatus, 0, len(infos))
	for _, i := range infos {
		s := NodeStatus{
			ID: i.ID, Addr: i.Addr, SQLAddr: i.SQLAddr, HTTPAddr: i.HTTPAddr, Build: i.Version, Locality: i.Locality,
			Membership: membershipOf(i), Draining: i.Draining,
		}
		if i.Incarnation != 0 {
			s.StartedAt = time.Unix(0, i.Incarnation)
		}
		if i.ID == n.NodeID() {
			s.UpdatedAt, s.Live, s.Available = time.Now(), true, n.NotReady() == "" && !i.Removed
		} else {
			s.UpdatedAt, s.Live = n.KV.Live.LastContact(i.ID), n.KV.Live.Live(i.ID)
			s.Available = s.Live && !i.Draining && !i.Removed && quorum
		}
		for _, st := range i.Stores {
			if !i.Removed { // what it announced last
				s.Ranges += st.Ranges
				s.Leaders += st.Leaders
				s.Stores = append(s.Stores, StoreStatus{
					ID: st.ID, Ranges: st.Ranges, Leaders: st.Leaders, Capacity: st.CapacityBytes, Available: max(st.CapacityBytes-st.UsedBytes, 0), Used: st.OwnBytes,
					Stalled: st.Stalled, Full: st.Full, Slow: st.Slow,
				})
			}
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b NodeStatus) int { return int(a.ID) - int(b.ID) })
	return out
}

// drainMore begins to drain the node, unless it has begun, and returns the progress.
func (n *Node) drainMore() DrainStatus {
	n.BeginDrain()
	s := DrainStatus{Done: n.drained(), Leaders: int(n.drain.leaders.Load()), Info: n.info()}
	if n.serving.Load() != nil {
		s.Clients = len(n.SQL.Server().Sessions())
	}
	return s
}

// DebugInfo is the state of a node, for debugging.
type DebugInfo struct {
	Status NodeStatus
	Ranges []DebugRange
}

// DebugRange is a replica of a node.
type DebugRange struct {
	Desc   kvpb.RangeDescriptor
	Leads  bool
	Leader kvpb.NodeID
	Detail string
}

// maxDebugRanges bounds DebugInfo.Ranges: an answer has a largest size.
const maxDebugRanges = 10_000

func (n *Node) debugInfo(ctx context.Context) DebugInfo {
	var d DebugInfo
	for _, s := range n.Statuses() {
		if s.ID == n.NodeID() {
			d.Status = s
		}
	}
	for _, r := range n.KV.Store.Replicas() {
		if len(d.Ranges) == maxDebugRanges || ctx.Err() != nil {
			break
		}
		l, _ := r.Leader()
		d.Ranges = append(d.Ranges, DebugRange{Desc: *r.Desc(), Leads: r.Leads(), Leader: l.Node, Detail: r.Describe(ctx)})
	}
	return d
}
