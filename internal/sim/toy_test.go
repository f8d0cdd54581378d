package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/check"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/nettest"
	"github.com/lichendb/lichen/internal/rpc"
)

// The toy is a replicated register per key: an operation asks a majority for the
// newest tagged value, then has a majority store the one it wrote or read
// (Attiya, Bar-Noy, Dolev). It is linearizable whatever the faults, unless
// something is left out.
const (
	toyGet rpc.Method = rpc.FirstMethod + iota
	toyPut
)

var toyKeys = []string{"x", "y"}

// toyBugs are what a toy may leave out.
type toyBugs struct {
	noSync      bool // answers before the value is durable
	noWriteBack bool // reads do not store what they read
}

type tagged struct {
	Key   string
	Count int64
	By    kvpb.NodeID
	Value string
}

func (a tagged) newer(b tagged) bool { return a.Count > b.Count || a.Count == b.Count && a.By > b.By }

// toyNode is one incarnation of a node.
type toyNode struct {
	*nettest.Endpoint
	disk fs.FS
	turn chan struct{} // a mutex that may be held while the disk is slow
	regs map[string]tagged
	bugs toyBugs
}

func (n *toyNode) load() error {
	f, err := n.disk.Open("regs")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	b, err := io.ReadAll(f)
	if err == nil {
		err = json.Unmarshal(b, &n.regs)
	}
	return errors.Join(err, f.Close())
}

func (n *toyNode) save(v tagged) error {
	regs := map[string]tagged{v.Key: v}
	for k, old := range n.regs {
		if k != v.Key {
			regs[k] = old
		}
	}
	b, err := json.Marshal(regs)
	if err != nil {
		return err
	}
	f, err := n.disk.Create("regs.new", fs.WriteUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil && !n.bugs.noSync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := n.disk.Rename("regs.new", "regs"); err != nil || n.bugs.noSync {
		return err
	}
	return fs.SyncDir(n.disk, "/")
}

func (n *toyNode) handle(m rpc.Method) rpc.Handler {
	return func(_ context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
		var v tagged
		if err := json.Unmarshal(req, &v); err != nil {
			return nil, err
		}
		n.turn <- struct{}{}
		defer func() { <-n.turn }()
		if m == toyPut && v.newer(n.regs[v.Key]) {
			if err := n.save(v); err != nil {
				return nil, err
			}
			n.regs[v.Key] = v
		}
		return json.Marshal(n.regs[v.Key])
	}
}

// toy is a cluster of toy nodes with a client at each.
type toy struct {
	t     *testing.T
	bugs  toyBugs
	env   *Environment
	mu    sync.Mutex
	nodes map[kvpb.NodeID]*toyNode
	hist  *check.History
}

func (c *toy) start(id kvpb.NodeID) {
	clock := hlc.New(c.env.Clocks[id].Now, 0)
	n := &toyNode{disk: c.env.Disks[id].FS(), turn: make(chan struct{}, 1), regs: map[string]tagged{}, bugs: c.bugs}
	if err := n.load(); err != nil && !c.bugs.noSync {
		c.t.Errorf("node %d: %v", id, err)
	}
	n.Endpoint = c.env.Net.Start(id, nettest.Hooks{Stamp: clock.Now, Observe: clock.Forward})
	n.Handle(toyGet, n.handle(toyGet))
	n.Handle(toyPut, n.handle(toyPut))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[id] = n
}

func (c *toy) node(id kvpb.NodeID) *toyNode {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[id]
}

var errNoQuorum = errors.New("no quorum")

// quorum calls all nodes and returns the newest value of a majority of answers.
func (c *toy) quorum(n *toyNode, m rpc.Method, v tagged) (tagged, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	req, err := json.Marshal(v)
	if err != nil {
		return v, err
	}
	type answer struct {
		v  tagged
		ok bool
	}
	answers := make(chan answer, len(c.env.Nodes))
	for _, to := range c.env.Nodes {
		go func() {
			var a answer
			b, err := n.Call(ctx, to, m, req)
			a.ok = err == nil && json.Unmarshal(b, &a.v) == nil
			answers <- a
		}()
	}
	newest, got := tagged{Key: v.Key}, 0
	for range c.env.Nodes {
		a := <-answers
		if !a.ok {
			continue
		}
		if a.v.newer(newest) {
			newest = a.v
		}
		if got++; got > len(c.env.Nodes)/2 {
			return newest, nil
		}
	}
	return newest, errNoQuorum
}

// client does operations through a node until the deadline.
func (c *toy) client(id kvpb.NodeID, rng *rand.Rand, until time.Time) {
	for i := 0; time.Now().Before(until); i++ {
		<-time.After(time.Duration(rng.Int64N(int64(100 * time.Millisecond))))
		key := toyKeys[rng.IntN(len(toyKeys))]
		if rng.IntN(2) == 0 {
			c.read(id, key)
			continue
		}
		n, value := c.node(id), fmt.Sprintf("%d.%d", id, i)
		p := c.hist.Begin(check.Op{Client: int(id), Kind: "write", Writes: []check.Access{{Key: key, Value: value}}})
		v, err := c.quorum(n, toyGet, tagged{Key: key})
		if err != nil {
			p.Done(check.Failed, err)
			continue
		}
		if _, err = c.quorum(n, toyPut, tagged{key, v.Count + 1, id, value}); err != nil {
			p.Done(check.Unknown, err)
			continue
		}
		p.Done(check.OK, nil)
	}
}

func (c *toy) read(id kvpb.NodeID, key string) error {
	n := c.node(id)
	p := c.hist.Begin(check.Op{Client: int(id), Kind: "read"})
	v, err := c.quorum(n, toyGet, tagged{Key: key})
	if err == nil && !c.bugs.noWriteBack {
		_, err = c.quorum(n, toyPut, v)
	}
	if err != nil {
		p.Done(check.Unknown, err)
		return err
	}
	p.Op.Reads = []check.Access{{Key: key, Value: v.Value, Absent: v.Count == 0}}
	p.Done(check.OK, nil)
	return nil
}

type toyRun struct {
	plan  Plan
	ops   []check.Op
	trace *nettest.Trace
	stats nettest.Stats
}

// runToy runs a seed for a while under faults and returns what happened. In the
// end, healed, every operation must succeed.
func runToy(t *testing.T, seed uint64, bugs toyBugs, length time.Duration) (run toyRun) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &toy{t: t, bugs: bugs, nodes: map[kvpb.NodeID]*toyNode{}, hist: check.NewHistory()}
		run.trace = nettest.NewTrace(1 << 17)
		env := &Environment{Net: nettest.NewNetwork(nettest.NetworkOptions{Seed: seed, Trace: run.trace}),
			Clocks: map[kvpb.NodeID]*Clock{}, Disks: map[kvpb.NodeID]*Disk{},
			Stop: func(kvpb.NodeID) {}, Start: c.start}
		c.env = env
		defer env.Net.Close()
		for id := kvpb.NodeID(1); id <= 3; id++ {
			env.Nodes = append(env.Nodes, id)
			env.Clocks[id], env.Disks[id] = NewClock(0), NewDisk(seed+uint64(id))
			c.start(id)
		}
		run.plan = NewPlan(seed, PlanOptions{Nodes: env.Nodes, Length: length, Pause: time.Second})
		var wg sync.WaitGroup
		until := time.Now().Add(length)
		for _, id := range env.Nodes {
			wg.Go(func() { c.client(id, rand.New(rand.NewPCG(seed, uint64(id))), until) })
		}
		Run(t.Context(), run.plan, env, run.trace)
		wg.Wait()
		<-time.After(rpc.DeadTimeout)
		for _, id := range env.Nodes {
			for _, key := range toyKeys {
				if err := c.read(id, key); err != nil {
					t.Errorf("seed %d: healed, but node %d can't read %s: %v\n%v", seed, id, key, err, run.plan)
				}
			}
		}
		run.ops, run.stats = c.hist.Ops(), env.Net.Stats()
	})
	return run
}

// TestToyIsLinearizable runs the whole toy without bugs.
func TestToyIsLinearizable(t *testing.T) {
	ok := 0
	for seed := uint64(1); seed <= 12; seed++ {
		run := runToy(t, seed, toyBugs{}, 20*time.Second)
		if err := (check.Linearizable{}).Check(run.ops); err != nil {
			t.Fatalf("seed %d: %v\n%v", seed, err, run.plan)
		}
		for _, op := range run.ops {
			if op.Outcome == check.OK {
				ok++
			}
		}
		if len(run.plan) < 5 || run.stats.Dropped == 0 {
			t.Fatalf("seed %d had few faults: %+v\n%v", seed, run.stats, run.plan)
		}
	}
	if ok < 1000 {
		t.Fatalf("only %d operations succeeded", ok)
	}
}

// TestBuggyToysAreCaught requires that some seed shows what was left out.
func TestBuggyToysAreCaught(t *testing.T) {
	for name, bugs := range map[string]toyBugs{"no sync": {noSync: true}, "no write back": {noWriteBack: true}} {
		t.Run(name, func(t *testing.T) {
			for seed := uint64(1); seed <= 60; seed++ {
				run := runToy(t, seed, bugs, 20*time.Second)
				var v *check.Violation
				if err := (check.Linearizable{}).Check(run.ops); errors.As(err, &v) {
					return
				} else if err != nil {
					t.Fatal(err)
				}
			}
			t.Fatal("no seed showed it")
		})
	}
}

// TestSameSeedSameTrace runs seeds twice: every packet, fault and operation is the
// same.
func TestSameSeedSameTrace(t *testing.T) {
	sums := map[uint64]bool{}
	for seed := uint64(1); seed <= 5; seed++ {
		a, b := runToy(t, seed, toyBugs{}, 10*time.Second), runToy(t, seed, toyBugs{}, 10*time.Second)
		if a.trace.Sum() != b.trace.Sum() || a.stats != b.stats {
			la, lb := a.trace.Lines(), b.trace.Lines()
			for i := range min(len(la), len(lb)) {
				if la[i] != lb[i] {
					t.Fatalf("seed %d: event %d:\n%s\n%s", seed, i, la[i], lb[i])
				}
			}
			t.Fatalf("seed %d: %d events and %d, %+v and %+v", seed, a.trace.Len(), b.trace.Len(), a.stats, b.stats)
		}
		if len(a.ops) != len(b.ops) {
			t.Fatalf("seed %d: %d operations and %d", seed, len(a.ops), len(b.ops))
		}
		for i := range a.ops {
			if x, y := a.ops[i].String(), b.ops[i].String(); x != y {
				t.Fatalf("seed %d:\n%s\n%s", seed, x, y)
			}
		}
		sums[a.trace.Sum()] = true
	}
	if len(sums) != 5 {
		t.Fatal("different seeds took the same course")
	}
}
