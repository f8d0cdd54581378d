package sim

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/check"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
)

const (
	// clients is how many run at a time, opPause the mean pause of each between two
	// operations, opTimeout how long one may take.
	clients   = 8
	opPause   = 100 * time.Millisecond
	opTimeout = 5 * time.Second
	// liveWithin is how soon after all faults have ended each client must get
	// something done.
	liveWithin = time.Minute
	// quorumTime is the part of a run in which there must be a quorum.
	quorumTime = 0.7
	// faultPause is the mean time from the beginning of one fault to that of the next.
	faultPause = 1500 * time.Millisecond
	// leastOps is how many operations must succeed in a minute for a run to prove
	// anything.
	leastOps = 1000
)

// errProvesNothing ends what a workload says of a run in which too little happened.
var errProvesNothing = errors.New("which proves nothing")

// workload is what clients do, and how what they saw is checked.
type workload interface {
	// keys is where its data are; initial what they hold at first.
	keys() keys.Span
	initial() map[string]string
	// operate runs one operation of a client.
	operate(ctx context.Context, s *simulation, client int, inc *incarnation, rng *rand.Rand)
	// check looks for violations, outside of virtual time. final is what the keys hold
	// in the end.
	check(ops []check.Op, initial, final map[string]string) error
}

// preparer is a workload that wants to know of the cluster before its nodes start, and
// when they have.
type preparer interface {
	prepare(c *cluster)
	begin()
}

// simulation is one run of a workload on a cluster.
type simulation struct {
	*cluster
	w    workload
	h    *check.History
	seed uint64
	plan Plan
	// elapsed is the virtual time that the faults took; versions are what the stores
	// hold in the end.
	elapsed  time.Duration
	begin    map[string]string
	versions []check.Version
	ranges   int
	err      error // of the run itself: liveness, or replicas that differ
	aging    bool  // old versions are collected

	operator *operator // nil without setting.members

	mu   sync.Mutex
	unit int
}

// unique returns a number that no other value has, so that a read names its writer.
func (s *simulation) unique() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unit++
	return s.unit
}

// setting is what a run is made of besides its seed.
type setting struct {
	nodes  int
	length time.Duration
	faults map[FaultKind]int
	cuts   []string // where ranges begin at first
	points []string // where they may be split
	// ttl is how long old versions stay readable, 0: longer than any run. least is how
	// many operations a minute must succeed, leastOps if 0.
	ttl   time.Duration
	least int
	// pause is the mean time between two faults, faultPause if 0; maxFor bounds each of
	// them, if set. plan, if not nil, makes the plan instead.
	pause, maxFor time.Duration
	plan          func(nodes []kvpb.NodeID) Plan
	// members has whole nodes run, and an operator drain, decommission and replace them.
	members bool
	// leases has two replicas of a range that serve at once found, which only clocks that
	// agree rule out.
	leases bool
}

// everything is all that may happen to a cluster.
func everything() map[FaultKind]int {
	return map[FaultKind]int{
		Kill: 3, PowerOff: 3, PowerOffAll: 1, Split: 2, OneWay: 2, Flapping: 1, SlowLinks: 1, LossyLinks: 2, SlowDisk: 1, ClockJump: 1, ClockDrift: 1,
		SplitRange: 4, MergeRanges: 3, MoveReplica: 4, MoveLeader: 4, FlushStore: 1,
	}
}

// simulate runs a workload under the faults of a seed.
func simulate(t *testing.T, seed uint64, o setting, w workload) *simulation {
	s := &simulation{w: w, seed: seed, aging: o.ttl > 0}
	synctest.Test(t, func(t *testing.T) {
		s.cluster = newCluster(t, seed, o.nodes)
		s.cutKeys, s.ttl, s.places, s.whole, s.onFatal = o.points, o.ttl, true, o.members, s.fail
		p, prepares := w.(preparer)
		if prepares {
			p.prepare(s.cluster)
		}
		s.found(o.cuts...)
		s.begin = w.initial()
		s.write(s.begin)
		if prepares {
			p.begin()
		}
		s.h = check.NewHistory()
		s.run(o)
		if e, ok := w.(interface{ ended() }); ok {
			e.ended()
		}
		s.err = s.finish()
		s.close()
	})
	return s
}

// write puts the first values in.
func (s *simulation) write(values map[string]string) {
	var err error
	for range 200 {
		err = s.nodes[0].current().db.Run(context.Background(), func(_ context.Context, t *kv.Txn) error {
			for k, v := range values {
				if err := t.Put([]byte(k), []byte(v)); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			return
		}
		<-time.After(100 * time.Millisecond)
	}
	s.t.Fatalf("the first values can't be written: %v", err)
}

// run lets clients work while the faults happen, and until each has done something
// afterwards.
func (s *simulation) run(o setting) {
	env := &Environment{
		Net: s.net, Clocks: map[kvpb.NodeID]*Clock{}, Disks: map[kvpb.NodeID]*Disk{}, Stop: s.stop, Start: s.start, Leave: s.leave, Change: s.change,
	}
	for _, n := range s.nodes {
		env.Nodes = append(env.Nodes, n.id)
		env.Clocks[n.id], env.Disks[n.id] = n.clock, n.disk
	}
	s.plan = NewPlan(s.seed, PlanOptions{
		Nodes: env.Nodes, Length: o.length, Pause: cmp.Or(o.pause, faultPause), MaxFor: o.maxFor, MaxJump: simOffset / 4, MaxDrift: 200, MaxDown: 1,
		Weights: o.faults, Quorum: quorumTime,
	})
	if o.plan != nil {
		s.plan = o.plan(env.Nodes)
	}
	began := time.Now()
	healed := make(chan struct{})
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() { s.client(i, rand.New(rand.NewPCG(s.seed, uint64(i))), healed) })
	}
	watched := make(chan struct{})
	if o.leases {
		wg.Go(func() { s.watchLeases(watched) })
	}
	if o.members {
		s.operator = s.operate(began)
		wg.Go(func() { s.operator.run(healed) })
	}
	Run(context.Background(), s.plan, env, s.story)
	close(watched)
	if rest := o.length - time.Since(began); rest > 0 {
		<-time.After(rest)
	}
	s.elapsed = time.Since(began)
	s.story.Addf("all faults have ended")
	close(healed)
	wg.Wait()
	s.changes.Wait()
	if s.operator != nil {
		s.operator.close()
	}
}

// operate returns who operates the cluster while the plan is carried out.
func (s *simulation) operate(began time.Time) *operator {
	op := newOperator(s.cluster, s.seed)
	op.fail = s.fail
	op.undisturbed = func(since time.Time) bool {
		from, to := since.Sub(began)-quietBefore, time.Since(began)
		return !slices.ContainsFunc(s.plan, func(f Fault) bool { return f.At <= to && f.At+f.For >= from })
	}
	return op
}

// leasePoll is the time between two looks at who serves.
const leasePoll = 5 * time.Millisecond

// watchLeases looks again and again whether two replicas of a range serve at once.
func (s *simulation) watchLeases(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(leasePoll):
		}
		serves := map[kvpb.RangeID]kvpb.NodeID{}
		for _, n := range s.nodes {
			inc := n.current()
			if inc == nil || !inc.use() {
				continue
			}
			for _, r := range inc.store.Replicas() {
				if other := serves[r.RangeID()]; r.Leads() && other != 0 {
					s.fail(fmt.Errorf("nodes %d and %d both serve range %d", other, n.id, r.RangeID()))
				} else if r.Leads() {
					serves[r.RangeID()] = n.id
				}
			}
			inc.running.Done()
		}
		if s.failed() {
			return
		}
	}
}

func (s *simulation) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil
}

// client operates until it has succeeded once in the healed cluster.
func (s *simulation) client(id int, rng *rand.Rand, healed <-chan struct{}) {
	var since time.Time
	for {
		select {
		case <-healed:
			if since.IsZero() {
				since = time.Now()
			}
		default:
		}
		inc := s.nodes[rng.IntN(len(s.nodes))].current()
		if inc != nil && inc.use() {
			ctx, cancel := context.WithTimeout(inc.ended, opTimeout)
			before := s.h.Len()
			s.w.operate(ctx, s, id, inc, rng)
			cancel()
			inc.running.Done()
			if !since.IsZero() && s.succeeded(id, before) {
				return
			}
		}
		if !since.IsZero() && time.Since(since) > liveWithin {
			s.fail(fmt.Errorf("client %d gets nothing done within %v after all faults ended", id, liveWithin))
			return
		}
		<-time.After(time.Duration(rng.Int64N(int64(2 * opPause))))
	}
}

// succeeded reports whether a client's operation that began after the first n did.
func (s *simulation) succeeded(client, n int) bool {
	for _, op := range s.h.Ops()[n:] {
		if op.Client == client && op.Outcome == check.OK {
			return true
		}
	}
	return false
}

func (s *simulation) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = errors.Join(s.err, err)
}

// finish looks at the healed cluster.
func (s *simulation) finish() error {
	if s.err != nil {
		return s.err
	}
	descs, err := s.settled()
	if err != nil {
		return err
	}
	s.ranges = len(descs)
	s.versions, err = s.cluster.versions(descs, s.w.keys())
	return err
}

// final returns what the keys hold in the end.
func (s *simulation) final() map[string]string {
	out, at := map[string]string{}, map[string]check.TS{}
	for _, v := range s.versions {
		if at[v.Key].Less(v.TS) {
			if at[v.Key] = v.TS; v.Absent {
				delete(out, v.Key)
			} else {
				out[v.Key] = v.Value
			}
		}
	}
	return out
}

// verdict checks what happened, and returns the number of operations that succeeded.
func (s *simulation) verdict() (ok int, err error) {
	ops := s.h.Ops()
	for _, o := range ops {
		if o.Outcome == check.OK {
			ok++
		}
	}
	if s.err != nil {
		return ok, s.err
	}
	stamps := check.Timestamps{Initial: s.begin, RealTime: true, Versions: s.versions}
	if _, past := s.w.(pastBank); past {
		stamps.RealTime = false // it sees to that itself
	}
	if s.aging {
		stamps.Versions = nil // most are gone
	}
	if _, ok := s.w.(*ingests); ok {
		stamps.Versions = nil // most are of no transaction in the history
	}
	if b, ok := s.w.(fedBank); ok {
		s.fail(b.f.compare(s.versions))
	}
	if s.err != nil {
		return ok, s.err
	}
	return ok, errors.Join(s.w.check(ops, s.begin, s.final()), stamps.Check(ops))
}

// stamp puts a timestamp into the words of package check.
func stamp(ts hlc.Timestamp) check.TS { return check.TS{Wall: ts.WallTime, Logical: ts.Logical} }

// transact runs fn in a transaction and records it. fn adds to op what it reads, and
// what it writes before the transaction is committed.
func (s *simulation) transact(
	ctx context.Context, client int, inc *incarnation, kind string, o kv.TxnOptions, fn func(t *kv.Txn, op *check.Op) error,
) {
	p := s.h.Begin(check.Op{Client: client, Kind: kind})
	t := inc.db.Begin(o)
	if client%2 == 0 {
		t.ObserveClocks(ctx) // as blocks of statements do
	}
	t.BeginStatement()
	err := fn(t, &p.Op)
	outcome := check.Failed
	if err != nil {
		t.Rollback(ctx)
	} else if err = t.Commit(ctx); err == nil {
		outcome = check.OK
	} else if kv.IsAmbiguous(err) || inc.ended.Err() != nil {
		outcome = check.Unknown
	}
	if p.Op.TS = stamp(t.CommitTimestamp()); len(p.Op.Writes) == 0 {
		p.Op.TS = stamp(t.ReadTimestamp())
	}
	if outcome == check.Unknown && len(p.Op.Writes) == 0 {
		outcome = check.Failed // whatever it read, nobody got it
	}
	if outcome != check.OK {
		p.Op.TS = check.TS{}
	}
	p.Done(outcome, err)
	s.story.Addf("node %d %v", inc.node.id, p.Op)
}

// get reads a key for op.
func get(ctx context.Context, t *kv.Txn, op *check.Op, key string) (string, error) {
	v, found, err := t.Get(ctx, []byte(key))
	if err != nil {
		return "", err
	}
	op.Reads = append(op.Reads, check.Access{Key: key, Value: string(v), Absent: !found})
	return string(v), nil
}

// lockKey locks a key and reads it for op.
func lockKey(ctx context.Context, t *kv.Txn, op *check.Op, key string) (string, error) {
	r, err := t.Lock(ctx, []byte(key), lock.Update, lock.WaitBlock)
	if err != nil {
		return "", err
	}
	op.Reads = append(op.Reads, check.Access{Key: key, Value: string(r.Value), Absent: !r.Found})
	return string(r.Value), nil
}

// put writes keys for op, each under a lock: what was read without one must not have
// changed.
func put(ctx context.Context, t *kv.Txn, op *check.Op, writes ...check.Access) error {
	op.Writes = writes
	for _, w := range writes {
		if _, err := t.Lock(ctx, []byte(w.Key), lock.Update, lock.WaitBlock); err != nil {
			return err
		}
		if w.Absent {
			if err := t.Delete([]byte(w.Key)); err != nil {
				return err
			}
		} else if err := t.Put([]byte(w.Key), []byte(w.Value)); err != nil {
			return err
		}
	}
	return nil
}

// readAll reads all keys of a span for op.
func readAll(ctx context.Context, t *kv.Txn, op *check.Op, sp keys.Span) error {
	var page kv.ScanResult
	for lo := sp.Start; lo != nil; lo = bytes.Clone(page.Resume) {
		if err := t.Scan(ctx, lo, sp.End, kv.ScanOptions{}, &page); err != nil {
			return err
		}
		for i := range page.Len() {
			op.Reads = append(op.Reads, check.Access{Key: string(page.Key(i)), Value: string(page.Value(i))})
		}
	}
	return nil
}

// report writes down what happened where somebody can read it, and returns where.
func (s *simulation) report(cause error) string {
	dir := os.Getenv("LICHEN_SIM_OUT")
	if dir == "" {
		dir = os.TempDir()
	}
	dir, err := os.MkdirTemp(dir, fmt.Sprintf("lichen-sim-%d-", s.seed))
	if err != nil {
		return err.Error()
	}
	var history bytes.Buffer
	if err := check.Write(&history, s.h.Ops()); err != nil {
		return err.Error()
	}
	var story, packets bytes.Buffer
	_, _ = s.story.WriteTo(&story) // a buffer takes everything
	_, _ = s.packets.WriteTo(&packets)
	for name, text := range map[string][]byte{
		"violation": []byte(cause.Error()), "plan": []byte(s.plan.String()), "history.jsonl": history.Bytes(),
		"story": story.Bytes(), "packets": packets.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err.Error()
		}
	}
	return dir
}

// simulated runs a workload under the faults of a seed and reports what came of it.
func simulated(t *testing.T, seed uint64, o setting, w workload) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that goroutines run in the same order, mostly
	s := simulate(t, seed, o, w)
	if s.h == nil {
		return // it has failed already
	}
	ok, err := s.verdict()
	if err != nil {
		t.Errorf("seed %d: %v\nplan:\n%vthe whole course is in %s", seed, err, s.plan, s.report(err))
	}
	n := map[check.Outcome]int{}
	for _, op := range s.h.Ops() {
		n[op.Outcome]++
	}
	least := o.least
	if least == 0 {
		least = leastOps
	}
	if least = int(time.Duration(least) * o.length / time.Minute); ok < least && err == nil {
		t.Errorf("seed %d: only %d operations of %d succeeded, which proves little; the whole course is in %s", seed, ok, least, s.report(errors.New("too little")))
	}
	if os.Getenv("LICHEN_SIM_KEEP") != "" {
		t.Logf("the whole course is in %s", s.report(errors.New("none")))
	}
	faults, changes := 0, int64(0)
	for _, f := range s.plan {
		if f.Kind < SplitRange {
			faults++
		}
	}
	for k := range s.changed {
		changes += s.changed[k].Load()
	}
	if op := s.operator; op != nil {
		t.Logf("operator: %d nodes drained, %d decommissioned, %d replaced", op.drained, op.decommissioned, op.replaced)
	}
	t.Logf("run: seed %d, %d nodes, %.0f s, %d faults, %d changes of %d ranges, %d ok, %d failed, %d unknown; splits %d, merges %d, moves %d, transfers %d",
		seed, o.nodes, s.elapsed.Seconds(), faults, changes, s.ranges, n[check.OK], n[check.Failed], n[check.Unknown],
		s.changed[SplitRange].Load(), s.changed[MergeRanges].Load(), s.changed[MoveReplica].Load(), s.changed[MoveLeader].Load())
}
