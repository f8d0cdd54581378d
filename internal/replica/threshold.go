package replica

import (
	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/hlc"
)

// A replica has two collection thresholds, which never fall:
//
//   - The threshold of the intent table is the lower bound of reads and writes. A leader raises it before
//     it proposes the command that raises the other one.
//   - thresholdApplied is the threshold in the range's log. Later commands in the log may drop versions
//     below it.

// appliedThreshold returns the threshold in the range's log.
func (r *Replica) appliedThreshold() hlc.Timestamp { return *r.thresholdApplied.Load() }

func (r *Replica) raiseApplied(ts hlc.Timestamp) {
	for {
		old := r.thresholdApplied.Load()
		if old != nil && ts.LessEq(*old) || r.thresholdApplied.CompareAndSwap(old, &ts) {
			return
		}
	}
}

// loadThreshold sets both thresholds to the one in the engine, as of the last entry applied.
func (r *Replica) loadThreshold() error {
	th, err := apply.LoadThreshold(r.deps.Engine, r.id)
	if err != nil {
		return err
	}
	r.deps.Clock.Forward(th) // the proposer's clock may be ahead of this one
	r.intents.RaiseThreshold(th)
	r.raiseApplied(th)
	return nil
}

// Threshold returns the range's collection threshold. The replica answers no read below it.
func (r *Replica) Threshold() hlc.Timestamp { return r.intents.Threshold() }
