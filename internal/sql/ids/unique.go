package ids

import (
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/builtin/sessionfuncs"
)

// The time in a number counts ticks of 10 µs from 2015, as CockroachDB's ids do.
const (
	tick  = 10 * time.Microsecond
	epoch = 1420070400 // 2015-01-01 UTC in seconds of Unix time
)

// ticksOf is a time in ticks.
func ticksOf(t time.Time) int64 { return int64(t.Sub(time.Unix(epoch, 0)) / tick) }

// number puts ticks above the bits of a node.
func number(ticks int64, node kvpb.NodeID) int64 {
	return ticks<<sessionfuncs.UniqueIDNodeBits | int64(node)&(1<<sessionfuncs.UniqueIDNodeBits-1)
}

// Node returns the node that gave a number.
func Node(id uint64) kvpb.NodeID { return kvpb.NodeID(id & (1<<sessionfuncs.UniqueIDNodeBits - 1)) }

// Unique gives the unique ids of a node. It is safe for concurrent use. A restart forgets the
// newest tick, but takes longer than the ticks can be ahead of the clock.
type Unique struct{ ticks atomic.Int64 }

// Next returns the next id of a node.
func (u *Unique) Next(now time.Time, node kvpb.NodeID) int64 {
	at := ticksOf(now)
	for {
		last := u.ticks.Load()
		next := max(at, last+1)
		if u.ticks.CompareAndSwap(last, next) {
			return number(next, node)
		}
	}
}
