package sql

import (
	"time"

	"github.com/lichendb/lichen/internal/sql/builtin"
)

// The time in a unique id counts ticks of 10 µs from 2015, as CockroachDB's ids do.
const (
	idTick  = 10 * time.Microsecond
	idEpoch = 1420070400 // 2015-01-01 UTC in seconds of Unix time
)

// ticksOf is a time in ticks.
func ticksOf(t time.Time) int64 { return int64(t.Sub(time.Unix(idEpoch, 0)) / idTick) }

// uniqueID returns the next unique id of this node: no two nodes share the low bits, and
// the ticks above them always rise, where the clock stands still or goes back too. Ids are
// not remembered over a restart, which takes longer than the ticks can be ahead of the clock.
func (s *Server) uniqueID(now time.Time) int64 {
	at := ticksOf(now)
	for {
		last := s.idTicks.Load()
		next := max(at, last+1)
		if s.idTicks.CompareAndSwap(last, next) {
			return next<<builtin.UniqueIDNodeBits | int64(s.nodeID())&(1<<builtin.UniqueIDNodeBits-1)
		}
	}
}
