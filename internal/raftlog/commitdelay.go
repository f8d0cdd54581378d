package raftlog

import (
	"runtime"
	"time"
)

const (
	// maxCommitDelay bounds the time for which a writer holds its sync back for another
	// append. It is at most the commitDelayShare-th part of a sync's usual time.
	maxCommitDelay   = 200 * time.Microsecond
	commitDelayShare = 4
	// commitDelayYields is the number of times that the writer yields the processor in tests
	// in virtual time, where time stands still meanwhile.
	commitDelayYields = 16
	// commitDelayLikely is the value of commitDelay.seen from which writers wait,
	// maxCommitDelaySeen its largest one.
	commitDelayLikely  = 2
	maxCommitDelaySeen = 4
)

// commitDelay predicts whether an append to an idle log is followed by another one at once, as
// one part of a transaction in two ranges is followed by the other. Then one sync serves both.
// If appends usually come alone, no writer waits. It is guarded by Log.mu.
type commitDelay struct {
	seen  int           // lone appends with a follower, less those without
	sync  time.Duration // moving average of a sync's time
	alone time.Time     // when the last sync of a lone append began; zero once its follower is counted
}

// limit is the time within which a follower must come.
func (d *commitDelay) limit() time.Duration { return min(d.sync/commitDelayShare, maxCommitDelay) }

func (d *commitDelay) synced(took time.Duration) { d.sync += (took - d.sync) / 8 }

func (d *commitDelay) note(followed bool) {
	d.alone = time.Time{}
	if followed {
		d.seen = min(d.seen+1, maxCommitDelaySeen)
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

// delayCommit holds the sync of the only append in the queue back for a moment, if another
// append is likely to come. The caller holds mu, which delayCommit releases meanwhile.
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
