package liveness

import (
	"sync/atomic"

	"github.com/lichendb/lichen/internal/hlc"
)

// Support is a promise of one node to another: not to help elect another leader
// in the other's place before the promising node's clock has passed Until.
// Renewals raise Until. When the promise was withdrawn and is given again it
// has a higher Epoch; what was built on the earlier epoch has no support then,
// since the supporter may have voted in between.
type Support struct {
	Epoch int64 // the supporter's clock when the support began; 0 is none
	Until hlc.Timestamp
}

// ownSupport is what the stores of a node have from the node itself.
var ownSupport = Support{Epoch: 1, Until: hlc.MaxTimestamp}

// Cell holds the support that a store gives to this node's leaderships.
type Cell struct {
	v atomic.Pointer[Support]
}

// Set replaces the support, nil for none.
func (c *Cell) Set(s *Support) { c.v.Store(s) }

// Until returns the end of the support, zero if there is none.
func (c *Cell) Until() hlc.Timestamp { return c.Support().Until }

// Support returns the support with its epoch, as of one moment; zero if there is
// none.
func (c *Cell) Support() Support {
	if s := c.v.Load(); s != nil {
		return *s
	}
	return Support{}
}
