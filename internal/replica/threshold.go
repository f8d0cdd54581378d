package replica

import (
	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/hlc"
)

// A range's collection threshold is known twice: the intent table has what reads and writes
// here stay above, which a leader raises before it proposes the command that raises the
// range's own; thresholdApplied is what the range's log says: versions below it may be dropped
// by commands that come later in the log. Neither ever falls.

// appliedThreshold returns what the range's log says.
func (r *Replica) appliedThreshold() hlc.Timestamp { return *r.thresholdApplied.Load() }

func (r *Replica) raiseApplied(ts hlc.Timestamp) {
	for {
		old := r.thresholdApplied.Load()
		if old != nil && ts.LessEq(*old) || r.thresholdApplied.CompareAndSwap(old, &ts) {
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
	r.intents.RaiseThreshold(th)
	r.raiseApplied(th)
	return nil
}

// Threshold returns the range's collection threshold: no read below it is answered.
func (r *Replica) Threshold() hlc.Timestamp { return r.intents.Threshold() }
