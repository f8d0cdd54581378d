package replica

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lease"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/snapshot"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/txnintent"
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
)

// MaxLocks bounds the locks held in one range; beyond it new ones are refused.
const MaxLocks = 4 << 20

// Deps is what a replica needs of its store.
type Deps struct {
	Engine *storage.Engine
	Log    *raftlog.Log
	Clock  *hlc.Clock
	Logger *slog.Logger
	Store  kvpb.StoreID
	// OnFatal is called with a panic while a group was processed, and with a log that was lost:
	// it ends the process; nil: nobody is.
	OnFatal func(error)
	// AdmitWrite returns an error while the store can't take writes (disk full).
	AdmitWrite func() error
	// Waits is the graph of transactions waiting for one another on this node.
	Waits *concurrency.WaitGraph

	// Schedule runs fn soon on a worker.
	Schedule func(fn func())
	// Aside has workers process the group, never who proposes: the node has several stores.
	Aside bool
	// Stalled returns what is closed when, or if, the disk does not answer; may be nil.
	Stalled func() <-chan struct{}
	// OnUnquiesce has Tick called again for a replica that was quiesced; nil if nobody ticks.
	OnUnquiesce func(r *Replica)
	// CheckSlots bounds the checksums computed at a time; nil: unbounded.
	CheckSlots chan struct{}
	// ResolveSlots bounds the intent resolutions that go beyond one command (MaxResolvers); nil:
	// unbounded.
	ResolveSlots chan struct{}
	// LongWrites bounds the long writes under way at a time; nil: unbounded.
	LongWrites *LongWrites
	// Send sends a raft message to another replica of the range. It may be lost.
	Send func(r *Replica, to kvpb.ReplicaDescriptor, m *pb.Message)
	// SendSnapshot streams a snapshot and tells whether it arrived.
	SendSnapshot func(r *Replica, to kvpb.ReplicaDescriptor, s *snapshot.Outgoing, done func(ok bool))
	// Absorb takes away the replicas here whose ranges were merged into a range
	// that receives a snapshot; b is written with the snapshot, done called after.
	// With after, what was committed before must be durable first.
	Absorb func(r *Replica, d *kvpb.RangeDescriptor, b *storage.Batch) (gone []*kvpb.RangeDescriptor, after bool, done func(), err error)
	// Support is who supports whom among the stores; nil on a node by itself.
	Support Support
	// Closing is the store's part in closed timestamps; nil: nothing is closed.
	Closing Closing
	// Elections says when a replica stands for election; nil: as soon as it wants to.
	Elections Elections
	// PrepareSplit makes the log of a range that is about to come into being
	// durable, in one step with a write of the range that it is split off from; Split makes its replica.
	PrepareSplit func(right *kvpb.RangeDescriptor, left raftlog.Write) error
	Split        func(left *Replica, right *kvpb.RangeDescriptor) (*Replica, error)
	// Neighbour returns the store's replica of a range that is being merged into
	// another one, Merged is called afterwards.
	Neighbour func(id kvpb.RangeID) (*Replica, bool)
	Merged    func(left, right *Replica)
	// OnDescriptor is called with the descriptor before, OnLeader when leadership was won; nil for
	// neither.
	OnDescriptor func(r *Replica, old *kvpb.RangeDescriptor)
	OnLeader     func(r *Replica)
	TxnDeps
}

func (d *Deps) raftLogger() raft.Logger { return raftLogger{d.Logger} }

// Support says which stores support one another (package liveness).
type Support interface {
	// From returns the support that a store gives to this node's leaderships.
	From(kvpb.StoreID) *liveness.Cell
	// Supports reports whether this node supports a store's leaderships.
	Supports(kvpb.StoreID) bool
	// Granted returns the support that this node gives to a store.
	Granted(kvpb.StoreID) liveness.Support
	// MayVote reports whether all support granted in an earlier life has expired.
	MayVote() bool
}

// Replica is this store's replica of one range. It serves requests as the
// range's leader (implementing kvpb.Sender) and takes part in its raft group.
type Replica struct {
	deps      Deps
	id        kvpb.RangeID
	replicaID kvpb.ReplicaID
	desc      atomic.Pointer[kvpb.RangeDescriptor]
	// formerRight is the descriptor that the last split made, for those who ask
	// here for its keys.
	formerRight atomic.Pointer[kvpb.RangeDescriptor]

	group   *group
	locks   *concurrency.LockTable
	commits *concurrency.Commits
	reads   *concurrency.TimestampCache
	// reserved are the spans in which nobody is to begin to write.
	reserved  concurrency.Reservations
	intents   txnintent.Table   // the transactions with intents here
	records   txnintent.Records // of the transactions whose anchors are here
	finished  txnintent.Finished
	transfers lockTransfer
	// abandoned are transactions whose gateway no longer waits for their commit.
	abandoned   txnintent.TxnSet
	gatewayAsks gatewayAsks
	replays     txnintent.ReplayFilter
	tasks       tasks
	sweepMu     sync.Mutex
	sweeping    bool                    // a goroutine sweeps. Guarded by sweepMu
	txns        atomic.Pointer[TxnDeps] // if set, instead of deps.TxnDeps

	lease  atomic.Pointer[lease.Lease]    // nil: not leader
	leader atomic.Pointer[kvpb.ReplicaID] // as far as known
	// epoch identifies this leadership: locks are lost with it (invariant 4).
	epoch atomic.Uint64
	// certainFrom is the time of this node's clock above which everything here was committed
	// under its own leadership (invariant 6).
	certainFrom atomic.Int64
	// inherit are the locks that the range was split off with, at the leader of the other half
	// (inherits).
	inheritMu    sync.Mutex
	inherits     bool                    // guarded by inheritMu
	inherit      []concurrency.Lock      // guarded by inheritMu
	right        atomic.Pointer[Replica] // what the last split here made
	inheritEpoch uint64
	// inheritSubsumed goes with inheritEpoch (merging.subsumedEpochs).
	inheritSubsumed  *[]uint64
	merging          merging
	outgoing         outgoing // snapshots
	thresholdApplied atomic.Pointer[hlc.Timestamp]
	applied          atomic.Uint64
	stats            Stats
	idle             atomic.Bool // the leader has nothing to say to its followers
	quiesced         atomic.Bool // nobody ticks it until Unquiesce
	stopped          atomic.Bool // see stopServing
	tracked          atomic.Bool // its closed timestamp rises by itself (BeginTracking)
	election         lease.Election
	// progress is what Progress answered last, as long as the leader is idle.
	progress atomic.Pointer[[]FollowerProgress]
	// lastWrite is the wall time of the newest commit: once all versions below it
	// were looked at, nothing is left to collect.
	lastWrite atomic.Int64
	swept     sweep
	userData  atomic.Value
	checks    checks
	feeds     feeds
}

var _ kvpb.Sender = (*Replica)(nil)

// New returns a replica in the state that the engine and the log hold. A
// descriptor without keys is that of a replica that waits for its first snapshot.
func New(deps Deps, desc *kvpb.RangeDescriptor, id kvpb.ReplicaID) (*Replica, error) {
	r := &Replica{
		deps: deps, id: desc.RangeID, replicaID: id,
		transfers: lockTransfer{Gate: lease.NewGate(), record: make(chan struct{}, 1)},
		locks:     concurrency.NewLockTable(MaxLocks),
		commits:   concurrency.NewCommits(),
		reads:     concurrency.NewTimestampCache(concurrency.TimestampCacheOptions{}, hlc.Timestamp{}),
	}
	if r.deps.Schedule == nil {
		r.deps.Schedule = func(fn func()) { go fn() }
	}
	r.desc.Store(desc)
	r.tasks.fatal = deps.OnFatal
	r.quiesced.Store(true)
	r.finished.Forget(deps.Clock.Now())
	none := kvpb.ReplicaID(0)
	r.leader.Store(&none)
	st, ok := deps.Log.State(raftlog.GroupID(desc.RangeID))
	if !ok {
		return nil, &LostLogError{desc.RangeID, "its log is missing"}
	}
	applied, err := apply.LoadState(deps.Engine, desc.RangeID)
	if err != nil && (r.Initialized() || !errors.Is(err, apply.ErrNoState)) {
		return nil, err
	}
	r.applied.Store(applied.Index)
	if err := r.loadThreshold(); err != nil {
		return nil, err
	}
	r.group, err = newGroup(r, st, applied)
	return r, err
}

// Initialized reports whether the replica holds data: it was there from the
// range's beginning or has received a snapshot.
func (r *Replica) Initialized() bool { return len(r.Desc().EndKey) > 0 }

// Start replays what the log says is committed. The replica of a range without
// another voter then leads it; others take part in their groups from now on.
func (r *Replica) Start() error {
	if !r.Initialized() || r.Gone() {
		return nil
	}
	err := r.group.Begin()
	r.Unquiesce()
	return err
}

// Refuse refuses further writes and answers those who wait for one.
func (r *Replica) Refuse() {
	r.stopServing()
	r.group.Queue.Stop(errStopped)
}

// Stop refuses further writes and waits for those under way: nothing is written for this
// replica afterwards.
func (r *Replica) Stop() {
	r.Refuse()
	r.group.Queue.AwaitIdle()
	r.checks.stop()
	r.endFeeds(errStopped, true)
	r.tasks.stop()
}

// Desc returns the range's descriptor.
func (r *Replica) Desc() *kvpb.RangeDescriptor { return r.desc.Load() }

// RangeID returns the id of the range, ReplicaID that of the replica in it.
func (r *Replica) RangeID() kvpb.RangeID { return r.id }

// ReplicaID returns the replica's id in its range.
func (r *Replica) ReplicaID() kvpb.ReplicaID { return r.replicaID }

// AppliedIndex returns the index of the last entry applied.
func (r *Replica) AppliedIndex() uint64 { return r.applied.Load() }

// Stats returns the replica's counters.
func (r *Replica) Stats() *Stats { return &r.stats }

// Locks returns the lock table, for views of it.
func (r *Replica) Locks() *concurrency.LockTable { return r.locks }

// UserData returns what was given to SetUserData first, nil before.
func (r *Replica) UserData() any { return r.userData.Load() }

// SetUserData ties c, which is the same type each time, to the replica: what its
// owner wants to find again without a search. It returns the one that is tied to it.
func (r *Replica) SetUserData(c any) any {
	r.userData.CompareAndSwap(nil, c)
	return r.userData.Load()
}

func (r *Replica) noteApplied(st apply.State) { r.applied.Store(st.Index) }

// noteCommand notes a command that took effect. The clock must not be
// behind what the store holds (docs/decisions/0007).
func (r *Replica) noteCommand(txn kvpb.TxnID, ts hlc.Timestamp) {
	r.deps.Clock.Forward(ts)
	r.finished.Note(txn, ts)
}

// Stats counts what a replica has done.
type Stats struct {
	Gets, Scans, Locks, LockWaits, Commits, Refreshes, RefreshFailures atomic.Int64
	Collected                                                          atomic.Int64
	// ClosedReads were served without leading the range, ClosedLocked were refused because of
	// a durable lock.
	ClosedReads, ClosedLocked atomic.Int64
	LogBytes                  atomic.Int64 // of entries appended
}

// raftLogger passes raft's warnings and errors on.
type raftLogger struct{ l *slog.Logger }

func (raftLogger) Debug(...any)                  {}
func (raftLogger) Debugf(string, ...any)         {}
func (raftLogger) Info(...any)                   {}
func (raftLogger) Infof(string, ...any)          {}
func (r raftLogger) Warning(v ...any)            { r.l.Warn(fmt.Sprint(v...)) }
func (r raftLogger) Warningf(f string, v ...any) { r.l.Warn(fmt.Sprintf(f, v...)) }
func (r raftLogger) Error(v ...any)              { r.l.Error(fmt.Sprint(v...)) }
func (r raftLogger) Errorf(f string, v ...any)   { r.l.Error(fmt.Sprintf(f, v...)) }
func (r raftLogger) Fatal(v ...any)              { panic("raft: " + fmt.Sprint(v...)) }
func (r raftLogger) Fatalf(f string, v ...any)   { panic("raft: " + fmt.Sprintf(f, v...)) }
func (r raftLogger) Panic(v ...any)              { panic("raft: " + fmt.Sprint(v...)) }
func (r raftLogger) Panicf(f string, v ...any)   { panic("raft: " + fmt.Sprintf(f, v...)) }
