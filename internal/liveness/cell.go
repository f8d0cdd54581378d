package liveness

import (
	"sync/atomic"

	"github.com/lichendb/lichen/internal/hlc"
)

// Support is a promise of one node to another: until the promising node's clock passes Until, it
// does not help to elect another leader in the other's place. Renewals raise Until. A promise that
// was withdrawn and given again has a higher Epoch. Leases that rest on the earlier epoch are then
// without support, since the supporter may have voted in between.
type Support struct {
	Epoch int64 // the supporter's clock when the support began; 0 is none
	Until hlc.Timestamp
	// Incarnation is that of the supported node. Only the supporter knows it.
	Incarnation int64
}

// ownSupport is the support that a node's own stores give it.
var ownSupport = Support{Epoch: 1, Until: hlc.MaxTimestamp}

// Cell holds the support that a store gives to this node's leaderships.
type Cell struct {
	v atomic.Pointer[Support]
}

// Set replaces the support, nil for none.
func (c *Cell) Set(s *Support) { c.v.Store(s) }

// Until returns the end of the support; zero if there is none.
func (c *Cell) Until() hlc.Timestamp { return c.Support().Until }

// Support returns the support with its epoch, read atomically; zero if there is none.
func (c *Cell) Support() Support {
	if s := c.v.Load(); s != nil {
		return *s
	}
	return Support{}
}
