package server

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/node"
)

// on makes a node with stores in directories of a file system, that listens.
func (c *testNodes) on(disk fs.FS, dirs ...string) *Node {
	c.t.Helper()
	cfg := c.config()
	cfg.Stores, cfg.CacheBytes = config.Dirs(dirs...), 8<<20
	return c.listening(cfg, disk)
}

// replicasOn counts the voters of each store, by what the ranges say. No node may have
// two of one range.
func (c *testNodes) replicasOn(n *Node) (count map[kvpb.StoreID]int, ranges int, err error) {
	list, err := n.SQL.Ranges().Ranges(c.ctx, keys.ReplicatedSpan())
	count = map[kvpb.StoreID]int{}
	for i := range list {
		d := &list[i].Desc
		at := map[kvpb.NodeID]bool{}
		for _, r := range d.Replicas {
			if r.Type != kvpb.Voter || len(d.Replicas) != 3 {
				return nil, 0, fmt.Errorf("range %d has the replicas %+v", d.RangeID, d.Replicas)
			}
			if at[r.Node] {
				c.t.Fatalf("range %d has two replicas on node %d: %+v", d.RangeID, r.Node, d.Replicas)
			}
			at[r.Node] = true
			count[r.Store]++
		}
	}
	return count, len(list), err
}

// TestStores gives three nodes two stores each: replicas spread over all of them. Then
// a node comes back without one, and its replicas are made anew on the other; at last
// it gets a new one.
func TestStores(t *testing.T) { withNodes(t, testStores) }

func testStores(t *testing.T, c *testNodes) {
	disk := fs.NewMem()
	first := c.on(fs.NewMem(), "a", "b")
	if err := first.Init(); err != nil {
		t.Fatal(err)
	}
	c.start(first)
	second, third := c.on(fs.NewMem(), "a", "b"), c.on(disk, "a", "b")
	c.start(second, third)
	one := c.connect(first)
	c.exec(one, "CREATE TABLE t (k INT PRIMARY KEY, v INT)")
	c.exec(one, "INSERT INTO t SELECT g, g FROM generate_series(1, 100) g")
	c.exec(one, "ALTER TABLE t SPLIT AT VALUES (20), (40), (60), (80)")
	spread := func(stores ...kvpb.StoreID) func() (bool, string) {
		return func() (bool, string) {
			count, ranges, err := c.replicasOn(first)
			if err != nil {
				return false, err.Error()
			}
			for _, id := range stores {
				if count[id] == 0 || len(stores) == 6 && count[id] > ranges-2 {
					return false, fmt.Sprint(count)
				}
			}
			return len(count) == len(stores), fmt.Sprint(count)
		}
	}
	c.until("replicas on all six stores", spread(1, 2, 3, 4, 5, 6))
	if got := c.query(c.connect(third), "SELECT sum(v) FROM t"); got != 5050 {
		t.Errorf("the sum is %d; want 5050", got)
	}
	lost := third.KV.Store.Stores()[1].Identity().Store
	if s := third.Statuses()[2].Stores; len(s) != 2 {
		t.Errorf("the status of node 3 shows the stores %+v", s)
	}
	c.stop(third)
	third = c.on(disk, "a")
	c.start(third)
	var rest []kvpb.StoreID
	for id := kvpb.StoreID(1); id <= 6; id++ {
		if id != lost {
			rest = append(rest, id)
		}
	}
	c.until("replicas on the stores that are left", spread(rest...))
	c.exec(one, "UPDATE t SET v = v + 1")
	if got := c.query(c.connect(third), "SELECT sum(v) FROM t"); got != 5150 {
		t.Errorf("the sum is %d; want 5150", got)
	}
	c.stop(third)
	third = c.on(disk, "new", "a")
	c.start(third)
	c.until("replicas on the new store", spread(append(rest, 7)...))
}

// TestStalledStore: the disk of one store stands still; what it leads goes elsewhere,
// and the node goes on.
func TestStalledStore(t *testing.T) { withNodes(t, testStalledStore) }

func testStalledStore(t *testing.T, c *testNodes) {
	first := c.on(fs.NewMem(), "a", "b")
	if err := first.Init(); err != nil {
		t.Fatal(err)
	}
	c.start(first)
	second, third := c.on(fs.NewMem(), "a"), c.on(fs.NewMem(), "a")
	c.start(second, third)
	one := c.connect(first)
	c.exec(one, "CREATE TABLE t (k INT PRIMARY KEY, v INT)")
	c.exec(one, "INSERT INTO t SELECT g, g FROM generate_series(1, 100) g")
	c.awaitVoters(first, second, third)
	over := make(chan struct{})
	end := sync.OnceFunc(func() { close(over) })
	defer end()
	watch := first.KV.Store.Stores()[0].DiskWatch()
	watch.SetFault(func(op *fs.Op) error {
		if op.Kind.Mutates() {
			<-over
		}
		return nil
	})
	c.until("a disk that stands still", func() (bool, string) { return first.KV.Store.Stores()[0].Disk().Stalled, "" })
	c.exec(one, "UPDATE t SET v = v + 1") // through the same node
	if first.KV.Store.AllStalled() {
		t.Error("both disks count as stalled")
	}
	c.until("support for the node's other store", func() (bool, string) { return !first.KV.Store.AllStalled(), "" })
	watch.SetFault(nil)
	end()
	if got := c.query(one, "SELECT sum(v) FROM t"); got != 5150 {
		t.Errorf("the sum is %d; want 5150", got)
	}
}

// TestShortStall: a disk that stands still for less than clients wait costs none of them its
// connection, though it counts as stalled for a while longer.
func TestShortStall(t *testing.T) { withNodes(t, testShortStall) }

func testShortStall(t *testing.T, c *testNodes) {
	n := c.on(fs.NewMem(), "a")
	if err := n.Init(); err != nil {
		t.Fatal(err)
	}
	c.start(n)
	conn := c.connect(n)
	c.exec(conn, "CREATE TABLE t (k INT PRIMARY KEY)")
	over := make(chan struct{})
	watch := n.KV.Store.First().DiskWatch()
	watch.SetFault(func(op *fs.Op) error {
		if op.Kind.Mutates() {
			<-over
		}
		return nil
	})
	c.until("a disk that stands still", func() (bool, string) { return n.KV.Store.AllStalled(), "" })
	<-time.After(2 * time.Second)
	watch.SetFault(nil)
	close(over)
	<-time.After(node.DiskTimeout - time.Second)
	if !n.KV.Store.AllStalled() {
		t.Error("the disk counts as well already")
	}
	<-time.After(10 * time.Second)
	if n.KV.Store.AllStalled() {
		t.Error("the disk still counts as stalled")
	}
	c.exec(conn, "INSERT INTO t VALUES (1)")
}

// TestStoresThatDontFit: what can't be a node's stores is refused.
func TestStoresThatDontFit(t *testing.T) {
	for _, c := range []struct {
		stores []config.Store
		single bool
	}{{nil, false}, {config.Dirs("a", "./a"), false}, {config.Dirs("a", "b"), true}, {config.Dirs(""), false}} {
		cfg := config.Default()
		cfg.Stores, cfg.SingleNode, cfg.Insecure = c.stores, c.single, true
		if _, err := New(cfg, Options{FS: fs.NewMem(), Logger: slog.New(slog.DiscardHandler)}); err == nil {
			t.Error(errors.New("accepted: "), c.stores)
		}
	}
}
