package rangeops

import (
	"context"
	"fmt"
	"time"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

// transferTimeout bounds the wait for a new leader.
const transferTimeout = 3 * time.Second

// TransferLeader implements balance.Changer.
func (a *Admin) TransferLeader(ctx context.Context, id kvpb.RangeID, to kvpb.StoreID) error {
	return a.Do(ctx, &Op{Kind: TransferLeader, Range: id, Store: to}, nil)
}

// transferLeader hands the leadership of a range to another store.
func (a *Admin) transferLeader(ctx context.Context, r *replica.Replica, to kvpb.StoreID) error {
	if to == a.o.Store.Of(r).Identity().Store {
		return nil
	}
	rep, ok := r.Desc().Replica(to)
	if !ok || rep.Type != kvpb.Voter {
		return fmt.Errorf("range %d: store %d has no voter that could lead", r.RangeID(), to)
	}
	if i, ok := a.o.Live.Node(rep.Node); !ok || i.Draining || !a.o.Live.Live(rep.Node) {
		return fmt.Errorf("range %d: node %d, which is to lead it, does not answer or is about to stop", r.RangeID(), rep.Node)
	}
	if err := a.awaitCaughtUp(ctx, r, placement.Target{Node: rep.Node, Store: to}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, transferTimeout)
	defer cancel()
	if a.o.Store.Of(r).Disk().Slow {
		r.ResignTo(rep) // the requests under way may take too long to wait for
	} else {
		r.OfferLeader(rep.Replica) // no other move is worth the transactions of its row locks
	}
	err := watch(ctx, func() (bool, error) {
		now, ok := r.Leader()
		return ok && now.Store == to && !r.Leads(), nil
	})
	if err != nil {
		r.Reclaim()
		return fmt.Errorf("range %d: store %d did not take over leadership: %w", r.RangeID(), to, err)
	}
	return nil
}
