package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/store"
)

// The methods by which nodes form a cluster. Requests and answers are JSON.
const (
	MethodInit    = rpc.MethodInit    // makes the node the first of a new cluster
	MethodJoin    = rpc.MethodJoin    // asks for ids in the node's cluster
	MethodPeers   = rpc.MethodPeers   // asks for the nodes that a node knows
	MethodServing = rpc.MethodServing // answers once the node serves SQL clients
	MethodAwaited = rpc.MethodAwaited // → Awaited
)

// Intervals between attempts to reach a cluster.
const (
	joinEvery    = 500 * time.Millisecond
	peersEvery   = 2 * time.Second
	callDeadline = 3 * time.Second
	// greetTimeout bounds the greeting of the --join addresses. A node there that is connected with
	// another process of this node needs the time of two pings to be sure that both live.
	greetTimeout = 1500 * time.Millisecond
	// sayAgain is the time after which the same reason is logged again.
	sayAgain = time.Minute
)

// The counters that ids are taken from.
const (
	nodeIDs  = "node-id"
	storeIDs = "store-id"
)

// InitAnswer has the id of a new cluster.
type InitAnswer struct{ Cluster string }

// Awaited lists the nodes at a node's --join addresses, itself among them: those that serve, and those
// that answer but do not serve yet.
type Awaited struct{ Serving, Starting []string }

type joinRequest struct{ Info liveness.NodeInfo }

type joinAnswer struct {
	Identity store.Identity
	Nodes    []liveness.NodeInfo
}

// howToInit is the hint for nodes that wait for a cluster.
const howToInit = "Run lichen init --host=… once, on any one of the new nodes"

// errNotInitialized is the answer of a node without a cluster.
var errNotInitialized = errors.New("the node is not part of a cluster yet. " + howToInit)

func (n *Node) handleCluster() {
	n.RPC.Handle(MethodInit, n.handleInit)
	n.RPC.Handle(MethodJoin, n.handleJoin)
	n.RPC.Handle(MethodPeers, func(context.Context, kvpb.NodeID, []byte) ([]byte, error) {
		if !n.isMember() {
			return nil, errNotInitialized
		}
		return json.Marshal(n.KV.Live.Nodes())
	})
	n.RPC.Handle(MethodServing, func(context.Context, kvpb.NodeID, []byte) ([]byte, error) {
		if !n.ready.Load() {
			return nil, errNotInitialized
		}
		return nil, nil
	})
	n.RPC.Handle(MethodAwaited, func(ctx context.Context, _ kvpb.NodeID, _ []byte) ([]byte, error) {
		return json.Marshal(n.awaited(ctx))
	})
}

func (n *Node) isMember() bool { return n.KV.Store.Identity() != store.Identity{} }

// handleInit makes the node the first of a new cluster.
func (n *Node) handleInit(context.Context, kvpb.NodeID, []byte) ([]byte, error) {
	n.initMu.Lock()
	defer n.initMu.Unlock()
	if n.isMember() {
		return nil, fmt.Errorf("cluster %s has been initialized already", n.ClusterID())
	}
	id := store.Identity{Cluster: storage.NewID().String(), Node: 1, Store: 1}
	if err := n.KV.Store.Bootstrap(id); err != nil {
		return nil, err
	}
	close(n.member)
	n.sayNotYet()
	return json.Marshal(InitAnswer{Cluster: id.Cluster})
}

// awaited asks the --join addresses whether nodes serve there. Those that do not answer are
// in neither list.
func (n *Node) awaited(ctx context.Context) (a Awaited) {
	ctx, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	answers := make([]error, len(n.cfg.Join))
	var all sync.WaitGroup
	for i, addr := range n.cfg.Join {
		all.Go(func() { _, answers[i] = n.RPC.CallAddr(ctx, addr, MethodServing, nil) })
	}
	all.Wait()
	for i, addr := range n.cfg.Join {
		var remote *rpc.RemoteError
		switch {
		case answers[i] == nil:
			a.Serving = append(a.Serving, addr)
		case errors.As(answers[i], &remote):
			a.Starting = append(a.Starting, addr)
		}
	}
	return a
}

// handleJoin gives a new node its ids.
func (n *Node) handleJoin(ctx context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
	if !n.ready.Load() {
		return nil, errNotInitialized
	}
	var r joinRequest
	if err := json.Unmarshal(req, &r); err != nil {
		return nil, err
	}
	id := store.Identity{Cluster: n.ClusterID()}
	v, err := n.KV.DB.Increment(ctx, nodeIDs, 1)
	if err != nil {
		return nil, err
	}
	id.Node = kvpb.NodeID(v)
	if v, err = n.KV.DB.Increment(ctx, storeIDs, 1); err != nil {
		return nil, err
	}
	id.Store = kvpb.StoreID(v)
	r.Info.ID = id.Node
	r.Info.Stores = []liveness.StoreInfo{{ID: id.Store}} // it asks for further ones itself
	n.KV.Live.Learn(r.Info)
	return json.Marshal(joinAnswer{Identity: id, Nodes: n.KV.Live.Nodes()})
}

// join returns when the node is part of a cluster: it has founded one, or a node at one of the --join
// addresses has given it ids.
func (n *Node) join(ctx context.Context) error {
	if n.isMember() {
		return nil
	}
	if err := n.checkAddressFree(ctx); err != nil {
		return err
	}
	n.log.Info("waiting for a cluster", "join", n.cfg.Join)
	t := time.NewTicker(joinEvery)
	defer t.Stop()
	why := newReasons(n.log, "cannot join through this address yet; trying on")
	n.unanswered.Store(why)
	for {
		for _, addr := range n.cfg.Join {
			err := n.tryJoin(ctx, addr)
			if err == nil {
				return nil
			}
			if n.joinRefused(err) {
				return fmt.Errorf("cannot join the cluster at %s: %w", addr, err)
			}
			why.note(addr, err)
		}
		select {
		case <-n.member:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
}

// checkJoin refuses the start of a member whose --join addresses lead to another cluster than its store
// belongs to. Nobody needs to answer, and one answer of its own cluster is enough. But the node greets all
// addresses before it takes part in anything: if one of them is connected with another process of this
// node, this one ends (rpc.Options.OnTwin).
func (n *Node) checkJoin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	type answer struct {
		addr string
		id   kvpb.NodeID
		err  error
	}
	answers := make(chan answer, len(n.cfg.Join))
	for _, addr := range n.cfg.Join {
		go func() {
			id, err := n.RPC.WhoIsAt(ctx, addr)
			answers <- answer{addr, id, err}
		}()
	}
	var foreign error
	own := false
	for range n.cfg.Join {
		a := <-answers
		var r *rpc.RefusedError
		switch {
		case a.err == nil && a.id != 0 && a.id != n.NodeID():
			own = true
		case errors.As(a.err, &r) && r.Reason == rpc.RefusedCluster && foreign == nil:
			foreign = fmt.Errorf("the store in %s is a member of a cluster, and --join leads to another one: %s: %w; give --join the addresses of its own cluster, or an empty --store to join the other one",
				n.KV.Store.First().Dir(), a.addr, a.err)
		}
	}
	if own {
		return nil
	}
	return foreign
}

// joinRefused reports whether an answer is final: the other node has another version, is of another
// cluster, or expects other connections.
func (n *Node) joinRefused(err error) bool {
	var r *rpc.RefusedError
	return errors.As(err, &r) && (r.Reason == rpc.RefusedVersion || r.Reason == rpc.RefusedCluster || r.Reason == rpc.RefusedOther)
}

// reasons logs why addresses don't answer, each reason at most once in sayAgain.
type reasons struct {
	log  *slog.Logger
	what string

	mu   sync.Mutex
	last map[string]said
}

type said struct {
	text string
	at   time.Time
}

func newReasons(log *slog.Logger, what string) *reasons {
	return &reasons{log: log, what: what, last: map[string]said{}}
}

func (r *reasons) note(addr string, err error) {
	text := strings.TrimPrefix(err.Error(), rpc.ErrNotSent.Error()+": ")
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.last[addr]; withoutPorts(s.text) == withoutPorts(text) && time.Since(s.at) < sayAgain {
		return
	}
	r.last[addr] = said{text, time.Now()}
	r.log.Warn(r.what, "addr", addr, "reason", text)
}

// withoutPorts removes the numbers from a reason, since the port from which this node called differs each
// time.
func withoutPorts(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, text)
}

// Unanswered returns for each --join address without an answer the reason, for a node that waits for its
// cluster. It leaves out the addresses of nodes that wait as well.
func (n *Node) Unanswered() (why []string) {
	r := n.unanswered.Load()
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, addr := range n.cfg.Join {
		if s, ok := r.last[addr]; ok && s.text != errNotInitialized.Error() {
			why = append(why, addr+": "+strings.TrimPrefix(s.text, addr+": "))
		}
	}
	return why
}

func (n *Node) tryJoin(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, callDeadline)
	defer cancel()
	n.initMu.Lock()
	defer n.initMu.Unlock()
	if n.isMember() {
		return nil
	}
	req, err := json.Marshal(joinRequest{Info: n.info()})
	if err != nil {
		return err
	}
	p, err := n.RPC.CallAddr(ctx, addr, MethodJoin, req)
	if err != nil {
		return err
	}
	var a joinAnswer
	if err := json.Unmarshal(p, &a); err != nil {
		return err
	}
	if err := n.KV.Store.Join(a.Identity); err != nil {
		return err
	}
	n.joined = true
	for _, o := range a.Nodes {
		if o.ID != a.Identity.Node {
			n.KV.Live.Learn(o)
		}
	}
	return nil
}

// findPeers asks the --join addresses for the cluster's nodes until it knows enough of them: heartbeats
// bring the others. The start fails if all nodes that answer refuse this one, for example since it is of
// another cluster, and no node of its cluster has sent a message.
func (n *Node) findPeers(ctx context.Context, fail context.CancelCauseFunc) {
	why := newReasons(n.log, "no answer from this address of --join")
	for len(n.cfg.Join) > 0 {
		answered, refused := false, error(nil)
		for _, addr := range n.cfg.Join {
			nodes, err := n.askPeers(ctx, addr)
			switch {
			case err == nil:
				answered = true
			case ctx.Err() != nil:
				return
			case n.joinRefused(err):
				refused = fmt.Errorf("the node at %s, an address of --join: %w", addr, err)
				fallthrough
			default:
				why.note(addr, err)
			}
			for _, o := range nodes {
				if o.ID != n.KV.Store.Identity().Node {
					n.KV.Live.Learn(o)
				}
			}
		}
		if refused != nil && !answered && n.recovering.Load() {
			fail(refused)
			return
		}
		if len(n.KV.Live.Nodes()) > 1 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(peersEvery):
		}
	}
}

// askPeers asks the node at an address for the nodes of its cluster.
func (n *Node) askPeers(ctx context.Context, addr string) (nodes []liveness.NodeInfo, err error) {
	ctx, cancel := context.WithTimeout(ctx, callDeadline)
	defer cancel()
	p, err := n.RPC.CallAddr(ctx, addr, MethodPeers, nil)
	if err != nil {
		return nil, err
	}
	return nodes, json.Unmarshal(p, &nodes)
}

// refuseJoins makes a node that runs alone refuse nodes that want to join it.
func (n *Node) refuseJoins() {
	n.RPC.Handle(MethodJoin, func(context.Context, kvpb.NodeID, []byte) ([]byte, error) {
		return nil, errors.New("the node is a cluster by itself (start-single-node) and takes no others in: found a cluster with lichen start and lichen init")
	})
}

// checkAlone refuses to run a node alone over the store of a node that has had others: its ranges wait for
// them, and they would miss its changes.
func (n *Node) checkAlone() error {
	if !n.cfg.SingleNode {
		return nil
	}
	own := n.KV.Store.Identity().Node
	for _, r := range n.KV.Store.Replicas() {
		for _, rep := range r.Desc().Replicas {
			if rep.Node != own {
				return fmt.Errorf("the store belongs to node %d of a cluster in which node %d holds replicas too: run lichen start --join=… with it, not start-single-node",
					own, rep.Node)
			}
		}
	}
	return nil
}

// checkAddressFree checks, before this node gets an id, that no other node answers at the address that it
// advertises.
func (n *Node) checkAddressFree(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callDeadline)
	defer cancel()
	if id, err := n.RPC.WhoIsAt(ctx, n.o.Listeners.AdvertisedAddr()); err == nil && id != 0 {
		return n.addressTaken(id)
	}
	return nil
}

func (n *Node) addressTaken(by kvpb.NodeID) error {
	return fmt.Errorf("node %d answers at %s, the address that this node tells the others: give each node an address of its own (--advertise-addr, --listen-addr)",
		by, n.o.Listeners.AdvertisedAddr())
}

// checkOwnAddress checks that no other node answers at the address that this one advertises. If nobody
// answers, it only logs that: there may be no route from this machine to the address.
func (n *Node) checkOwnAddress(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callDeadline)
	defer cancel()
	addr, own := n.o.Listeners.AdvertisedAddr(), n.KV.Store.Identity().Node
	switch id, err := n.RPC.WhoIsAt(ctx, addr); {
	case err != nil:
		n.log.Warn("this node does not reach itself at its advertised address", "addr", addr, "err", err)
	case id != own:
		return n.addressTaken(id)
	}
	return nil
}

// info returns this node's info for the others.
func (n *Node) info() liveness.NodeInfo {
	id := n.KV.Store.Identity()
	addr := n.o.Listeners.AdvertisedAddr()
	return liveness.NodeInfo{
		ID: id.Node, Incarnation: n.KV.Incarnation, Addr: addr, SQLAddr: addr, HTTPAddr: n.o.Listeners.AdvertisedHTTPAddr(), Locality: n.cfg.Locality,
		Version: Version, Draining: n.draining.Load(), Decommissioning: n.decommissioning.Load(),
		Stores: n.KV.StoreInfos(), Seq: n.KV.Stats.Seq(),
	}
}
