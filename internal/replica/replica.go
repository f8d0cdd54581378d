package replica

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/checksum"
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lease"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/raftgroup"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/rangefeed/processor"
	"github.com/lichendb/lichen/internal/snapshot"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/txnintent"
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
)

// MaxLocks bounds the locks held in one range.
const MaxLocks = 4 << 20

// Deps is what a replica needs of its store.
type Deps struct {
	Engine *storage.Engine
	Log    *raftlog.Log
	Clock  *hlc.Clock
	Logger *slog.Logger
	Store  kvpb.StoreID
	// OnFatal ends the process. It receives a panic of group processing or background work, or a
	// LostLogError. It may be nil.
	OnFatal func(error)
	// AdmitWrite returns an error while the store can't take writes (disk full).
	AdmitWrite func() error
	// Waits is the graph of transactions waiting for one another on this node.
	Waits *concurrency.WaitGraph

	// Schedule runs fn soon on a worker.
	Schedule func(fn func())
	// Workers makes workers process the group, never proposers. It is set on a node with several stores.
	Workers bool
	// Stalled returns a channel that is closed when the disk stops responding. It may be nil.
	Stalled func() <-chan struct{}
	// OnUnquiesce resumes the calls of Tick for a replica that was quiesced. It is nil without ticks.
	OnUnquiesce func(r *Replica)
	// CheckSlots bounds the checksums computed at a time. nil: no bound.
	CheckSlots chan struct{}
	// ResolveSlots bounds the intent resolutions that take more than one command (MaxResolvers). nil: no
	// bound.
	ResolveSlots chan struct{}
	// LongWrites bounds the long writes in flight. nil: no bound.
	LongWrites *raftgroup.LongWrites
	// Send sends a raft message to another replica of the range. It may be lost.
	Send func(r *Replica, to kvpb.ReplicaDescriptor, m *pb.Message)
	// SendSnapshot streams a snapshot and calls done with whether it arrived.
	SendSnapshot func(r *Replica, to kvpb.ReplicaDescriptor, s *snapshot.Outgoing, done func(ok bool))
	// Absorb removes this store's replicas of ranges that were merged into r's range, which is receiving a
	// snapshot. The engine writes the snapshot together with b, and the caller then calls done. If after is
	// true, the engine must first flush what was committed before.
	Absorb func(r *Replica, d *kvpb.RangeDescriptor, b *storage.Batch) (gone []*kvpb.RangeDescriptor, after bool, done func(), err error)
	// Support is the state of support among the stores. It is nil on a single node.
	Support Support
	// Closing is the store's part in closed timestamps. nil: no timestamp is closed.
	Closing Closing
	// Elections schedules campaigns. nil: a replica campaigns at once.
	Elections Elections
	// PrepareSplit makes the log of a split's right half durable, atomically with a write to the log
	// of the left half. Split creates the replica of the right half.
	PrepareSplit func(right *kvpb.RangeDescriptor, left raftlog.Write) error
	Split        func(left *Replica, right *kvpb.RangeDescriptor) (*Replica, error)
	// Neighbour returns the store's replica of the right range of a merge. Merged is called after
	// the merge was applied.
	Neighbour func(id kvpb.RangeID) (*Replica, bool)
	Merged    func(left, right *Replica)
	// OnDescriptor receives the old descriptor after a change. OnLeader is called when the replica begins
	// to lead. Both may be nil.
	OnDescriptor func(r *Replica, old *kvpb.RangeDescriptor)
	OnLeader     func(r *Replica)
	TxnDeps
}

func (d *Deps) raftLogger() raft.Logger { return raftLogger{d.Logger} }

// Support is the state of support among the stores (package liveness).
type Support interface {
	// From returns the support that a store gives to this node's leaderships.
	From(kvpb.StoreID) *liveness.Cell
	// Supports reports whether this node supports a store's leaderships.
	Supports(kvpb.StoreID) bool
	// Draining reports whether the node of a store drains.
	Draining(kvpb.StoreID) bool
	// Granted returns the support that this node gives to a store.
	Granted(kvpb.StoreID) liveness.Support
	// MayVote reports whether all support granted in an earlier incarnation has expired.
	MayVote() bool
}

// Replica is this store's replica of one range. It serves requests as the
// range's leader (implementing kvpb.Sender) and takes part in its raft group.
type Replica struct {
	deps      Deps
	id        kvpb.RangeID
	replicaID kvpb.ReplicaID
	desc      atomic.Pointer[kvpb.RangeDescriptor]
	// formerRight is the descriptor of the last range split off here. Requests for its keys may still
	// arrive here.
	formerRight atomic.Pointer[kvpb.RangeDescriptor]

	group   *group
	locks   *concurrency.LockTable
	tables  apply.Tables
	commits *concurrency.Commits
	reads   *concurrency.TimestampCache
	// reserved are the spans in which other transactions wait before they begin to write.
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
	// lockTableID identifies the row locks of this leadership, with those that it has imported: they are lost with it (invariant 4).
	lockTableID atomic.Uint64
	// certainFrom is the time of this node's clock above which everything here was committed
	// under its own leadership (invariant 6).
	certainFrom atomic.Int64
	written     concurrency.WriteMarks // of commands under this leadership
	// inherit are the locks that the range has from the left half of its split. inherits is true only
	// at the leader of the left half (invariant 7).
	inheritMu          sync.Mutex
	inherits           bool                    // guarded by inheritMu
	inherit            []concurrency.Lock      // guarded by inheritMu
	right              atomic.Pointer[Replica] // the right half of the last split here
	inheritLockTableID uint64
	// inheritSubsumed goes with inheritLockTableID (merging.subsumedLockTables).
	inheritSubsumed  *[]uint64
	merging          merging
	outgoing         outgoing // snapshots
	thresholdApplied atomic.Pointer[hlc.Timestamp]
	applied          atomic.Uint64
	stats            Stats
	idle             atomic.Bool // the leader has nothing to send to its followers
	quiesced         atomic.Bool // no ticks until Unquiesce
	stopped          atomic.Bool // see stopServing
	tracked          atomic.Bool // its closed timestamp rises with the store's (BeginTracking)
	election         lease.Election
	splitOff         atomic.Bool // see campaignUntilLed
	// progress is the last answer of Progress, valid while the leader is idle.
	progress atomic.Pointer[[]FollowerProgress]
	// lastWrite is the wall time of the newest commit: once garbage collection has scanned all
	// versions below it, nothing is left to collect.
	lastWrite atomic.Int64
	gc        gcProgress
	userData  atomic.Value
	checks    checksum.Checks
	feeds     *processor.Processor
}

var _ kvpb.Sender = (*Replica)(nil)

// New returns a replica in the state of the engine and the log. A replica whose descriptor has no keys
// waits for its first snapshot. It returns LostLogError if the log does not reach the engine's state.
func New(deps Deps, desc *kvpb.RangeDescriptor, id kvpb.ReplicaID) (*Replica, error) {
	r := &Replica{
		deps: deps, id: desc.RangeID, replicaID: id,
		transfers: lockTransfer{LockGate: lease.NewLockGate(), record: make(chan struct{}, 1)},
		locks:     concurrency.NewLockTable(MaxLocks),
		commits:   concurrency.NewCommits(),
		reads:     concurrency.NewTimestampCache(concurrency.TimestampCacheOptions{}, hlc.Timestamp{}),
	}
	if r.deps.Schedule == nil {
		r.deps.Schedule = func(fn func()) { go fn() }
	}
	r.desc.Store(desc)
	r.feeds = processor.New(feedHost{r}, processor.Options{Range: r.id, Engine: deps.Engine, Clock: deps.Clock, Logger: deps.Logger})
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

// Initialized reports whether the replica holds data: it was created with the range, or has received a
// snapshot.
func (r *Replica) Initialized() bool { return len(r.Desc().EndKey) > 0 }

// Start applies the committed entries of the log. The only voter of a range then leads it. Any other
// replica takes part in its group from now on.
func (r *Replica) Start() error {
	if !r.Initialized() || r.Gone() {
		return nil
	}
	err := r.group.Begin()
	r.Unquiesce()
	return err
}

// Refuse fails pending writes and refuses new ones.
func (r *Replica) Refuse() {
	r.stopServing()
	r.group.Queue.Stop(kvpb.ErrStopping)
}

// Stop refuses further writes and waits for those in progress and for background work. Afterwards the
// replica writes nothing.
func (r *Replica) Stop() {
	r.Refuse()
	r.group.Queue.AwaitIdle()
	r.checks.Stop()
	r.feeds.Stop()
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

// UserData returns the value that SetUserData attached, or nil.
func (r *Replica) UserData() any { return r.userData.Load() }

// SetUserData attaches a value of the replica's owner, so that the owner finds it without a lookup. It
// returns the attached value: the first one stays. All values must have the same type.
func (r *Replica) SetUserData(c any) any {
	r.userData.CompareAndSwap(nil, c)
	return r.userData.Load()
}

func (r *Replica) noteApplied(st apply.State) { r.applied.Store(st.Index) }

// noteCommand records a command that took effect. The clock must not be behind any timestamp in the
// store (docs/decisions/0007).
func (r *Replica) noteCommand(c apply.Applied) {
	if c.Ends {
		r.deps.Clock.Forward(c.TS)
		r.finished.Note(c.Txn, c.TS)
	}
	if c.InArea {
		r.written.Note(concurrency.TxnID(c.Txn), c.TS, c.Area)
	} else {
		r.written.NoteSeveral(concurrency.TxnID(c.Txn), c.TS)
	}
	if c.TS.WallTime > r.lastWrite.Load() {
		r.lastWrite.Store(c.TS.WallTime) // parts of commits in several ranges too
	}
}

// Stats counts what a replica has done.
type Stats struct {
	Gets, Scans, Locks, LockWaits, Commits, Refreshes, RefreshFailures atomic.Int64
	Collected                                                          atomic.Int64
	// ClosedReads counts follower reads, ClosedLocked those refused because of a durable lock.
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
