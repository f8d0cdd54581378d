package server

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// The largest faults of a clock.
const (
	maxClockJump  = time.Hour
	maxClockDrift = 500_000 // millionths
)

// clockFault is a physical clock that tests can make wrong.
type clockFault struct {
	start time.Time
	wall  int64 // at start
	now   atomic.Pointer[shiftedClock]
}

// shiftedClock is off by offset at since, and then runs faster than time by so many
// millionths.
type shiftedClock struct {
	since  time.Time
	offset int64
	ppm    int64
}

func newClockFault() *clockFault {
	now := time.Now()
	return &clockFault{start: now, wall: now.UnixNano()}
}

// read returns nanoseconds since the Unix epoch.
func (c *clockFault) read() int64 {
	t := c.wall + int64(time.Since(c.start))
	if s := c.now.Load(); s != nil {
		t += s.shift()
	}
	return t
}

func (s *shiftedClock) shift() int64 {
	elapsed := int64(time.Since(s.since))
	return s.offset + elapsed/1_000_000*s.ppm + elapsed%1_000_000*s.ppm/1_000_000
}

// set changes the fault as a request says, and returns how far the clock is off.
func (c *clockFault) set(jump, drift, off string) (time.Duration, error) {
	next := &shiftedClock{since: time.Now()}
	if old := c.now.Load(); old != nil {
		next.offset, next.ppm = old.shift(), old.ppm
	}
	switch {
	case off != "":
		c.now.Store(nil)
		return 0, nil
	case jump != "":
		d, err := time.ParseDuration(jump)
		if err != nil || d.Abs() > maxClockJump {
			return 0, fmt.Errorf("jump=%s: give a duration with its sign, at most %s: jump=-2s", jump, maxClockJump)
		}
		next.offset += int64(d)
	case drift != "":
		ppm, err := strconv.ParseInt(drift, 10, 64)
		if err != nil || ppm > maxClockDrift || ppm < -maxClockDrift {
			return 0, fmt.Errorf("drift=%s: give millionths between -%d and %[2]d", drift, maxClockDrift)
		}
		next.ppm = ppm
	default:
		return 0, errors.New("give jump=DURATION, drift=MILLIONTHS or off=1")
	}
	c.now.Store(next)
	return time.Duration(next.offset), nil
}

// ServeHTTP takes POST /_debug/fault/clock?jump=±d|drift=±ppm|off=1.
func (c *clockFault) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return
	}
	q := r.URL.Query()
	off := q.Get("off")
	if q.Has("off") && off == "" {
		off = "1"
	}
	by, err := c.set(q.Get("jump"), q.Get("drift"), off)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Fprintf(w, "the clock is off by %s\n", by)
}
