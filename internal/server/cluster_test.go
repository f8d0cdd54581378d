package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/nettest"
	"github.com/lichendb/lichen/internal/sleep"
)

// timeout is how long anything may take.
const timeout = time.Minute

// testNodes are the nodes of a cluster in one process.
type testNodes struct {
	t     *testing.T
	ctx   context.Context
	net   *nettest.Network
	nodes []*Node
	// processes is the number of those that were started; each is a machine of its own in the network.
	processes kvpb.NodeID
	// clients is from where clients connect.
	clients *nettest.Endpoint
	// families gives each column of a table a family of its own.
	families bool
	// noAutoStats has tables analysed by ANALYZE only.
	noAutoStats bool
}

// withNodes runs a test of nodes in virtual time, over a network in memory: how slow the
// machine is does not matter.
func withNodes(t *testing.T, test func(t *testing.T, c *testNodes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newTestNodes(t)) })
}

func newTestNodes(t *testing.T) *testNodes {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	n := nettest.NewNetwork(nettest.NetworkOptions{Seed: 1})
	t.Cleanup(n.Close)
	return &testNodes{t: t, ctx: ctx, net: n, clients: n.Start(clients, nettest.Hooks{})}
}

// clients is the machine of the clients.
const clients kvpb.NodeID = 1000

// machine returns where a node listens.
func (c *testNodes) machine(n *Node) kvpb.NodeID {
	c.t.Helper()
	id, ok := c.net.NodeAt(n.Addr().String())
	if !ok {
		c.t.Fatalf("nobody listens at %v", n.Addr())
	}
	return id
}

// isolate cuts a node off from all others and from the clients.
func (c *testNodes) isolate(n *Node) {
	c.t.Helper()
	own, others := c.machine(n), []kvpb.NodeID{clients}
	for id := range c.processes {
		if id+1 != own {
			others = append(others, id+1)
		}
	}
	c.net.Partition([]kvpb.NodeID{own}, others)
}

// options are those of a node on a file system.
func (c *testNodes) options(disk fs.FS) Options {
	log := slog.New(slog.DiscardHandler)
	if os.Getenv("LICHEN_TEST_LOG") != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil)).With("n", len(c.nodes)+1)
	}
	c.processes++
	at := c.net.Start(c.processes, nettest.Hooks{})
	return Options{FS: disk, Logger: log, Dial: at.Dial, Listen: at.ListenAt, FamilyPerColumn: c.families, NoAutoStats: c.noAutoStats}
}

// config is that of a node without stores, which joins the first one unless it is that.
func (c *testNodes) config() config.Node {
	cfg := config.Default()
	cfg.ListenAddr, cfg.HTTPAddr, cfg.Insecure = "127.0.0.1:0", "127.0.0.1:0", true
	cfg.CacheBytes, cfg.MaxMemory = 4<<20, 64<<20
	cfg.DeadAfter, cfg.Drain = 2*time.Second, 2*time.Second
	if len(c.nodes) > 0 {
		cfg.Join = []string{c.nodes[0].Addr().String()}
	}
	return cfg
}

// add makes a node that listens. It joins the first one, unless it is that.
func (c *testNodes) add() *Node {
	c.t.Helper()
	cfg := c.config()
	cfg.Stores, cfg.RangePace = config.Dirs("n"), 100*time.Millisecond
	return c.listening(cfg, fs.NewMem())
}

// listening makes a node that listens.
func (c *testNodes) listening(cfg config.Node, disk fs.FS) *Node {
	c.t.Helper()
	n, err := New(cfg, c.options(disk))
	if err != nil {
		c.t.Fatal(err)
	}
	if err := n.Listen(); err != nil {
		c.t.Fatal(err)
	}
	c.nodes = append(c.nodes, n)
	return n
}

// start starts nodes, each of which may have to wait for others.
func (c *testNodes) start(nodes ...*Node) {
	c.t.Helper()
	started := make(chan error, len(nodes))
	for _, n := range nodes {
		go func() { started <- n.Start(c.ctx) }()
	}
	for range nodes {
		if err := <-started; err != nil {
			c.t.Fatal(err)
		}
	}
	for _, n := range nodes {
		c.t.Cleanup(func() {
			if n.Ready() {
				c.stop(n)
			}
		})
	}
}

// three starts three nodes, the first of which founds the cluster.
func (c *testNodes) three() (first, second, third *Node) {
	c.t.Helper()
	first = c.add()
	if err := first.Init(); err != nil {
		c.t.Fatal(err)
	}
	c.start(first)
	second, third = c.add(), c.add()
	c.start(second, third)
	return first, second, third
}

func (c *testNodes) stop(n *Node) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := n.Stop(ctx); err != nil {
		c.t.Error("stop:", err)
	}
}

// until waits for something that comes by itself.
func (c *testNodes) until(what string, done func() (bool, string)) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, timeout)
	defer cancel()
	state := ""
	ok := false
	for ok, state = done(); !ok && sleep.For(ctx, 10*time.Millisecond) == nil; ok, state = done() {
	}
	if !ok {
		c.describe()
		c.t.Fatalf("%s: not within %v; %s", what, timeout, state)
	}
}

// describe logs the state of all replicas.
func (c *testNodes) describe() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, n := range c.nodes {
		if !n.Ready() {
			continue
		}
		for id := kvpb.RangeID(1); id < 10; id++ {
			if r, ok := n.KV.Store.Replica(id); ok {
				c.t.Logf("node %d: %s", n.NodeID(), r.Describe(ctx))
			}
		}
		c.t.Logf("node %d: %+v", n.NodeID(), n.KV.Balance.Status())
		for _, s := range n.KV.Stores.Stores() {
			c.t.Logf("node %d: %+v", n.NodeID(), s)
		}
	}
}

func (c *testNodes) connect(n *Node) *pgx.Conn { return c.connectAs(n, "root") }

func (c *testNodes) connectAs(n *Node, user string) *pgx.Conn {
	c.t.Helper()
	conn, err := c.tryConnectAs(n, user, "defaultdb")
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func (c *testNodes) tryConnectAs(n *Node, user, database string) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig("postgres://" + user + "@" + n.Addr().String() + "/" + database + "?sslmode=disable")
	if err != nil {
		return nil, err
	}
	cfg.DialFunc = func(ctx context.Context, _, addr string) (net.Conn, error) { return c.clients.Dial(ctx, addr) }
	return pgx.ConnectConfig(c.ctx, cfg)
}

// exec runs a statement, again if the cluster asks for that.
func (c *testNodes) exec(conn *pgx.Conn, statement string) {
	c.t.Helper()
	var last error
	c.until(statement, func() (bool, string) {
		_, last = conn.Exec(c.ctx, statement)
		var pe *pgconn.PgError
		if last != nil && (!errors.As(last, &pe) || pe.Code != "40001" && pe.Code[:2] != "08" && pe.Code != "57P03") {
			c.t.Fatalf("%s: %v", statement, last)
		}
		return last == nil, fmt.Sprint(last)
	})
}

func (c *testNodes) query(conn *pgx.Conn, query string) int {
	c.t.Helper()
	var v int
	if err := conn.QueryRow(c.ctx, query).Scan(&v); err != nil {
		c.t.Fatalf("%s: %v", query, err)
	}
	return v
}

// awaitVoters waits until all ranges have voters on these nodes and on no others.
func (c *testNodes) awaitVoters(on ...*Node) {
	c.t.Helper()
	var want []kvpb.NodeID
	for _, n := range on {
		want = append(want, n.NodeID())
	}
	slices.Sort(want)
	c.until(fmt.Sprintf("all ranges on nodes %v", want), func() (bool, string) {
		list, err := on[0].SQL.Ranges().Ranges(c.ctx, keys.ReplicatedSpan())
		if err != nil {
			return false, err.Error()
		}
		for i := range list {
			var got []kvpb.NodeID
			for _, r := range list[i].Desc.Replicas {
				if r.Type == kvpb.Voter {
					got = append(got, r.Node)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, want) || len(got) != len(list[i].Desc.Replicas) || list[i].Leader == 0 {
				return false, fmt.Sprintf("%+v, led by %d", list[i].Desc, list[i].Leader)
			}
		}
		return true, ""
	})
}

func (c *testNodes) ranges(n *Node) int {
	c.t.Helper()
	list, err := n.SQL.Ranges().Ranges(c.ctx, keys.ReplicatedSpan())
	if err != nil {
		c.t.Fatal(err)
	}
	return len(list)
}

// TestCluster forms a cluster, splits a table, loses a node, and gets another one.
func TestCluster(t *testing.T) { withNodes(t, testCluster) }

func testCluster(t *testing.T, c *testNodes) {
	first := c.add()
	if err := first.Init(); err != nil {
		t.Fatal(err)
	}
	c.start(first)
	one := c.connect(first)
	c.exec(one, "CREATE TABLE t (k INT PRIMARY KEY, v INT)")
	c.exec(one, "INSERT INTO t SELECT g, 0 FROM generate_series(1, 100) g")
	if got := c.ranges(first); got != 2 {
		t.Errorf("a new cluster has %d ranges; want those of the meta records and of the rest", got)
	}

	second, third := c.add(), c.add()
	c.start(second, third)
	c.awaitVoters(first, second, third)

	// What is written through one node is read through another.
	two := c.connect(second)
	c.exec(two, "UPDATE t SET v = 1 WHERE k <= 10")
	if got := c.query(one, "SELECT sum(v) FROM t"); got != 10 {
		t.Errorf("the sum is %d; want 10", got)
	}

	// A transaction in two ranges.
	c.exec(two, "ALTER TABLE t SPLIT AT VALUES (50)")
	if got := c.ranges(second); got != 3 {
		t.Errorf("%d ranges after a split; want 3", got)
	}
	c.exec(one, "BEGIN; UPDATE t SET v = v + 1 WHERE k IN (20, 80); COMMIT")
	if got := c.query(two, "SELECT sum(v) FROM t WHERE k IN (20, 80)"); got != 2 {
		t.Errorf("the sum is %d; want 2", got)
	}
	c.exec(one, "ALTER TABLE t SCATTER")

	// The cluster goes on without one of its nodes.
	c.awaitVoters(first, second, third)
	c.stop(third)
	c.exec(one, "UPDATE t SET v = v + 1 WHERE k IN (20, 80)")
	c.exec(two, "UPDATE t SET v = v + 1 WHERE k IN (20, 80)")
	if got := c.query(one, "SELECT sum(v) FROM t WHERE k IN (20, 80)"); got != 6 {
		t.Errorf("the sum is %d; want 6", got)
	}

	// A node that comes takes the place of the one that went.
	fourth := c.add()
	c.start(fourth)
	c.awaitVoters(first, second, fourth)
	if got := c.query(c.connect(fourth), "SELECT sum(v) FROM t"); got != 16 {
		t.Errorf("the sum is %d; want 16", got)
	}

	// What the cleaner drops is gone everywhere, and so are the splits made by hand.
	data := keys.TableDataSpan()
	if err := fourth.SQL.ClearSpan(c.ctx, data.Start, data.End); err != nil {
		t.Fatal(err)
	}
	if got := c.query(one, "SELECT count(*) FROM t"); got != 0 {
		t.Errorf("%d rows are left of data that was cleared", got)
	}
	if splits, err := first.KV.Config.Splits(c.ctx, data); err != nil || len(splits) > 0 {
		t.Errorf("splits %v are left, %v", splits, err)
	}
}

// TestSplitSingleNode splits a table on a node by itself.
func TestSplitSingleNode(t *testing.T) { withNodes(t, testSplitSingleNode) }

func testSplitSingleNode(t *testing.T, c *testNodes) {
	cfg := c.config()
	cfg.Stores, cfg.SingleNode = config.Dirs("n"), true
	n := c.listening(cfg, fs.NewMem())
	c.start(n)
	conn := c.connect(n)
	c.exec(conn, "CREATE TABLE t (k INT PRIMARY KEY, v INT)")
	c.exec(conn, "INSERT INTO t SELECT g, 0 FROM generate_series(1, 100) g")
	c.exec(conn, "ALTER TABLE t SPLIT AT VALUES (30), (60)")
	if got := c.ranges(n); got != 3 {
		t.Errorf("%d ranges after two splits; want 3", got)
	}
	c.exec(conn, "UPDATE t SET v = k")
	c.exec(conn, "BEGIN; UPDATE t SET v = v + 1 WHERE k IN (10, 40, 90); COMMIT")
	if got := c.query(conn, "SELECT sum(v) FROM t"); got != 5053 {
		t.Errorf("the sum is %d; want 5053", got)
	}
	c.exec(conn, "ALTER TABLE t UNSPLIT ALL")
	c.exec(conn, "ALTER TABLE t SCATTER")
}
