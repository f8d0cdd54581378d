package concurrency

import (
	"math/bits"

	"github.com/lichendb/lichen/internal/hlc"
)

// Least returns the lowest timestamp of the unfinished commits, hlc.MaxTimestamp if there
// are none. It returns false if one of them has not fixed its timestamp.
//
// A caller that wants no further commits at or below a timestamp first raises the low-water mark
// of the timestamp cache to it: a commit that begins afterwards sees the mark, and Least knows all
// that began before.
func (cs *Commits) Least() (ts hlc.Timestamp, known bool) {
	ts = hlc.MaxTimestamp
	if cs.active.Load() == 0 {
		return ts, true
	}
	for ch := cs.first.Load(); ch != nil; ch = ch.next.Load() {
		for used := ch.used.Load(); used != 0; used &= used - 1 {
			c := ch.commits[bits.TrailingZeros64(used)].Load()
			if c == nil {
				continue
			}
			at, fixed := c.Timestamp()
			if !fixed {
				return hlc.Timestamp{}, false
			}
			ts = ts.Min(at)
		}
	}
	return ts, true
}
