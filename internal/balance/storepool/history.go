package storepool

import (
	"time"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/liveness"
)

// The stores of a node that went silent get nothing new for suspectMin after it is back, for
// longer if it goes silent again and again; suspectMemory after the last time that is
// forgotten.
const (
	suspectMin    = 10 * time.Second
	suspectMax    = 5 * time.Minute
	suspectMemory = 15 * time.Minute
)

// history is the behaviour of a node over time. It reads no clock.
type history struct {
	incarnation int64
	seq         uint64
	measured    time.Time // when its present figures came
	live        bool
	since       time.Time // when live changed
	draining    bool      // as the node said last
	// failures counts how often the node went silent of late without having said that it
	// would stop; the node is suspect for a while after each time.
	failures     int
	suspectUntil time.Time
}

// observe adds the node's present info; heard is the time of its last message.
func (h *history) observe(i *liveness.NodeInfo, live bool, contact, now time.Time) {
	if h.incarnation != i.Incarnation || h.seq != i.Seq || h.measured.IsZero() {
		h.incarnation, h.seq, h.measured = i.Incarnation, i.Seq, now
	}
	if h.live != live {
		h.change(live, contact, now)
	}
	if live {
		h.draining = i.Draining
	}
}

// change notes that the node went silent or is back.
func (h *history) change(live bool, contact, now time.Time) {
	if live && h.failures > 0 {
		h.suspectUntil = now.Add(min(suspectMin<<min(h.failures-1, 10), suspectMax))
	}
	if !live && now.Sub(h.suspectUntil) > suspectMemory {
		h.failures = 0
	}
	if !live && !h.draining {
		h.failures++
	}
	h.live, h.since = live, now
	if !live && !contact.IsZero() {
		h.since = contact
	}
}

// state returns the state of the node's stores.
func (h *history) state(removed bool, now time.Time) placement.State {
	switch {
	case removed:
		return placement.Gone
	case !h.live:
		return placement.Down
	case now.Before(h.suspectUntil):
		return placement.Suspect
	}
	return placement.Live
}
