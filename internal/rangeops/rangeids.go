package rangeops

import (
	"context"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sleep"
)

// maxIDBlock bounds how many ids of ranges a node takes at once. Those it does not
// use are lost, which does no harm: there are enough.
const maxIDBlock = 64

// rangeIDs are ids for new ranges that belong to this node. It takes the more at once the more
// it has used: a node that splits once takes one.
type rangeIDs struct {
	// mu guards what follows. It is held while the cluster is asked for a block of ids.
	mu    sleep.Mutex
	next  uint64
	left  uint64
	block uint64
}

func newRangeIDs() rangeIDs { return rangeIDs{mu: sleep.NewMutex()} }

// newRangeID returns an id that no range has had.
func (a *Admin) newRangeID(ctx context.Context) (kvpb.RangeID, error) {
	s := &a.ids
	if err := s.mu.LockContext(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	if s.left == 0 {
		s.block = min(max(2*s.block, 1), maxIDBlock)
		last, err := a.o.DB().Increment(ctx, "range-id", s.block)
		if err != nil {
			return 0, err
		}
		s.next, s.left = last-s.block+1, s.block
	}
	id := s.next
	s.next++
	s.left--
	return kvpb.RangeID(id), nil
}
