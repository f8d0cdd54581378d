package store

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/storage"
)

// Limits by which a disk is judged.
const (
	// StallAfter is the duration of a write or sync after which the disk counts as stalled. Then the
	// store's leaderships move away. The limit is generous: on machines that are all busy, a lower one
	// would stall all stores at once, and none would lead.
	StallAfter = 2 * time.Second
	// StallAloneAfter is the same while the disks of most other stores answer.
	StallAloneAfter = time.Second
	// lateAfter is the duration of a write or sync after which the disk counts as late, which the store
	// tells other nodes. The disk stays late until lateFor after the last such operation.
	lateAfter = 250 * time.Millisecond
	lateFor   = 2 * time.Second
	// answersWithin is how long another node's report that its disk answers counts. If that disk had
	// begun to stall with this one, a newer report would say so.
	answersWithin = 500 * time.Millisecond
	// wellAfter is how long all operations must have been fast, or must have found space, before a
	// stalled or full disk counts as healthy again.
	wellAfter = 5 * time.Second
	// diskEvery is the interval of these checks.
	diskEvery = 100 * time.Millisecond
	// resignAgain is how long a stalled store waits for other stores to take over its ranges before
	// it asks again. The wait grows up to resignMost.
	resignAgain = 300 * time.Millisecond
	resignMost  = 5 * time.Second
)

// DiskState is the condition of a store's disk.
type DiskState struct {
	// Stalled: operations do not return. Full: there is no room for more data. Slow: most writes take
	// long. Late: a write took long a moment ago, or is taking long now.
	Stalled, Full, Slow, Late bool
}

// disk monitors the store's disk.
type disk struct {
	watch         *fs.Watch
	stalled, full atomic.Bool
	late          atomic.Bool
	pace          diskPace
	stall         atomic.Pointer[chan struct{}] // closed while the disk is stalled

	// The rest belongs to the watching goroutine.
	slowAt time.Time // time of the last slow operation
	lateAt time.Time // time of the last late operation
	looked time.Time // time of the last check
	since  time.Time // operations before it do not count
	// resigned counts how often the store has given up its leaderships during this stall. resignAt is
	// when it does so next.
	resigned int
	resignAt time.Time
}

// answers records that the disk answers. From then on stalls returns a channel that the next stall closes.
func (d *disk) answers() {
	c := make(chan struct{})
	d.stall.Store(&c)
}

func (d *disk) stalls() <-chan struct{} { return *d.stall.Load() }

// Disk returns the state of the store's disk. It takes no locks.
func (s *Store) Disk() DiskState {
	return DiskState{Stalled: s.disk.stalled.Load(), Full: s.disk.full.Load(), Slow: s.disk.pace.slow.Load(), Late: s.disk.late.Load()}
}

// DiskWatch returns the watch over the store's files, where tests inject faults.
func (s *Store) DiskWatch() *fs.Watch { return s.disk.watch }

// watchDisk checks the disk until the store is closed. It does no I/O itself, so it keeps running
// while the disk is stalled.
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

// resign transfers the store's leaderships to other stores. Otherwise their ranges would wait until the
// support for this store ends, which other stores of the node may keep up.
func (s *Store) resign(now time.Time) {
	d := &s.disk
	for _, r := range s.all() {
		r.Resign(d.resigned)
	}
	d.resignAt = now.Add(min(resignAgain<<d.resigned, resignMost))
	d.resigned = min(d.resigned+1, 10)
}

// fair returns the part of an operation's duration that counts: the time since this process last stood
// still, stopped by a signal or without a processor. A late call of watchDisk shows that it did.
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

// stallsAt returns the duration after which the disk counts as stalled. oldest is the age of the oldest
// running operation.
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
		close(*d.stall.Load())
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
