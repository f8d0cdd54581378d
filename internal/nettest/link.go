package nettest

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/rpc"
)

// Quality is how well one direction of a link works.
type Quality struct {
	Latency time.Duration // of every packet, at least
	Jitter  time.Duration // up to this more, evenly
	// Spike delays a packet by up to this more, with a chance of SpikeChance.
	Spike       time.Duration
	SpikeChance float64
	Loss        float64 // chance that a packet is lost
	Duplicate   float64 // chance that a message comes twice in a row
	// Reorder lets messages of one method overtake those of others. Messages of
	// one method, and without Reorder all, arrive in the order of Send. Calls
	// may overtake anything.
	Reorder bool
	// Timeout is after what time a connection that brings nothing is given up:
	// calls whose request or answer was lost then end with an unknown outcome,
	// and calls over a link that has been cut for so long are not sent.
	Timeout time.Duration
}

// LAN returns the quality of a good local network.
func LAN() Quality {
	return Quality{Latency: 200 * time.Microsecond, Jitter: 300 * time.Microsecond,
		Spike: 5 * time.Millisecond, SpikeChance: 0.002, Timeout: rpc.DeadTimeout}
}

const (
	// maxInFlight is how many messages may be on their way over one link, and how
	// many may wait for their handler at its end.
	maxInFlight = rpc.MaxQueueMessages
	// maxCalls is how many calls may be open in the whole network.
	maxCalls = 1 << 18
)

// link is one direction between two nodes. The network's mutex guards it.
type link struct {
	from, to kvpb.NodeID
	seed     uint64
	base     Quality
	worse    []*func(*Quality) // degradations in force
	quality  Quality           // base with all of them
	// cuts counts the reasons for which the link is cut, since cutSince; epoch
	// counts the times it was, so that what was under way then is lost.
	cuts     int
	cutSince time.Duration
	epoch    uint64
	flap     []*flap
	last     map[rpc.Method]time.Duration // when the latest message arrives
	inFlight int
	packets  uint64 // of connections, so far
	// Messages that have arrived wait here for the link's reader, a goroutine from the
	// first of them on. It stays: a new one for each would have to grow its stack.
	arrived []*packet
	more    *sync.Cond // the reader has something to do; nil until there is one
}

// refresh works out the quality.
func (l *link) refresh() {
	l.quality = l.base
	for _, w := range l.worse {
		(*w)(&l.quality)
	}
}

// usual returns how long a packet takes as a rule.
func (l *link) usual() time.Duration { return l.quality.Latency + l.quality.Jitter/2 }

// hashedBytes limits how much of a payload the dice look at.
const hashedBytes = 4096

// dice draws the fate of one packet. It begins at a hash of the link's seed and of
// the packet itself and when it was sent, not of how many went before: so it
// makes no difference which of two goroutines sends first at one instant.
type dice struct{ state uint64 }

// mix scatters the bits of x (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (l *link) dice(kind packetKind, m rpc.Method, now time.Duration, payload []byte) dice {
	h := mix(l.seed^uint64(now)) ^ uint64(kind)<<32 ^ uint64(m)<<40 ^ uint64(len(payload))
	payload = payload[:min(len(payload), hashedBytes)]
	for ; len(payload) >= 8; payload = payload[8:] {
		h = (h ^ binary.LittleEndian.Uint64(payload)) * 0x9e3779b97f4a7c15
		h ^= h >> 32
	}
	for _, b := range payload {
		h = (h ^ uint64(b)) * 0x9e3779b97f4a7c15
	}
	return dice{mix(h)}
}

func (d *dice) next() uint64 {
	d.state += 0x9e3779b97f4a7c15
	return mix(d.state)
}

func (d *dice) chance(p float64) bool { return p > 0 && float64(d.next()>>11)/(1<<53) < p }

func (d *dice) upTo(n time.Duration) time.Duration {
	if n <= 0 {
		return 0
	}
	return time.Duration(d.next() % uint64(n))
}

// delay draws how long a packet takes.
func (d *dice) delay(q *Quality) time.Duration {
	t := q.Latency + d.upTo(q.Jitter)
	if d.chance(q.SpikeChance) {
		t += d.upTo(q.Spike)
	}
	return t
}

// inOrder returns when a message that takes d may arrive.
func (l *link) inOrder(m rpc.Method, now, d time.Duration) time.Duration {
	if !l.quality.Reorder {
		m = 0
	}
	due := max(now+d, l.last[m]+1)
	l.last[m] = due
	return due
}

func (l *link) cut(now time.Duration) {
	if l.cuts == 0 {
		l.cutSince = now
	}
	l.cuts++
	l.epoch++
}

// isCut reports whether nothing gets over the link now.
func (l *link) isCut(now time.Duration) bool {
	for _, f := range l.flap {
		f.advance(now)
	}
	return l.cuts > 0
}

// isDead reports whether the sender has noticed that the link is cut.
func (l *link) isDead(now time.Duration) bool {
	return l.isCut(now) && now-l.cutSince >= l.quality.Timeout
}

// flap cuts links for a while and again: each stretch is drawn between half and
// one and a half of its mean.
type flap struct {
	links    []*link
	rng      *rand.Rand
	up, down time.Duration
	isDown   bool
	next     time.Duration // when it changes
}

func (f *flap) draw(mean time.Duration) time.Duration {
	return mean/2 + time.Duration(f.rng.Int64N(int64(max(mean, 1)))) + 1
}

// advance does the changes that were due up to now.
func (f *flap) advance(now time.Duration) {
	for f.next <= now {
		f.isDown = !f.isDown
		mean := f.up
		if f.isDown {
			mean = f.down
		}
		for _, l := range f.links {
			if f.isDown {
				l.cut(f.next)
			} else {
				l.cuts--
			}
		}
		f.next += f.draw(mean)
	}
}
