package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/checksum"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

// checksums returns the checksum of each node's replica of a range.
func (c *cluster) checksums(id kvpb.RangeID, n byte) (sums []checksum.Checksum) {
	c.T.Helper()
	ask := apply.CheckID{n}
	c.Do(id, func(r *replica.Replica) error { return r.AskChecksums(context.Background(), ask) })
	for _, nd := range c.Nodes {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		r, ok := nd.Store.Replica(id)
		if !ok {
			c.T.Fatalf("node %d has no replica of range %d", nd.ID, id)
		}
		sum, err := r.Checksum(ctx, ask)
		cancel()
		if err != nil {
			c.T.Fatalf("node %d: %v", nd.ID, err)
		}
		sums = append(sums, sum)
	}
	return sums
}

// TestChecksums compares replicas after writes, a snapshot, garbage collection, a split
// and a restart, and finds a difference that was planted.
func TestChecksums(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		for i := range 30 {
			c.Put(1, fmt.Sprintf("\x10k%02d", i), "before")
		}
		c.Replicate(1) // by snapshots
		for i := range 30 {
			c.Put(1, fmt.Sprintf("\x10k%02d", i), "after")
		}
		same := func(id kvpb.RangeID, n byte) checksum.Checksum {
			t.Helper()
			sums := c.checksums(id, n)
			for i := range sums {
				if sums[i] != sums[0] {
					t.Fatalf("range %d: node %d: %+v, node 1: %+v", id, i+1, sums[i], sums[0])
				}
			}
			return sums[0]
		}
		all := same(1, 1)
		if all.Keys < 60 || all.Index == 0 {
			t.Fatalf("checksum of %+v", all)
		}
		c.Do(1, func(r *replica.Replica) error {
			return r.CollectGarbage(context.Background(), c.Of(r).Clock.Now())
		})
		fewer := same(1, 2)
		if fewer.Keys >= all.Keys || fewer.Sum == all.Sum {
			t.Fatalf("after garbage collection: %+v, before: %+v", fewer, all)
		}
		c.Split(1, "\x10k10", 2)
		c.Put(2, "\x10k20", "right")
		left, right := same(1, 3), same(2, 4)
		if left.Keys+right.Keys != fewer.Keys+1 {
			t.Fatalf("halves of %d and %d keys, together %d before", left.Keys, right.Keys, fewer.Keys)
		}
		dead := c.Nodes[2]
		c.Close(dead)
		c.Put(1, "\x10k01", "while one is away")
		c.Start(dead)
		c.Introduce()
		time.Sleep(5 * time.Second)
		same(1, 5)

		// A version that no command wrote.
		b := dead.Store.Engine().NewBatch()
		ts := hlc.Timestamp{WallTime: time.Now().UnixNano()}
		if err := errors.Join(mvcc.PutVersion(b, []byte("\x10k01"), ts, []byte("planted")), b.Commit()); err != nil {
			t.Fatal(err)
		}
		b.Close()
		sums := c.checksums(1, 6)
		if sums[0] != sums[1] || sums[2].Sum == sums[0].Sum || sums[2].Keys != sums[0].Keys+1 {
			t.Fatalf("the planted difference: %+v", sums)
		}
		same(2, 7)
	})
}

// TestRest: replicas to which nothing happens are not ticked, not even while one of three nodes is gone, and
// are ticked again when they must be.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		for i := range 20 {
			key := fmt.Appendf(nil, "\x10%02d", 99-i)
			c.Do(1, func(r *replica.Replica) error { return r.Split(context.Background(), key, kvpb.RangeID(2+i)) })
		}
		rest := func(when string) {
			t.Helper()
			// A moment between two safeguards, in which all is at rest.
			for _, nd := range c.Nodes {
				awake := -1
				for range 60 {
					if nd.Port.Down() {
						awake = 0
						break
					}
					time.Sleep(100 * time.Millisecond)
					if awake = nd.Store.Unquiesced(); awake == 0 {
						break
					}
				}
				if awake != 0 {
					t.Errorf("%s: node %d: %d replicas don't rest", when, nd.ID, awake)
				}
			}
		}
		time.Sleep(5 * time.Second)
		rest("after the splits")
		dead := c.Nodes[1]
		c.Close(dead)
		time.Sleep(5 * time.Second)
		for i := range 21 {
			c.Put(kvpb.RangeID(1+i), string(c.startOf(kvpb.RangeID(1+i)))+"!", "v")
		}
		time.Sleep(5 * time.Second)
		rest("with a node down")
		c.Start(dead)
		c.Introduce()
		time.Sleep(8 * time.Second)
		rest("after its return")
		for i := range 21 {
			id := kvpb.RangeID(1 + i)
			r, _ := dead.Store.Replica(id)
			if l := c.Leader(id); l == nil || r == nil || r.AppliedIndex() != l.AppliedIndex() {
				t.Errorf("range %d: the node that was away has not caught up", id)
			}
		}
	})
}

// startOf returns a key of a range.
func (c *cluster) startOf(id kvpb.RangeID) []byte {
	if start := c.Leader(id).Desc().StartKey; len(start) > 1 && start[0] == 0x10 {
		return start
	}
	return []byte("\x10")
}
