package store

import (
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/replica"
)

const (
	// maxCampaigns bounds the replicas of a store that campaign at a time. maxIdleCampaigns bounds those
	// of ranges whose leader nobody waits for. An election takes a few messages and syncs of the log,
	// which the elections of many ranges share. More at a time would not be faster, and would take the
	// processor from requests.
	maxCampaigns     = 256
	maxIdleCampaigns = 64
	// campaignFor is the time after which a replica no longer counts as campaigning.
	campaignFor = 2 * time.Second
	// rankDelay is how long a replica waits for each candidate that ranks before it, if somebody waits for
	// the leader. If nobody does it is idleRankDelay, since the other candidate's store may have thousands
	// of ranges to go through first.
	rankDelay     = 400 * time.Millisecond
	idleRankDelay = 2 * time.Second
	// recheckEvery is the interval at which a replica without a supporting majority is
	// reconsidered.
	recheckEvery = 500 * time.Millisecond
)

// elections is the queue of the candidates: replicas whose ranges need leaders. It implements
// replica.Elections. Queued replicas are quiesced and cost nothing.
type elections struct {
	mayVote func() bool // may be nil

	mu          sync.Mutex
	byID        map[*replica.Replica]*candidate // in the queue
	later       []*candidate                    // whose delay has not passed
	awaited     []*candidate                    // whose delay has passed and whose leader is awaited
	idle        []*candidate                    // the others
	campaigning map[*replica.Replica]campaign
	idleNow     int // number of campaigning replicas whose leader nobody waits for
}

// candidate is a queued replica. It may be in two lists if somebody waits for its leader.
type candidate struct {
	r       *replica.Replica
	rank    int
	entered time.Time
	due     time.Time
	awaited bool
	started bool // it has left the queue to campaign
}

// campaign is a running candidacy.
type campaign struct {
	since time.Time
	idle  bool
}

func newElections() *elections {
	return &elections{byID: map[*replica.Replica]*candidate{}, campaigning: map[*replica.Replica]campaign{}}
}

// Enqueue implements replica.Elections.
func (e *elections) Enqueue(r *replica.Replica, rank int, wait time.Duration) {
	now := time.Now()
	c := &candidate{r: r, rank: rank, entered: now.Add(wait)}
	c.due = c.entered.Add(time.Duration(rank) * idleRankDelay)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.byID[r] = c
	e.later = append(e.later, c)
}

// Prioritize implements replica.Elections.
func (e *elections) Prioritize(r *replica.Replica) {
	e.mu.Lock()
	c := e.byID[r]
	if c == nil || c.awaited {
		e.mu.Unlock()
		return
	}
	c.awaited = true
	if now := time.Now(); now.Before(c.due) {
		c.due = c.entered.Add(time.Duration(c.rank) * rankDelay) // it is in later
	} else {
		e.awaited = append(e.awaited, c)
	}
	e.mu.Unlock()
	e.startCampaigns()
}

// Done implements replica.Elections.
func (e *elections) Done(r *replica.Replica) {
	e.mu.Lock()
	e.leave(r)
	e.mu.Unlock()
	e.startCampaigns()
}

// leave removes a replica from those that campaign. The caller holds mu.
func (e *elections) leave(r *replica.Replica) {
	if s, ok := e.campaigning[r]; ok {
		delete(e.campaigning, r)
		if s.idle {
			e.idleNow--
		}
	}
}

// tick moves the candidates whose delay has passed to awaited or idle, and drops campaigns that take too
// long.
func (e *elections) tick() {
	now := time.Now()
	var late []*replica.Replica
	e.mu.Lock()
	kept := e.later[:0]
	for _, c := range e.later {
		switch {
		case c.started:
		case now.Before(c.due):
			kept = append(kept, c)
		case c.awaited:
			e.awaited = append(e.awaited, c)
		default:
			e.idle = append(e.idle, c)
		}
	}
	clear(e.later[len(kept):])
	e.later = kept
	for r, s := range e.campaigning {
		if now.Sub(s.since) > campaignFor {
			e.leave(r)
			late = append(late, r)
		}
	}
	e.mu.Unlock()
	for _, r := range late {
		r.EndCampaign()
	}
	e.startCampaigns()
}

// startCampaigns lets the next candidates campaign.
func (e *elections) startCampaigns() {
	if e.mayVote != nil && !e.mayVote() {
		return
	}
	for {
		r := e.next()
		if r == nil {
			return
		}
		r.StartCampaign()
	}
}

// next returns the next replica to campaign, or nil if there is none.
func (e *elections) next() *replica.Replica {
	e.mu.Lock()
	defer e.mu.Unlock()
	for {
		var c *candidate
		switch {
		case len(e.campaigning) >= maxCampaigns:
		case len(e.awaited) > 0:
			c, e.awaited = e.awaited[0], e.awaited[1:]
		case len(e.idle) > 0 && e.idleNow < maxIdleCampaigns:
			c, e.idle = e.idle[0], e.idle[1:]
		}
		if c == nil {
			return nil
		}
		if c.started {
			continue
		}
		if !c.r.Electable() {
			c.due = time.Now().Add(recheckEvery)
			e.later = append(e.later, c)
			continue
		}
		c.started = true
		delete(e.byID, c.r)
		e.campaigning[c.r] = campaign{since: time.Now(), idle: !c.awaited}
		if !c.awaited {
			e.idleNow++
		}
		return c.r
	}
}

// counts returns how many replicas are queued, and how many campaign.
func (e *elections) counts() (queued, campaigning int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.byID), len(e.campaigning)
}
