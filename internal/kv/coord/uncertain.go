package coord

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sleep"
)

// maxUncertain bounds how often one read begins anew because a version may have been committed
// before the transaction began. Each time the read timestamp rises and the uncertainty limit stays.
const maxUncertain = 10

// maxObserved bounds the clock readings that a transaction keeps, since its requests carry them.
const maxObserved = 16

// newSnapshot makes ts the snapshot of a transaction that begins, or of a statement at READ
// COMMITTED. Nothing has been read in it. Versions above it by up to the maximum clock offset are
// uncertain: gateways with faster clocks may have committed them before.
func (t *Txn) newSnapshot(ts hlc.Timestamp) {
	t.setReadTS(ts)
	t.hasRead = false
	if off := t.env.MaxOffset; off > 0 {
		t.meta.UncertainTS = hlc.Timestamp{WallTime: ts.WallTime + int64(off)}
		t.observed = t.observed[:0]
		t.observe(kvpb.Observation{Node: t.meta.ID.Gateway(), TS: ts})
	}
}

// ObserveClocks reads other nodes' clocks before the first statement of a transaction block. Once a block
// has answered statements it can't be run again after a conflict, so it should find few uncertain
// versions. With the readings, commits of those nodes after the snapshot are certainly later.
// Without them, commits between the snapshot and the first read on a node would be uncertain.
func (t *Txn) ObserveClocks(ctx context.Context) {
	if t.state != idle || t.env.Clocks == nil || t.opts.Isolation == kvpb.ReadCommitted || !t.opts.AsOf.IsEmpty() {
		return
	}
	t.clocks = t.env.Clocks(ctx, t.clocks[:0])
}

// observe records the first reading of a node's clock since the snapshot began.
func (t *Txn) observe(o kvpb.Observation) {
	known := func(k kvpb.Observation) bool { return k.Node == o.Node }
	if o.Node == 0 || len(t.observed) >= maxObserved || slices.ContainsFunc(t.observed, known) {
		return
	}
	t.observed = append(t.observed, o)
}

// Uncertain reports whether a read of the present statement may still find an uncertain version,
// and so begin anew.
func (t *Txn) Uncertain() bool {
	return t.state != idle && t.meta.ReadTS.Less(t.meta.UncertainTS) && t.opts.AsOf.IsEmpty()
}

// WaitOutUncertainty ends the uncertainty of the snapshot, so that no later read conflicts. It waits until the
// clock has passed the uncertainty limit, and moves the snapshot there if all reads are unchanged.
// If they have changed or were not recorded, it returns the error with which the statement is run
// again.
func (t *Txn) WaitOutUncertainty(ctx context.Context) error {
	limit := t.meta.UncertainTS
	if !t.Uncertain() {
		return nil
	}
	now := t.env.Clock.Now()
	for now.Less(limit) {
		if err := sleep.For(ctx, time.Duration(limit.WallTime-now.WallTime+1)); err != nil {
			return err
		}
		now = t.env.Clock.Now()
	}
	if t.hasRead && !t.remembersReads() {
		return &kvpb.RetryError{Reason: "read within the uncertainty of the clocks"}
	}
	return t.refresh(ctx, now)
}

// maxSnapshotAge is the age of a snapshot up to which ranges accept commits at it; later it is
// closed.
const maxSnapshotAge = kvpb.ClosedLag - kvpb.ClosedEvery

// renewSnapshot moves a snapshot that the ranges are about to close to the present, if all reads
// are unchanged there: the transaction could only commit there. If they are not, the statement
// fails now, early, rather than at the commit. The time until the next renewal doubles. A node by itself
// closes only what feeds read.
func (t *Txn) renewSnapshot(ctx context.Context) error {
	if t.env.MaxOffset == 0 {
		return nil
	}
	if t.opts.Isolation != kvpb.Serializable || !t.hasRead || !t.remembersReads() {
		return nil
	}
	if age := t.env.Clock.Reading().WallTime - t.meta.ReadTS.WallTime; age < int64(maxSnapshotAge)<<t.renewals {
		return nil
	}
	t.renewals = min(t.renewals+1, maxRenewals)
	return t.refresh(ctx, t.env.Clock.Now())
}

// maxRenewals bounds how often the time between two renewals of a snapshot doubles.
const maxRenewals uint8 = 10

func (t *Txn) setReadTS(ts hlc.Timestamp) { t.meta.ReadTS = ts }

// mayMove reports whether nothing has been read in the snapshot, so that a range may choose a later
// read timestamp.
func (t *Txn) mayMove() bool { return !t.hasRead && t.env.MaxOffset > 0 && t.opts.AsOf.IsEmpty() }

// noteRead records that something was read, at the read timestamp or at moved if the range chose
// that, and the leader's clock reading.
func (t *Txn) noteRead(moved hlc.Timestamp, o kvpb.Observation) {
	t.observe(o)
	if !moved.IsEmpty() {
		t.setReadTS(moved)
		t.moved = true
	}
	t.hasRead = true
}

// getStored reads a key's stored value into t.getResp.
func (t *Txn) getStored(ctx context.Context, key []byte) error {
	t.getReq.Key = key
	for n := 0; ; n++ {
		t.getReq.MayMove, t.getReq.Observed = t.mayMove(), t.observed
		within, span := traced(ctx, "get", key, nil)
		err := t.env.Sender.Get(within, &t.getReq, &t.getResp)
		answered(span, oneIf(t.getResp.Found), err)
		if err == nil {
			break
		}
		if err = t.settleUncertainty(ctx, err, n); err != nil {
			return err
		}
	}
	t.noteRead(t.getResp.ReadTS, t.getResp.Observed)
	if t.remembersReads() {
		t.reads.AddKey(key)
	}
	return nil
}

// scanStored reads a page of stored rows.
func (t *Txn) scanStored(ctx context.Context, page *kvpb.ScanResponse) error {
	for n := 0; ; n++ {
		page.Reset()
		t.scanReq.MayMove, t.scanReq.Observed = t.mayMove(), t.observed
		within, span := traced(ctx, "scan", t.scanReq.Start, t.scanReq.End)
		err := t.env.Sender.Scan(within, &t.scanReq, page)
		answered(span, page.Len(), err)
		if err == nil {
			break
		}
		if err = t.settleUncertainty(ctx, err, n); err != nil {
			return err
		}
	}
	t.noteRead(page.ReadTS, page.Observed)
	t.traffic += int64(page.Traffic)
	t.read += int64(page.Len())
	return nil
}

func oneIf(on bool) int {
	if on {
		return 1
	}
	return 0
}

// settleUncertainty moves the snapshot past an uncertain version if all reads are unchanged there.
// Then the read that found the version begins anew.
func (t *Txn) settleUncertainty(ctx context.Context, err error, attempt int) error {
	var u *kvpb.UncertaintyError
	if !errors.As(err, &u) || attempt >= maxUncertain {
		return err
	}
	if t.hasRead && !t.remembersReads() {
		return &kvpb.RetryError{Reason: "read within the uncertainty of the clocks", Key: u.Key}
	}
	t.observe(kvpb.Observation{Node: u.Node, TS: u.TS})
	defer func() { t.moved = true }()
	err = t.refresh(ctx, u.TS)
	if err != nil && kvpb.Classify(err) == kvpb.ClassRetry && t.meta.ReadTS.Less(u.Least) && u.Least.Less(u.TS) {
		return t.refresh(ctx, u.Least) // the change that prevents the refresh may lie above u.Least
	}
	return err
}
