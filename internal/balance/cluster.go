package balance

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/kvpb"
)

// RangeInfo is a range that this node leads.
type RangeInfo struct {
	placement.Range
	Zone *zone.Config // with everything inherited filled in
	// SplitKeys are keys inside the range at which it must be split, since
	// configurations differ there.
	SplitKeys [][]byte
	// FixedStart and FixedEnd say that a range must begin or end there.
	FixedStart, FixedEnd bool
	// NoSplit keeps the range whole: the range of the meta records.
	NoSplit bool
	// SplitUntil keeps the boundary at the range's start, which was made by hand.
	SplitUntil time.Time
	// Load counts the range's requests; nil means no splits by load.
	Load *LoadSplitter
}

// Ranges tells of ranges. Led and Get answer from memory.
type Ranges interface {
	// Led lists the ranges that this node leads.
	Led() []RangeInfo
	// Get returns one, false if this node does not lead it.
	Get(kvpb.RangeID) (RangeInfo, bool)
	// Right returns the range after one that this node leads, whoever leads it, with
	// its size and load; false if there is none or its leader does not answer.
	Right(context.Context, kvpb.RangeID) (RangeInfo, bool)
}

// Stores tells of all stores of the cluster from memory, the dead ones included. The
// capacities should be measured about every second and carry the time: how fast
// things even out depends on it.
type Stores interface {
	Stores() []placement.Store
}

// Changer carries decisions out. Each method returns when its work is done.
type Changer interface {
	// ChangeReplicas makes all changes take effect at once, by a joint configuration
	// if there is more than one. New voters are learners first, brought up to date by
	// a snapshot and the log. When it fails half-way it may leave a learner or a joint
	// configuration. No changes: leave a joint configuration. It goes to the range's
	// leader wherever that is, and fails if the range's members have changed so that a
	// node would get a second replica, or a replica to be removed leads or is gone.
	ChangeReplicas(context.Context, kvpb.RangeID, []placement.Change) error
	// TransferLeader hands leadership to a voter that is caught up, wherever the
	// leader is.
	TransferLeader(context.Context, kvpb.RangeID, kvpb.StoreID) error
	// Split makes a range begin at key, or at the start of the row that key is in.
	Split(ctx context.Context, id kvpb.RangeID, key []byte) error
	// Merge joins a range with the one after it. It fails if that one no longer has
	// its replicas on the same stores and the same leader.
	Merge(ctx context.Context, left kvpb.RangeID) error
	// SplitKey finds a key in the middle of a range's data, between two rows; false
	// if there is none.
	SplitKey(context.Context, kvpb.RangeID) ([]byte, bool, error)
}
