package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/rpc"
)

// The methods by which nodes ask one another about ranges. Requests and answers are
// JSON.
const (
	methodRangeOp   rpc.Method = 64 // asks the leader of a range to change it
	methodRangeInfo rpc.Method = 65 // asks about replicas
)

const (
	// opTimeout is how long the leader of a range is looked for, opPause the pause
	// between two attempts. A range that is looked for by a key of its own may have been
	// merged away: after readdress it is seen which range holds the key now.
	opTimeout = 10 * time.Second
	opPause   = 50 * time.Millisecond
	readdress = time.Second
	// infoTimeout bounds the wait for what a node knows of its replicas.
	infoTimeout = 2 * time.Second
)

// rangeOp is something that the leader of a range is to do.
type rangeOp struct {
	Kind    opKind
	Range   kvpb.RangeID
	Changes []placement.Change
	Store   kvpb.StoreID
	// Key is where to split, Key and End are what to clear.
	Key, End []byte
	// Left is the range that gave up merging this one, as of a generation.
	Left       kvpb.RangeID
	Generation uint64
}

// opKind says what a rangeOp does.
type opKind uint8

const (
	opReplicas opKind = 1 + iota
	opLeader
	opSplit
	opClear
	opMerge
	opUnfreeze
)

// rangeAnswer is what came of a rangeOp.
type rangeAnswer struct {
	// Elsewhere says that the node does not lead the range, Leader which one does
	// as far as it knows.
	Elsewhere bool
	Leader    kvpb.NodeID
	// Mismatch says that the range does not hold the keys.
	Mismatch bool
	Err      string
}

func (n *Node) handleRanges() {
	n.rpc.Handle(methodRangeOp, func(ctx context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
		var op rangeOp
		if err := json.Unmarshal(req, &op); err != nil {
			return nil, err
		}
		var a rangeAnswer
		if n.ready.Load() {
			a = n.perform(ctx, &op)
		} else {
			a.Elsewhere = true
		}
		return json.Marshal(&a)
	})
	n.rpc.Handle(methodRangeInfo, func(_ context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
		var ids []kvpb.RangeID
		if err := json.Unmarshal(req, &ids); err != nil {
			return nil, err
		}
		return json.Marshal(n.replicaInfos(ids))
	})
}

// perform does op if the range is led here.
func (n *Node) perform(ctx context.Context, op *rangeOp) rangeAnswer {
	r, ok := n.store.Replica(op.Range)
	if !ok || !r.Initialized() || !r.Leads() {
		a := rangeAnswer{Elsewhere: true}
		if _, merged := n.store.MergedInto(op.Range); merged {
			return rangeAnswer{Mismatch: true}
		}
		if ok {
			if l, known := r.Leader(); known {
				a.Leader = l.Node
			}
		}
		return a
	}
	err := n.performHere(ctx, r, op)
	var a rangeAnswer
	var nl *kvpb.NotLeaderError
	var mm *kvpb.RangeMismatchError
	switch {
	case errors.As(err, &nl):
		a.Elsewhere, a.Leader = true, nl.Leader.Node
	case errors.As(err, &mm):
		a.Mismatch, a.Err = true, err.Error()
	case err != nil:
		a.Err = err.Error()
	}
	return a
}

func (n *Node) performHere(ctx context.Context, r *replica.Replica, op *rangeOp) error {
	if n.cfg.SingleNode && (op.Kind == opReplicas || op.Kind == opLeader) {
		return errors.New("a node by itself has no other replicas")
	}
	switch op.Kind {
	case opReplicas:
		return n.changeReplicas(ctx, r, op.Changes)
	case opLeader:
		return n.transferLeader(ctx, r, op.Store)
	case opSplit:
		return n.splitRange(ctx, r, op.Key)
	case opClear:
		return r.ClearWithin(ctx, op.Key, op.End)
	case opMerge:
		return n.mergeRange(ctx, r)
	case opUnfreeze:
		return r.Unfreeze(op.Left, op.Generation)
	}
	return fmt.Errorf("request %d for range %d is not known to this version", op.Kind, op.Range)
}

// errNoLeader says that no leader of a range was found.
var errNoLeader = errors.New("no leader that can be reached")

// atLeader has op done by the leader of its range, wherever that is. d is the
// range's descriptor, if it is at hand.
func (n *Node) atLeader(ctx context.Context, op *rangeOp, d *kvpb.RangeDescriptor) error {
	return n.seekLeader(ctx, op, d, opTimeout)
}

// seekLeader is atLeader that looks for the leader only so long.
func (n *Node) seekLeader(ctx context.Context, op *rangeOp, d *kvpb.RangeDescriptor, timeout time.Duration) error {
	self := n.NodeID()
	at := self // a local replica mostly knows more than anybody
	pause := time.NewTicker(opPause)
	defer pause.Stop()
	began := time.Now()
	var cause error
	for try := 0; ; try++ {
		a, err := n.ask(ctx, at, op)
		switch {
		case err != nil && (ctx.Err() != nil || !errors.Is(err, rpc.ErrNotSent)):
			return err
		case err != nil:
			cause = err
		case a.Mismatch:
			return &kvpb.RangeMismatchError{Range: op.Range}
		case !a.Elsewhere && a.Err != "":
			return errors.New(a.Err)
		case !a.Elsewhere:
			return nil
		}
		if time.Since(began) > timeout {
			return errors.Join(fmt.Errorf("range %d has %w", op.Range, errNoLeader), cause)
		}
		next := a.Leader
		if next == 0 || next == at {
			next = n.replicaNode(op.Range, d, try)
		}
		if next == at || try >= 2 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-pause.C:
			}
		}
		at = next
	}
}

// ask has one node do op if it leads the range.
func (n *Node) ask(ctx context.Context, at kvpb.NodeID, op *rangeOp) (a rangeAnswer, err error) {
	if at == n.NodeID() || n.rpc == nil {
		return n.perform(ctx, op), nil
	}
	req, err := json.Marshal(op)
	if err != nil {
		return a, err
	}
	p, err := n.rpc.Call(ctx, at, methodRangeOp, req)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(p, &a)
}

// replicaNode returns one of the nodes that have a replica of a range, another one each
// time, this one if none is known.
func (n *Node) replicaNode(id kvpb.RangeID, d *kvpb.RangeDescriptor, try int) kvpb.NodeID {
	if r, ok := n.store.Replica(id); ok && r.Initialized() {
		d = r.Desc()
	}
	if d == nil && n.router.Cache() != nil {
		for _, k := range n.router.Cache().Known() {
			if k.RangeID == id {
				d = k
			}
		}
	}
	if d == nil || len(d.Replicas) == 0 {
		return n.NodeID()
	}
	return d.Replicas[try%len(d.Replicas)].Node
}

// replicaInfo is what a node knows of a range through its replica.
type replicaInfo struct {
	Desc   kvpb.RangeDescriptor
	Leader kvpb.StoreID // 0: not known
	Leads  bool         // the replica itself, and it may serve
	Size   int64
	QPS    float64
}

func (n *Node) replicaInfos(ids []kvpb.RangeID) []replicaInfo {
	out := make([]replicaInfo, 0, len(ids))
	for _, id := range ids {
		r, ok := n.store.Replica(id)
		if !ok || !r.Initialized() {
			continue
		}
		i := replicaInfo{Desc: *r.Desc(), Leads: r.Leads()}
		if l, ok := r.Leader(); ok {
			i.Leader = l.Store
		}
		if i.Leads {
			m := n.measured.of(r)
			i.Leader, i.QPS, i.Size = n.store.Of(r).Identity().Store, m.rate(), m.size.Load()
		}
		out = append(out, i)
	}
	return out
}

// askReplicas asks all nodes with replicas of some ranges what they know of them. A
// node that does not answer is left out.
func (n *Node) askReplicas(ctx context.Context, descs []kvpb.RangeDescriptor) map[kvpb.RangeID]replicaInfo {
	ctx, cancel := context.WithTimeout(ctx, infoTimeout)
	defer cancel()
	byNode := map[kvpb.NodeID][]kvpb.RangeID{}
	for i := range descs {
		for _, rep := range descs[i].Replicas {
			byNode[rep.Node] = append(byNode[rep.Node], descs[i].RangeID)
		}
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	out := map[kvpb.RangeID]replicaInfo{}
	for node, ids := range byNode {
		wg.Go(func() {
			list := n.askNode(ctx, node, ids)
			mu.Lock()
			defer mu.Unlock()
			for _, i := range list {
				old, ok := out[i.Desc.RangeID]
				if !ok || i.Leads && !old.Leads || i.Leads == old.Leads && i.Desc.Generation > old.Desc.Generation {
					out[i.Desc.RangeID] = i
				}
			}
		})
	}
	wg.Wait()
	return out
}

func (n *Node) askNode(ctx context.Context, node kvpb.NodeID, ids []kvpb.RangeID) []replicaInfo {
	if node == n.NodeID() || n.rpc == nil {
		return n.replicaInfos(ids)
	}
	if !n.live.Live(node) {
		return nil
	}
	req, err := json.Marshal(ids)
	if err != nil {
		return nil
	}
	p, err := n.rpc.Call(ctx, node, methodRangeInfo, req)
	var list []replicaInfo
	if err != nil || json.Unmarshal(p, &list) != nil {
		return nil
	}
	return list
}
