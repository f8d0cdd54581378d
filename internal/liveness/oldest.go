package liveness

import (
	"time"

	"github.com/lichendb/lichen/internal/hlc"
)

// OldestRead returns the oldest timestamp at which the gateways of other nodes may
// still read, as far as their heartbeats have said; zero if they read nothing. A
// gateway that is taken for dead does not count.
func (l *Liveness) OldestRead() hlc.Timestamp {
	l.mu.Lock()
	defer l.mu.Unlock()
	var oldest int64
	for _, p := range l.peers {
		if p.oldest == 0 || time.Since(p.received) >= DeadGatewayAfter || l.registry[p.id].Removed {
			continue
		}
		if oldest == 0 || p.oldest < oldest {
			oldest = p.oldest
		}
	}
	return hlc.Timestamp{WallTime: oldest}
}

// ownOldestRead returns the wall time of this node's oldest read, 0 if there is none.
func (l *Liveness) ownOldestRead() int64 {
	if l.o.OldestRead == nil {
		return 0
	}
	return l.o.OldestRead().WallTime
}
