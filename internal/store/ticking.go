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
	// recheckRound is the number of ticks in which every replica was asked whether it may stay
	// quiesced: a safeguard, since what ends that unquiesces the replica itself.
	recheckRound = int(time.Minute / raftTickEvery)
	// trimEvery is how often replicas give memory back that was not used since.
	trimEvery = 30 * time.Second
	// heartbeatsPerTick is how many quiesced leaders send heartbeats, per tick, to a store that is
	// back: it may have restarted and know of no leader, and each heartbeat is answered.
	heartbeatsPerTick = 200
)

// ticking is the list of the replicas whose raft groups are ticked. All others are quiesced: a
// range to which nothing happens costs memory only.
type ticking struct {
	mu         sync.Mutex
	unquiesced []*replica.Replica
	heartbeats []*replica.Replica // leaders that are to send heartbeats
	// recent are the replicas unquiesced since TakeUnquiesced was called last, some of them more
	// than once; overflow says that they were too many.
	recent   []*replica.Replica
	overflow bool
}

// maxRecent bounds ticking.recent.
const maxRecent = 1 << 14

// unquiesce adds a replica that was quiesced.
func (t *ticking) unquiesce(r *replica.Replica) {
	t.mu.Lock()
	t.unquiesced = append(t.unquiesced, r)
	if len(t.recent) < maxRecent {
		t.recent = append(t.recent, r)
	} else {
		t.overflow = true
	}
	t.mu.Unlock()
}

// TakeUnquiesced returns the replicas unquiesced since the last call, some of them more than once.
// The list is complete unless there were too many.
func (s *Store) TakeUnquiesced() (list []*replica.Replica, complete bool) {
	t := &s.ticking
	t.mu.Lock()
	defer t.mu.Unlock()
	list, complete = t.recent, !t.overflow
	t.recent, t.overflow = nil, false
	return list, complete
}

// tick ticks the replicas that are not quiesced, and drops those that have become so.
func (t *ticking) tick() {
	t.mu.Lock()
	list := t.unquiesced
	t.unquiesced = nil
	t.mu.Unlock()
	list = slices.DeleteFunc(list, func(r *replica.Replica) bool { return !r.Tick() })
	t.mu.Lock()
	t.unquiesced = append(list, t.unquiesced...)
	n := min(heartbeatsPerTick, len(t.heartbeats))
	leaders := t.heartbeats[:n]
	if t.heartbeats = t.heartbeats[n:]; len(t.heartbeats) == 0 {
		t.heartbeats = nil
	}
	t.mu.Unlock()
	for _, r := range leaders {
		r.HeartbeatAll()
	}
}

// news is the list of stores with which support has begun or ended. The goroutine that reads
// heartbeats adds to it, and so does not wait for thousands of replicas.
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
	for n := 0; ; n = (n + 1) % recheckRound {
		select {
		case <-s.stop:
			return
		case <-tick.C:
			s.recheckPart(n)
			s.ticking.tick()
			s.elections.tick()
		}
	}
}

// recheckPart asks the replicas whose turn it is at a tick of the round.
func (s *Store) recheckPart(n int) {
	all := s.all()
	for _, r := range all[len(all)*n/recheckRound : len(all)*(n+1)/recheckRound] {
		r.Unquiesce()
	}
}

// Unquiesced returns how many replicas are ticked.
func (s *Store) Unquiesced() int {
	s.ticking.mu.Lock()
	defer s.ticking.mu.Unlock()
	return len(s.ticking.unquiesced)
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
			var leaders []*replica.Replica
			for _, r := range s.all() {
				if r.SupportChanged(id) {
					leaders = append(leaders, r)
				}
			}
			s.ticking.mu.Lock()
			s.ticking.heartbeats = append(s.ticking.heartbeats, leaders...)
			s.ticking.mu.Unlock()
		}
	}
}
