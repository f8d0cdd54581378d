package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/rpc"
)

// The methods by which a cluster is operated. Requests and answers are JSON. Any
// node answers for any other one.
const (
	MethodNodes      = rpc.MethodNodes      // → []NodeStatus
	MethodDrain      = rpc.MethodDrain      // NodeRequest → DrainStatus; begins a drain, and asks how far it is
	MethodMembership = rpc.MethodMembership // MembershipRequest
	MethodHeld       = rpc.MethodHeld       // HeldRequest → Held
	methodOwn        = rpc.MethodOwn
	methodBlocked    = rpc.MethodBlocked // → []string: why ranges that the node leads are not where they belong
	MethodDebug      = rpc.MethodDebug   // NodeRequest → DebugInfo
)

// Membership says whether a node takes part in its cluster.
type Membership string

// The memberships of a node.
const (
	Active          Membership = "active"
	Decommissioning Membership = "decommissioning" // its replicas move to others
	Decommissioned  Membership = "decommissioned"  // for good
)

// NodeRequest names a node; 0 is the one that is asked.
type NodeRequest struct{ Node kvpb.NodeID }

// MembershipRequest changes the membership of a node.
type MembershipRequest struct {
	Node kvpb.NodeID
	To   Membership
}

// NodeStatus is what a node tells of one of the cluster.
type NodeStatus struct {
	ID                      kvpb.NodeID
	Addr, SQLAddr, HTTPAddr string
	Build, Locality         string
	StartedAt, UpdatedAt    time.Time
	Live                    bool // it sent a heartbeat a moment ago
	Available               bool // and it serves clients
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

// DrainStatus tells how far a node is with ending its service.
type DrainStatus struct {
	Done    bool
	Leaders int // ranges that it still leads and others could
	Clients int // open sessions
	// Info is what the node tells the others about itself now, so that the node that
	// was asked knows it too when the answer comes.
	Info liveness.NodeInfo
}

// HeldRequest asks what a node still has, and why if it does not become less.
type HeldRequest struct {
	Node kvpb.NodeID
	Why  bool
}

// Held is what a node still has, and what that means for giving it up.
type Held struct {
	Ranges   int
	Examples []kvpb.RangeDescriptor // a few of them
	Others   []kvpb.NodeID          // live nodes that could take them
	Live     bool                   // whether the node itself was asked
	Reasons  []string               // what leaders say about ranges that can't move
	Lost     int                    // how many of the ranges have no quorum
	LostSome []LostRange            // a few of them
}

// maxExamples bounds Held.Examples and Held.LostSome.
const maxExamples = 8

// membershipPrefix is where the memberships of nodes are stored that are not active.
const membershipPrefix = "membership/"

func membershipKey(id kvpb.NodeID) []byte {
	return keys.SystemKey(membershipPrefix + strconv.FormatUint(uint64(id), 10))
}

func (n *Node) handleAdmin() {
	n.rpc.Handle(MethodNodes, func(context.Context, kvpb.NodeID, []byte) ([]byte, error) {
		if !n.isMember() {
			return nil, errNotInitialized
		}
		return json.Marshal(n.nodes())
	})
	drain := n.forNode(MethodDrain, func(context.Context) (any, error) { return n.drainMore(), nil })
	n.rpc.Handle(MethodDrain, func(ctx context.Context, from kvpb.NodeID, req []byte) ([]byte, error) {
		p, err := drain(ctx, from, req)
		var s DrainStatus
		if err == nil && n.kv.Live != nil && json.Unmarshal(p, &s) == nil && s.Info.ID != n.NodeID() {
			n.kv.Live.Learn(s.Info)
		}
		return p, err
	})
	n.rpc.Handle(MethodDebug, n.forNode(MethodDebug, func(ctx context.Context) (any, error) { return n.debugInfo(ctx), nil }))
	n.rpc.Handle(MethodHeld, n.handleHeld)
	n.rpc.Handle(MethodMembership, n.handleMembership)
	n.rpc.Handle(methodOwn, n.handleOwn)
	n.rpc.Handle(methodBlocked, func(context.Context, kvpb.NodeID, []byte) ([]byte, error) { return json.Marshal(n.blocked()) })
	if n.cfg.SingleNode {
		n.rpc.Handle(MethodInit, n.handleInit)
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
			return n.rpc.Call(ctx, r.Node, m, req)
		}
		a, err := answer(ctx)
		if err != nil {
			return nil, err
		}
		return json.Marshal(a)
	}
}

// known returns what is known of a node, or that there is none.
func (n *Node) known(id kvpb.NodeID) (liveness.NodeInfo, error) {
	if n.kv.Live != nil {
		if i, ok := n.kv.Live.Node(id); ok {
			return i, nil
		}
	}
	if id == n.NodeID() {
		return n.info(), nil
	}
	return liveness.NodeInfo{}, fmt.Errorf("there is no node %d in this cluster", id)
}

// Init makes a node that was built and not yet started the first of a new cluster.
func (n *Node) Init() error {
	_, err := n.handleInit(context.Background(), 0, nil)
	return err
}

// nodes returns the status of all nodes.
func (n *Node) nodes() []NodeStatus {
	infos := []liveness.NodeInfo{n.info()}
	if n.kv.Live != nil {
		for _, i := range n.kv.Live.Nodes() {
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
			Membership: membershipOf(i),
		}
		if i.Life != 0 {
			s.StartedAt = time.Unix(0, i.Life)
		}
		if i.ID == n.NodeID() {
			s.UpdatedAt, s.Live, s.Available = time.Now(), true, n.notReady() == "" && !i.Removed
		} else {
			s.UpdatedAt, s.Live = n.kv.Live.LastHeard(i.ID), n.kv.Live.Live(i.ID)
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

func membershipOf(i liveness.NodeInfo) Membership {
	switch {
	case i.Removed:
		return Decommissioned
	case i.Decommissioning:
		return Decommissioning
	}
	return Active
}

// drainMore begins to drain the node, if it did not yet, and tells how far that is.
func (n *Node) drainMore() DrainStatus {
	n.beginDrain()
	s := DrainStatus{Done: n.drained(), Leaders: int(n.leave.leaders.Load()), Info: n.info()}
	if n.serving.Load() != nil {
		s.Clients = len(n.sql.Server().Sessions())
	}
	return s
}

// handleMembership changes the membership of a node: first in the record, which
// holds across restarts, then in what nodes believe.
func (n *Node) handleMembership(ctx context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
	var r MembershipRequest
	if err := json.Unmarshal(req, &r); err != nil {
		return nil, err
	}
	switch {
	case n.kv.Gateway() == nil:
		return nil, errNotInitialized
	case n.kv.Live == nil:
		return nil, errors.New("a node that is a cluster by itself has no place for its data but itself")
	}
	i, err := n.known(r.Node)
	switch {
	case err != nil:
		return nil, err
	case i.Removed && r.To != Active:
		return nil, nil
	case i.Removed:
		return nil, fmt.Errorf("node %d was decommissioned for good: to take its machine back, start a node there with an empty store", r.Node)
	}
	err = n.kv.DB.Run(ctx, func(_ context.Context, t *kv.Txn) error {
		if r.To == Active {
			return t.Delete(membershipKey(r.Node))
		}
		return t.Put(membershipKey(r.Node), []byte(r.To))
	})
	if err != nil {
		return nil, n.explain(err)
	}
	return nil, n.spreadMembership(ctx, i, r)
}

// spreadMembership has the node concerned, and then all others, know.
func (n *Node) spreadMembership(ctx context.Context, i liveness.NodeInfo, r MembershipRequest) error {
	notified := r.Node == n.NodeID()
	if notified {
		n.setMembership(r.To)
	} else if n.kv.Live.Live(r.Node) {
		req, err := json.Marshal(r)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, callDeadline)
		defer cancel()
		_, err = n.rpc.Call(ctx, r.Node, methodOwn, req)
		notified = err == nil
	}
	switch {
	case r.To == Decommissioned:
		n.kv.Live.Learn(liveness.NodeInfo{ID: r.Node, Removed: true})
	case !notified: // it will read the record when it comes back
		i.Decommissioning = r.To == Decommissioning
		i.Seq++
		n.kv.Live.Learn(i)
	}
	return nil
}

// handleOwn takes in this node's own membership from the node that changed it.
func (n *Node) handleOwn(_ context.Context, from kvpb.NodeID, req []byte) ([]byte, error) {
	var r MembershipRequest
	if err := json.Unmarshal(req, &r); err != nil {
		return nil, err
	}
	if from == 0 || r.Node != n.NodeID() {
		return nil, errors.New("the request is not for this node")
	}
	n.setMembership(r.To)
	return nil, nil
}

func (n *Node) setMembership(m Membership) {
	n.log.Info("membership of this node", "is", m)
	n.decommissioning.Store(m == Decommissioning)
	n.kv.Tell()
	if m == Decommissioned {
		n.beginDrain()
	}
}

// Recovering reports whether the node waits until enough others of its cluster are
// there.
func (n *Node) Recovering() bool { return n.recovering.Load() }

// rejoin waits until the cluster answers, and checks that the node is still part of
// it. Nodes that are started one after the other wait so for the first quorum.
func (n *Node) rejoin(ctx context.Context) error {
	if n.cfg.SingleNode {
		return nil
	}
	n.recovering.Store(true)
	defer n.recovering.Store(false)
	run := ctx
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	go n.findPeers(run, fail)
	for {
		err := n.checkMembership(ctx)
		if cause := context.Cause(ctx); cause != nil && run.Err() == nil {
			return cause
		}
		if ctx.Err() != nil || !passes(err) {
			return err
		}
		n.log.Warn("waiting for other nodes of the cluster", "err", err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(rejoinInterval):
		}
	}
}

// rejoinInterval is how long a node that its cluster does not answer waits between
// attempts, which take their time as well.
const rejoinInterval = 500 * time.Millisecond

// checkMembership reads the memberships at the start of a node. One that was
// decommissioned does not start again.
func (n *Node) checkMembership(ctx context.Context) error {
	found := map[kvpb.NodeID]Membership{}
	span := keys.SystemSpan(membershipPrefix)
	err := n.scan(ctx, span, func(key, value []byte) error {
		id, err := strconv.ParseUint(strings.TrimPrefix(string(key), string(span.Start)), 10, 32)
		if err != nil {
			return fmt.Errorf("membership record %s: %w", keys.Pretty(key), err)
		}
		found[kvpb.NodeID(id)] = Membership(value)
		return nil
	})
	if err != nil {
		return fmt.Errorf("memberships: %w", err)
	}
	for id, m := range found {
		switch {
		case id == n.NodeID() && m == Decommissioned:
			return fmt.Errorf("node %d was decommissioned and is not part of cluster %s any more: start with an empty store to join as a new node", id, n.ClusterID())
		case id == n.NodeID():
			n.decommissioning.Store(m == Decommissioning)
		case m == Decommissioned:
			n.kv.Live.Learn(liveness.NodeInfo{ID: id, Removed: true})
		}
	}
	return nil
}

// handleHeld tells what a node has: as it says itself, or, if it does not answer, as
// the addresses of the ranges say.
func (n *Node) handleHeld(ctx context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
	var r HeldRequest
	if err := json.Unmarshal(req, &r); err != nil {
		return nil, err
	}
	if n.kv.Gateway() == nil || n.kv.Live == nil {
		return nil, errNotInitialized
	}
	if r.Node == 0 {
		r.Node = n.NodeID()
	}
	if _, err := n.known(r.Node); err != nil {
		return nil, err
	}
	h := Held{}
	if r.Node == n.NodeID() {
		h = n.held()
	} else if n.kv.Live.Live(r.Node) {
		c, cancel := context.WithTimeout(ctx, callDeadline)
		p, err := n.rpc.Call(c, r.Node, MethodHeld, req)
		cancel()
		if err != nil || json.Unmarshal(p, &h) != nil {
			h = Held{}
		}
	}
	if !h.Live {
		var err error
		if h, err = n.heldByAddress(ctx, r.Node); err != nil {
			return nil, n.explain(err)
		}
	}
	h.Others = nil
	for _, o := range n.kv.Live.Nodes() {
		if o.ID != r.Node && n.kv.Live.Live(o.ID) && !o.Removed && !o.Decommissioning {
			h.Others = append(h.Others, o.ID)
		}
	}
	if r.Why {
		h.Reasons = n.allBlocked(ctx)
	}
	return json.Marshal(h)
}

// blocked returns why ranges that this node leads are not where they belong.
func (n *Node) blocked() []string {
	if !n.ready.Load() {
		return nil
	}
	out := n.kv.Balance.Blocked()
	for i, why := range out {
		out[i] = fmt.Sprintf("node %d: %s", n.NodeID(), why)
	}
	return out
}

// allBlocked asks all live nodes.
func (n *Node) allBlocked(ctx context.Context) []string {
	out := n.blocked()
	for _, o := range n.kv.Live.Nodes() {
		if o.ID == n.NodeID() || !n.kv.Live.Live(o.ID) {
			continue
		}
		c, cancel := context.WithTimeout(ctx, callDeadline)
		p, err := n.rpc.Call(c, o.ID, methodBlocked, nil)
		cancel()
		var theirs []string
		if err == nil && json.Unmarshal(p, &theirs) == nil {
			out = append(out, theirs...)
		}
	}
	return out
}

// held returns the replicas of this node that their ranges know of.
func (n *Node) held() Held {
	h := Held{Live: true}
	for _, r := range n.kv.Store.Replicas() {
		n.addHeld(&h, r.Desc(), n.NodeID())
	}
	return h
}

// heldByAddress returns the ranges whose addresses name a node. An address that an
// earlier boundary left behind lies within a newer range and does not count.
func (n *Node) heldByAddress(ctx context.Context, id kvpb.NodeID) (Held, error) {
	all := map[kvpb.RangeID]*kvpb.RangeDescriptor{}
	err := n.scan(ctx, keys.MetaSpan(), func(_, value []byte) error {
		d, err := apply.DecodeDescriptor(value)
		if err != nil {
			return err
		}
		if old := all[d.RangeID]; old == nil || old.Generation < d.Generation {
			all[d.RangeID] = d
		}
		return nil
	})
	h := Held{}
	for _, d := range all {
		n.addHeld(&h, d, id)
	}
	return h, err
}

// addHeld adds a range to what a node has, if that has a replica of it.
func (n *Node) addHeld(h *Held, d *kvpb.RangeDescriptor, id kvpb.NodeID) {
	if !slices.ContainsFunc(d.Replicas, func(r kvpb.ReplicaDescriptor) bool { return r.Node == id }) {
		return
	}
	h.Ranges++
	if len(h.Examples) < maxExamples {
		h.Examples = append(h.Examples, *d)
	}
	if l := n.lost(d); l != nil {
		if h.Lost++; len(h.LostSome) < maxExamples {
			h.LostSome = append(h.LostSome, *l)
		}
	}
}

// scan calls row with the records of a span, in a transaction of its own.
func (n *Node) scan(ctx context.Context, span keys.Span, row func(key, value []byte) error) error {
	return n.kv.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		return kv.Each(ctx, t, span, func(key, value []byte) (bool, error) { return true, row(key, value) })
	})
}

// DebugInfo is what a node tells those who look into it.
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
	for _, s := range n.nodes() {
		if s.ID == n.NodeID() {
			d.Status = s
		}
	}
	for _, r := range n.kv.Store.Replicas() {
		if len(d.Ranges) == maxDebugRanges || ctx.Err() != nil {
			break
		}
		l, _ := r.Leader()
		d.Ranges = append(d.Ranges, DebugRange{Desc: *r.Desc(), Leads: r.Leads(), Leader: l.Node, Detail: r.Describe(ctx)})
	}
	return d
}
