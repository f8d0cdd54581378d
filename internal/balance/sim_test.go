package balance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/kvpb"
)

// cluster is a cluster in memory, with a queue per node that sees the stores as of
// the last whole second.
type cluster struct {
	mu       sync.Mutex
	opts     Options
	stores   []placement.Store
	measured []placement.Store
	ranges   map[kvpb.RangeID]*RangeInfo
	nextID   kvpb.RangeID
	queues   []*Queue
	started  []bool

	copies, shifts, splits, merges int
	inFlight, mostInFlight         map[kvpb.NodeID]int
	fail                           error // of every change
	measureEvery                   time.Duration
	moveTime                       time.Duration // that a change takes, 300 ms if zero
	problems                       []string
}

const mib = 1 << 20

func ptr[T any](v T) *T { return &v }

func newCluster(nodes int) *cluster {
	cl := &cluster{ranges: map[kvpb.RangeID]*RangeInfo{}, nextID: 1,
		inFlight: map[kvpb.NodeID]int{}, mostInFlight: map[kvpb.NodeID]int{}}
	for range nodes {
		cl.addNode()
	}
	return cl
}

// addNode adds a node with one store of the same number.
func (cl *cluster) addNode() {
	n := len(cl.stores) + 1
	cl.stores = append(cl.stores, placement.Store{ID: kvpb.StoreID(n), Node: kvpb.NodeID(n),
		Capacity: placement.Capacity{Total: 1 << 40}})
	node := &fakeNode{cl: cl, id: kvpb.NodeID(n)}
	opts := cl.opts
	opts.Seed = uint64(n)
	cl.queues = append(cl.queues, NewQueue(node, node, node, opts))
	cl.started = append(cl.started, false)
}

func (cl *cluster) addRange(size int64, stores ...kvpb.StoreID) *RangeInfo {
	id := cl.nextID
	cl.nextID++
	d := &kvpb.RangeDescriptor{RangeID: id, StartKey: key(int(id)), EndKey: key(int(id) + 1)}
	for _, s := range stores {
		d.Replicas = append(d.Replicas, kvpb.ReplicaDescriptor{Node: kvpb.NodeID(s), Store: s})
	}
	z := &zone.Config{NumReplicas: ptr(3), RangeMaxBytes: ptr[int64](512 * mib), RangeMinBytes: ptr[int64](0)}
	r := &RangeInfo{Range: placement.Range{Desc: d, Leader: stores[0], Size: size}, Zone: z}
	cl.ranges[id] = r
	return r
}

func key(n int) []byte { return fmt.Appendf(nil, "k%06d", n) }

// measure takes the capacities of all stores.
func (cl *cluster) measure() {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	for i := range cl.stores {
		cl.stores[i].Capacity = placement.Capacity{Total: 1 << 40}
		cl.stores[i].Measured = time.Now()
	}
	for _, r := range cl.ranges {
		for _, rep := range r.Desc.Replicas {
			c := &cl.stores[rep.Store-1].Capacity
			c.Ranges++
			c.Used += r.Size
			if rep.Store == r.Leader {
				c.Leaders++
			}
		}
	}
	cl.measured = append([]placement.Store(nil), cl.stores...)
}

// run lets the cluster work for d.
func (cl *cluster) run(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	cl.measure()
	var wg sync.WaitGroup
	for i, q := range cl.queues {
		if cl.stores[i].State == placement.Live {
			wg.Go(func() { q.Run(ctx) })
		}
	}
	tick := time.NewTicker(max(cl.measureEvery, time.Second))
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-tick.C:
			cl.measure()
		case <-ctx.Done():
		}
	}
	wg.Wait()
	cl.measure()
}

func (cl *cluster) up(s kvpb.StoreID) bool { return cl.stores[s-1].State == placement.Live }

// elect gives ranges whose leader is down another one.
func (cl *cluster) elect() {
	for _, r := range cl.ranges {
		for _, rep := range r.Desc.Replicas {
			if !cl.up(r.Leader) && cl.up(rep.Store) {
				r.Leader = rep.Store
			}
		}
	}
}

func (cl *cluster) counts(of func(placement.Capacity) int) (all []int) {
	for _, s := range cl.stores {
		all = append(all, of(s.Capacity))
	}
	return all
}

func (cl *cluster) checkEven(t *testing.T, what string, of func(placement.Capacity) int) {
	t.Helper()
	sum, n := 0, 0
	for _, s := range cl.stores {
		if s.State == placement.Live && !s.Decommissioning {
			sum += of(s.Capacity)
			n++
		}
	}
	mean := float64(sum) / float64(n)
	for _, s := range cl.stores {
		v := float64(of(s.Capacity))
		if s.State == placement.Live && !s.Decommissioning && (v > 1.1*mean || v < 0.9*mean) {
			t.Errorf("%s %v: s%d is more than 10 %% from the mean %.1f", what, cl.counts(of), s.ID, mean)
		}
	}
}

func replicas(c placement.Capacity) int { return c.Ranges }
func leaders(c placement.Capacity) int  { return c.Leaders }

// check reports what went wrong inside and requires full replication.
func (cl *cluster) check(t *testing.T) {
	t.Helper()
	for _, p := range cl.problems {
		t.Error(p)
	}
	for _, r := range cl.ranges {
		n := 0
		nodes := map[kvpb.NodeID]bool{}
		for _, rep := range r.Desc.Replicas {
			if rep.Type == kvpb.Voter && cl.up(rep.Store) {
				n++
			}
			nodes[rep.Node] = true
		}
		if n != *r.Zone.NumReplicas || len(nodes) != len(r.Desc.Replicas) {
			t.Errorf("range %d has replicas %v", r.Desc.RangeID, r.Desc.Replicas)
		}
	}
	for n, most := range cl.mostInFlight {
		if most > 2 {
			t.Errorf("n%d had %d changes in progress", n, most)
		}
	}
}

// fakeNode is what one node's queue sees and does.
type fakeNode struct {
	cl *cluster
	id kvpb.NodeID
}

func (n *fakeNode) Stores() []placement.Store {
	n.cl.mu.Lock()
	defer n.cl.mu.Unlock()
	out := append([]placement.Store(nil), n.cl.measured...)
	for i := range out { // states are known at once
		s := n.cl.stores[i]
		out[i].State, out[i].Since, out[i].Draining, out[i].Decommissioning = s.State, s.Since, s.Draining, s.Decommissioning
	}
	return out
}

func (n *fakeNode) info(r *RangeInfo) RangeInfo {
	out := *r
	d := *r.Desc
	d.Replicas = append([]kvpb.ReplicaDescriptor(nil), d.Replicas...)
	out.Desc = &d
	out.Progress = nil
	for _, rep := range d.Replicas {
		out.Progress = append(out.Progress, placement.Progress{Store: rep.Store, Active: n.cl.up(rep.Store)})
	}
	return out
}

func (n *fakeNode) Led() []RangeInfo {
	n.cl.mu.Lock()
	defer n.cl.mu.Unlock()
	var out []RangeInfo
	for id := kvpb.RangeID(1); id < n.cl.nextID; id++ {
		if r := n.cl.ranges[id]; r != nil && kvpb.NodeID(r.Leader) == n.id {
			out = append(out, n.info(r))
		}
	}
	return out
}

func (n *fakeNode) Get(id kvpb.RangeID) (RangeInfo, bool) {
	n.cl.mu.Lock()
	defer n.cl.mu.Unlock()
	r := n.cl.ranges[id]
	if r == nil || kvpb.NodeID(r.Leader) != n.id {
		return RangeInfo{}, false
	}
	return n.info(r), true
}

func (n *fakeNode) Right(_ context.Context, id kvpb.RangeID) (RangeInfo, bool) {
	n.cl.mu.Lock()
	defer n.cl.mu.Unlock()
	for _, r := range n.cl.ranges {
		if left := n.cl.ranges[id]; left != nil && bytes.Equal(r.Desc.StartKey, left.Desc.EndKey) {
			return n.info(r), true
		}
	}
	return RangeInfo{}, false
}

// work takes d, unless ctx ends, and counts what is in progress.
func (n *fakeNode) work(ctx context.Context, d time.Duration) error {
	n.cl.mu.Lock()
	n.cl.inFlight[n.id]++
	n.cl.mostInFlight[n.id] = max(n.cl.mostInFlight[n.id], n.cl.inFlight[n.id])
	n.cl.mu.Unlock()
	defer func() {
		n.cl.mu.Lock()
		n.cl.inFlight[n.id]--
		n.cl.mu.Unlock()
	}()
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (n *fakeNode) ChangeReplicas(ctx context.Context, id kvpb.RangeID, changes []placement.Change) error {
	cl := n.cl
	cl.mu.Lock()
	var gen uint64
	var leader kvpb.StoreID
	if r := cl.ranges[id]; r != nil {
		gen, leader = r.Desc.Generation, r.Leader
	}
	cl.mu.Unlock()
	took := cl.moveTime
	if took == 0 {
		took = 300 * time.Millisecond
	}
	if err := n.work(ctx, took); err != nil {
		return err
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	r := cl.ranges[id]
	if cl.fail != nil {
		return cl.fail
	}
	if r == nil {
		return errors.New("no such range")
	}
	if r.Desc.Generation != gen || r.Leader != leader {
		return errors.New("the range has changed")
	}
	for _, ch := range changes {
		if ch.Kind == placement.RemoveVoter && ch.Store == r.Leader {
			return errors.New("a replica that leads can't be removed") // it began to lead after the decision
		}
	}
	r.Desc.Generation++
	for _, ch := range changes {
		switch ch.Kind {
		case placement.AddVoter:
			for _, rep := range r.Desc.Replicas {
				if rep.Node == ch.Node {
					cl.problems = append(cl.problems, fmt.Sprintf("second replica of range %d on n%d", id, ch.Node))
				}
			}
			r.Desc.Replicas = append(r.Desc.Replicas, kvpb.ReplicaDescriptor{Node: ch.Node, Store: ch.Store})
			cl.copies++
		case placement.RemoveVoter:
			for i, rep := range r.Desc.Replicas {
				if rep.Store == ch.Store {
					r.Desc.Replicas = append(r.Desc.Replicas[:i:i], r.Desc.Replicas[i+1:]...)
					break
				}
			}
		default:
			cl.problems = append(cl.problems, "unexpected change "+ch.Kind.String())
		}
	}
	return nil
}

func (n *fakeNode) TransferLeader(_ context.Context, id kvpb.RangeID, to kvpb.StoreID) error {
	n.cl.mu.Lock()
	defer n.cl.mu.Unlock()
	r := n.cl.ranges[id]
	if _, ok := r.Desc.Replica(to); !ok {
		return errors.New("no replica there")
	}
	r.Leader = to
	n.cl.shifts++
	return nil
}

func (n *fakeNode) Split(ctx context.Context, id kvpb.RangeID, at []byte) error {
	if err := n.work(ctx, 10*time.Millisecond); err != nil {
		return err
	}
	cl := n.cl
	cl.mu.Lock()
	defer cl.mu.Unlock()
	left := cl.ranges[id]
	right := n.info(left)
	right.Desc.RangeID, right.Desc.StartKey = cl.nextID, at
	right.SplitKeys, right.Load, right.Size = nil, nil, left.Size/2
	cl.nextID++
	cl.ranges[right.Desc.RangeID] = &right
	d := *left.Desc
	d.Generation++
	right.Desc.Generation = d.Generation
	d.EndKey = at
	left.Desc, left.Size, left.SplitKeys = &d, left.Size-right.Size, nil
	cl.splits++
	return nil
}

func (n *fakeNode) Merge(ctx context.Context, id kvpb.RangeID) error {
	if err := n.work(ctx, 10*time.Millisecond); err != nil {
		return err
	}
	right, ok := n.Right(ctx, id)
	cl := n.cl
	cl.mu.Lock()
	defer cl.mu.Unlock()
	left := cl.ranges[id]
	if !ok || left == nil {
		return errors.New("no such range")
	}
	if len(difference(left.Desc, right.Desc)) > 0 || left.Leader != right.Leader {
		return errors.New("the ranges are in different places")
	}
	d := *left.Desc
	d.Generation = max(d.Generation, right.Desc.Generation) + 1
	d.EndKey = right.Desc.EndKey
	left.Desc, left.Size = &d, left.Size+right.Size
	delete(cl.ranges, right.Desc.RangeID)
	cl.merges++
	return nil
}

func (n *fakeNode) SplitKey(_ context.Context, id kvpb.RangeID) ([]byte, bool, error) {
	n.cl.mu.Lock()
	defer n.cl.mu.Unlock()
	r := n.cl.ranges[id]
	if r == nil {
		return nil, false, errors.New("no such range")
	}
	if r.Size <= mib { // one row
		return nil, false, nil
	}
	return append(bytes.Clone(r.Desc.StartKey), byte('0'+n.cl.splits%10)), true, nil
}
