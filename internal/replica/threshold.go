package replica

import (
	"sync/atomic"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/must"
)

// thresholds are a range's collection threshold as its replica here knows it. None
// of them ever falls.
type thresholds struct {
	// promised is what reads and writes here stay above. A leader raises it before it
	// proposes the command that raises the range's own threshold.
	promised atomic.Pointer[hlc.Timestamp]
	// applied is what the range's log says: versions below it may be dropped by commands
	// that come later in the log.
	applied atomic.Pointer[hlc.Timestamp]
}

func raise(p *atomic.Pointer[hlc.Timestamp], ts hlc.Timestamp) {
	for {
		old := p.Load()
		if old != nil && ts.LessEq(*old) || p.CompareAndSwap(old, &ts) {
			return
		}
	}
}

// loadThreshold makes known what the log says, after what was applied last.
func (r *Replica) loadThreshold() error {
	th, err := apply.LoadThreshold(r.deps.Engine, r.id)
	if err != nil {
		return err
	}
	r.deps.Clock.Forward(th) // it may be of a clock that is ahead
	raise(&r.thresholds.promised, th)
	raise(&r.thresholds.applied, th)
	return nil
}

// Threshold returns the range's collection threshold: no read below it is answered.
func (r *Replica) Threshold() hlc.Timestamp { return *r.thresholds.promised.Load() }

// promise keeps reads and writes above a threshold from now on, and returns up to where
// versions may be dropped (invariant R8). What an abort would lay bare again stays: the
// newest version below a provisional one is as good as the newest of all. A part that
// is not here yet will find the promise (spills.announce).
func (r *Replica) promise(below hlc.Timestamp) hlc.Timestamp {
	sp := &r.spills
	sp.mu.Lock()
	defer sp.mu.Unlock()
	for _, p := range sp.all {
		if !p.oldest.IsEmpty() {
			below = below.Min(p.oldest.Prev())
		}
	}
	raise(&r.thresholds.promised, below)
	return below
}

// announce notes that versions of a part are about to be written at ts, unless that is
// at or below what was promised: low is then the lowest timestamp at which they may be.
// sp.mu is held.
func (r *Replica) announceLocked(p *part, ts hlc.Timestamp) (low hlc.Timestamp) {
	if th := r.Threshold(); ts.LessEq(th) {
		return th.Next()
	}
	if p.oldest.IsEmpty() || ts.Less(p.oldest) {
		p.oldest = ts
	}
	return hlc.Timestamp{}
}

// mustLieBelow is asked before versions up to a threshold are dropped.
func (r *Replica) mustLieBelow(below hlc.Timestamp) {
	sp := &r.spills
	sp.mu.Lock()
	defer sp.mu.Unlock()
	for _, p := range sp.all {
		must.True(p.oldest.IsEmpty() || below.Less(p.oldest),
			"R8: range %d: versions up to %v are to be dropped, transaction %s may have a provisional one at %v", r.id, below, p.id, p.oldest)
	}
}
