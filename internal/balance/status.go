package balance

import (
	"sort"
	"time"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/kvpb"
)

// Status tells people what the queue of a node sees and does.
type Status struct {
	LastScan        time.Time
	Led             int // ranges that the node leads
	UnderReplicated int
	Unavailable     int // without a quorum, as far as a leader can still tell
	Misplaced       int // that break a constraint or preference
	Blocked         []BlockedRanges
	Running         []string // tasks in progress
	Waiting         int      // tasks found and not yet begun
	Next            []string // the first of them
	Failing         []FailingRange
}

// BlockedRanges counts the ranges for which the same reason prevents something.
type BlockedRanges struct {
	Reason  string
	Ranges  int
	Example kvpb.RangeID
}

// FailingRange is a range whose last task failed.
type FailingRange struct {
	Range    kvpb.RangeID
	Failures int // in a row
	Error    string
	Until    time.Time // when it is tried again
}

// Stats counts what the queue did since it was made.
type Stats struct {
	Scans         uint64
	ScanTime      time.Duration // in all
	Actions       [placement.Kinds]uint64
	Splits        [4]uint64 // by configuration (1), size (2), load (3)
	Merges        uint64
	Failures      uint64
	SnapshotBytes uint64 // sent by actions that succeeded
}

// survey is what a scan finds.
type survey struct {
	led, under, unavailable, misplaced int
	blocked                            map[string]*BlockedRanges
	busy                               bool // a range is being sampled
}

// work reports whether there is something that is not as it should be, or may soon be.
func (s *survey) work() bool {
	return s.busy || s.under+s.unavailable+s.misplaced+len(s.blocked) > 0
}

func (s *survey) note(c *placement.Cluster, r *RangeInfo, a placement.Action) {
	s.led++
	if c.UnderReplicated(r.Desc, r.Zone) {
		s.under++
	}
	switch {
	case a.Kind == placement.Unavailable:
		s.unavailable++
	case a.Class == placement.Comply && a.Kind != placement.None:
		s.misplaced++
	}
	if a.Blocked == "" {
		return
	}
	b, ok := s.blocked[a.Blocked]
	if !ok {
		b = &BlockedRanges{Reason: a.Blocked, Example: r.Desc.RangeID}
		s.blocked[a.Blocked] = b
	}
	b.Ranges++
}

// Status returns what the last scan saw and what is being done.
func (q *Queue) Status() Status {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := Status{LastScan: q.lastScan, Led: q.seen.led, UnderReplicated: q.seen.under,
		Unavailable: q.seen.unavailable, Misplaced: q.seen.misplaced, Waiting: len(q.waiting)}
	for _, b := range q.seen.blocked {
		s.Blocked = append(s.Blocked, *b)
	}
	sort.Slice(s.Blocked, func(i, j int) bool {
		a, b := s.Blocked[i], s.Blocked[j]
		return a.Ranges > b.Ranges || a.Ranges == b.Ranges && a.Reason < b.Reason
	})
	s.Blocked = s.Blocked[:min(len(s.Blocked), maxShownTasks)]
	for _, t := range q.running {
		s.Running = append(s.Running, t.String())
	}
	sort.Strings(s.Running)
	for _, t := range q.waiting[:min(len(q.waiting), maxShownTasks)] {
		s.Next = append(s.Next, t.String())
	}
	for id, f := range q.failed {
		s.Failing = append(s.Failing, FailingRange{Range: id, Failures: f.n, Error: f.err.Error(), Until: f.until})
	}
	sort.Slice(s.Failing, func(i, j int) bool { return s.Failing[i].Range < s.Failing[j].Range })
	s.Failing = s.Failing[:min(len(s.Failing), maxShownTasks)]
	return s
}

// Stats returns the counts so far.
func (q *Queue) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stats
}
