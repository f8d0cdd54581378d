package balance

import (
	"time"

	"github.com/lichendb/lichen/internal/balance/placement"
)

// Options limit and pace a queue. Zero fields get their defaults.
type Options struct {
	Placement placement.Params
	// MaxChanges limits membership changes, splits and merges in progress,
	// MaxTransfers transfers of leadership. Of moves of replicas that can
	// wait only one is in progress.
	MaxChanges, MaxTransfers int
	// SnapshotRate is the budget for copying replicas, in bytes per second.
	SnapshotRate int64
	// MoveInterval is the least time between two moves of replicas for balance, LeaveInterval
	// that between two which empty a node or do what the configuration asks. After one
	// that took long, as on machines that are busy, the interval is as long as it took, or
	// twice that for balance. TransferInterval is the time between two transfers for
	// balance, MergeInterval between two merges or attempts.
	MoveInterval, LeaveInterval, TransferInterval, MergeInterval time.Duration
	// ScanBusy is the time between scans while there is something to do, ScanIdle
	// while there is not.
	ScanBusy, ScanIdle time.Duration
	// BackoffMin and BackoffMax bound the wait after a failure.
	BackoffMin, BackoffMax time.Duration
	// TaskTimeout bounds one task.
	TaskTimeout time.Duration
	// SplitQPS is the load above which a range is split, LoadWindow how long its
	// requests are sampled for it. Ranges that together serve less than MergeQPS may
	// be merged; it is at most a quarter of SplitQPS.
	SplitQPS, MergeQPS float64
	LoadWindow         time.Duration
	// MergeAfter is how long a range must be led here unchanged before it is merged,
	// and how long it is left alone when it turned out that it can't be.
	MergeAfter time.Duration
	// NoMerge: nothing is merged.
	NoMerge bool
	// Seed draws the chances; two nodes should differ.
	Seed uint64
}

// Limits that are not worth a setting.
const (
	leaveFactor    = 1                // wait after a move that is not urgent, as a multiple of its time
	moveFactor     = 2                // the same for balance
	snapshotBurst  = 10 * time.Second // of SnapshotRate that may be saved up
	overlayMaxAge  = time.Minute      // a measurement older than this is not corrected
	maxShownTasks  = 32               // in Status
	mergeQPSShare  = 0.25
	minRescan      = 100 * time.Millisecond
	idleFrom       = 256 // ranges that a node leads: of fewer, every ScanIdle brings a scan
	idleScans      = 6   // of an idle cluster one scan in so many is made
	defaultSizeMax = 512 << 20
	defaultSizeMin = 128 << 20
)

func (o *Options) fill() {
	if o.Placement == (placement.Params{}) {
		o.Placement = placement.DefaultParams()
	}
	orInt(&o.MaxChanges, 2)
	orInt(&o.MaxTransfers, 8)
	orInt(&o.SnapshotRate, 32<<20)
	orInt(&o.MoveInterval, time.Second)
	orInt(&o.LeaveInterval, 300*time.Millisecond)
	orInt(&o.TransferInterval, 100*time.Millisecond)
	orInt(&o.MergeInterval, 200*time.Millisecond)
	orInt(&o.ScanBusy, time.Second)
	orInt(&o.ScanIdle, 10*time.Second)
	orInt(&o.BackoffMin, time.Second)
	orInt(&o.BackoffMax, 2*time.Minute)
	orInt(&o.TaskTimeout, 5*time.Minute)
	orInt(&o.SplitQPS, 2500)
	orInt(&o.LoadWindow, 10*time.Second)
	orInt(&o.MergeAfter, 5*time.Minute)
	orInt(&o.MergeQPS, mergeQPSShare*o.SplitQPS)
	o.MergeQPS = min(o.MergeQPS, mergeQPSShare*o.SplitQPS)
}

func orInt[T ~int | ~int64 | ~float64](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}
