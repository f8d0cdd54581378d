package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/replica"
)

// The leadership of one of two ranges is transferred at some moment of their merge. Whichever comes first, a row
// lock in the right range stays with its transaction.
func TestTransferDuringMerge(t *testing.T) {
	for _, id := range []kvpb.RangeID{1, 2} {
		for step := range 80 {
			t.Run(fmt.Sprintf("range %d/%d", id, step), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { transferDuringMerge(t, id, time.Duration(step)*100*time.Microsecond) })
			})
		}
	}
}

func transferDuringMerge(t *testing.T, id kvpb.RangeID, after time.Duration) {
	c := newCluster(t, 3)
	defer c.CloseAll()
	c.Replicate(1)
	c.split("f")
	nd := c.Leading(1)
	c.gather(nd, 2)
	<-time.After(2 * time.Second)
	left, right, ctx := c.Leader(1), c.Leader(2), context.Background()
	holder := nd.Txn(1 << 40)
	key := []byte("\x10g")
	if err := right.Lock(ctx, &kvpb.LockRequest{Txn: holder, Key: key, Strength: lock.Update}, &kvpb.LockResponse{}); err != nil {
		t.Fatal(err)
	}
	merged := make(chan error, 1)
	go func() { merged <- left.Merge(ctx, right) }()
	<-time.After(after)
	moved := map[kvpb.RangeID]*replica.Replica{1: left, 2: right}[id]
	to, _ := moved.Desc().Replica(kvpb.StoreID(c.Other(nd).ID))
	moved.OfferLeader(to.Replica)
	if err := <-merged; err != nil {
		t.Logf("the merge: %v", err)
	}
	<-time.After(time.Second)
	if l := c.Leader(1); l != nil && l.Desc().Merging != 0 {
		if err := c.resolve(l); err != nil {
			t.Fatal(err)
		}
	}
	var busy *kvpb.LockNotAvailableError
	for range 100 {
		if r := c.leaderOf(string(key)); r != nil {
			err := r.Lock(ctx, &kvpb.LockRequest{Txn: nd.Txn(1<<40 + 1), Key: key, Strength: lock.Update, Wait: lock.WaitError}, &kvpb.LockResponse{})
			if err == nil {
				t.Fatal("another transaction has the lock")
			}
			if errors.As(err, &busy) {
				return
			}
		}
		<-time.After(50 * time.Millisecond)
	}
	t.Error("nobody says who has the lock")
}
