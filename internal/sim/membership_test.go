package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"github.com/lichendb/lichen/internal/nettest"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lichendb/lichen/internal/node"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// memberLength is how long the short run of a cluster with an operator lasts, in virtual time.
const memberLength = 40 * time.Second

// TestMembers runs the bank on whole nodes that drain, leave, die and are replaced while faults happen.
func TestMembers(t *testing.T) {
	all, length := seeds(t, 1)
	for _, seed := range all {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runMembers(t, seed, max(length, memberLength)) })
	}
}

func runMembers(t *testing.T, seed uint64, length time.Duration) {
	b := bank{accounts: 12}
	o := membersSetting(seed, length)
	o.cuts, o.points = []string{account(4), account(8)}, b.points()
	simulated(t, seed, o, b)
}

// membersSetting has few faults at a time: the operator takes nodes away as well.
func membersSetting(seed uint64, length time.Duration) setting {
	return setting{
		nodes: 4 + int(seed%2), length: length, members: true, pause: 4 * time.Second, maxFor: 3 * time.Second, least: leastOps / 4,
		faults: map[FaultKind]int{Kill: 2, PowerOff: 2, PowerOffAll: 1, Split: 1, OneWay: 1, SlowLinks: 1, LossyLinks: 1, ClockJump: 1, ClockDrift: 1,
			SplitRange: 3, MergeRanges: 2, MoveReplica: 2, MoveLeader: 3},
	}
}

// TestMembersRunStatements does the same with SQL.
func TestMembersRunStatements(t *testing.T) {
	all, length := seeds(t, 2)
	for _, seed := range all {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runMembersStatements(t, seed, length) })
	}
}

func runMembersStatements(t *testing.T, seed uint64, length time.Duration) {
	o := membersSetting(seed, length)
	o.least = leastOps / 8
	simulated(t, seed, o, newStatements())
}

// withMembers runs fn on a cluster of whole nodes without faults, and returns what the operator or fn
// finds.
func withMembers(t *testing.T, seed uint64, size int, fn func(c *cluster, o *operator) error) (found error) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, seed, size)
		c.whole, c.onFatal = true, func(err error) { found = errors.Join(found, err) }
		c.found()
		o := newOperator(c, seed)
		o.fail = func(err error) { found = errors.Join(found, err) }
		err := fn(c, o)
		o.close()
		c.close()
		found = errors.Join(found, err)
	})
	return found
}

// removedWait is how long a node that was removed tries to come back.
const removedWait = 30 * time.Second

// removedReturns decommissions a node that is down, and starts it again.
func removedReturns(t *testing.T, seed uint64) error {
	return withMembers(t, seed, replicas+1, func(c *cluster, o *operator) error {
		on := c.nodes[seed%uint64(len(c.nodes))]
		id := on.current().kv.ID()
		c.stopHard(on)
		if err := o.askAny(on, node.MethodMembership, node.MembershipRequest{Node: id, To: node.Decommissioned}, nil); err != nil {
			return err
		}
		c.boot(on, nil)
		for began := time.Now(); time.Since(began) < removedWait; <-time.After(operatePoll) {
			if on.current() != nil {
				return fmt.Errorf("node %d serves, though it was decommissioned", id)
			}
		}
		return nil
	})
}

// TestRemovedStaysOut: a node that was decommissioned while it was down does not come back.
func TestRemovedStaysOut(t *testing.T) {
	if err := removedReturns(t, 1); err != nil {
		t.Error(err)
	}
}

// replacedAfterRestart takes a machine away and starts all others again, which have never heard of it then.
func replacedAfterRestart(t *testing.T, seed uint64) error {
	return withMembers(t, seed, replicas+1, func(c *cluster, o *operator) error {
		gone := c.nodes[seed%uint64(len(c.nodes))]
		id := gone.current().kv.ID()
		gone.keepDown(true)
		c.stopHard(gone)
		for _, on := range c.nodes {
			c.stopHard(on)
		}
		for _, on := range c.nodes {
			c.boot(on, nil)
		}
		began, err := time.Now(), errLeft
		for ; time.Since(began) < moveWithin && err != nil; <-time.After(operatePoll) {
			if err = errLeft; len(c.running()) == replicas {
				err = c.replicated(id)
			}
		}
		if err != nil {
			return fmt.Errorf("node %d, which is gone, was not replaced within %v: %w", id, moveWithin, err)
		}
		return o.askAny(gone, node.MethodMembership, node.MembershipRequest{Node: id, To: node.Decommissioned}, nil)
	})
}

// TestReplacedAfterRestart: a node whose machine is gone is replaced and can be decommissioned, though
// all others have been started again since and have never heard of it.
func TestReplacedAfterRestart(t *testing.T) {
	if err := replacedAfterRestart(t, 1); err != nil {
		t.Error(err)
	}
}

const (
	// drainStall is how long a statement at another node may take while a node drains.
	drainStall = time.Second
	// sqlClients is the machine on which SQL clients run, statementPause their pause between two.
	sqlClients     = 2000
	statementPause = 10 * time.Millisecond
)

// TestDrain drains one node after the other under clients: those at other nodes hardly notice, those at
// the node are told, and nothing is led there in the end.
func TestDrain(t *testing.T) {
	err := withMembers(t, 1, replicas+1, func(c *cluster, o *operator) error {
		t := c.t // its context ends in virtual time
		ep := c.net.Start(sqlClients, nettest.Hooks{})
		exec(t, connect(t, ep, c.nodes[0]), "CREATE TABLE t (k INT PRIMARY KEY, v INT); INSERT INTO t SELECT g, 0 FROM generate_series(1, 8) g")
		for _, on := range c.nodes[:3] {
			drainUnderClients(t, c, o, ep, on)
		}
		conn := connect(t, ep, c.nodes[3])
		var sum, least int
		if err := conn.QueryRow(t.Context(), "SELECT sum(v), min(v) FROM t").Scan(&sum, &least); err != nil || least == 0 {
			t.Errorf("the sum is %d, the least %d: %v", sum, least, err)
		}
		_ = conn.Close(t.Context())
		c.net.Crash(sqlClients, nettest.Killed)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// drainUnderClients drains the node of a machine, while clients write at the others, and starts it again.
func drainUnderClients(t *testing.T, c *cluster, o *operator, ep *nettest.Endpoint, on *machine) {
	t.Helper()
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for i, other := range c.nodes {
		if other != on {
			writers.Go(func() { write(t, connect(t, ep, other), i+1, stop) })
		}
	}
	idle := connect(t, ep, on)
	<-time.After(time.Second)
	inc := on.current()
	if !o.awaitDrained(inc, time.Now()) {
		t.Errorf("node %d does not drain", inc.kv.ID())
	}
	if n := inc.leads(); n > 0 {
		t.Errorf("node %d has drained and leads %d ranges", inc.kv.ID(), n)
	}
	if why := inc.member.NotReady(); why != "draining" {
		t.Errorf("node %d has drained: %q", inc.kv.ID(), why)
	}
	requireCode(t, idle.Ping(t.Context()), pgerr.AdminShutdown)
	_, err := pgx.ConnectConfig(t.Context(), connConfig(t, ep, on))
	requireCode(t, err, pgerr.CannotConnectNow)
	close(stop)
	writers.Wait()
	o.restart(inc, false)
	c.until("the node serves again", func() bool { return on.current() != nil })
}

// write writes to a row until stop is closed, and requires that no statement takes long.
func write(t *testing.T, conn *pgx.Conn, k int, stop <-chan struct{}) {
	defer func() { _ = conn.Close(t.Context()) }()
	for {
		select {
		case <-stop:
			return
		case <-time.After(statementPause):
		}
		began := time.Now()
		_, err := conn.Exec(t.Context(), "UPDATE t SET v = v + 1 WHERE k = $1 OR k = $1 + 4", k)
		if took := time.Since(began); err != nil || took > drainStall {
			t.Errorf("a statement took %v, %v", took, err)
		}
	}
}

// electedAfterDrain drains a node and kills another one, whose ranges may elect the drained one then.
func electedAfterDrain(t *testing.T, seed uint64) error {
	return withMembers(t, seed, replicas, func(c *cluster, o *operator) error {
		drained := c.nodes[seed%replicas].current()
		c.cutAccounts(drained)
		if !o.awaitDrained(drained, time.Now()) {
			return errors.New("the node does not drain")
		}
		c.stopHard(c.busiest())
		c.until("all ranges are led", func() bool { return c.replicated(0) == nil })
		if n := drained.leadsForLong(); n > 0 {
			return fmt.Errorf("node %d has drained and leads %d ranges", drained.kv.ID(), n)
		}
		return nil
	})
}

// TestElectedAfterDrain: a drained node that is elected has another one lead soon.
func TestElectedAfterDrain(t *testing.T) {
	if err := electedAfterDrain(t, 1); err != nil {
		t.Error(err)
	}
}

// cutAccounts has a node cut the ranges at some accounts.
func (c *cluster) cutAccounts(inc *incarnation) {
	for i := range 8 {
		c.until("the ranges are cut", func() bool { return inc.kv.Admin.SplitAt(inc.ended, []byte(account(i))) == nil })
	}
	c.until("the ranges have their replicas", func() bool { return c.replicated(0) == nil })
}

// busiest returns the machine whose node leads the most ranges.
func (c *cluster) busiest() *machine {
	return slices.MaxFunc(c.running(), func(a, b *incarnation) int { return cmp.Compare(a.leads(), b.leads()) }).node
}

// connConfig is how a client on an endpoint connects with the node of a machine.
func connConfig(t *testing.T, ep *nettest.Endpoint, on *machine) *pgx.ConnConfig {
	t.Helper()
	cfg, err := pgx.ParseConfig("postgres://root@" + nettest.Addr(on.id) + "/defaultdb?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	cfg.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	cfg.DialFunc = func(ctx context.Context, _, addr string) (net.Conn, error) { return ep.Dial(ctx, addr) }
	return cfg
}

// connect returns a session on the node of a machine.
func connect(t *testing.T, ep *nettest.Endpoint, on *machine) *pgx.Conn {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), connConfig(t, ep, on))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func exec(t *testing.T, conn *pgx.Conn, statements string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statements, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close(t.Context())
}

// requireCode requires that a client was told an error.
func requireCode(t *testing.T, err error, code pgerr.Code) {
	t.Helper()
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Code != string(code) {
		t.Errorf("%v, want %s", err, code)
	}
}
