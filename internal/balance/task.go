package balance

import (
	"context"
	"fmt"
	"time"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/kvpb"
)

// Priorities beside those of placement: splits come after repairs, merges last.
const (
	prioSplit = 450
	prioMerge = 50
)

// task is one thing to do for a range.
type task struct {
	id       kvpb.RangeID
	priority int
	class    placement.Class
	action   placement.Action // unless it is a split or merge
	split    splitReason
	key      []byte
	merge    bool
	info     RangeInfo // as of when the task was made
	began    time.Time
}

// canWait reports whether the task moves a replica and nothing is lost if it takes its
// time.
func (t *task) canWait() bool {
	return t.action.Kind != placement.None && !t.isTransfer() && (t.class != placement.Repair || t.action.Patient)
}

func (t *task) String() string {
	switch {
	case t.split != splitNone:
		return fmt.Sprintf("range %d: split, as %v", t.id, t.split)
	case t.merge:
		return fmt.Sprintf("range %d: merge with the next range", t.id)
	}
	return fmt.Sprintf("range %d: %v, as %s", t.id, t.action, t.action.Reason)
}

// isTransfer reports whether the task moves nothing but leadership.
func (t *task) isTransfer() bool { return t.action.Kind == placement.TransferLeader }

// copies is how many bytes the task sends to another store.
func (t *task) copies() int64 {
	if t.action.CopiesData(t.info.Desc) {
		return t.info.Size
	}
	return 0
}

// consider says what a range needs most, nil if nothing. sv collects what is found.
func (q *Queue) consider(c *placement.Cluster, r *RangeInfo, sv *survey) *task {
	now := c.Now()
	if r.Load != nil {
		r.Load.Tick(now, q.opts().SplitQPS, q.opts().LoadWindow)
		sv.busy = sv.busy || r.Load.Sampling()
	}
	a := c.Decide(&r.Range, r.Zone)
	sv.note(c, r, a)
	if a.Kind == placement.Unavailable {
		return nil
	}
	t := &task{id: r.Desc.RangeID, info: *r}
	why, key := splitWhy(r)
	switch {
	case a.Kind != placement.None && (a.Priority > prioSplit || why == splitNone):
		t.action, t.priority, t.class = a, a.Priority, a.Class
	case why != splitNone:
		t.split, t.key, t.priority, t.class = why, key, prioSplit, placement.Comply
	case a.Blocked == "" && q.mayMerge(r, now):
		t.merge, t.priority = true, prioMerge
	default:
		return nil
	}
	return t
}

// mayMerge reports whether it is worth looking at the range after r. The caller holds
// q.mu.
func (q *Queue) mayMerge(r *RangeInfo, now time.Time) bool {
	id := r.Desc.RangeID
	return !q.opts().NoMerge && !r.FixedEnd && smallAndCold(r, q.opts().MergeQPS) && !now.Before(q.noMerge[id]) &&
		now.Sub(q.stable[id].since) >= q.opts().MergeAfter
}

// stability says since when a range is led here with the same generation, but for merges.
type stability struct {
	generation uint64
	merged     bool // the next generation is that of a merge by this queue
	since      time.Time
	scan       uint64 // that saw it last
}

// observe notes that a range is led here. The caller holds q.mu.
func (q *Queue) observe(r *RangeInfo, now time.Time) {
	c, ok := q.stable[r.Desc.RangeID]
	if t := q.running[r.Desc.RangeID]; ok && t != nil && t.merge {
		c.scan = q.stats.Scans // its generation rises by what the queue itself does
		q.stable[r.Desc.RangeID] = c
		return
	}
	if !ok || c.generation != r.Desc.Generation && !c.merged {
		c.since = now
	}
	if c.generation != r.Desc.Generation {
		c.generation, c.merged = r.Desc.Generation, false
	}
	c.scan = q.stats.Scans
	q.stable[r.Desc.RangeID] = c
}

// perform carries a task out.
func (q *Queue) perform(ctx context.Context, t *task) error {
	ctx, cancel := context.WithTimeout(ctx, q.opts().TaskTimeout)
	defer cancel()
	switch {
	case t.split != splitNone:
		return q.split(ctx, &t.info, t.split, t.key)
	case t.merge:
		return q.merge(ctx, &t.info)
	case t.isTransfer():
		return q.changer.TransferLeader(ctx, t.id, t.action.To.Store)
	}
	return q.changer.ChangeReplicas(ctx, t.id, t.action.Changes())
}
