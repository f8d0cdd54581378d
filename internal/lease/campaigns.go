package lease

import (
	"time"

	"github.com/lichendb/lichen/internal/must"
)

const (
	// MaxCampaigns bounds the replicas of a store that campaign at a time. MaxIdleCampaigns bounds those
	// of ranges whose leader nobody waits for. An election takes a few messages and syncs of the log,
	// which the elections of many ranges share. More at a time would not be faster, and would take the
	// processor from requests.
	MaxCampaigns     = 256
	MaxIdleCampaigns = 64
	// campaignTimeout is the time after which a replica no longer counts as campaigning.
	campaignTimeout = 2 * time.Second
	// rankDelay is how long a replica waits for each candidate that ranks before it, if somebody waits for
	// the leader. If nobody does it is idleRankDelay, since the other candidate's store may have thousands
	// of ranges to go through first.
	rankDelay     = 400 * time.Millisecond
	idleRankDelay = 2 * time.Second
	// recheckEvery is the interval at which a replica without a supporting majority is reconsidered.
	recheckEvery = 500 * time.Millisecond
)

// Campaigns decides when the replicas of a store campaign. When a node dies, thousands of ranges need a
// leader at once:
//
//	Enqueue ─► later ── the delay of its rank has passed ─┬─► awaited, if somebody waits for its leader
//	             ▲                                        └─► idle      │
//	             │                                               │      │
//	             └─ not electable: recheckEvery ◄─── Next: awaited first, within the limits
//	                                                             ▼
//	                        Done, or Tick after campaignTimeout ◄─ running
//
// The caller guards it with a mutex, and begins and ends the campaigns. R is a replica.
type Campaigns[R comparable] struct {
	queued  map[R]*queuedReplica[R]
	later   []*queuedReplica[R] // whose delay has not passed
	awaited []*queuedReplica[R] // whose delay has passed and whose leader is awaited
	idle    []*queuedReplica[R] // the others
	running map[R]campaign
	idleNow int // the running campaigns whose leader nobody waits for
}

// queuedReplica is a replica in the queue. It may be in two lists if somebody waits for its leader.
type queuedReplica[R comparable] struct {
	r       R
	rank    int
	entered time.Time
	due     time.Time
	awaited bool
	started bool // it has left the queue to campaign
}

// campaign is a running campaign.
type campaign struct {
	since time.Time
	idle  bool
}

// NewCampaigns returns an empty queue.
func NewCampaigns[R comparable]() *Campaigns[R] {
	return &Campaigns[R]{queued: map[R]*queuedReplica[R]{}, running: map[R]campaign{}}
}

// Enqueue adds a replica, which campaigns only after wait. rank is the number of replicas of its range that
// should campaign before it.
func (c *Campaigns[R]) Enqueue(now time.Time, r R, rank int, wait time.Duration) {
	q := &queuedReplica[R]{r: r, rank: rank, entered: now.Add(wait)}
	q.due = q.entered.Add(time.Duration(rank) * idleRankDelay)
	c.queued[r] = q
	c.later = append(c.later, q)
}

// Prioritize moves a queued replica forward, since somebody waits for its leader. It reports whether that
// changed anything.
func (c *Campaigns[R]) Prioritize(now time.Time, r R) bool {
	q := c.queued[r]
	if q == nil || q.awaited {
		return false
	}
	q.awaited = true
	if now.Before(q.due) {
		q.due = q.entered.Add(time.Duration(q.rank) * rankDelay) // it is in later
	} else {
		c.awaited = append(c.awaited, q)
	}
	return true
}

// Done ends a replica's campaign.
func (c *Campaigns[R]) Done(r R) {
	if s, ok := c.running[r]; ok {
		delete(c.running, r)
		if s.idle {
			c.idleNow--
		}
	}
}

// Tick moves the replicas whose delay has passed to awaited or idle. It ends campaigns that take too long, and
// returns their replicas.
func (c *Campaigns[R]) Tick(now time.Time) (late []R) {
	kept := c.later[:0]
	for _, q := range c.later {
		switch {
		case q.started:
		case now.Before(q.due):
			kept = append(kept, q)
		case q.awaited:
			c.awaited = append(c.awaited, q)
		default:
			c.idle = append(c.idle, q)
		}
	}
	clear(c.later[len(kept):])
	c.later = kept
	for r, s := range c.running {
		if now.Sub(s.since) > campaignTimeout {
			c.Done(r)
			late = append(late, r)
		}
	}
	return late
}

// Next takes the next replica to campaign out of the queue. It returns false if there is none at present.
func (c *Campaigns[R]) Next(now time.Time, electable func(R) bool) (r R, ok bool) {
	for {
		var q *queuedReplica[R]
		switch {
		case len(c.running) >= MaxCampaigns:
		case len(c.awaited) > 0:
			q, c.awaited = c.awaited[0], c.awaited[1:]
		case len(c.idle) > 0 && c.idleNow < MaxIdleCampaigns:
			q, c.idle = c.idle[0], c.idle[1:]
		}
		switch {
		case q == nil:
			return r, false
		case q.started:
			continue
		case !electable(q.r):
			q.due = now.Add(recheckEvery)
			c.later = append(c.later, q)
			continue
		}
		c.start(now, q)
		return q.r, true
	}
}

// start begins a campaign (store, invariant S9).
func (c *Campaigns[R]) start(now time.Time, q *queuedReplica[R]) {
	q.started = true
	delete(c.queued, q.r)
	c.running[q.r] = campaign{since: now, idle: !q.awaited}
	if !q.awaited {
		c.idleNow++
	}
	must.True(len(c.running) <= MaxCampaigns && c.idleNow <= MaxIdleCampaigns,
		"store S9: %d replicas campaign, %d of them for nobody", len(c.running), c.idleNow)
}

// Counts returns how many replicas are queued, and how many campaign.
func (c *Campaigns[R]) Counts() (queued, running int) { return len(c.queued), len(c.running) }
