package store

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/storage"
)

// How a disk is judged.
const (
	// StallAfter is how long a write or sync may take before the disk counts as
	// stalled. The store's leaderships then move away. It is not lower: a machine that is busy as
	// a whole has all its stores stall at once, and then none of them leads.
	StallAfter = 2 * time.Second
	// StallAloneAfter is the same while the disks of most other stores answer.
	StallAloneAfter = time.Second
	// lateAfter is how long a write or sync may take before the disk counts as late, which others
	// are notified; it does until lateFor after the last such operation.
	lateAfter = 250 * time.Millisecond
	lateFor   = 2 * time.Second
	// answersWithin is how fresh the word of others must be that their disks answer: from when they
	// would have said otherwise, had their operations begun to hang with those of this disk.
	answersWithin = 500 * time.Millisecond
	// wellAfter is how long all operations must have been fast, or have found
	// space, before the disk counts as well again.
	wellAfter = 5 * time.Second
	// diskEvery is how often that is looked at.
	diskEvery = 100 * time.Millisecond
	// resignAgain is how long the store that stalled waits for its ranges to be led
	// elsewhere before it asks others to; each time it waits longer, up to resignMost.
	resignAgain = 300 * time.Millisecond
	resignMost  = 5 * time.Second
)

// DiskState is what ails a store's disk.
type DiskState struct {
	// Stalled: operations do not return. Full: there is no room for more data. Slow: each
	// write takes long. Late: a write took long a moment ago, or has not returned yet.
	Stalled, Full, Slow, Late bool
}

// disk judges the store's disk.
type disk struct {
	watch         *fs.Watch
	stalled, full atomic.Bool
	late          atomic.Bool
	pace          diskPace
	standing      atomic.Pointer[chan struct{}] // closed while it stands still

	// The rest belongs to the watching goroutine.
	slowAt time.Time // when an operation was last seen to be slow
	lateAt time.Time // the same for one that is late
	looked time.Time // when that was last looked at
	since  time.Time // what operations took before says nothing
	// resigned counts how often the leaderships were given up since the disk stands still,
	// resignAt says when they are again.
	resigned int
	resignAt time.Time
}

// answers begins a time in which the disk answers; stands returns what its end closes.
func (d *disk) answers() {
	c := make(chan struct{})
	d.standing.Store(&c)
}

func (d *disk) stands() <-chan struct{} { return *d.standing.Load() }

// Disk returns the state of the store's disk. It takes no locks.
func (s *Store) Disk() DiskState {
	return DiskState{Stalled: s.disk.stalled.Load(), Full: s.disk.full.Load(), Slow: s.disk.pace.slow.Load(), Late: s.disk.late.Load()}
}

// DiskWatch returns the watch over the store's files, where faults can be put.
func (s *Store) DiskWatch() *fs.Watch { return s.disk.watch }

// watchDisk looks at the disk until the store is closed. It touches no file itself,
// so that it goes on while the disk stands still.
func (s *Store) watchDisk() {
	t := time.NewTicker(diskEvery)
	defer t.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-t.C:
			s.judgeDisk(time.Now())
		}
	}
}

// resign gives the store's leaderships up to other stores, whose ranges need not wait until
// the support for this one has ended: other stores of the node may go on to use it.
func (s *Store) resign(now time.Time) {
	d := &s.disk
	for _, r := range s.all() {
		r.Resign(d.resigned)
	}
	d.resignAt = now.Add(min(resignAgain<<d.resigned, resignMost))
	d.resigned = min(d.resigned+1, 10)
}

// fair returns how much of the time that an operation has taken counts: what has passed
// since this process last stood still, by a signal or for want of a processor. Then whoever looks at the
// disk comes late too.
func (d *disk) fair(now time.Time, took time.Duration) time.Duration {
	if !d.looked.IsZero() && now.Sub(d.looked) > diskEvery+StallAfter/4 {
		d.since = now
		d.pace.forget()
	}
	d.looked = now
	if d.since.IsZero() {
		return took
	}
	return min(took, now.Sub(d.since))
}

// stallsAt returns how long an operation may take before the disk counts as stalled, given how
// long the oldest has taken.
func (s *Store) stallsAt(oldest time.Duration) time.Duration {
	if f := s.net.OthersAnswer; oldest > StallAloneAfter && f != nil && f(s.Identity().Store, answersWithin) {
		return StallAloneAfter
	}
	return StallAfter
}

func (s *Store) judgeDisk(now time.Time) {
	d := &s.disk
	oldest := d.fair(now, max(d.watch.Oldest(), d.watch.Worst()))
	if oldest > StallAloneAfter {
		d.slowAt = now
	}
	if oldest > lateAfter {
		d.lateAt = now
	}
	d.late.Store(!d.lateAt.IsZero() && now.Sub(d.lateAt) < lateFor)
	stalls := oldest > s.stallsAt(oldest)
	switch was := d.stalled.Load(); {
	case !was && stalls:
		d.stalled.Store(true)
		d.resigned = 0
		s.resign(now)
		close(*d.standing.Load())
		s.opts.Logger.Error("the disk does not answer: the store's leaderships move away", "dir", s.opts.Dir, "for", oldest)
	case was && stalls && now.After(d.resignAt):
		s.resign(now)
	case was && now.Sub(d.slowAt) > wellAfter:
		d.stalled.Store(false)
		d.answers()
		s.opts.Logger.Warn("the disk answers again", "dir", s.opts.Dir)
	}
	if d.pace.judge(now) {
		if d.pace.slow.Load() {
			s.opts.Logger.Warn("the disk is slow: others lead the store's ranges if theirs are faster", "dir", s.opts.Dir,
				"writes_take_longer_than", time.Duration(d.pace.limit.Load()))
		} else {
			s.opts.Logger.Info("the disk is not slow any more", "dir", s.opts.Dir)
		}
	}
	full := d.watch.NoSpaceWithin(wellAfter) || errors.Is(s.eng.WriteStatus(), storage.ErrDiskFull)
	if d.full.Swap(full) != full {
		if full {
			s.opts.Logger.Error("the disk is full: the store's leaderships move away", "dir", s.opts.Dir)
		} else {
			s.opts.Logger.Warn("the disk has room again", "dir", s.opts.Dir)
		}
	}
}
