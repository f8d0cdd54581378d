package sql_test

import (
	"cmp"
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/dist"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/clustersetting"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/logictest"
	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/pgcatalog"
	"github.com/lichendb/lichen/internal/sql/ranges"
	"github.com/lichendb/lichen/internal/store"
	"github.com/lichendb/lichen/internal/tempstore"
)

// node is a store with a SQL layer, without a network.
type node struct {
	disk   fs.FS
	store  *store.Store
	temp   *tempstore.Store
	ranges *fakeRanges
	sql    *sql.Server
	nodes  *fakeNodes
	sender *faultySender
	mem    *quota.Pool // of the node
}

// faultySender is a way to the ranges on which a commit can be made to fail, and which counts
// requests for one row lock.
type faultySender struct {
	kvpb.Sender
	locks        atomic.Int64
	beforeCommit atomic.Pointer[error] // of the next one, which does not happen
	onCommit     atomic.Pointer[func(*kvpb.CommitRequest)]
}

func (s *faultySender) Lock(ctx context.Context, req *kvpb.LockRequest, resp *kvpb.LockResponse) error {
	s.locks.Add(1)
	return s.Sender.Lock(ctx, req, resp)
}

// PromptFeed is that of the sender below: sessions listen.
func (s *faultySender) PromptFeed(ctx context.Context, span kvpb.Span, from hlc.Timestamp, emit func([]kvpb.FeedEvent, hlc.Timestamp) error) error {
	return s.Sender.(*dist.Router).PromptFeed(ctx, span, from, emit)
}

func (s *faultySender) Commit(ctx context.Context, req *kvpb.CommitRequest, resp *kvpb.CommitResponse) error {
	if err := s.beforeCommit.Swap(nil); err != nil {
		return *err
	}
	if meet := s.onCommit.Load(); meet != nil {
		(*meet)(req)
	}
	return s.Sender.Commit(ctx, req, resp)
}

func newNode(t testing.TB, disk fs.FS) *node {
	t.Helper()
	return openNode(t, disk, nodeOptions{ranges: newFakeRanges()})
}

// nodeOptions are what nodes differ by.
type nodeOptions struct {
	mem       int64          // for statements; 0: plenty
	ranges    ranges.Cluster // access to ranges, nil for none
	batchRows int            // as of sql.Config
	families  bool           // FamilyPerColumn and IngestAlways of it
	spill     int64          // as of kv.DB.SetSpill, if not zero
	workMem   int64          // as of sql.Config
	autoStats bool           // not NoAutoStats
	settings  clustersetting.Source
	vectorize string // as the parameter; "" for its default
	// distributed has parts of queries run as if other nodes had rows, mute that these do not answer.
	distributed, mute bool
}

const (
	tempDir = "temp"
	// tempBlock makes temporary files of many blocks.
	tempBlock = 512
)

func openNode(t testing.TB, disk fs.FS, o nodeOptions) *node {
	t.Helper()
	sender := &faultySender{}
	mem := quota.NewPool("test", cmp.Or(o.mem, 256<<20))
	n := clustertest.OpenBehind(t, disk, mem, func(s kvpb.Sender) kvpb.Sender {
		sender.Sender = s
		return sender
	})
	st, db := n.Store, n.DB
	db.SetSpill(o.spill)
	cat := catalog.NewStore(catalog.Options{DB: db, Waits: st.Waits(), Virtual: pgcatalog.Schemas()})
	if err := cat.Bootstrap(context.Background()); err != nil {
		t.Fatal(err)
	}
	temp, err := tempstore.Open(tempstore.Options{FS: disk, Dir: tempDir, BlockBytes: tempBlock})
	if err != nil {
		t.Fatal(err)
	}
	nodes := &fakeNodes{store: st, db: db}
	fake, _ := o.ranges.(*fakeRanges)
	out := &node{disk: disk, store: st, mem: mem, temp: temp, ranges: fake, nodes: nodes, sender: sender}
	var fragments operator.Fragments
	if o.distributed {
		fragments = &fakeFragments{server: func() *sql.Server { return out.sql }, mute: o.mute}
	}
	out.sql = sql.NewServer(sql.Config{
		DB: db, Nodes: nodes, Fragments: fragments, Ranges: o.ranges, BatchRows: o.batchRows, Temp: temp, WorkMem: o.workMem, FamilyPerColumn: o.families, IngestAlways: o.families, NoAutoStats: !o.autoStats, Settings: o.settings, Catalog: cat, Mem: mem, Version: "test",
		SpanSize: func(a, b []byte) (int64, error) { n, err := st.Engine().ApproximateSize(a, b); return int64(n), err },
	})
	return out
}

func (n *node) close() error {
	n.sql.Close()
	return n.store.Close()
}

func (n *node) session(t testing.TB) *sql.Session {
	t.Helper()
	s, err := n.sql.NewSession(context.Background(), sql.SessionArgs{User: "root", Database: "defaultdb"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rows collects the results of a query as text.
type rows = logictest.Rows

// localNode is a node that logic tests run on.
type localNode struct {
	t testing.TB
	n *node
	nodeOptions
	params map[string]string // of its sessions
}

// Session implements logictest.Cluster.
func (l *localNode) Session(ctx context.Context, _ int) (*sql.Session, error) {
	return l.n.sql.NewSession(ctx, sql.SessionArgs{User: "root", Database: "defaultdb", Params: l.params})
}

// Restart implements logictest.Cluster.
func (l *localNode) Restart() error {
	if err := l.n.close(); err != nil {
		return err
	}
	l.nodeOptions.ranges = newFakeRanges()
	l.n = openNode(l.t, l.n.disk, l.nodeOptions)
	return nil
}

// Settle implements logictest.Cluster.
func (l *localNode) Settle(context.Context) error { return nil }

// Close implements logictest.Cluster.
func (l *localNode) Close() error { return l.n.close() }

// on returns how to make nodes for logic tests.
func on(o nodeOptions, rulesOff ...string) func(*testing.T) logictest.Cluster {
	return func(t *testing.T) logictest.Cluster {
		o.ranges = newFakeRanges()
		params := map[string]string{"optimizer_rules_off": strings.Join(rulesOff, ","), "vectorize": cmp.Or(o.vectorize, "auto")}
		if o.distributed {
			params["distsql"] = "always"
		}
		return &localNode{t, openNode(t, fs.NewMem(), o), o, params}
	}
}

// TestLogic runs the scripts of testdata/logic, see package logictest, on a node as it
// is ("local"), with small batches, with a column family for each column and indexes that are all built online, with transactions that spill at once, in blocks of several
// statements, with all that can be in temporary files, and without the optimizer's rules, with LICHEN_LOGIC=all also without each of them. Server has the same
// for several nodes and small ranges. LICHEN_REWRITE=1 writes the rows that queries
// returned into the scripts.
func TestLogic(t *testing.T) {
	local := logictest.Configuration{Name: "local", Plans: true, Order: true, New: on(nodeOptions{})}
	if os.Getenv("LICHEN_REWRITE") != "" {
		local.Rewrite = func(path, script string) error { return os.WriteFile(path, []byte(script), 0o644) }
	}
	configurations := []logictest.Configuration{
		local,
		{Name: "batches", Plans: true, Order: true, New: on(nodeOptions{batchRows: 1})},
		{Name: "families", Plans: true, Order: true, New: on(nodeOptions{families: true})},
		{Name: "spills", Plans: true, Order: true, New: on(nodeOptions{spill: 1})},
		{Name: "blocks", Order: true, Blocks: true, New: on(nodeOptions{})},
		{Name: "vectors", Plans: true, Order: true, New: on(nodeOptions{vectorize: "on"})},
		{Name: "distributed", New: on(nodeOptions{distributed: true, batchRows: 5})},
		{Name: "temporary files", New: on(nodeOptions{workMem: 1})},
		{Name: "rules", New: on(nodeOptions{}, optimizer.Rules()...)},
	}
	if os.Getenv("LICHEN_LOGIC") == "all" {
		configurations = append(configurations,
			logictest.Configuration{Name: "families and spills", Plans: true, Order: true, New: on(nodeOptions{families: true, batchRows: 2, spill: 1})},
			logictest.Configuration{Name: "vectors of 3", Plans: true, Order: true, New: on(nodeOptions{vectorize: "on", batchRows: 3})},
			logictest.Configuration{Name: "vectors in families", Plans: true, Order: true, New: on(nodeOptions{vectorize: "on", families: true})},
			logictest.Configuration{Name: "columns in temporary files", New: on(nodeOptions{vectorize: "on", batchRows: 2, workMem: 1})},
			logictest.Configuration{Name: "distributed vectors", New: on(nodeOptions{distributed: true, vectorize: "on"})},
			logictest.Configuration{Name: "distributed, without answers", New: on(nodeOptions{distributed: true, mute: true, batchRows: 5})},
			logictest.Configuration{Name: "rows", Plans: true, Order: true, New: on(nodeOptions{vectorize: "off"})},
			logictest.Configuration{Name: "batches of 3", Plans: true, Order: true, New: on(nodeOptions{batchRows: 3})})
		for _, r := range optimizer.Rules() {
			configurations = append(configurations, logictest.Configuration{Name: "without " + r, New: on(nodeOptions{}, r)})
		}
	}
	for _, cfg := range configurations {
		t.Run(cfg.Name, func(t *testing.T) { logictest.Run(t, logictest.Scripts(t, "testdata/logic"), cfg) })
	}
}
