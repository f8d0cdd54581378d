package raftlog

import (
	"runtime"
	"time"
)

const (
	// maxCommitDelay bounds how long a writer holds its sync back for another append,
	// commitDelayShare is the part of a sync's time that this may take at the most.
	maxCommitDelay   = 200 * time.Microsecond
	commitDelayShare = 4
	// commitDelayYields is how often it lets others run where time stands still meanwhile, as
	// in tests in virtual time.
	commitDelayYields = 16
	// commitDelayLikely is how many lone appends must have been followed at once until writers
	// wait, commitDelaySure how far that is counted.
	commitDelayLikely = 2
	commitDelaySure   = 4
)

// commitDelay predicts whether an append to a log at rest is followed by another one at once,
// as the parts of one transaction in two ranges are: then both take one sync instead of
// one after the other. Who appends alone never waits. It is guarded by Log.mu.
type commitDelay struct {
	seen  int           // lone appends that were followed, less those that were not
	sync  time.Duration // moving average
	alone time.Time     // when the last sync of a lone append began; zero if known what followed it
}

// limit is how much later another append may come.
func (d *commitDelay) limit() time.Duration { return min(d.sync/commitDelayShare, maxCommitDelay) }

func (d *commitDelay) synced(took time.Duration) { d.sync += (took - d.sync) / 8 }

func (d *commitDelay) note(followed bool) {
	d.alone = time.Time{}
	if followed {
		d.seen = min(d.seen+1, commitDelaySure)
	} else {
		d.seen = max(d.seen-1, 0)
	}
}

// arrived notes each append.
func (d *commitDelay) arrived() {
	if !d.alone.IsZero() {
		d.note(time.Since(d.alone) < d.limit())
	}
}

// delayCommit holds the sync of the only append in the queue back for a moment if another
// one is likely to come. mu is held, but not throughout.
func (l *Log) delayCommit() {
	d := &l.commitDelay
	if !d.alone.IsZero() {
		d.note(false) // nothing has followed
	}
	began := time.Now()
	if d.seen >= commitDelayLikely {
		limit := d.limit()
		for n := 0; len(l.next.reqs) == 1; n++ {
			if past := time.Since(began); past >= limit || past == 0 && n >= commitDelayYields {
				break
			}
			l.mu.Unlock()
			runtime.Gosched()
			l.mu.Lock()
		}
		d.note(len(l.next.reqs) > 1)
		return
	}
	if len(l.next.reqs) == 1 {
		d.alone = began
	}
}
