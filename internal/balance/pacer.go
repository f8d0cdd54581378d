package balance

import (
	"time"

	"github.com/lichendb/lichen/internal/balance/placement"
)

// pacer says what may start. Its owner holds a mutex.
type pacer struct {
	opts                func() *Options
	changes, transfers  int // in progress
	waitable            int // of the changes: those that can wait
	nextMove, nextLeave time.Time
	nextTransfer        time.Time
	nextMerge           time.Time
	budget              float64 // bytes of snapshots that may start
	budgetAt            time.Time
}

// refill adds to the budget what time has brought.
func (p *pacer) refill(now time.Time) {
	full := float64(p.opts().SnapshotRate) * snapshotBurst.Seconds()
	if p.budgetAt.IsZero() {
		p.budget = full
	} else {
		p.budget = min(full, p.budget+now.Sub(p.budgetAt).Seconds()*float64(p.opts().SnapshotRate))
	}
	p.budgetAt = now
}

// spend takes a snapshot's bytes from the budget, which may become negative.
func (p *pacer) spend(bytes int64) { p.budget -= float64(bytes) }

// admit reports whether a task may start now, and else when it is worth asking
// again; zero if only the end of another task helps.
func (p *pacer) admit(t *task, now time.Time) (ok bool, again time.Time) {
	p.refill(now)
	if t.isTransfer() {
		if p.transfers >= p.opts().MaxTransfers {
			return false, time.Time{}
		}
		if t.class == placement.Balance && now.Before(p.nextTransfer) {
			return false, p.nextTransfer
		}
		return true, time.Time{}
	}
	if p.changes >= p.opts().MaxChanges {
		return false, time.Time{}
	}
	if t.merge && now.Before(p.nextMerge) {
		return false, p.nextMerge
	}
	if t.copies() > 0 {
		least := 0.0
		if t.class == placement.Repair {
			least = -float64(p.opts().SnapshotRate) * snapshotBurst.Seconds()
		}
		if p.budget < least {
			wait := (least - p.budget) / float64(p.opts().SnapshotRate)
			return false, now.Add(time.Duration(wait*float64(time.Second)) + time.Millisecond)
		}
	}
	if !t.canWait() {
		return true, time.Time{}
	}
	next := p.nextLeave
	if t.class == placement.Balance {
		next = p.nextMove
	}
	if now.Before(next) {
		return false, next
	}
	return p.waitable == 0, time.Time{}
}

// start counts a task that was admitted.
func (p *pacer) start(t *task, now time.Time) {
	t.began = now
	balance := t.class == placement.Balance
	switch {
	case t.isTransfer():
		p.transfers++
		if balance {
			p.nextTransfer = now.Add(p.opts().TransferInterval)
		}
	default:
		p.changes++
		p.spend(t.copies())
		switch {
		case t.merge:
			p.nextMerge = now.Add(p.opts().MergeInterval)
		case t.canWait():
			p.waitable++
			p.delay(now, 0)
		}
	}
}

// delay sets when the next moves may start that are not urgent. Those for
// balance wait for the others as well.
func (p *pacer) delay(now time.Time, took time.Duration) {
	p.nextLeave = later(p.nextLeave, now.Add(max(p.opts().LeaveInterval, leaveFactor*took)))
	p.nextMove = later(p.nextMove, now.Add(max(p.opts().MoveInterval, moveFactor*took)))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// done counts the end of a task.
func (p *pacer) done(t *task, now time.Time) {
	if t.isTransfer() {
		p.transfers--
		return
	}
	p.changes--
	if t.canWait() {
		p.waitable--
		p.delay(now, now.Sub(t.began))
	}
}

// full reports whether nothing at all may start.
func (p *pacer) full() bool {
	return p.changes >= p.opts().MaxChanges && p.transfers >= p.opts().MaxTransfers
}
