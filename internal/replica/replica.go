package replica

import (
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/storage"
	"go.etcd.io/raft/v3"
)

// MaxLocks bounds the locks held in one range; beyond it new ones are refused.
const MaxLocks = 4 << 20

// Deps is what a replica needs of its store.
type Deps struct {
	Engine *storage.Engine
	Log    *raftlog.Log
	Clock  *hlc.Clock
	Logger *slog.Logger
	// AdmitWrite returns an error while the store can't take writes (disk full).
	AdmitWrite func() error
	// Waits is the graph of transactions waiting for one another on this node.
	Waits *concurrency.WaitGraph
}

func (d *Deps) raftLogger() raft.Logger { return raftLogger{d.Logger} }

// Replica is this store's replica of one range. It serves requests as the
// range's leader (implementing kvpb.Sender) and takes part in its raft group.
type Replica struct {
	deps      Deps
	desc      *kvpb.RangeDescriptor
	replicaID kvpb.ReplicaID

	group   *group
	locks   *concurrency.LockTable
	commits *concurrency.Commits
	reads   *concurrency.TimestampCache
	spills  spills

	// epoch identifies this leadership: locks are lost with it (invariant R6).
	epoch uint64
	// threshold mirrors the replicated collection threshold.
	threshold atomic.Pointer[hlc.Timestamp]
	applied   atomic.Uint64
	stats     Stats
	// lastWrite is the wall time of the newest commit: once the collection
	// threshold has passed it, nothing is left to collect.
	lastWrite atomic.Int64
}

var _ kvpb.Sender = (*Replica)(nil)

// New returns a replica in the state that the engine and the log hold; Start
// makes it serve.
func New(deps Deps, desc *kvpb.RangeDescriptor, id kvpb.ReplicaID) (*Replica, error) {
	r := &Replica{
		deps: deps, desc: desc, replicaID: id,
		locks:   concurrency.NewLockTable(MaxLocks),
		commits: concurrency.NewCommits(),
		reads:   concurrency.NewTimestampCache(concurrency.TimestampCacheOptions{}, hlc.Timestamp{}),
	}
	st, ok := deps.Log.State(raftlog.GroupID(desc.RangeID))
	if !ok {
		return nil, fmt.Errorf("range %d: its log is missing", desc.RangeID)
	}
	applied, err := apply.LoadState(deps.Engine, desc.RangeID)
	if err != nil {
		return nil, err
	}
	r.applied.Store(applied.Index)
	th, err := apply.LoadThreshold(deps.Engine, desc.RangeID)
	if err != nil {
		return nil, err
	}
	r.threshold.Store(&th)
	r.group, err = newGroup(r, st, applied)
	return r, err
}

// Start makes the replica the leader of its range, replaying its log. Reads
// served by an earlier leadership are below lease, which becomes the low-water
// mark of the timestamp cache.
func (r *Replica) Start() error {
	if err := r.group.campaign(); err != nil {
		return err
	}
	r.epoch = r.group.rn.BasicStatus().GetTerm()
	th, err := apply.LoadThreshold(r.deps.Engine, r.desc.RangeID)
	if err != nil {
		return err
	}
	r.threshold.Store(&th)
	now := r.deps.Clock.Now()
	r.lastWrite.Store(now.WallTime)
	r.reads.RaiseLowWater(now)
	return r.loadSpills()
}

// Stop refuses further writes and waits for those under way.
func (r *Replica) Stop() {
	r.group.stop(errStopped)
	r.group.idle()
	r.spills.wg.Wait()
}

// Desc returns the range's descriptor.
func (r *Replica) Desc() *kvpb.RangeDescriptor { return r.desc }

// AppliedIndex returns the index of the last entry applied.
func (r *Replica) AppliedIndex() uint64 { return r.applied.Load() }

// Threshold returns the range's collection threshold.
func (r *Replica) Threshold() hlc.Timestamp { return *r.threshold.Load() }

// Stats returns the replica's counters.
func (r *Replica) Stats() *Stats { return &r.stats }

// Locks returns the lock table, for views of it.
func (r *Replica) Locks() *concurrency.LockTable { return r.locks }

func (r *Replica) noteApplied(st apply.State) { r.applied.Store(st.Index) }

// Stats counts what a replica has done.
type Stats struct {
	Gets, Scans, Locks, LockWaits, Commits, Refreshes, RefreshFailures atomic.Int64
	Collected                                                          atomic.Int64
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
