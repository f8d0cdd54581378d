package notify

import (
	"sync"
	"time"
)

const (
	// maxSlots bounds the slots of a process: how many entries of transactions that have not ended it has.
	maxSlots = 1 << 16
	// warmSlots are so many that a slot is used again only after others: the last commit there has left
	// nothing to wait for.
	warmSlots = 64
	// coldAfter is the time without use after which the entry of a slot is deleted.
	coldAfter = 30 * time.Second
)

// slot is a key of the queue.
type slot struct {
	number uint64
	used   time.Time // when its last entry was committed
}

// slots hands out the slots of one process. A slot that is given back is used again for a later entry, whose
// version takes the place of the earlier one: so the queue needs no deletions while it is busy.
type slots struct {
	mu   sync.Mutex
	free []slot // the one that was given back first comes first
	out  int
	next uint64
}

// take returns n slots; false if that would be more than maxSlots.
func (s *slots) take(n int) ([]slot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out+n > maxSlots {
		return nil, false
	}
	s.out += n
	taken := make([]slot, 0, n)
	for len(taken) < n {
		if len(s.free) > warmSlots {
			taken = append(taken, s.free[0])
			s.free = s.free[1:]
			continue
		}
		s.next++
		taken = append(taken, slot{number: s.next})
	}
	return taken, true
}

// put gives slots back whose transaction has ended. If its outcome is unknown they are not used again.
func (s *slots) put(taken []slot, known bool, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out -= len(taken)
	if !known {
		return
	}
	for _, t := range taken {
		t.used = now
		s.free = append(s.free, t)
	}
}

// cold takes away up to n free slots that were not used for coldAfter; all is how many there are.
func (s *slots) cold(now time.Time, n int) (taken []slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.free) > 0 && len(taken) < n && now.Sub(s.free[0].used) >= coldAfter {
		taken = append(taken, s.free[0])
		s.free = s.free[1:]
	}
	return taken
}

// any reports whether there are slots that will have to be deleted.
func (s *slots) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.free)+s.out > 0
}

// restore gives back what cold took.
func (s *slots) restore(taken []slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(append([]slot(nil), taken...), s.free...)
}
