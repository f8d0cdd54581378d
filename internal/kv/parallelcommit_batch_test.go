package kv_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

// A commit in several ranges of the gateway's own node takes one write and one sync, also
// where a part is refused at first.
func TestBatchCommitOneSync(t *testing.T) {
	for _, read := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := newRanges(t, fs.NewMem(), "d", "h", "p")
			defer c.close()
			ctx := context.Background()
			g := c.local()
			g.mustSet("0", "a", "e", "i", "q")
			g.router.Wait()
			txn := g.writing(kv.TxnOptions{}, "1", "a", "e", "i", "q")
			want := int64(1)
			if read { // its range can't commit at the first timestamp: the others are staged again
				if got := c.local().get("i"); got != "[0]" {
					t.Fatal(got)
				}
				want = 2
			}
			before := c.store.Log().Stats()
			if err := txn.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			after := c.store.Log().Stats()
			if syncs, appends := after.Syncs-before.Syncs, after.Appends-before.Appends; syncs != want || appends != want {
				t.Errorf("read: %t: %d syncs for %d appends, not %d", read, syncs, appends, want)
			}
			g.router.Wait()
			if got := g.get("a", "e", "i", "q"); got != "[1 1 1 1]" {
				t.Error(got)
			}
			c.clean()
		})
	}
}

// Commits in several ranges of the gateway's own node meet one another, commits in one range,
// and splits and merges of the ranges: none waits for ever, no audit sees a sum that is not
// the bank's.
func TestBatchBankBesideMerges(t *testing.T) { synctest.Test(t, testBatchBankBesideMerges) }

func testBatchBankBesideMerges(t *testing.T) {
	c := newRanges(t, fs.NewMem(), "h", "p")
	defer c.close()
	ctx := context.Background()
	g := c.local()
	for _, a := range accounts {
		g.mustSet(strconv.Itoa(accountStart), a)
	}
	stop := make(chan struct{})
	var changer, workers sync.WaitGroup
	splits, merges := 0, 0
	changer.Go(func() {
		rnd := rand.New(rand.NewPCG(3, 5))
		for id := kvpb.RangeID(100); ; id++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(1 + rnd.IntN(4e6))): // not in step with pauses of requests
			}
			at := []string{"b", "h", "j", "p", "r"}[rnd.IntN(5)]
			left, right := c.sides(at)
			switch {
			case right == nil && c.splitAt(key(at), id) == nil:
				splits++
			case left == nil || right == nil:
			case left.Merge(ctx, right) == nil:
				merges++
			default:
				c.endMerge(left)
			}
		}
	})
	var done sync.Map
	for w := range 6 {
		g, rnd := c.local(), rand.New(rand.NewPCG(uint64(w), 9))
		workers.Go(func() {
			n := 0
			for began := time.Now(); n < 100 && time.Since(began) < time.Minute; {
				time.Sleep(time.Millisecond)
				i := rnd.IntN(len(accounts))
				j := (i + 1 + rnd.IntN(len(accounts)-1)) % len(accounts)
				err := transfer(ctx, g, kv.ReadCommitted, accounts[min(i, j)], accounts[max(i, j)], rnd.IntN(20)-10)
				// Without a cache of addresses, requests end when they meet changed bounds.
				var moving *kvpb.NotLeaderError
				switch {
				case err == nil:
					n++
				case !kv.IsRetryable(err) && kvpb.Classify(err) != kvpb.ClassAmbiguous && !errors.As(err, &moving):
					t.Error(err)
					return
				}
				if sum, err := audit(ctx, g, kv.RepeatableRead); err == nil && sum != bankTotal {
					t.Errorf("an audit sees %d", sum)
					return
				}
			}
			done.Store(w, n)
		})
	}
	workers.Wait()
	close(stop)
	changer.Wait()
	done.Range(func(w, n any) bool {
		if n.(int) < 100 {
			t.Errorf("worker %d has committed %d times", w, n)
		}
		return true
	})
	if splits == 0 || merges == 0 {
		t.Errorf("%d splits and %d merges", splits, merges)
	}
	t.Logf("%d splits, %d merges", splits, merges)
	if sum, err := audit(ctx, g, kv.Serializable); err != nil || sum != bankTotal {
		t.Errorf("in the end: %d, %v", sum, err)
	}
}

// sides returns the replicas of the ranges that end and begin at a key.
func (c *ranges) sides(name string) (left, right *replica.Replica) {
	for _, r := range c.store.Replicas() {
		if string(r.Desc().EndKey) == string(key(name)) {
			left = r
		}
		if string(r.Desc().StartKey) == string(key(name)) {
			right = r
		}
	}
	return left, right
}

// endMerge ends a merge that was given up.
func (c *ranges) endMerge(left *replica.Replica) {
	err := left.ResolveMerge(context.Background(), func(_ context.Context, right, into kvpb.RangeID, generation uint64) error {
		r, ok := c.store.Replica(right)
		if !ok {
			return nil
		}
		return r.Unfreeze(into, generation)
	})
	if err != nil {
		c.t.Logf("end of a merge: %v", err)
	}
}
