package liveness

import (
	"time"

	"github.com/lichendb/lichen/internal/hlc"
)

// OldestRead returns the oldest timestamp at which other nodes' gateways may still read, according to
// their latest heartbeats. It returns zero if they read nothing. Gateways that count as dead don't
// count.
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

// ownOldestRead returns the wall time of this node's oldest read; 0 if there is none.
func (l *Liveness) ownOldestRead() int64 {
	if l.o.OldestRead == nil {
		return 0
	}
	return l.o.OldestRead().WallTime
}
