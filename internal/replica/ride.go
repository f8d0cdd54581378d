package replica

import "github.com/lichendb/lichen/internal/raftgroup"

// haste says whether a command may wait for company. The zero value is that of one that
// somebody waits for.
type haste struct {
	patient bool
	// seen is what hurries returned before it was looked whether somebody waits.
	seen uint64
}

// proposeWith is propose, or proposes a command that may wait for company.
func (g *group) proposeWith(h haste, under raftgroup.Fence, command []byte) error {
	if h.patient {
		return g.ProposeDeferred(under, command, h.seen)
	}
	return g.propose(under, command)
}

// hurries returns how often somebody was in a hurry.
func (g *group) hurries() uint64 { return g.Queue.Flushes() }

// hurry has the riders go now, and those that are about to wait not wait.
func (g *group) hurry() { g.Flush() }
