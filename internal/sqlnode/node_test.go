package sqlnode_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/logictest"
	"github.com/lichendb/lichen/internal/sql/ranges"
	"github.com/lichendb/lichen/internal/sqlnode"
)

// memory is what the statements of a node may take.
const memory = 64 << 20

// build builds the SQL part of a node that looks after its ranges.
func build(nd *clustertest.Node, alone bool) *sqlnode.Node {
	nd.StartRanges()
	return sqlnode.New(sqlnode.Options{
		KV: nd.KV, Transport: nd.Port, Alone: alone, Settings: nd.Settings, Go: nd.Go,
		Memory: quota.NewPool("node", memory), Version: "test", NoAutoStats: true, Logger: slog.New(slog.DiscardHandler),
	})
}

// open builds the SQL part of a node and opens it.
func open(t *testing.T, nd *clustertest.Node, alone bool) *sqlnode.Node {
	t.Helper()
	n := build(nd, alone)
	if err := n.Open(nd.Context()); err != nil {
		t.Fatal(err)
	}
	n.Start(nd.Context())
	return n
}

// session opens a session.
func session(t *testing.T, n *sqlnode.Node) *sql.Session {
	t.Helper()
	s, err := n.Server().NewSession(context.Background(), sql.SessionArgs{User: "root", Database: "defaultdb"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// query runs statements and returns the rows of the last one.
func query(t *testing.T, s *sql.Session, text string) []string {
	t.Helper()
	rows := logictest.NewRows(s)
	if err := s.Query(context.Background(), text, rows); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return rows.Lines
}

// run opens a session on a node for some statements.
func run(t *testing.T, n *sqlnode.Node, text string) []string {
	t.Helper()
	s := session(t, n)
	defer s.Close()
	return query(t, s, text)
}

// closing ends the SQL part of a node.
func closing(t *testing.T, n *sqlnode.Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := n.Close(ctx); err != nil {
		t.Error(err)
	}
}

// TestQuestions: a node answers the questions of others once it is open; before, they fail (2).
func TestQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 2)
		defer c.CloseAll()
		c.Replicate(1)
		one := open(t, c.Nodes[0], false)
		defer closing(t, one)
		two := build(c.Nodes[1], false)
		ask := func() error {
			_, err := c.Nodes[0].Port.Call(context.Background(), 2, rpc.MethodSQL, []byte("{}"))
			return err
		}
		if err := ask(); err == nil || two.Server() != nil {
			t.Errorf("a node that is not open answers: %v", err)
		}
		if err := two.Open(c.Nodes[1].Context()); err != nil {
			t.Fatal(err)
		}
		defer closing(t, two)
		if err := ask(); err != nil {
			t.Errorf("an open node: %v", err)
		}
		s := session(t, two)
		defer s.Close()
		if got := run(t, one, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"); !slices.Equal(got, []string{"2"}) {
			t.Errorf("one node sees the sessions %v of both", got)
		}
	})
}

// TestOpenAgain: a node that can't reach the ranges of the catalog does not open, and does once it
// reaches them (1).
func TestOpenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 2)
		defer c.CloseAll()
		one := open(t, c.Nodes[0], false)
		defer closing(t, one)
		two := build(c.Nodes[1], false)
		c.Nodes[1].Port.SetDown(true)
		soon, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := two.Open(soon); err == nil || two.Server() != nil {
			t.Fatalf("a node that reaches nobody has opened: %v", err)
		}
		c.Nodes[1].Port.SetDown(false)
		if err := two.Open(c.Nodes[1].Context()); err != nil {
			t.Fatal(err)
		}
		defer closing(t, two)
		if got := run(t, two, "SELECT 1"); !slices.Equal(got, []string{"1"}) {
			t.Errorf("got %v", got)
		}
	})
}

// TestChangesReachOthers: a change of the catalog holds on all nodes when its statement returns (1).
// It waits for a node that has died until its registration has expired, and not for one that was
// closed.
func TestChangesReachOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		var nodes []*sqlnode.Node
		for _, nd := range c.Nodes {
			nodes = append(nodes, open(t, nd, false))
		}
		defer closing(t, nodes[0])
		run(t, nodes[0], "CREATE TABLE t (k INT PRIMARY KEY)")
		change := func(statement string) time.Duration {
			began := time.Now()
			run(t, nodes[0], statement)
			return time.Since(began)
		}
		took := change("ALTER TABLE t ADD COLUMN a INT DEFAULT 1")
		for i, n := range nodes {
			run(t, n, fmt.Sprintf("INSERT INTO t (k) VALUES (%d)", i))
			if got := run(t, n, "SELECT sum(a) FROM t"); !slices.Equal(got, []string{fmt.Sprint(i + 1)}) {
				t.Errorf("node %d: %v", i+1, got)
			}
		}
		if took > time.Second {
			t.Errorf("with all nodes there it took %v", took)
		}
		closing(t, nodes[1])
		c.Nodes[1].Port.SetDown(true)
		if took := change("ALTER TABLE t ADD COLUMN b INT"); took > time.Second {
			t.Errorf("a change waited for a node that was closed: %v", took)
		}
		c.Nodes[1].Port.SetDown(false)
		c.Transfer(1, c.Nodes[0])
		c.Nodes[2].Port.SetDown(true)
		if took := change("ALTER TABLE t ADD COLUMN c INT"); took < 2*time.Second || took > 30*time.Second {
			t.Errorf("a change waited for a node that has died for %v", took)
		}
		c.Nodes[2].Port.SetDown(false)
		closing(t, nodes[2])
	})
}

// TestRestart: a node that is opened again on its disk has its tables and rows, and sweeps up the
// temporary tables that a session of its former incarnation has left.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := fs.NewMem()
		nd := clustertest.Open(t, disk)
		n := open(t, nd, true)
		s := session(t, n)
		query(t, s, "CREATE TABLE t (k INT PRIMARY KEY); INSERT INTO t VALUES (1), (2); CREATE TEMP TABLE left_over (k INT)")
		closing(t, n) // the session does not end in good order
		nd.Close()

		nd = clustertest.Open(t, disk)
		defer nd.Close()
		n = open(t, nd, true)
		defer closing(t, n)
		if got := run(t, n, "SELECT k FROM t ORDER BY k"); !slices.Equal(got, []string{"1", "2"}) {
			t.Errorf("rows %v", got)
		}
		left := "SELECT count(*) FROM pg_class WHERE relname = 'left_over'"
		for began := time.Now(); run(t, n, left)[0] != "0"; <-time.After(time.Second) {
			if time.Since(began) > time.Hour {
				t.Fatal("the temporary table of a session that is no more is left")
			}
		}
	})
}

// TestSplitRecords: the record of a split is written before the range is split, and dropped data
// loses its records before its rows (3).
func TestSplitRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 2)
		defer c.CloseAll()
		c.Replicate(1)
		one := c.Nodes[0]
		one.StartRanges()
		if err := one.KV.Admin.SplitFirstRange(one.Context()); err != nil {
			t.Fatal(err)
		}
		n := open(t, one, false)
		defer closing(t, n)
		run(t, n, "CREATE TABLE t (k INT PRIMARY KEY); INSERT INTO t VALUES (1), (2)")
		x := splitRecords{t: t, c: c, n: n, span: keys.Span{Start: keys.TablePrefix(1, 1000), End: keys.TablePrefix(1, 1001)}}
		c.Nodes[1].StartRanges()
		c.Transfer(x.ranges()[0].Desc.RangeID, c.Nodes[1]) // so that the other node is asked to change the range
		x.split()
		x.clear()
	})
}

// splitRecords changes a range that another node leads, which refuses that at first.
type splitRecords struct {
	t    *testing.T
	c    *clustertest.Cluster
	n    *sqlnode.Node
	span keys.Span
}

func (x *splitRecords) ranges() []ranges.Info {
	x.t.Helper()
	list, err := x.n.Ranges().Ranges(context.Background(), x.span)
	if err != nil || len(list) != 1 {
		x.t.Fatalf("ranges %+v, %v", list, err)
	}
	return list
}

// records counts the splits on record in the span.
func (x *splitRecords) records() int {
	x.t.Helper()
	splits, err := x.c.Nodes[0].KV.Config.Splits(context.Background(), x.span)
	if err != nil {
		x.t.Fatal(err)
	}
	return len(splits)
}

// refused runs a change that must fail, since no other node changes ranges meanwhile.
func (x *splitRecords) refused(change func(context.Context) error) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	x.c.Net.OnCall(func(_, _ kvpb.NodeID, m rpc.Method, _ []byte) error {
		if m == rpc.MethodRangeOp {
			return errors.New("refused")
		}
		return nil
	})
	defer x.c.Net.OnCall(nil)
	if change(ctx) == nil {
		x.t.Error("the range was changed")
	}
}

func (x *splitRecords) split() {
	change := func(ctx context.Context) error { return x.n.Ranges().SplitAt(ctx, x.span.Start, hlc.MaxTimestamp) }
	if n := x.records(); n != 0 {
		x.t.Fatalf("%d records before the split", n)
	}
	x.refused(change)
	if n := x.records(); n != 1 {
		x.t.Errorf("%d records of a split that has not happened yet", n)
	}
	if err := change(context.Background()); err != nil {
		x.t.Fatal(err)
	}
	if r := x.ranges()[0]; r.SplitUntil != hlc.MaxTimestamp || string(r.Desc.StartKey) != string(x.span.Start) {
		x.t.Errorf("range %+v", r)
	}
}

func (x *splitRecords) clear() {
	data := keys.TableDataSpan()
	change := func(ctx context.Context) error { return x.n.ClearSpan(ctx, data.Start, data.End) }
	rows := func(want string) {
		x.t.Helper()
		if got := run(x.t, x.n, "SELECT count(*) FROM t"); !slices.Equal(got, []string{want}) {
			x.t.Errorf("%v rows, not %s", got, want)
		}
	}
	x.refused(change)
	rows("2")
	if n := x.records(); n != 0 {
		x.t.Errorf("%d records of data that is being cleared", n)
	}
	if err := change(context.Background()); err != nil {
		x.t.Fatal(err)
	}
	rows("0")
}
