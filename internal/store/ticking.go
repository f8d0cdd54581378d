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
	// recheckRound is the number of ticks in which every quiesced replica is checked once. This is a
	// safeguard, since the events that end quiescence unquiesce the replica themselves.
	recheckRound = int(time.Minute / raftTickEvery)
	// trimEvery is the interval at which replicas release memory that they have not used since.
	trimEvery = 30 * time.Second
	// heartbeatsPerTick bounds the quiesced leaders that send a heartbeat in one tick to a store that is
	// back. The store needs the heartbeats, since it may have restarted and know no leaders. But it answers
	// each of them.
	heartbeatsPerTick = 200
)

// ticking is the list of replicas whose raft groups are ticked. The others are quiesced: they cost only memory.
type ticking struct {
	mu         sync.Mutex
	unquiesced []*replica.Replica
	heartbeats []*replica.Replica // leaders with a heartbeat to send
	// recent are the replicas that were unquiesced since the last call of TakeUnquiesced, perhaps with
	// repetitions. overflow says that there were too many.
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

// TakeUnquiesced returns the replicas that were unquiesced since the last call, perhaps with
// repetitions. complete is false if there were too many.
func (s *Store) TakeUnquiesced() (list []*replica.Replica, complete bool) {
	t := &s.ticking
	t.mu.Lock()
	defer t.mu.Unlock()
	list, complete = t.recent, !t.overflow
	t.recent, t.overflow = nil, false
	return list, complete
}

// tick ticks the replicas in the list, and removes those that have quiesced.
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

// supportChanges are the stores with which support has begun or ended. The goroutine that reads heartbeats
// only adds to them, since thousands of replicas may have to be visited.
type supportChanges struct {
	mu     sync.Mutex
	stores []kvpb.StoreID
	poke   chan struct{}
}

func (n *supportChanges) add(id kvpb.StoreID) {
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

func (n *supportChanges) take() []kvpb.StoreID {
	n.mu.Lock()
	defer n.mu.Unlock()
	ids := n.stores
	n.stores = nil
	return ids
}

// tickLoop ticks until the store is closed.
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

// recheckPart checks the replicas whose turn it is at tick n of the round.
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

// SupportChanged makes supportLoop notify the replicas that support between this store and another has
// begun or ended.
func (s *Store) SupportChanged(id kvpb.StoreID) { s.support.add(id) }

// supportLoop notifies the replicas of changed support until the store is closed.
func (s *Store) supportLoop() {
	for {
		select {
		case <-s.stop:
			return
		case <-s.support.poke:
		}
		for _, id := range s.support.take() {
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
