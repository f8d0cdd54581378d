package consistency

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/checksum"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/sleep"
	"github.com/lichendb/lichen/internal/store"
)

// The methods of the consistency checker. Requests and answers are JSON.
const (
	methodChecksum = rpc.MethodChecksum    // checksumRequest → replica.Checksum
	MethodCheck    = rpc.MethodCheckRanges // Request → Page: checks ranges that a node leads
	MethodRangeIDs = rpc.MethodRangeIDs    // → []kvpb.RangeID: all ranges whose addresses are known
)

const (
	// checkTimeout bounds the wait for the checksums of one range, pageTime how long
	// one request checks ranges before it answers.
	checkTimeout = 20 * time.Second
	pageTime     = 5 * time.Second
	// checksAtOnce bounds the ranges that one request has checked at a time.
	checksAtOnce = 4
	// checkRound is how long the background takes for one round through the ranges
	// that a node leads, minCheckInterval the least time between two of them.
	checkRound       = 24 * time.Hour
	minCheckInterval = time.Second
)

type checksumRequest struct {
	Range   kvpb.RangeID
	Replica kvpb.ReplicaID
	ID      apply.CheckID
}

// Options say what a Checker works with.
type Options struct {
	Store     *store.Set
	Transport rpc.Transport
	Node      func() kvpb.NodeID
	// Live reports whether another node answers, Known whether there is such a node.
	Live  func(kvpb.NodeID) bool
	Known func(kvpb.NodeID) error
	// Recorded returns the addresses of all ranges. It fails while the node is not part of
	// a cluster, and Ready says so then.
	Recorded func(context.Context) ([]kvpb.RangeDescriptor, error)
	Ready    func() error
	Logger   *slog.Logger
}

// Checker compares the replicas of the ranges that a node leads.
type Checker struct {
	o       Options
	checked atomic.Int64

	mu     sync.Mutex
	differ map[kvpb.RangeID]RangeCheck // found differing when they were checked last
}

// New returns a Checker. Handle has it answer other nodes, Run has it check by itself.
func New(o Options) *Checker { return &Checker{o: o, differ: map[kvpb.RangeID]RangeCheck{}} }

// Handle has the node answer others.
func (k *Checker) Handle() {
	k.o.Transport.Handle(methodChecksum, k.handleChecksum)
	k.o.Transport.Handle(MethodCheck, k.handleCheck)
	k.o.Transport.Handle(MethodRangeIDs, func(ctx context.Context, _ kvpb.NodeID, _ []byte) ([]byte, error) {
		if err := k.o.Ready(); err != nil {
			return nil, err
		}
		descs, err := k.o.Recorded(ctx)
		if err != nil {
			return nil, err
		}
		ids := make([]kvpb.RangeID, len(descs))
		for i := range descs {
			ids[i] = descs[i].RangeID
		}
		slices.Sort(ids)
		return json.Marshal(slices.Compact(ids))
	})
}

func (k *Checker) handleChecksum(ctx context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
	var r checksumRequest
	if err := json.Unmarshal(req, &r); err != nil {
		return nil, err
	}
	sum, err := k.checksum(ctx, &r)
	if err != nil {
		return nil, err
	}
	return json.Marshal(sum)
}

// checksum waits for the checksum of a replica here.
func (k *Checker) checksum(ctx context.Context, req *checksumRequest) (checksum.Checksum, error) {
	r, ok := k.o.Store.ReplicaWithID(req.Range, req.Replica)
	if !ok || !r.Initialized() {
		return checksum.Checksum{}, errors.New("the replica is not here")
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return r.Checksum(ctx, req.ID)
}

func (k *Checker) handleCheck(ctx context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
	var r Request
	if err := json.Unmarshal(req, &r); err != nil {
		return nil, err
	}
	if err := k.o.Ready(); err != nil {
		return nil, err
	}
	if r.Node != 0 && r.Node != k.o.Node() {
		if err := k.o.Known(r.Node); err != nil {
			return nil, err
		}
		return k.o.Transport.Call(ctx, r.Node, MethodCheck, req)
	}
	return json.Marshal(k.page(ctx, r.After))
}

// page checks ranges that are led here for a while.
func (k *Checker) page(ctx context.Context, after kvpb.RangeID) Page {
	var led []*replica.Replica
	for _, r := range k.o.Store.Replicas() {
		if r.RangeID() > after && r.Leads() {
			led = append(led, r)
		}
	}
	slices.SortFunc(led, func(a, b *replica.Replica) int { return cmp.Compare(a.RangeID(), b.RangeID()) })
	var p Page
	begun := time.Now()
	for len(led) > 0 && time.Since(begun) < pageTime && ctx.Err() == nil {
		some := led[:min(checksAtOnce, len(led))]
		led = led[len(some):]
		found := make([]RangeCheck, len(some))
		var wg sync.WaitGroup
		for i, r := range some {
			wg.Go(func() { found[i] = k.Check(ctx, r) })
		}
		wg.Wait()
		p.Ranges = append(p.Ranges, found...)
	}
	if len(led) > 0 {
		p.Next = p.lastID(after)
	}
	return p
}

// lastID returns the last range of the page, after if it has none.
func (p *Page) lastID(after kvpb.RangeID) kvpb.RangeID {
	if len(p.Ranges) == 0 {
		return after
	}
	return p.Ranges[len(p.Ranges)-1].Range
}

// Check compares the replicas of a range that is led here, and makes it known
// if they differ. Nothing is mended: which of them is right is not for this to say,
// and what made them differ must not be covered up.
func (k *Checker) Check(ctx context.Context, r *replica.Replica) RangeCheck {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	d := r.Desc()
	c := RangeCheck{
		Range: d.RangeID, Start: keys.Pretty(d.StartKey), End: keys.Pretty(d.EndKey),
		Leader: k.o.Store.Of(r).Identity().Store, Verdict: Unchecked,
	}
	var id apply.CheckID
	_, _ = rand.Read(id[:])
	if err := r.AskChecksums(ctx, id); err != nil {
		c.Err = err.Error()
		return c
	}
	sums := make([]checksum.Checksum, len(d.Replicas))
	c.Replicas = make([]ReplicaCheck, len(d.Replicas))
	var wg sync.WaitGroup
	for i, rep := range d.Replicas {
		wg.Go(func() {
			rc := &c.Replicas[i]
			rc.Node, rc.Store = rep.Node, rep.Store
			var err error
			if sums[i], err = k.askChecksum(ctx, rep.Node, &checksumRequest{Range: d.RangeID, Replica: rep.Replica, ID: id}); err != nil {
				rc.Err = err.Error()
				return
			}
			rc.Sum, rc.Keys, rc.Bytes = hex.EncodeToString(sums[i].Sum[:]), sums[i].Keys, sums[i].Bytes
		})
	}
	wg.Wait()
	for i := range sums {
		c.Index = max(c.Index, sums[i].Index)
	}
	c.judge()
	k.noteCheck(&c)
	return c
}

func (k *Checker) askChecksum(ctx context.Context, node kvpb.NodeID, req *checksumRequest) (sum checksum.Checksum, err error) {
	switch {
	case node == k.o.Node():
		return k.checksum(ctx, req)
	case !k.o.Live(node):
		return sum, errors.New("the node does not answer")
	}
	body, err := json.Marshal(req)
	if err != nil {
		return sum, err
	}
	p, err := k.o.Transport.Call(ctx, node, methodChecksum, body)
	if err != nil {
		return sum, err
	}
	return sum, json.Unmarshal(p, &sum)
}

// noteCheck remembers what was found for the metrics, and reports a difference.
func (k *Checker) noteCheck(c *RangeCheck) {
	k.checked.Add(1)
	k.mu.Lock()
	defer k.mu.Unlock()
	switch c.Verdict {
	case Identical:
		delete(k.differ, c.Range)
	case Differing:
		k.differ[c.Range] = *c
		k.o.Logger.Error("REPLICAS DIFFER: stop the nodes named and keep their stores for an examination; "+
			"then remove these nodes, so that the replicas are made anew from the others", "found", c.String())
	}
}

// Checked returns how many checks were made.
func (k *Checker) Checked() int64 { return k.checked.Load() }

// Differing returns how many ranges were found differing when they were checked last.
func (k *Checker) Differing() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.differ)
}

// Run checks the ranges that this node leads, one at a time and slowly, until ctx ends.
func (k *Checker) Run(ctx context.Context) {
	var after kvpb.RangeID
	for {
		var next *replica.Replica
		led := 0
		for _, r := range k.o.Store.Replicas() {
			if len(r.Desc().Replicas) > 1 && r.Leads() {
				led++
				if id := r.RangeID(); id > after && (next == nil || id < next.RangeID()) {
					next = r
				}
			}
		}
		if sleep.For(ctx, max(minCheckInterval, checkRound/time.Duration(max(led, 1)))) != nil {
			return
		}
		if after = 0; next != nil {
			after = next.RangeID()
			if next.Leads() {
				k.Check(ctx, next)
			}
		}
	}
}
