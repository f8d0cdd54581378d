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
	// wakeRound is after how many ticks each replica was asked whether it may still rest: a
	// safeguard, since whatever ends a rest wakes the replica itself.
	wakeRound = int(time.Minute / raftTickEvery)
	// trimEvery is how often replicas give memory back that was not used since.
	trimEvery = 30 * time.Second
	// stirPerTick is how many resting leaders speak to a store that is back, per tick: it
	// may have been restarted and know of no leader, and gets as many answers.
	stirPerTick = 200
)

// ticking are the replicas whose time goes on. All others rest: while nothing
// happens to it a range costs memory only.
type ticking struct {
	mu    sync.Mutex
	awake []*replica.Replica
	stir  []*replica.Replica // leaders that are to speak to their followers
	// woken are those that have been woken since Woken was called last, some of them more
	// than once; lost says that they were too many.
	woken []*replica.Replica
	lost  bool
}

// maxWoken bounds the replicas woken that are remembered.
const maxWoken = 1 << 14

// wake adds a replica that rested.
func (t *ticking) wake(r *replica.Replica) {
	t.mu.Lock()
	t.awake = append(t.awake, r)
	if len(t.woken) < maxWoken {
		t.woken = append(t.woken, r)
	} else {
		t.lost = true
	}
	t.mu.Unlock()
}

// Woken returns the replicas whose rest has ended since the last call, some of them more
// than once; not complete: others too.
func (s *Store) Woken() (list []*replica.Replica, complete bool) {
	t := &s.ticking
	t.mu.Lock()
	defer t.mu.Unlock()
	list, complete = t.woken, !t.lost
	t.woken, t.lost = nil, false
	return list, complete
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
	n := min(stirPerTick, len(t.stir))
	stir := t.stir[:n]
	if t.stir = t.stir[n:]; len(t.stir) == 0 {
		t.stir = nil
	}
	t.mu.Unlock()
	for _, r := range stir {
		r.Stir()
	}
}

// news are stores with which support has begun or ended. Whoever brings them, which is the
// goroutine that reads heartbeats, does not wait for thousands of replicas to hear of it.
type news struct {
	mu     sync.Mutex
	stores []kvpb.StoreID
	poke   chan struct{}
}

func (n *news) add(id kvpb.StoreID) {
	n.mu.Lock()
	if !slices.Contains(n.stores, id) {
		n.stores = append(n.stores, id)
	}
	n.mu.Unlock()
	select {
	case n.poke <- struct{}{}:
	default:
	}
}

func (n *news) take() []kvpb.StoreID {
	n.mu.Lock()
	defer n.mu.Unlock()
	ids := n.stores
	n.stores = nil
	return ids
}

// tickLoop runs the groups' time until the store is closed.
func (s *Store) tickLoop() {
	tick := time.NewTicker(raftTickEvery)
	defer tick.Stop()
	for n := 0; ; n = (n + 1) % wakeRound {
		select {
		case <-s.stop:
			return
		case <-tick.C:
			s.wakePart(n)
			s.ticking.tick()
			s.elections.tick()
		}
	}
}

// wakePart wakes the replicas whose turn it is at a tick of the round.
func (s *Store) wakePart(n int) {
	all := s.all()
	for _, r := range all[len(all)*n/wakeRound : len(all)*(n+1)/wakeRound] {
		r.Wake()
	}
}

// Awake returns how many replicas do not rest.
func (s *Store) Awake() int {
	s.ticking.mu.Lock()
	defer s.ticking.mu.Unlock()
	return len(s.ticking.awake)
}

// SupportChanged tells the replicas, soon, that support between this store and another
// has begun or ended.
func (s *Store) SupportChanged(id kvpb.StoreID) { s.news.add(id) }

// newsLoop tells the replicas until the store is closed.
func (s *Store) newsLoop() {
	for {
		select {
		case <-s.stop:
			return
		case <-s.news.poke:
		}
		for _, id := range s.news.take() {
			var stir []*replica.Replica
			for _, r := range s.all() {
				if r.SupportChanged(id) {
					stir = append(stir, r)
				}
			}
			s.ticking.mu.Lock()
			s.ticking.stir = append(s.ticking.stir, stir...)
			s.ticking.mu.Unlock()
		}
	}
}
