package balance

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/kvpb"
)

func sizeMax(r *RangeInfo) int64 {
	if r.Zone.RangeMaxBytes != nil && *r.Zone.RangeMaxBytes > 0 {
		return *r.Zone.RangeMaxBytes
	}
	return defaultSizeMax
}

func sizeMin(r *RangeInfo) int64 {
	if r.Zone.RangeMinBytes != nil && *r.Zone.RangeMinBytes >= 0 {
		return *r.Zone.RangeMinBytes
	}
	return min(defaultSizeMin, sizeMax(r)/4)
}

// splitWhy says why a range should be split. The key is nil if it is still to be
// found in the middle of the data.
func splitWhy(r *RangeInfo) (why splitReason, key []byte) {
	switch {
	case r.NoSplit:
		return splitNone, nil
	case len(r.SplitKeys) > 0:
		return splitConfigured, r.SplitKeys[0]
	case r.Size > sizeMax(r):
		return splitSize, nil
	case r.Load != nil:
		if k, _, ok := r.Load.SplitKey(); ok && r.Desc.ContainsKey(k) && !bytes.Equal(k, r.Desc.StartKey) {
			return splitLoad, k
		}
	}
	return splitNone, nil
}

type splitReason uint8

const (
	splitNone splitReason = iota
	splitConfigured
	splitSize
	splitLoad
)

func (s splitReason) String() string {
	return [...]string{"", "a configuration begins inside it", "it is too large", "it is too busy"}[s]
}

// load is the request rate of a range as far as it is known.
func load(r *RangeInfo) float64 {
	if r.Load == nil {
		return r.QPS
	}
	return max(r.QPS, r.Load.QPS())
}

// smallAndCold reports whether a range could be one half of a merge.
func smallAndCold(r *RangeInfo, mergeQPS float64) bool {
	return !r.NoSplit && r.Size < sizeMin(r) && load(r) < mergeQPS
}

// Mergeable says why two adjacent ranges must not be merged, "" if they may.
func Mergeable(left, right *RangeInfo, now time.Time, o *Options) string {
	switch {
	case !bytes.Equal(left.Desc.EndKey, right.Desc.StartKey):
		return "they are not adjacent"
	case left.FixedEnd || right.FixedStart || left.NoSplit || right.NoSplit:
		return "a range must begin there"
	case now.Before(right.SplitUntil):
		return "the range was split by hand"
	case !reflect.DeepEqual(left.Zone, right.Zone):
		return "their configurations differ"
	case !smallAndCold(left, o.MergeQPS) || !smallAndCold(right, o.MergeQPS):
		return "they are not both small and cold"
	case left.Size+right.Size >= sizeMax(left)/2:
		return "together they are too large"
	case load(left)+load(right) >= o.MergeQPS:
		return "together they are too busy"
	}
	return ""
}

// split carries out a split.
func (q *Queue) split(ctx context.Context, r *RangeInfo, why splitReason, key []byte) error {
	if key == nil {
		k, ok, err := q.changer.SplitKey(ctx, r.Desc.RangeID)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("range %d holds %d bytes and has no key to split it at", r.Desc.RangeID, r.Size)
		}
		key = k
	}
	if err := q.changer.Split(ctx, r.Desc.RangeID, key); err != nil {
		return err
	}
	if r.Load != nil {
		r.Load.Reset()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stats.Splits[why]++
	return nil
}

// merge joins a range with the one after it if both allow it; that one's replicas
// come to the stores of the first one before.
func (q *Queue) merge(ctx context.Context, left *RangeInfo) error {
	id := left.Desc.RangeID
	right, ok := q.ranges.Right(ctx, id)
	why, rest := "the next range is not known", q.opts().ScanIdle
	if ok {
		rest = q.opts().MergeAfter
		why = Mergeable(left, &right, time.Now(), q.opts())
	}
	if why == "" && q.picture(time.Now()).Decide(&right.Range, right.Zone).Class != placement.Balance {
		why = "the next range has to be put right first"
	}
	if why == "" && !canColocate(right.Desc, left.Desc) {
		why = "a node has both on different stores"
	}
	if why != "" {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.noMerge[id] = time.Now().Add(rest)
		return nil
	}
	if err := q.colocate(ctx, left, &right); err != nil {
		return fmt.Errorf("bring range %d beside range %d: %w", right.Desc.RangeID, id, err)
	}
	if err := q.changer.Merge(ctx, id); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stats.Merges++
	c := q.stable[id]
	c.merged = true
	q.stable[id] = c
	return nil
}

// colocate moves the replicas and the leader of right to where left has its own.
func (q *Queue) colocate(ctx context.Context, left, right *RangeInfo) error {
	id, to := right.Desc.RangeID, left.Leader
	changes := difference(right.Desc, left.Desc)
	if len(changes) > 0 {
		q.mu.Lock()
		q.pacer.spend(right.Size)
		q.mu.Unlock()
	}
	leader := right.Leader
	if rep, ok := left.Desc.Replica(leader); !ok || rep.Type != kvpb.Voter {
		// The leader must not be among those that leave.
		if common, ok := commonVoter(left.Desc, right.Desc); ok {
			leader = common
		} else {
			rep, _ := left.Desc.Replica(to)
			add := []placement.Change{{Kind: placement.AddVoter, Target: placement.Target{Node: rep.Node, Store: to}}}
			if err := q.changer.ChangeReplicas(ctx, id, add); err != nil {
				return err
			}
			changes, leader = without(changes, to), to
		}
		if err := q.changer.TransferLeader(ctx, id, leader); err != nil {
			return err
		}
	}
	if len(changes) > 0 {
		if err := q.changer.ChangeReplicas(ctx, id, changes); err != nil {
			return err
		}
	}
	if leader != to {
		return q.changer.TransferLeader(ctx, id, to)
	}
	return nil
}

// canColocate reports whether the replicas of from can go to where to has its own
// without two of them on a node meanwhile.
func canColocate(from, to *kvpb.RangeDescriptor) bool {
	for _, t := range to.Replicas {
		for _, f := range from.Replicas {
			if t.Node == f.Node && (t.Store != f.Store || t.Type != f.Type) {
				return false
			}
		}
	}
	return true
}

// difference lists the changes that give from the replicas of to.
func difference(from, to *kvpb.RangeDescriptor) []placement.Change {
	var out []placement.Change
	for _, r := range to.Replicas {
		kind := placement.AddVoter
		if r.Type == kvpb.Learner {
			kind = placement.AddLearner
		}
		if _, ok := from.Replica(r.Store); !ok {
			out = append(out, placement.Change{Kind: kind, Target: placement.Target{Node: r.Node, Store: r.Store}})
		}
	}
	for _, r := range from.Replicas {
		if _, ok := to.Replica(r.Store); ok {
			continue
		}
		kind := placement.RemoveVoter
		if r.Type == kvpb.Learner {
			kind = placement.RemoveLearner
		}
		out = append(out, placement.Change{Kind: kind, Target: placement.Target{Node: r.Node, Store: r.Store}})
	}
	return out
}

func without(changes []placement.Change, s kvpb.StoreID) []placement.Change {
	var out []placement.Change
	for _, c := range changes {
		if c.Store != s {
			out = append(out, c)
		}
	}
	return out
}

func commonVoter(a, b *kvpb.RangeDescriptor) (kvpb.StoreID, bool) {
	for _, r := range a.Replicas {
		if o, ok := b.Replica(r.Store); ok && r.Type == kvpb.Voter && o.Type == kvpb.Voter {
			return r.Store, true
		}
	}
	return 0, false
}
