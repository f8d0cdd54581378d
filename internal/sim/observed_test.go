package sim

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/nettest"
)

// setBoth writes keys in one transaction.
func setBoth(t *testing.T, db *kv.DB, value string, names ...string) {
	t.Helper()
	err := db.Run(context.Background(), func(_ context.Context, txn *kv.Txn) error {
		for _, n := range names {
			if err := txn.Put(histKey(n), []byte(value)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A transaction that has read at a node, or whose gateway that is, meets no uncertainty there: what
// others commit meanwhile came later, however short a time ago.
func TestObservedClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 41, 3)
		c.found("\x10x", "\x10y", "\x10z")
		c.spread("\x10x", "\x10y")
		c.spread("", "\x10z")
		for _, level := range []kv.Isolation{kv.RepeatableRead, kv.Serializable} {
			for gateway := range 3 {
				h := &history{cluster: c, level: level, turn: gateway}
				h.reset()
				<-time.After(2 * simOffset)
				x := h.begin()
				seen := x.read("y") // led by node 2, as z is
				setBoth(t, c.nodes[2].current().db, "new", "x", "y", "z")
				seen += x.read("z")
				if gateway == 0 {
					seen += x.read("x")
				}
				if ok := x.commit(); !ok || seen != "000" && (gateway == 0 || seen != "00") {
					t.Errorf("%v at node %d: it has seen %q, committed: %v, %v", level, gateway+1, seen, ok, x.err)
				}
				late := h.begin()
				if got := late.read("x") + late.read("y") + late.read("z"); got != "newnewnew" {
					t.Errorf("%v: a transaction that begins later sees %q", level, got)
				}
				late.rollback()
			}
		}
		c.close()
	})
}

// readOfFormer lets a transaction at a node that was cut off read what another leader,
// whose clock is ahead, committed before the transaction began, when this node leads the
// range: it must see that.
func readOfFormer(t *testing.T, seed uint64) (err error) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 50+seed, 3)
		c.found("\x10x", "\x10y", "\x10z")
		c.spread("\x10x", "\x10y")
		behind, ahead := c.nodes[0], c.nodes[1]
		setBoth(t, ahead.current().db, "old", "y")
		<-time.After(time.Second)

		heal := c.net.Partition([]kvpb.NodeID{behind.id}, []kvpb.NodeID{ahead.id, c.nodes[2].id})
		ahead.clock.Jump(simOffset * 2 / 5)
		setBoth(t, ahead.current().db, "new", "y")
		ahead.clock.Jump(-simOffset * 2 / 5)
		txn := behind.current().db.Begin(kv.TxnOptions{Isolation: kv.RepeatableRead})
		defer txn.Rollback(context.Background())
		txn.BeginStatement()
		heal()
		c.spread("\x10y")
		v, _, rerr := txn.Get(context.Background(), histKey("y"))
		if rerr != nil {
			t.Errorf("the read failed: %v", rerr)
		}
		if string(v) != "new" {
			err = fmt.Errorf("what was committed before a transaction began is not in its snapshot: it reads %q", v)
		}
		c.close()
	})
	return err
}

// What a transaction has seen of a node's clock says nothing of what the node's predecessor has
// committed.
func TestObservedAcrossLeaders(t *testing.T) {
	for seed := range uint64(3) {
		if err := readOfFormer(t, seed); err != nil {
			t.Error(err)
		}
	}
}

// uncertainAtFollower lets a transaction begin at a node that was cut off, just after a commit whose
// gateway's clock is ahead. The node catches up and is cut off again. Its replica answers the
// transaction's first read as a follower, since the time of the commit is closed: it must see the commit.
func uncertainAtFollower(t *testing.T, seed uint64) (err error) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 70+seed, 3)
		c.lag = pastLag
		c.found("\x10x", "\x10y", "\x10z")
		c.spread("\x10x", "\x10y")
		follower, ahead := c.nodes[0], c.nodes[1]
		setBoth(t, ahead.current().db, "old", "y")
		<-time.After(time.Second)
		others := []kvpb.NodeID{ahead.id, c.nodes[2].id}
		heal := c.net.Partition([]kvpb.NodeID{follower.id}, others)
		ahead.clock.Jump(simOffset * 2 / 5)
		setBoth(t, ahead.current().db, "new", "y")
		ahead.clock.Jump(-simOffset * 2 / 5)
		txn := follower.current().db.Begin(kv.TxnOptions{Isolation: kv.RepeatableRead})
		defer txn.Rollback(context.Background())
		txn.BeginStatement()
		heal()
		<-time.After(2 * time.Second)
		heal = c.net.Partition([]kvpb.NodeID{follower.id}, others)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		v, _, rerr := txn.Get(ctx, histKey("y"))
		cancel()
		if rerr == nil && string(v) != "new" {
			err = fmt.Errorf("what was committed before a transaction began is not in its snapshot: it reads %q", v)
		}
		if rerr != nil {
			t.Errorf("the follower did not answer: %v", rerr)
		}
		heal()
		c.close()
	})
	return err
}

// A follower that answers a read for its leader returns what was committed before the transaction began.
func TestUncertainAtFollower(t *testing.T) {
	for seed := range uint64(3) {
		if err := uncertainAtFollower(t, seed); err != nil {
			t.Error(err)
		}
	}
}

// meet begins a transaction as the first statement of a block does.
func meet(n *machine, level kv.Isolation) *kv.Txn {
	t := n.current().db.Begin(kv.TxnOptions{Isolation: level})
	t.ObserveClocks(context.Background())
	t.BeginStatement()
	return t
}

// A transaction that has asked other nodes for their clocks meets no uncertainty where it comes
// for the first time, whatever others have committed there meanwhile.
func TestObserveClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		c := newCluster(t, 43, 3)
		c.found("\x10x", "\x10y", "\x10z")
		c.spread("\x10x", "\x10y", "\x10z")
		for round := range 4 {
			for i, n := range c.nodes {
				h := &history{cluster: c}
				h.reset()
				<-time.After(2 * simOffset)
				for _, level := range []kv.Isolation{kv.RepeatableRead, kv.Serializable} {
					other := c.nodes[(i+1)%3].current().db
					setBoth(t, other, "old", "x", "y", "z")
					txn := meet(n, level)
					var seen string
					for _, k := range []string{"x", "y", "z"} {
						v, _, err := txn.Get(ctx, histKey(k))
						if err != nil && round > 0 { // in the first the nodes are strangers
							t.Errorf("%v at node %d: %v", level, n.id, err)
						}
						if seen += string(v); err == nil && string(v) != "old" {
							t.Errorf("%v at node %d: it sees %q", level, n.id, seen)
						}
						setBoth(t, other, "new", "x", "y", "z")
					}
					txn.Rollback(ctx)
				}
			}
		}
		c.close()
	})
}

// staleClock lets a transaction begin while a question for another node's clock is under way,
// after which that node has committed: it must see that.
func staleClock(t *testing.T, seed uint64) (err error) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		c := newCluster(t, 60+seed, 3)
		c.found("\x10x", "\x10y", "\x10z")
		c.spread("\x10x", "\x10y")
		behind, ahead, third := c.nodes[0], c.nodes[1], c.nodes[2]
		setBoth(t, ahead.current().db, "old", "y")
		for range 3 { // the nodes come to know each other
			txn := meet(behind, kv.RepeatableRead)
			if _, _, err := txn.Get(ctx, histKey("y")); err != nil {
				t.Error(err)
			}
			txn.Rollback(ctx)
		}
		ahead.clock.Jump(simOffset * 2 / 5)
		heal := c.net.Cut(third.id, behind.id) // who would tell it what the clock of the other shows
		c.net.SetQuality(behind.id, ahead.id, nettest.Quality{Latency: 200 * time.Microsecond, Timeout: time.Second})
		c.net.SetQuality(ahead.id, behind.id, nettest.Quality{Latency: 20 * time.Millisecond, Timeout: time.Second})
		go func() { meet(behind, kv.RepeatableRead).Rollback(ctx) }()
		<-time.After(time.Millisecond)
		setBoth(t, ahead.current().db, "new", "y")
		txn := meet(behind, kv.RepeatableRead)
		v, _, rerr := txn.Get(ctx, histKey("y"))
		if rerr != nil {
			t.Errorf("the read failed: %v", rerr)
		}
		if string(v) != "new" {
			err = fmt.Errorf("what was committed before a transaction began is not in its snapshot: it reads %q", v)
		}
		txn.Rollback(ctx)
		heal()
		c.close()
	})
	return err
}

// A clock's reading says nothing to a transaction that began after it was taken.
func TestClocksAreFresh(t *testing.T) {
	for seed := range uint64(3) {
		if err := staleClock(t, seed); err != nil {
			t.Error(err)
		}
	}
}
