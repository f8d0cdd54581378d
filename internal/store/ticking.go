package store

import (
	"slices"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

const (
	raftTickEvery = 100 * time.Millisecond
	// wakeAllEvery is how often each replica is asked whether it may still rest: a
	// safeguard, since whatever ends a rest wakes the replica itself.
	wakeAllEvery = 10 * time.Second
	// trimEvery is how often replicas give memory back that was not used since.
	trimEvery = 30 * time.Second
)

// ticking are the replicas whose time goes on. All others rest: while nothing
// happens to it a range costs memory only.
type ticking struct {
	mu    sync.Mutex
	awake []*replica.Replica
}

// wake adds a replica that rested.
func (t *ticking) wake(r *replica.Replica) {
	t.mu.Lock()
	t.awake = append(t.awake, r)
	t.mu.Unlock()
}

// tick advances the time of those awake and lets go of those that may rest now.
func (t *ticking) tick() {
	t.mu.Lock()
	list := t.awake
	t.awake = nil
	t.mu.Unlock()
	list = slices.DeleteFunc(list, func(r *replica.Replica) bool { return !r.Tick() })
	t.mu.Lock()
	t.awake = append(list, t.awake...)
	t.mu.Unlock()
}

// tickLoop runs the groups' time until the store is closed.
func (s *Store) tickLoop() {
	defer s.done.Done()
	tick := time.NewTicker(raftTickEvery)
	defer tick.Stop()
	all := time.NewTicker(wakeAllEvery)
	defer all.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-all.C:
			for _, r := range s.all() {
				r.Wake()
			}
		case <-tick.C:
			s.ticking.tick()
		}
	}
}

// Awake returns how many replicas do not rest.
func (s *Store) Awake() int {
	s.ticking.mu.Lock()
	defer s.ticking.mu.Unlock()
	return len(s.ticking.awake)
}

// SupportChanged tells the replicas that support between this store and another has
// begun or ended.
func (s *Store) SupportChanged(id kvpb.StoreID) {
	for _, r := range s.all() {
		r.SupportChanged(id)
	}
}
