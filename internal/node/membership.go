package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
)

// Membership says whether a node takes part in its cluster.
type Membership string

// The memberships of a node.
const (
	Active          Membership = "active"
	Decommissioning Membership = "decommissioning" // its replicas move to others
	Decommissioned  Membership = "decommissioned"  // for good
)

// MembershipRequest changes the membership of a node.
type MembershipRequest struct {
	Node kvpb.NodeID
	To   Membership
}

// membershipPrefix is where the memberships of nodes are stored that are not active.
const membershipPrefix = "membership/"

// membershipKey is where the membership of a node is stored.
func membershipKey(id kvpb.NodeID) []byte {
	return keys.SystemKey(membershipPrefix + strconv.FormatUint(uint64(id), 10))
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

// handleMembership changes the membership of a node.
func (n *Node) handleMembership(ctx context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
	var r MembershipRequest
	if err := json.Unmarshal(req, &r); err != nil {
		return nil, err
	}
	return nil, n.SetMembership(ctx, r)
}

// SetMembership changes the membership of a node: first in the record, which
// holds across restarts, then in what nodes believe.
func (n *Node) SetMembership(ctx context.Context, r MembershipRequest) error {
	switch {
	case n.KV.Gateway() == nil:
		return errNotInitialized
	case n.KV.Live == nil:
		return errors.New("a node that is a cluster by itself has no place for its data but itself")
	}
	i, err := n.everMember(ctx, r.Node)
	switch {
	case err != nil:
		return err
	case i.Removed && r.To != Active:
		return nil
	case i.Removed:
		return fmt.Errorf("node %d was decommissioned for good: to take its machine back, start a node there with an empty store", r.Node)
	}
	err = n.KV.DB.Run(ctx, func(_ context.Context, t *kv.Txn) error {
		if r.To == Active {
			return t.Delete(membershipKey(r.Node))
		}
		return t.Put(membershipKey(r.Node), []byte(r.To))
	})
	if err != nil {
		return n.explain(err)
	}
	return n.spreadMembership(ctx, i, r)
}

// spreadMembership has the node concerned, and then all others, know.
func (n *Node) spreadMembership(ctx context.Context, i liveness.NodeInfo, r MembershipRequest) error {
	notified := r.Node == n.NodeID()
	if notified {
		n.setMembership(r.To)
	} else if n.KV.Live.Live(r.Node) {
		req, err := json.Marshal(r)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, callDeadline)
		defer cancel()
		_, err = n.RPC.Call(ctx, r.Node, methodOwn, req)
		notified = err == nil
	}
	switch {
	case r.To == Decommissioned:
		n.KV.Live.Learn(liveness.NodeInfo{ID: r.Node, Removed: true})
	case !notified: // it will read the record when it comes back
		i.Decommissioning = r.To == Decommissioning
		i.Seq++
		n.KV.Live.Learn(i)
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

// setMembership has the node follow its own membership. One that was decommissioned drains.
func (n *Node) setMembership(m Membership) {
	n.log.Info("membership of this node", "is", m)
	n.decommissioning.Store(m == Decommissioning)
	n.KV.GossipInfo()
	if m == Decommissioned {
		n.BeginDrain()
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
			n.KV.Live.Learn(liveness.NodeInfo{ID: id, Removed: true})
		}
	}
	return nil
}
