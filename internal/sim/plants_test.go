//go:build plants

package sim

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
)

// finder says which runs find a plant: those of make, or of scene, one of which does within the
// given number of seeds.
type finder struct {
	plant       plant.Name
	from, seeds uint64
	make        func(seed uint64) (workload, setting)
	scene       func(t *testing.T, seed uint64) error
}

// found elsewhere are the plants that a test of another package finds.
var foundElsewhere = map[plant.Name]string{
	plant.TableJoinsBatch: "internal/apply", plant.TableOfAnother: "internal/apply", plant.DelegateUnrecorded: "internal/kv", plant.DelegateLate: "internal/kv", plant.RestUnread: "internal/sql", plant.TableUnheard: "internal/storage",
	plant.AckBeforeSync: "internal/kv", plant.TruncateEarly: "internal/kv", plant.IgnoreThreshold: "internal/kv", plant.SkipUniqueLock: "internal/server",
	plant.LocksBesideRecord: "internal/store", plant.MendAlways: "internal/store", plant.InFlightUnseen: "internal/store", plant.WriteUnchecked: "internal/sql/exec", plant.UnknownCommitForgotten: "internal/sql/catalog", plant.LastChangesUnfollowed: "internal/sql/ddl", plant.MoveUnnoted: "internal/sql/ddl", plant.ClaimUnheeded: "internal/sql/jobs", plant.EnforcedEarly: "internal/sql/ddl", plant.ReferredUnfollowed: "internal/sql/ddl", plant.NullsAsValues: "internal/sql/exec", plant.LaterRowFails: "internal/sql/exec", plant.CountedReplaced: "internal/kv", plant.SeenUnchanged: "internal/kv",
	plant.FilterBelowOuter: "internal/sql", plant.OuterUnchecked: "internal/sql", plant.NullInAntiJoin: "internal/sql", plant.MergedColumns: "internal/sql",
	plant.VolatileTwice: "internal/sql", plant.ResidualDropped: "internal/sql", plant.SpanShort: "internal/sql", plant.StaleSubquery: "internal/sql",
	plant.StaleWith: "internal/sql", plant.EmptyAggregate: "internal/sql", plant.TypmodLost: "internal/sql", plant.StalePlan: "internal/sql", plant.CursorSkips: "internal/sql",
	plant.StatisticsUnheard: "internal/server", plant.PanicSurvived: "internal/server", plant.TwinAdmitted: "internal/server", plant.SplitGap: "internal/store", plant.PipelineGoesOn: "internal/pgwire",
	plant.RoundForgotten: "internal/sql", plant.KeysMerged: "internal/sql", plant.RowOfNulls: "internal/sql", plant.VolatileEarly: "internal/sql", plant.RowPerField: "internal/sql", plant.TypesInTurn: "internal/sql", plant.LaterColumnSeen: "internal/sql",
	plant.ImpliedUnchecked: "internal/sql", plant.ContentionUnlocked: "internal/sql", plant.ReservedForNobody: "internal/sql", plant.UnmatchedByAny: "internal/sql", plant.BoundBelowSort: "internal/sql",
	plant.RaisedUnchecked: "internal/sql", plant.DistinctByNullable: "internal/sql", plant.DistinctOverJoin: "internal/sql", plant.RunsUnmerged: "internal/sql", plant.PartitionLost: "internal/sql", plant.MatchForgotten: "internal/sql", plant.BarrierPassed: "internal/sql", plant.PolicyUnchecked: "internal/sql",
	plant.TriggersLoaded: "internal/sql", plant.TriggersBlind: "internal/sql", plant.TriggersEarly: "internal/sql", plant.TriggerKeysUnwatched: "internal/sql", plant.TriggerChangesLost: "internal/sql", plant.TriggersForgotten: "internal/sql",
}

// often is a run with faults in quick succession.
func often(seed uint64, pause time.Duration, faults map[FaultKind]int) setting {
	return setting{nodes: sizeOf(seed), length: simLength, faults: faults, pause: pause, maxFor: 2 * time.Second}
}

func withBank(o setting) (workload, setting) {
	b := bank{accounts: 12}
	o.cuts, o.points = []string{account(4), account(8)}, b.points()
	return b, o
}

func withRegisters(o setting) (workload, setting) {
	r := registers{n: 8}
	o.cuts, o.points = []string{register(3), register(6)}, r.points()
	return r, o
}

// withFewRegisters has clients meet at three keys, each in a range of its own.
func withFewRegisters(o setting) (workload, setting) {
	o.cuts = []string{register(1), register(2)}
	return registers{n: 3}, o
}

func withLists(o setting, think time.Duration) (workload, setting) {
	l := newLists()
	l.think = think
	o.cuts, o.points = l.cuts(), l.points()
	return l, o
}

// withSlowPast has slow transfers only, whose timestamps are old when they commit.
func withSlowPast(o setting) (workload, setting) {
	w, o := withPast(o)
	b := w.(pastBank)
	b.allSlow = true
	return b, o
}

func withAging(o setting) (workload, setting) {
	b := newAgingBank()
	o.cuts, o.points, o.ttl = []string{account(4), account(8)}, b.points(), shortTTL
	return b, o
}

func withPast(o setting) (workload, setting) {
	b := newPastBank()
	o.cuts, o.points = []string{account(4), account(8)}, b.points()
	return b, o
}

// usual is a run as the other tests have them.
func usual(seed uint64) setting {
	return setting{nodes: sizeOf(seed), length: simLength, faults: everything()}
}

// script is a plan that is made for one plant.
type script struct {
	plan  Plan
	rng   *rand.Rand
	nodes []kvpb.NodeID
}

// scripted returns what makes a plan in which a scene is played again and again.
func scripted(seed uint64, pause time.Duration, scene func(s *script, at time.Duration)) func([]kvpb.NodeID) Plan {
	return func(nodes []kvpb.NodeID) Plan {
		s := &script{rng: rand.New(rand.NewPCG(seed, 0x706c616e74)), nodes: nodes}
		for at := 2 * time.Second; at < scriptLength-2*pause; at += pause {
			scene(s, at)
		}
		return s.plan
	}
}

// scriptLength is how long runs with scripts are.
const scriptLength = 40 * time.Second

func (s *script) add(at, length time.Duration, kind FaultKind, nodes ...kvpb.NodeID) {
	s.plan = append(s.plan, Fault{At: at, For: length, Kind: kind, Nodes: nodes, Amount: s.rng.Int64()})
}

func (s *script) between(least, most time.Duration) time.Duration {
	return least + time.Duration(s.rng.Int64N(int64(most-least)))
}

// scatter transfers leaderships, so that each node has some.
func (s *script) scatter(at, length time.Duration) {
	for range 6 {
		s.add(s.between(at, at+length), time.Millisecond, MoveLeader, s.nodes[0])
	}
}

// restartSupporter restarts a follower that supports a leader while the other one, which
// that leader has lost before, stands for election.
func restartSupporter(s *script, at time.Duration) {
	s.scatter(at-time.Second, 500*time.Millisecond)
	order := s.rng.Perm(len(s.nodes))
	leader, lost, supporter := s.nodes[order[0]], s.nodes[order[1]], s.nodes[order[2]]
	s.add(at, 4*time.Second, OneWay, leader, lost)
	s.add(at, 4*time.Second, OneWay, lost, leader)
	later := at + s.between(time.Second, 1300*time.Millisecond)
	s.add(later, 3*time.Second, OneWay, leader, supporter)
	s.add(later, 3*time.Second, OneWay, supporter, leader)
	s.add(later+1, time.Millisecond, Restart, supporter)
}

// deafenFormer transfers leaderships and has one node hear nothing just then: it does not
// learn that it was succeeded.
func deafenFormer(s *script, at time.Duration) {
	s.scatter(at, 20*time.Millisecond)
	deaf := s.nodes[s.rng.IntN(len(s.nodes))]
	from := s.between(at, at+20*time.Millisecond)
	for _, n := range s.nodes {
		if n != deaf {
			s.add(from, 800*time.Millisecond, OneWay, n, deaf)
		}
	}
}

// dieHalfway cuts one of a gateway's links, so that commits of transactions that hold locks
// there reach some ranges and not others, and ends it soon afterwards.
func dieHalfway(s *script, at time.Duration) {
	s.scatter(at-time.Second, 500*time.Millisecond)
	order := s.rng.Perm(len(s.nodes))
	gateway, other := s.nodes[order[0]], s.nodes[order[1]]
	s.add(at, time.Second, OneWay, gateway, other)
	s.add(at+s.between(100*time.Millisecond, 500*time.Millisecond), time.Second, Kill, gateway)
}

var finders = []finder{
	{plant: plant.SkipRefresh, from: 1, seeds: 4, make: func(seed uint64) (workload, setting) { return withLists(usual(seed), listThink) }},
	{plant: plant.SkipLockCheck, from: 1, seeds: 20, make: func(seed uint64) (workload, setting) {
		return withLists(often(seed, time.Second, map[FaultKind]int{Kill: 3, PowerOff: 1, Split: 2}), 400*time.Millisecond)
	}},
	{plant: plant.ChangesUnfollowed, from: 2, seeds: 8, make: func(seed uint64) (workload, setting) { return newStatements(), withStatements(seed, simLength) }},
	{plant: plant.PeersUnlocked, from: 1, seeds: 8, make: func(seed uint64) (workload, setting) { return newStatements(), withStatements(seed, simLength) }},
	{plant: plant.ReadsUnnoted, from: 1, seeds: 4, make: func(seed uint64) (workload, setting) { return withBank(usual(seed)) }},
	{plant: plant.IgnoreUncertainty, from: 1, seeds: 8, make: func(seed uint64) (workload, setting) {
		return withRegisters(often(seed, time.Second, map[FaultKind]int{ClockJump: 3, ClockDrift: 1}))
	}},
	{plant: plant.ObservedForAll, from: 1, seeds: 4, scene: readOfFormer},
	{plant: plant.StaleClock, from: 1, seeds: 4, scene: staleClock},
	{plant: plant.UnheardStays, from: 1, seeds: 1, scene: replacedAfterRestart},
	{plant: plant.SlowLeads, from: 1, seeds: 2, scene: slowStore},
	{plant: plant.ReadAfterTimeoutNow, from: 1, seeds: 20, make: func(seed uint64) (workload, setting) {
		return withRegisters(setting{nodes: 3, length: scriptLength, plan: scripted(seed, 1500*time.Millisecond, deafenFormer), leases: true})
	}},
	{plant: plant.VoteAfterRestart, from: 1, seeds: 20, make: func(seed uint64) (workload, setting) {
		return withFewRegisters(setting{nodes: 3, length: scriptLength, plan: scripted(seed, 6*time.Second, restartSupporter), leases: true})
	}},
	{plant: plant.ForgetReads, from: 1, seeds: 40, make: func(seed uint64) (workload, setting) {
		return withPast(often(seed, 200*time.Millisecond, map[FaultKind]int{MoveLeader: 1}))
	}},
	{plant: plant.CollectAboveReaders, from: 1, seeds: 4, make: func(seed uint64) (workload, setting) { return withAging(usual(seed)) }},
	{plant: plant.SplitDropsLocks, from: 1, seeds: 4, make: func(seed uint64) (workload, setting) {
		b := heldBank{bank{accounts: 12}}
		return b, heldSetting(seed, simLength, b)
	}},
	{plant: plant.SplitForgetsReads, from: 1, seeds: 12, make: func(seed uint64) (workload, setting) {
		return withLists(often(seed, 200*time.Millisecond, map[FaultKind]int{SplitRange: 3, MergeRanges: 3}), 300*time.Millisecond)
	}},
	{plant: plant.RecoverIncomplete, from: 1, seeds: 40, make: func(seed uint64) (workload, setting) {
		return withLists(setting{nodes: 3, length: scriptLength, plan: scripted(seed, 5*time.Second, dieHalfway)}, 300*time.Millisecond)
	}},
	{plant: plant.CloseOverCommits, from: 1, seeds: 12, make: func(seed uint64) (workload, setting) { // commits take longer than what is closed lags behind
		return withSlowPast(often(seed, 500*time.Millisecond, map[FaultKind]int{SlowDisk: 4, SlowLinks: 2}))
	}},
	{plant: plant.CloseUnmarked, from: 1, seeds: 12, make: func(seed uint64) (workload, setting) { return withSlowPast(usual(seed)) }},
	{plant: plant.TrackThroughCommits, from: 1, seeds: 12, make: func(seed uint64) (workload, setting) { return withSlowPast(usual(seed)) }},
	{plant: plant.ClosedUnapplied, from: 1, seeds: 12, make: func(seed uint64) (workload, setting) { return withSlowPast(usual(seed)) }},
	{plant: plant.FollowerUncertain, from: 1, seeds: 3, scene: uncertainAtFollower},
	{plant: plant.FollowerAboveClosed, from: 1, seeds: 12, make: func(seed uint64) (workload, setting) { return withSlowPast(usual(seed)) }},
}

// judge runs a workload and returns the violation it shows, if any.
func (f finder) judge(t *testing.T, seed uint64) error {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if f.scene != nil {
		return f.scene(t, seed)
	}
	w, o := f.make(seed)
	s := simulate(t, seed, o, w)
	if s.h == nil {
		t.FailNow()
	}
	if _, err := s.verdict(); !provesNothing(err) {
		return err
	}
	return nil
}

// provesNothing reports whether an error says no more than that too little happened.
func provesNothing(err error) bool {
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(err error) bool { return !provesNothing(err) })
	case interface{ Unwrap() error }:
		return e.Unwrap() == errProvesNothing
	}
	return err == nil
}

// find looks for the plant, and requires that the runs that were made are good without it.
func (f finder) find(t *testing.T) {
	for seed := f.from; seed < f.from+f.seeds; seed++ {
		undo := plant.Choose(f.plant)
		err := f.judge(t, seed)
		undo()
		if clean := f.judge(t, seed); clean != nil {
			t.Fatalf("seed %d without the plant: %v", seed, clean)
		}
		if err != nil {
			t.Logf("found with seed %d, the %d. one: %v", seed, seed-f.from+1, err)
			return
		}
	}
	t.Errorf("not found with %d seeds", f.seeds)
}

// TestPlants plants one bug after the other, and requires that a run shows it.
func TestPlants(t *testing.T) {
	for _, f := range finders {
		t.Run(string(f.plant), f.find)
	}
}

// TestPlantsHaveFinders goes through all plants.
func TestPlantsHaveFinders(t *testing.T) {
	for _, n := range plant.All() {
		found := slices.ContainsFunc(finders, func(f finder) bool { return f.plant == n })
		if _, elsewhere := foundElsewhere[n]; found == elsewhere {
			t.Errorf("%s: a finder here: %v, elsewhere: %v", n, found, elsewhere)
		}
	}
}
