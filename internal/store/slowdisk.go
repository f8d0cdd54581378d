package store

import (
	"sync/atomic"
	"time"
)

// Limits that tell a slow disk from a single slow operation and from a large write.
const (
	// DefaultSlowSync is the duration from which a write to the log with its sync counts as slow.
	DefaultSlowSync = 100 * time.Millisecond
	// slowBytesPerSecond is the expected rate of a disk. A write may take the time of its bytes at this rate
	// in addition.
	slowBytesPerSecond = 16 << 20
	// A disk is slow if more than half of the operations that ended in the last slowWindow, and at
	// least leastSlow, were slow.
	slowWindow = 2 * time.Second
	leastSlow  = 2
	// slowFor is how long a disk that was slow still counts as slow. Otherwise leaderships would move back
	// and forth with each pause.
	slowFor = 20 * time.Second
)

// diskPace measures how fast the disk writes the log.
type diskPace struct {
	limit       atomic.Int64 // duration from which a sync is slow, 0 if none is
	syncs, late atomic.Int64 // finished syncs, and the slow ones among them
	slow        atomic.Bool

	// The rest belongs to the watching goroutine: a ring of the counts at its last checks.
	samples [slowWindow / diskEvery]struct{ syncs, late int64 }
	next    int
	lastAt  time.Time // when the disk was last slow
}

// synced records a write to the log.
func (p *diskPace) synced(took time.Duration, bytes int) {
	p.syncs.Add(1)
	size := time.Duration(bytes) * time.Second / slowBytesPerSecond
	if limit := time.Duration(p.limit.Load()); limit > 0 && took > limit+size {
		p.late.Add(1)
	}
}

// judge decides whether the disk is slow. It reports whether that has changed.
func (p *diskPace) judge(now time.Time) bool {
	first := &p.samples[p.next]
	syncs, late := p.syncs.Load(), p.late.Load()
	if n := late - first.late; n >= leastSlow && 2*n > syncs-first.syncs {
		p.lastAt = now
	}
	first.syncs, first.late = syncs, late
	p.next = (p.next + 1) % len(p.samples)
	slow := p.limit.Load() > 0 && !p.lastAt.IsZero() && now.Sub(p.lastAt) < slowFor
	return p.slow.Swap(slow) != slow
}

// forget begins a new window: this process stood still, so the durations say nothing about the disk.
func (p *diskPace) forget() {
	syncs, late := p.syncs.Load(), p.late.Load()
	for i := range p.samples {
		p.samples[i].syncs, p.samples[i].late = syncs, late
	}
}

// SetSlowSync sets the duration from which a write to the log counts as slow. With 0 none does.
func (s *Store) SetSlowSync(d time.Duration) { s.disk.pace.limit.Store(int64(d)) }
