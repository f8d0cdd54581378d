package kv_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
)

// A transaction that has spilled commits at its snapshot: what others have changed since in the rows
// that it read comes after it. Only if somebody has read later what it writes it must move, and
// begin again.
func TestSpilledCommitsAtItsSnapshot(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name     string
		ranges   []string
		seen     bool // another has read what is written
		restarts bool
	}{
		{"one range", nil, false, false},
		{"two ranges", []string{"h"}, false, false},
		{"three ranges", []string{"h", "k"}, false, false},
		{"one range, seen", nil, true, true},
		{"two ranges, seen", []string{"h"}, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRanges(t, fs.NewMem(), c.ranges...)
			defer r.close()
			g, other := r.gateway(), r.gateway()
			g.db.SetSpill(1 << 10)
			other.mustSet("old", "a", "b")
			other.router.Wait()
			txn := g.begin(kv.TxnOptions{})
			if _, _, err := txn.Get(ctx, key("a")); err != nil {
				t.Fatal(err)
			}
			other.mustSet("new", "a")
			if c.seen {
				other.get("i", "l")
			}
			for _, k := range []string{"i", "l"} {
				if _, err := txn.Lock(ctx, key(k), lock.Update, lock.WaitBlock); err != nil {
					t.Fatal(err)
				}
				if err := txn.Put(key(k), make([]byte, 2<<10)); err != nil { // more than the buffer holds
					t.Fatal(err)
				}
			}
			if err := txn.Commit(ctx); kv.IsRetryable(err) != c.restarts || !c.restarts && err != nil {
				t.Errorf("got %v, want a restart: %t", err, c.restarts)
			}
			g.router.Wait()
			if got := other.get("a", "b"); got != "[new old]" {
				t.Errorf("got %s", got)
			}
		})
	}
}

// Reads tell by the timestamp which spilled versions are of which transaction: no two transactions
// spill at the same one, whatever their gateways' clocks show and wherever they spill.
func TestSpillTimestampsDiffer(t *testing.T) {
	now := hlc.Timestamp{WallTime: 77}
	seen := map[hlc.Timestamp]string{now: "a clock"}
	for n := range uint64(3) {
		txn := kvpb.TxnMeta{ID: kvpb.TxnID{Hi: kvpb.GatewayIncarnation(kvpb.NodeID(n), 5)}, ReadTS: now}
		for name, ts := range map[string]hlc.Timestamp{
			fmt.Sprint("gateway ", n): txn.SnapshotSpill(),
			fmt.Sprint("store ", n):   kvpb.StoreSpill(now, kvpb.StoreID(n)),
		} {
			if other, ok := seen[ts]; ok || ts.WallTime != now.WallTime || !now.Less(ts) {
				t.Errorf("%s spills at %v, %s too", name, ts, other)
			}
			seen[ts] = name
		}
	}
}

// A statement that takes so long that the ranges close its snapshot moves it while what it read is the
// same, and fails at once when it is not.
func TestSnapshotIsRenewed(t *testing.T) {
	ctx := context.Background()
	for _, changed := range []bool{false, true} {
		r := newRanges(t, fs.NewMem())
		g, other := r.gateway(), r.gateway()
		g.db.SetMaxOffset(1) // it has others: a node by itself closes nothing
		other.mustSet("old", "a")
		txn := g.begin(kv.TxnOptions{})
		if _, _, err := txn.Get(ctx, key("a")); err != nil {
			t.Fatal(err)
		}
		if changed {
			other.mustSet("new", "a")
		}
		if err := txn.LockAhead(ctx, keysOf("i"), lock.Update); err != nil {
			t.Errorf("changed=%t: a young snapshot: %v", changed, err)
		}
		now := r.clock.Now()
		r.clock.Forward(hlc.Timestamp{WallTime: now.WallTime + int64(kvpb.ClosedLag)})
		err := txn.LockAhead(ctx, keysOf("j"), lock.Update)
		if kv.IsRetryable(err) != changed || !changed && err != nil {
			t.Errorf("changed=%t: %v", changed, err)
		}
		if !changed {
			other.mustSet("new", "a") // after the renewed snapshot, where the transaction commits
			if err = txn.Put(key("j"), []byte("mine")); err == nil {
				err = txn.Commit(ctx)
			}
			if err != nil {
				t.Error(err)
			}
		}
		txn.Rollback(ctx)
		r.close()
	}
}
