package sim

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/nettest"
	"github.com/lichendb/lichen/internal/replica"
)

// oneWay is half the round trip between two nodes of TestFar, local what counts as no
// round trip.
const (
	oneWay = 30 * time.Millisecond
	local  = 5 * time.Millisecond
)

// far is a cluster of three distant nodes and a fourth one that holds a replica without
// a vote.
type far struct {
	*cluster
	t *testing.T
}

func newFar(t *testing.T) *far {
	c := newCluster(t, 11, 4)
	c.found("\x10m")
	f := &far{c, t}
	ctx, cancel := context.WithTimeout(context.Background(), changeTimeout)
	defer cancel()
	r := c.leaderOf([]byte("\x10z"))
	add := replica.Change{Kind: replica.AddLearner, Node: 4, Store: 4}
	if err := again(ctx, func() error { return r.ChangeReplicas(ctx, []replica.Change{add}) }); err != nil {
		t.Fatal(err)
	}
	for _, a := range c.nodes {
		for _, b := range c.nodes {
			if a != b {
				c.net.SetQuality(a.id, b.id, nettest.Quality{Latency: oneWay, Timeout: nettest.LAN().Timeout})
			}
		}
	}
	return f
}

func (f *far) write(key, value string) hlc.Timestamp {
	f.t.Helper()
	t := f.nodes[0].current().db.Begin(kv.TxnOptions{})
	t.BeginStatement()
	if err := t.Put([]byte(key), []byte(value)); err != nil {
		f.t.Fatal(err)
	}
	if err := t.Commit(context.Background()); err != nil {
		f.t.Fatal(err)
	}
	return t.CommitTimestamp()
}

// read reads a key on a node, as of a time if it is set, and says how long that took.
func (f *far) read(id kvpb.NodeID, at hlc.Timestamp, key string) (value string, took time.Duration) {
	f.t.Helper()
	began := time.Now()
	t := f.node(id).current().db.Begin(kv.TxnOptions{ReadOnly: !at.IsEmpty(), AsOf: at})
	t.BeginStatement()
	v, _, err := t.Get(context.Background(), []byte(key))
	if err != nil {
		f.t.Fatalf("node %d reads %q as of %v: %v", id, key, at, err)
	}
	took = time.Since(began)
	t.Rollback(context.Background())
	return string(v), took
}

func (f *far) ago(d time.Duration) hlc.Timestamp {
	return hlc.Timestamp{WallTime: f.nodes[0].current().hlc.PhysicalNow() - int64(d)}
}

// TestFar reads on all nodes of a cluster that spans the world, as of some seconds ago:
// each answers by itself, the one without a vote too.
func TestFar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFar(t)
		f.write("\x10z", "old")
		<-time.After(10 * time.Second)
		second := f.write("\x10z", "new")
		<-time.After(kvpb.FollowerReadLag)
		remote := 0
		for _, n := range f.nodes {
			f.read(n.id, hlc.Timestamp{}, "\x10z") // finds the address
			if _, took := f.read(n.id, hlc.Timestamp{}, "\x10z"); took >= 2*oneWay {
				remote++
			}
			for _, c := range []struct {
				at   hlc.Timestamp
				want string
			}{{f.ago(kvpb.FollowerReadLag), "new"}, {second, "new"}, {second.Prev(), "old"}} {
				if v, took := f.read(n.id, c.at, "\x10z"); v != c.want || took > local {
					t.Errorf("node %d reads %q as of %v in %v, want %q", n.id, v, c.at, took, c.want)
				}
			}
		}
		<-time.After(10 * time.Second)
		for _, n := range f.nodes {
			if tracked, active := n.current().store.TrackedRanges(); active > 0 || n.id == 1 && tracked == 0 {
				t.Errorf("of the ranges that node %d leads %d are tracked and %d active, though nobody writes", n.id, tracked, active)
			}
		}
		if remote != 3 {
			t.Errorf("%d nodes were far from the leader, want 3", remote)
		}
		f.close()
	})
}

// TestFarLocks reads where a large transaction has provisional versions, below what is
// closed: only the leader knows what becomes of them.
func TestFarLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFar(t)
		f.write("\x10z", "old")
		ctx := context.Background()
		large := f.nodes[0].current().db.Begin(kv.TxnOptions{})
		large.BeginStatement()
		put := func(key, value string) {
			if _, err := large.Lock(ctx, []byte(key), lock.Update, lock.WaitBlock); err != nil {
				t.Fatal(err)
			}
			if err := large.Put([]byte(key), []byte(value)); err != nil {
				t.Fatal(err)
			}
		}
		put("\x10z", "new")
		filler := string(bytes.Repeat([]byte("x"), 1<<20))
		for i := 0; large.BufferBytes() > 0; i++ { // until it spills
			put(fmt.Sprintf("\x10y%04d", i), filler)
		}
		<-time.After(2 * kvpb.FollowerReadLag)
		pending := f.ago(kvpb.FollowerReadLag)
		for _, n := range f.nodes {
			if v, _ := f.read(n.id, pending, "\x10z"); v != "old" {
				t.Errorf("node %d reads %q, which is not committed", n.id, v)
			}
		}
		if err := large.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		for parts := 1; parts > 0; parts, _ = f.leaderOf([]byte("\x10z")).Provisional() {
			<-time.After(time.Second) // what it leaves is removed at leisure
		}
		<-time.After(2 * kvpb.FollowerReadLag)
		for _, n := range f.nodes {
			if v, took := f.read(n.id, pending, "\x10z"); v != "old" || took > local {
				t.Errorf("node %d reads %q in %v as of a time before the commit", n.id, v, took)
			}
			if v, took := f.read(n.id, large.CommitTimestamp(), "\x10z"); v != "new" || took > local {
				t.Errorf("node %d reads %q in %v as of the commit", n.id, v, took)
			}
		}
		locked := int64(0)
		for _, n := range f.nodes {
			for _, r := range n.current().store.Replicas() {
				locked += r.Stats().ClosedLocked.Load()
			}
		}
		if locked == 0 {
			t.Error("no follower met a lock, which proves nothing")
		}
		f.close()
	})
}
