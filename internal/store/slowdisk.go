package store

import (
	"sync/atomic"
	"time"
)

// How a slow disk is distinguished from one that hesitated, and from a large write.
const (
	// DefaultSlowSync is from which time on a write to the log and its sync count as slow.
	DefaultSlowSync = 100 * time.Millisecond
	// slowBytesPerSecond is the rate that a disk is expected to write at: what a large write
	// takes beyond DefaultSlowSync for its size is no sign.
	slowBytesPerSecond = 16 << 20
	// A disk is slow when of what ended in the last slowWindow more than half was slow, and
	// no fewer than leastSlow.
	slowWindow = 2 * time.Second
	leastSlow  = 2
	// slowFor is how long a disk that was slow counts as such: leaderships that came back
	// at each pause would wander.
	slowFor = 20 * time.Second
)

// diskPace judges how fast the disk takes what the log writes.
type diskPace struct {
	limit       atomic.Int64 // from which time on a sync is slow, 0: none is
	syncs, late atomic.Int64 // that ended, and of these the slow ones
	slow        atomic.Bool

	// The rest belongs to the watching goroutine: the counts at its last looks, in a ring.
	samples [slowWindow / diskEvery]struct{ syncs, late int64 }
	next    int
	lastAt  time.Time // when the disk was last seen to be slow
}

// synced notes a write to the log.
func (p *diskPace) synced(took time.Duration, bytes int) {
	p.syncs.Add(1)
	size := time.Duration(bytes) * time.Second / slowBytesPerSecond
	if limit := time.Duration(p.limit.Load()); limit > 0 && took > limit+size {
		p.late.Add(1)
	}
}

// judge looks at what ended within the window. It reports whether its answer has changed.
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

// forget begins a new window: this process stood still, which says nothing of the disk.
func (p *diskPace) forget() {
	syncs, late := p.syncs.Load(), p.late.Load()
	for i := range p.samples {
		p.samples[i].syncs, p.samples[i].late = syncs, late
	}
}

// SetSlowSync changes from which time on a write to the log counts as slow; 0: none does.
func (s *Store) SetSlowSync(d time.Duration) { s.disk.pace.limit.Store(int64(d)) }
