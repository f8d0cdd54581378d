package store

import (
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/lease"
	"github.com/lichendb/lichen/internal/replica"
)

// elections begins and ends the campaigns of the store's replicas, when lease.Campaigns says so. It
// implements replica.Elections. Queued replicas are quiesced and cost nothing.
type elections struct {
	mayVote func() bool // may be nil

	mu        sync.Mutex
	campaigns *lease.Campaigns[*replica.Replica] // guarded by mu
}

func newElections() *elections {
	return &elections{campaigns: lease.NewCampaigns[*replica.Replica]()}
}

// Enqueue implements replica.Elections.
func (e *elections) Enqueue(r *replica.Replica, rank int, wait time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.campaigns.Enqueue(time.Now(), r, rank, wait)
}

// Prioritize implements replica.Elections.
func (e *elections) Prioritize(r *replica.Replica) {
	e.mu.Lock()
	changed := e.campaigns.Prioritize(time.Now(), r)
	e.mu.Unlock()
	if changed {
		e.startCampaigns()
	}
}

// Done implements replica.Elections.
func (e *elections) Done(r *replica.Replica) {
	e.mu.Lock()
	e.campaigns.Done(r)
	e.mu.Unlock()
	e.startCampaigns()
}

// tick ends campaigns that take too long, and starts the next ones.
func (e *elections) tick() {
	e.mu.Lock()
	late := e.campaigns.Tick(time.Now())
	e.mu.Unlock()
	for _, r := range late {
		r.EndCampaign()
	}
	e.startCampaigns()
}

// startCampaigns lets the next replicas campaign.
func (e *elections) startCampaigns() {
	if e.mayVote != nil && !e.mayVote() {
		return
	}
	for {
		e.mu.Lock()
		r, ok := e.campaigns.Next(time.Now(), (*replica.Replica).Electable)
		e.mu.Unlock()
		if !ok {
			return
		}
		r.StartCampaign()
	}
}
