package rangeops

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kv/address"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/rangestats"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/spanconfig"
	"github.com/lichendb/lichen/internal/store"
)

const (
	// watchEvery is the interval between two looks at a change under way.
	watchEvery = 10 * time.Millisecond
	// stepTimeout bounds one step of a change.
	stepTimeout = 15 * time.Second
)

// Liveness tells of other nodes.
type Liveness interface {
	Live(kvpb.NodeID) bool
	LastContact(kvpb.NodeID) time.Time
	Node(kvpb.NodeID) (liveness.NodeInfo, bool)
}

// Options say what an Admin works with.
type Options struct {
	Store     *store.Set
	Transport rpc.Transport
	Node      func() kvpb.NodeID
	// Alone: the node is a cluster by itself. Live and Addresses are nil then.
	Alone     bool
	Live      Liveness
	Addresses *address.Registry
	// DB returns the gateway, Cached the descriptors that it has cached, Ready reports
	// whether the node takes part in changes of ranges. New uses none of them.
	DB     func() *kv.DB
	Cached func() []*kvpb.RangeDescriptor
	Ready  func() bool
	Clock  *hlc.Clock
	Config *spanconfig.Watcher
	Stats  *rangestats.Collector
	// Go runs a function that ends before the store is closed.
	Go     func(func())
	Logger *slog.Logger
}

// Admin changes ranges for a node: those that the node leads by itself, others by way of their
// leaders. It implements balance.Changer.
type Admin struct {
	o   Options
	ids rangeIDs
	// halfMerged says that a range with a merge to be ended is led here now.
	halfMerged chan struct{}
	merging    busy // ranges that somebody here merges, or ends a merge of
	changing   busy // ranges whose replicas somebody here changes
	done       [unfreeze + 1]atomic.Int64
}

// Done returns how many operations of a kind this node has carried out, as the leader of their ranges.
func (a *Admin) Done(k Kind) int64 { return a.done[k].Load() }

// New returns an Admin. Handle has it answer other nodes.
func New(o Options) *Admin {
	return &Admin{o: o, ids: newRangeIDs(), halfMerged: make(chan struct{}, 1)}
}

// Clear drops all versions of the keys in a span, whichever nodes lead its ranges.
func (a *Admin) Clear(ctx context.Context, span keys.Span) error {
	for at := span.Start; string(at) < string(span.End); {
		var to []byte
		err := a.EachRange(ctx, at, func(d *kvpb.RangeDescriptor) (*Op, bool) {
			if to = d.EndKey; string(span.End) < string(to) {
				to = span.End
			}
			return &Op{Kind: Clear, Range: d.RangeID, Key: at, End: to}, true
		})
		if err != nil {
			return err
		}
		at = to
	}
	return nil
}

// SplitAt makes a range begin at key.
func (a *Admin) SplitAt(ctx context.Context, key []byte) error {
	return a.EachRange(ctx, key, func(d *kvpb.RangeDescriptor) (*Op, bool) {
		return &Op{Kind: Split, Range: d.RangeID, Key: key}, true
	})
}

// watch calls done until it says so, fails, or ctx ends.
func watch(ctx context.Context, done func() (bool, error)) error {
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
}

// untilFree calls step until no other change of the range is in its way.
func untilFree(ctx context.Context, step func() error) error {
	return watch(ctx, func() (bool, error) {
		if err := step(); !errors.Is(err, replica.ErrBusy) {
			return true, err
		}
		return false, nil
	})
}

func stillLeads(r *replica.Replica) error {
	if !r.Leads() {
		return fmt.Errorf("range %d: leadership was lost during the change", r.RangeID())
	}
	return nil
}
