package jobs

import (
	"fmt"
	"time"
)

const (
	// Validity is how long the runner of a job may write for it after it has written the record.
	Validity = 9 * time.Second
	// maxRuns is how many nodes may die while they run a job, or fail for reasons of their own, before the job has failed.
	maxRuns = 10
)

// Next is what becomes of a job, as seen by one who does not run it.
type Next int

// What becomes of a job.
const (
	// Wait: it has ended, its runner may live, or it is paused and nobody wants it to go on.
	Wait Next = iota
	// Finish: it has ended, and its record is to say so.
	Finish
	// Park: its runner is gone, and it is to be paused.
	Park
	// TakeOver: its runner is gone, and another node is to go on with it.
	TakeOver
)

// next decides what becomes of a job at a time, which lies the greatest difference between two clocks before the present one
// of whoever asks. claimed says whether its claim is there. Of jobs to finish it returns the state and the error.
func (r *Record) next(claimed bool, now int64) (do Next, state, reason string) {
	switch {
	case r.Ended():
		return Wait, "", ""
	case r.hasClaim() && !claimed:
		return Finish, Succeeded, ""
	case !r.old && now <= r.Until:
		return Wait, "", ""
	case r.Wish == Canceled && claimed:
		return Finish, Canceled, "canceled while no node ran it"
	case r.Again == nil:
		return Finish, Failed, fmt.Sprintf("node %d has stopped, or lost contact with its cluster, and what the statement had done was undone", r.Node)
	case r.Runs >= maxRuns:
		return Finish, Failed, fmt.Sprintf("given up after %d attempts; node %d has stopped, or failed: %s", r.Runs, r.Node, r.Error)
	case r.Wish == Paused || r.State == Paused && r.Wish != Running:
		if r.State == Paused {
			return Wait, "", ""
		}
		return Park, "", ""
	}
	return TakeOver, "", ""
}

// settled is the record at a time, whether or not somebody has written by then what became of the job.
func (r Record) settled(claimed bool, now int64) Record {
	if do, state, reason := r.next(claimed, now); do == Finish {
		r.finish(state, reason, r.Modified)
	}
	return r
}

// finish ends the job.
func (r *Record) finish(state, reason string, at int64) {
	r.State, r.Error, r.Wish, r.Finished, r.Modified = state, clip(reason), "", at, at
	r.Again, r.Progress = nil, nil
}

func clip(text string) string {
	if len(text) > maxText {
		return text[:maxText]
	}
	return text
}
