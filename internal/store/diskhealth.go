package store

import "time"

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
	// resignAgain is how long a stalled store waits for other stores to take over its ranges before
	// it asks again. The wait grows up to resignMost.
	resignAgain = 300 * time.Millisecond
	resignMost  = 5 * time.Second
)

// diskHealth decides from the durations of a disk's operations whether the disk is stalled or late:
//
//	healthy ── an operation takes longer than StallAfter, or than StallAloneAfter while others answer ──► stalled
//	   ▲                                                                                                     │
//	   └──────────────────── wellAfter without an operation longer than StallAloneAfter ◄────────────────────┘
//
// A stalled store resigns its leaderships at once, and again while the stall lasts.
type diskHealth struct {
	stalled bool
	slowAt  time.Time // time of the last operation longer than StallAloneAfter
	lateAt  time.Time // time of the last late operation
	looked  time.Time // time of the last check
	since   time.Time // operations before it do not count
	// resigned counts how often the store has given up its leaderships during this stall. resignAt is
	// when it does so next.
	resigned int
	resignAt time.Time
}

// diskVerdict is the result of a check.
type diskVerdict struct {
	took             time.Duration // how much of the longest operation counts
	paused           bool          // the process stood still before this check
	late             bool
	stalls, recovers bool // a stall has begun, or ended
	resign           bool
	attempt          int // the number of this resignation in the stall
}

// judge checks a disk whose longest operation since the last check, finished or not, has taken so long.
func (h *diskHealth) judge(now time.Time, took time.Duration, othersAnswer func() bool) (v diskVerdict) {
	v.took, v.paused = h.fair(now, took)
	if v.took > StallAloneAfter {
		h.slowAt = now
	}
	if v.took > lateAfter {
		h.lateAt = now
	}
	v.late = !h.lateAt.IsZero() && now.Sub(h.lateAt) < lateFor
	long := v.took > StallAfter || v.took > StallAloneAfter && othersAnswer()
	switch {
	case long && !h.stalled:
		h.stalled, h.resigned, v.stalls = true, 0, true
		h.resign(now, &v)
	case long && now.After(h.resignAt):
		h.resign(now, &v)
	case h.stalled && now.Sub(h.slowAt) > wellAfter:
		h.stalled, v.recovers = false, true
	}
	return v
}

func (h *diskHealth) resign(now time.Time, v *diskVerdict) {
	v.resign, v.attempt = true, h.resigned
	h.resignAt = now.Add(min(resignAgain<<h.resigned, resignMost))
	h.resigned = min(h.resigned+1, 10)
}

// fair returns the part of an operation's duration that counts: the time since this process last stood
// still, stopped by a signal or without a processor. A late check shows that it did.
func (h *diskHealth) fair(now time.Time, took time.Duration) (counts time.Duration, paused bool) {
	if paused = !h.looked.IsZero() && now.Sub(h.looked) > diskEvery+StallAfter/4; paused {
		h.since = now
	}
	h.looked = now
	if h.since.IsZero() {
		return took, paused
	}
	return min(took, now.Sub(h.since)), paused
}
