package concurrency

import (
	"slices"
	"sync"
	"time"
)

// Limits of a WaitLog.
const (
	// MaxLoggedWaits is how many waits are remembered, the last ones.
	MaxLoggedWaits = 512
	// MinLoggedWait is how long the shortest of them took.
	MinLoggedWait = time.Millisecond
	// maxLoggedBlockers and maxLoggedKey bound what is remembered of one.
	maxLoggedBlockers = 4
	maxLoggedKey      = 256
)

// EndedWait is a wait that has ended.
type EndedWait struct {
	Txn      TxnID
	Blockers []TxnID // those that it waited for first
	Key      []byte  // what it waited for; the beginning of a long one
	Since    time.Time
	Took     time.Duration
	// Granted says that it got what it waited for.
	Granted bool
}

// WaitLog remembers waits that have ended. The zero value is empty. It is safe for concurrent use.
type WaitLog struct {
	mu    sync.Mutex
	ring  []EndedWait
	next  int
	count int64
	total time.Duration
}

// add adds a wait.
func (l *WaitLog) add(w EndedWait) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	l.total += w.Took
	if w.Took < MinLoggedWait {
		return
	}
	w.Key = slices.Clone(w.Key[:min(len(w.Key), maxLoggedKey)])
	if len(l.ring) < MaxLoggedWaits {
		l.ring = append(l.ring, w)
		return
	}
	l.ring[l.next] = w
	l.next = (l.next + 1) % len(l.ring)
}

// List returns the waits that are remembered, the last one first.
func (l *WaitLog) List() []EndedWait {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := slices.Concat(l.ring[l.next:], l.ring[:l.next])
	slices.Reverse(out)
	return out
}

// Totals returns how many waits there were, and how long they took together.
func (l *WaitLog) Totals() (count int64, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count, l.total
}

// Log has the waits on this node that have ended.
func (g *WaitGraph) Log() *WaitLog { return &g.log }

// End is Remove of a wait for a key, which is remembered.
func (g *WaitGraph) End(w *Wait, key []byte, granted bool) {
	g.Remove(w)
	g.log.add(EndedWait{Txn: w.holder.ID, Blockers: w.first, Key: key, Since: w.since, Took: time.Since(w.since), Granted: granted})
}

// blockersAtFirst returns the first blockers of a source.
func blockersAtFirst(s BlockerSource) []TxnID {
	var buf [8]TxnID
	b := s.AppendBlockers(buf[:0])
	return slices.Clone(b[:min(len(b), maxLoggedBlockers)])
}
