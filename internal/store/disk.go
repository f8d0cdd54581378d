package store

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/storage"
)

// diskEvery is the interval at which a store checks its disk.
const diskEvery = 100 * time.Millisecond

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

	health diskHealth // belongs to the watching goroutine
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
func (s *Store) resign(attempt int) {
	for _, r := range s.all() {
		r.Resign(attempt)
	}
}

// othersAnswer reports whether the disks of most other stores answer.
func (s *Store) othersAnswer() bool {
	f := s.net.OthersAnswer
	return f != nil && f(s.Identity().Store, answersWithin)
}

// judgeDisk updates the disk's state and carries out what follows from it.
func (s *Store) judgeDisk(now time.Time) {
	d := &s.disk
	v := d.health.judge(now, max(d.watch.Oldest(), d.watch.Worst()), s.othersAnswer)
	if v.paused {
		d.pace.forget()
	}
	d.late.Store(v.late)
	if v.stalls {
		d.stalled.Store(true)
	}
	if v.resign {
		s.resign(v.attempt)
	}
	switch {
	case v.stalls:
		close(*d.stall.Load())
		s.opts.Logger.Error("the disk does not answer: the store's leaderships move away", "dir", s.opts.Dir, "for", v.took)
	case v.recovers:
		d.stalled.Store(false)
		d.answers()
		s.opts.Logger.Warn("the disk answers again", "dir", s.opts.Dir)
	}
	s.judgePace(now)
	s.judgeSpace()
}

// judgePace updates whether the disk is slow.
func (s *Store) judgePace(now time.Time) {
	d := &s.disk
	if !d.pace.judge(now) {
		return
	}
	if d.pace.slow.Load() {
		s.opts.Logger.Warn("the disk is slow: others lead the store's ranges if theirs are faster", "dir", s.opts.Dir,
			"writes_take_longer_than", time.Duration(d.pace.limit.Load()))
	} else {
		s.opts.Logger.Info("the disk is not slow any more", "dir", s.opts.Dir)
	}
}

// judgeSpace updates whether the disk is full.
func (s *Store) judgeSpace() {
	d := &s.disk
	full := d.watch.NoSpaceWithin(wellAfter) || errors.Is(s.eng.WriteStatus(), storage.ErrDiskFull)
	if d.full.Swap(full) == full {
		return
	}
	if full {
		s.opts.Logger.Error("the disk is full: the store's leaderships move away", "dir", s.opts.Dir)
	} else {
		s.opts.Logger.Warn("the disk has room again", "dir", s.opts.Dir)
	}
}
