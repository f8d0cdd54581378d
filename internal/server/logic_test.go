package server

import (
	"bytes"
	"context"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/rangeops"
	"github.com/lichendb/lichen/internal/rangestats"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/logictest"
)

const (
	// smallRange is how large ranges grow before logicNodes splits them.
	smallRange = 50
	// maxSmallRanges bounds the ranges of a script.
	maxSmallRanges = 50
)

// logicNodes are nodes on which logic tests run. Sessions are spread over them.
type logicNodes struct {
	*testNodes
	small bool // whether tables are split into small ranges
	// distributed has parts of queries run where their rows are, wherever that can be done.
	distributed bool
	split       int // how many times
}

// Session implements logictest.Cluster. The first one is not at the node that leads.
func (l *logicNodes) Session(ctx context.Context, i int) (*sql.Session, error) {
	n := l.nodes[(i+1)%len(l.nodes)]
	args := sql.SessionArgs{User: "root", Database: "defaultdb"}
	if l.distributed {
		args.Params = map[string]string{"distsql": "always"}
	}
	return n.SQL.Server().NewSession(ctx, args)
}

// Restart implements logictest.Cluster: clusters go on; TestLogic of sql restarts nodes.
func (l *logicNodes) Restart() error { return nil }

// Settle implements logictest.Cluster. It waits until what is written is certainly past,
// as otherwise transactions that began before meet it within the clocks' uncertainty; and
// it splits ranges that have grown, in the middle.
func (l *logicNodes) Settle(ctx context.Context) error {
	time.Sleep(l.nodes[0].cfg.MaxOffset + 1)
	for grown := l.small; grown && l.split < maxSmallRanges; {
		var err error
		if grown, err = l.splitOnce(ctx); err != nil {
			return err
		}
	}
	return nil
}

// splitOnce splits each range that is too large.
func (l *logicNodes) splitOnce(ctx context.Context) (any bool, err error) {
	n := l.nodes[0]
	data := keys.TableDataSpan()
	for _, r := range n.KV.Store.Replicas() {
		d := r.Desc()
		start, end := d.StartKey, d.EndKey
		if !data.Overlaps(keys.Span{Start: start, End: end}) {
			continue
		}
		if bytes.Compare(start, data.Start) < 0 {
			start = data.Start
		}
		if bytes.Compare(end, data.End) > 0 {
			end = data.End
		}
		e := n.KV.Store.Of(r).Engine()
		size, _, err := rangestats.CountRows(e, start, end, 2*smallRange)
		if err != nil {
			return false, err
		}
		if size <= smallRange {
			continue
		}
		_, mid, err := rangestats.CountRows(e, start, end, size/2)
		if err != nil {
			return false, err
		}
		// Else it is where a pair of a row with several begins: boundaries within rows, which
		// no node makes, must do no harm.
		if row, ok := rangeops.RowStart(mid); ok {
			mid = row
		}
		if bytes.Compare(mid, start) <= 0 {
			continue
		}
		if err := n.SQL.Ranges().SplitAt(ctx, mid, hlc.MaxTimestamp); err != nil {
			return false, err
		}
		any = true
		l.split++
	}
	return any, nil
}

// Close implements logictest.Cluster: the nodes stop as the test ends.
func (l *logicNodes) Close() error { l.t.Log("SPLITS", l.split); return nil }

// newLogicNodes are nodes that collect no statistics on their own: how much time splits take
// between two statements must not show in what scripts see.
func newLogicNodes(t *testing.T) *testNodes {
	c := newTestNodes(t)
	c.noAutoStats = true
	return c
}

// logicNode is a node by itself whose tables are split into small ranges.
func logicNode(t *testing.T) logictest.Cluster {
	c := newLogicNodes(t)
	cfg := c.config()
	cfg.Stores, cfg.SingleNode = config.Dirs("n"), true
	c.start(c.listening(cfg, fs.NewMem()))
	return &logicNodes{testNodes: c, small: true}
}

// logicCluster are three nodes, each of which has all ranges.
func logicCluster(small, families bool) func(t *testing.T) logictest.Cluster {
	return func(t *testing.T) logictest.Cluster {
		c := newLogicNodes(t)
		c.families = families
		first, second, third := c.three()
		c.awaitVoters(first, second, third)
		return &logicNodes{testNodes: c, small: small}
	}
}

// distributedCluster is a logicCluster of small ranges in which parts of queries run where their rows are.
func distributedCluster(t *testing.T) logictest.Cluster {
	l := logicCluster(true, false)(t).(*logicNodes)
	l.distributed = true
	return l
}

// TestLogic runs the logic tests of sql on several nodes and on small ranges: some of the
// scripts, with LICHEN_LOGIC=all every one.
func TestLogic(t *testing.T) {
	scripts := logictest.Scripts(t, "../sql/testdata/logic")
	if os.Getenv("LICHEN_LOGIC") != "all" {
		scripts = slices.DeleteFunc(scripts, func(s logictest.Script) bool { return !slices.Contains(usualScripts, s.Name) })
		if len(scripts) != len(usualScripts) {
			t.Fatalf("%d of %d usual scripts are there", len(scripts), len(usualScripts))
		}
	}
	virtual := func(t *testing.T, test func(t *testing.T)) { synctest.Test(t, test) }
	for _, cfg := range []logictest.Configuration{
		{Name: "small ranges", New: logicNode, Within: virtual},
		{Name: "nodes", New: logicCluster(false, false), Within: virtual},
		{Name: "nodes and small ranges", New: logicCluster(true, false), Within: virtual},
		{Name: "distributed nodes", New: distributedCluster, Within: virtual},
		{Name: "families, nodes and small ranges", New: logicCluster(true, true), Within: virtual},
	} {
		t.Run(cfg.Name, func(t *testing.T) { logictest.Run(t, scripts, cfg) })
	}
}

// usualScripts are those that always run on several nodes.
var usualScripts = []string{
	"queries/groupingsetplaces", "queries/windowframes", "queries/withqueries", "queries/lockedqueries", "queries/windows", "dml/merge",
	"constraints/foreignkeychains", "constraints/generated", "constraints/exclusion", "indexes/partial",
	"transactions/isolation", "indexes/inverted", "indexes/families", "privileges/gateways", "rowsecurity/matrix",
	"queries/groupedaggregates", "queries/setoperations",
}
