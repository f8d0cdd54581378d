package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/pause"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/rpc"
)

// The methods of the consistency checker. Requests and answers are JSON.
const (
	methodChecksum    rpc.Method = 72  // checksumRequest → replica.Checksum
	MethodCheckRanges rpc.Method = 112 // CheckRequest → CheckPage: checks ranges that a node leads
	MethodRangeIDs    rpc.Method = 113 // → []kvpb.RangeID: all ranges whose addresses are known
)

const (
	// checkTimeout bounds the wait for the checksums of one range, checkPage how long
	// one request checks ranges before it answers.
	checkTimeout = 20 * time.Second
	checkPage    = 5 * time.Second
	// checksAtOnce bounds the ranges that one request has checked at a time.
	checksAtOnce = 4
	// checkRound is how long the background takes for one round through the ranges
	// that a node leads, checkPause the least pause between two of them.
	checkRound = 24 * time.Hour
	checkPause = time.Second
)

// CheckRequest asks a node to check ranges that it leads: those with ids above After.
type CheckRequest struct {
	Node  kvpb.NodeID // 0: the one asked
	After kvpb.RangeID
}

// CheckPage is the answer. Next is where to go on, 0 at the end.
type CheckPage struct {
	Ranges []RangeCheck
	Next   kvpb.RangeID
}

// RangeCheck is what a check of one range found.
type RangeCheck struct {
	Range      kvpb.RangeID
	Start, End string // the range's keys, for people
	Leader     kvpb.StoreID
	Index      uint64 // of the log at which the replicas were compared
	Replicas   []ReplicaCheck
	Verdict    Verdict
	Err        string // why nothing was compared
}

// ReplicaCheck is the checksum of one replica.
type ReplicaCheck struct {
	Node        kvpb.NodeID
	Store       kvpb.StoreID
	Sum         string
	Keys, Bytes int64
	Differs     bool
	Err         string
}

// Verdict says what came of a check.
type Verdict string

// The verdicts. Unchecked means that not even two replicas could be compared.
const (
	Identical Verdict = "identical"
	Differing Verdict = "differing"
	Unchecked Verdict = "unchecked"
)

type checksumRequest struct {
	Range   kvpb.RangeID
	Replica kvpb.ReplicaID
	ID      apply.CheckID
}

// checking is what the checker has done.
type checking struct {
	checked atomic.Int64
	mu      sync.Mutex
	differ  map[kvpb.RangeID]RangeCheck // found differing when they were checked last
}

func (n *Node) handleConsistency() {
	n.rpc.Handle(methodChecksum, n.handleChecksum)
	n.rpc.Handle(MethodCheckRanges, n.handleCheck)
	n.rpc.Handle(MethodRangeIDs, func(ctx context.Context, _ kvpb.NodeID, _ []byte) ([]byte, error) {
		if n.openDB.Load() == nil {
			return nil, errNotInitialized
		}
		descs, err := n.addressesIn(ctx, keys.ReplicatedSpan())
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

func (n *Node) handleChecksum(ctx context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
	var r checksumRequest
	if err := json.Unmarshal(req, &r); err != nil {
		return nil, err
	}
	sum, err := n.checksum(ctx, &r)
	if err != nil {
		return nil, err
	}
	return json.Marshal(sum)
}

// checksum waits for the checksum of a replica here.
func (n *Node) checksum(ctx context.Context, req *checksumRequest) (replica.Checksum, error) {
	r, ok := n.store.ReplicaWithID(req.Range, req.Replica)
	if !ok || !r.Initialized() {
		return replica.Checksum{}, errors.New("the replica is not here")
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return r.Checksum(ctx, req.ID)
}

func (n *Node) handleCheck(ctx context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
	var r CheckRequest
	if err := json.Unmarshal(req, &r); err != nil {
		return nil, err
	}
	if n.openDB.Load() == nil {
		return nil, errNotInitialized
	}
	if r.Node != 0 && r.Node != n.NodeID() {
		if _, err := n.known(r.Node); err != nil {
			return nil, err
		}
		return n.rpc.Call(ctx, r.Node, MethodCheckRanges, req)
	}
	return json.Marshal(n.checkPage(ctx, r.After))
}

// checkPage checks ranges that are led here for a while.
func (n *Node) checkPage(ctx context.Context, after kvpb.RangeID) CheckPage {
	var led []*replica.Replica
	for _, r := range n.store.Replicas() {
		if r.RangeID() > after && r.Leads() {
			led = append(led, r)
		}
	}
	slices.SortFunc(led, func(a, b *replica.Replica) int { return cmp.Compare(a.RangeID(), b.RangeID()) })
	var p CheckPage
	begun := time.Now()
	for len(led) > 0 && time.Since(begun) < checkPage && ctx.Err() == nil {
		some := led[:min(checksAtOnce, len(led))]
		led = led[len(some):]
		found := make([]RangeCheck, len(some))
		var wg sync.WaitGroup
		for i, r := range some {
			wg.Go(func() { found[i] = n.checkRange(ctx, r) })
		}
		wg.Wait()
		p.Ranges = append(p.Ranges, found...)
	}
	if len(led) > 0 {
		p.Next = p.lastID(after)
	}
	return p
}

func (p *CheckPage) lastID(after kvpb.RangeID) kvpb.RangeID {
	if len(p.Ranges) == 0 {
		return after
	}
	return p.Ranges[len(p.Ranges)-1].Range
}

// checkRange compares the replicas of a range that is led here, and makes it known
// if they differ. Nothing is mended: which of them is right is not for this to say,
// and what made them differ must not be covered up.
func (n *Node) checkRange(ctx context.Context, r *replica.Replica) RangeCheck {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	d := r.Desc()
	c := RangeCheck{
		Range: d.RangeID, Start: keys.Pretty(d.StartKey), End: keys.Pretty(d.EndKey),
		Leader: n.store.Of(r).Identity().Store, Verdict: Unchecked,
	}
	var id apply.CheckID
	_, _ = rand.Read(id[:])
	if err := r.AskChecksums(ctx, id); err != nil {
		c.Err = err.Error()
		return c
	}
	sums := make([]replica.Checksum, len(d.Replicas))
	c.Replicas = make([]ReplicaCheck, len(d.Replicas))
	var wg sync.WaitGroup
	for i, rep := range d.Replicas {
		wg.Go(func() {
			rc := &c.Replicas[i]
			rc.Node, rc.Store = rep.Node, rep.Store
			var err error
			if sums[i], err = n.askChecksum(ctx, rep.Node, &checksumRequest{Range: d.RangeID, Replica: rep.Replica, ID: id}); err != nil {
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
	n.noteCheck(&c)
	return c
}

func (n *Node) askChecksum(ctx context.Context, node kvpb.NodeID, req *checksumRequest) (sum replica.Checksum, err error) {
	switch {
	case node == n.NodeID() || n.rpc == nil:
		return n.checksum(ctx, req)
	case !n.live.Live(node):
		return sum, errors.New("the node does not answer")
	}
	body, err := json.Marshal(req)
	if err != nil {
		return sum, err
	}
	p, err := n.rpc.Call(ctx, node, methodChecksum, body)
	if err != nil {
		return sum, err
	}
	return sum, json.Unmarshal(p, &sum)
}

// judge compares the checksums. Those that are not the most frequent one differ; if
// there is no such one, all do.
func (c *RangeCheck) judge() {
	count := map[string]int{}
	answers := 0
	for i := range c.Replicas {
		if s := c.Replicas[i].Sum; s != "" {
			count[s]++
			answers++
		}
	}
	switch {
	case answers == 0 || answers == 1 && len(c.Replicas) > 1:
		c.Verdict = Unchecked
		return
	case len(count) == 1:
		c.Verdict = Identical
		return
	}
	c.Verdict = Differing
	most, tie := "", false
	for s, k := range count {
		switch {
		case k > count[most]:
			most, tie = s, false
		case k == count[most]:
			tie = true
		}
	}
	for i := range c.Replicas {
		rc := &c.Replicas[i]
		rc.Differs = rc.Sum != "" && (tie || rc.Sum != most)
	}
}

// String tells what was found in one line.
func (c *RangeCheck) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "range %d [%s, %s): %s", c.Range, c.Start, c.End, c.Verdict)
	if c.Err != "" {
		fmt.Fprintf(&b, ": %s", c.Err)
	}
	for i := range c.Replicas {
		rc := &c.Replicas[i]
		switch {
		case rc.Err != "":
			fmt.Fprintf(&b, "; the replica on store %d (node %d): %s", rc.Store, rc.Node, rc.Err)
		case rc.Differs:
			fmt.Fprintf(&b, "; the replica on store %d (node %d) DIFFERS: %d versions, %d bytes, checksum %.16s…", rc.Store, rc.Node, rc.Keys, rc.Bytes, rc.Sum)
		case c.Verdict == Differing:
			fmt.Fprintf(&b, "; the replica on store %d (node %d): %d versions, %d bytes, checksum %.16s…", rc.Store, rc.Node, rc.Keys, rc.Bytes, rc.Sum)
		}
	}
	return b.String()
}

// noteCheck remembers what was found for the metrics, and reports a difference.
func (n *Node) noteCheck(c *RangeCheck) {
	k := &n.checking
	k.checked.Add(1)
	k.mu.Lock()
	defer k.mu.Unlock()
	switch c.Verdict {
	case Identical:
		delete(k.differ, c.Range)
	case Differing:
		if k.differ == nil {
			k.differ = map[kvpb.RangeID]RangeCheck{}
		}
		k.differ[c.Range] = *c
		n.log.Error("REPLICAS DIFFER: stop the nodes named and keep their stores for an examination; "+
			"then remove these nodes, so that the replicas are made anew from the others", "found", c.String())
	}
}

// differing returns how many ranges were found differing when checked last.
func (k *checking) differing() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.differ)
}

// checkLoop checks the ranges that this node leads, one at a time, slowly.
func (n *Node) checkLoop(ctx context.Context) {
	var after kvpb.RangeID
	for {
		var next *replica.Replica
		led := 0
		for _, r := range n.store.Replicas() {
			if len(r.Desc().Replicas) > 1 && r.Leads() {
				led++
				if id := r.RangeID(); id > after && (next == nil || id < next.RangeID()) {
					next = r
				}
			}
		}
		if pause.For(ctx, max(checkPause, checkRound/time.Duration(max(led, 1)))) != nil {
			return
		}
		if after = 0; next != nil {
			after = next.RangeID()
			if next.Leads() {
				n.checkRange(ctx, next)
			}
		}
	}
}
