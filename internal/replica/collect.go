package replica

import (
	"bytes"
	"context"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/raftgroup"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

const (
	// One commit in inlineEvery looks for old versions of its keys. The lookup is too expensive for each
	// commit, and one finds the garbage of all.
	inlineEvery = 16
	// inlineWrites bounds the keys of one commit that are looked up.
	inlineWrites = 64
	// collectVersions bounds the versions that one command of CollectGarbage drops.
	collectVersions = 2000
	// collectBytes bounds the bytes that one command of CollectGarbage reclaims.
	collectBytes = 4 << 20
)

// collectInline adds the garbage of a commit's keys to its command. It stays below the threshold that
// is already in the log, so that a read that would miss a version fails, under the next leader too.
// While the range has intents it leaves the garbage to CollectGarbage.
func (r *Replica) collectInline(b *apply.Builder, writes []kvpb.Write) {
	th := r.appliedThreshold()
	if plant.On(plant.CollectAboveReaders) { // readers do not notice that a version is gone
		th = r.deps.Clock.Now()
	}
	if th.IsEmpty() || r.stats.Commits.Load()%inlineEvery != 0 || !r.intents.Empty() {
		return
	}
	var scratch [mvcc.MaxInlineGarbage]mvcc.Garbage
	for i := range writes[:min(len(writes), inlineWrites)] {
		found, err := mvcc.CollectInline(r.deps.Engine, writes[i].Key, th, scratch[:0])
		if err != nil {
			return // a damaged block: the next read of the key reports it
		}
		for _, g := range found {
			b.Collect(writes[i].Key, g)
		}
		r.stats.Collected.Add(int64(len(found)))
	}
}

// gcProgress is the progress of CollectGarbage, in values of lastWrite.
type gcProgress struct {
	seen  atomic.Int64 // lastWrite at the previous call
	clean atomic.Int64 // lastWrite when no garbage was left
}

// begin starts over under a new leadership, which does not know of earlier writes.
func (s *gcProgress) begin(now int64) {
	s.seen.Store(now)
	s.clean.Store(0)
}

// CollectGarbage raises the range's collection threshold to below and then drops the versions that no
// read above it can see (invariant 3). Reads below the threshold fail from then on.
//
// After its last write a range is scanned once more, when all garbage of its writes lies below the
// threshold; afterwards a call costs nothing.
func (r *Replica) CollectGarbage(ctx context.Context, below hlc.Timestamp) error {
	last := r.lastWrite.Load()
	if th := r.appliedThreshold(); !th.Less(below) || r.gc.clean.Load() == last {
		return nil
	}
	idle := r.gc.seen.Swap(last) == last
	if idle && below.WallTime <= last {
		return nil
	}
	d := r.Desc()
	if d.Into != 0 {
		return nil // frozen: there is a next time
	}
	fence, err := r.admitWrite(ctx)
	if err != nil {
		return err
	}
	span := keys.Span{Start: d.StartKey, End: d.EndKey}
	if idle {
		refs, _, _, err := mvcc.ScanGarbage(ctx, r.deps.Engine, span, below, mvcc.GCLimits{MaxVersions: 1, MaxBytes: collectBytes})
		if err != nil {
			return err
		}
		if len(refs) == 0 {
			r.gc.clean.Store(last)
			return nil
		}
	}
	all, err := r.collect(ctx, fence, span, below)
	if err != nil {
		return err
	}
	if idle && all {
		r.gc.clean.Store(last)
	}
	return nil
}

// collect drops the garbage below a threshold. Under another leadership or other bounds than those of fence it
// has no effect: garbage found within other bounds may belong to another range. all is false if intents kept
// the threshold lower than wanted.
func (r *Replica) collect(ctx context.Context, fence raftgroup.Fence, span keys.Span, wanted hlc.Timestamp) (all bool, err error) {
	below := r.intents.Protect(wanted)
	if !r.appliedThreshold().Less(below) {
		return false, nil
	}
	if err := r.raiseThreshold(fence, below); err != nil {
		return false, err
	}
	r.intents.MustLieAbove(below)
	limits := mvcc.GCLimits{MaxVersions: collectVersions, MaxBytes: collectBytes}
	for {
		refs, resume, _, err := mvcc.ScanGarbage(ctx, r.deps.Engine, span, below, limits)
		if err != nil {
			return false, err
		}
		if err := r.drop(fence, refs); err != nil {
			return false, err
		}
		if resume == nil {
			return below == wanted, nil
		}
		span.Start = resume
	}
}

func (r *Replica) raiseThreshold(fence raftgroup.Fence, ts hlc.Timestamp) error {
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, hlc.Timestamp{})
	b.RaiseThreshold(ts)
	return r.group.Propose(fence, b.Bytes())
}

func (r *Replica) drop(fence raftgroup.Fence, refs []mvcc.VersionRef) error {
	if len(refs) == 0 {
		return nil
	}
	if err := r.deps.AdmitWrite(); err != nil {
		return err
	}
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, hlc.Timestamp{})
	for _, v := range refs {
		b.Collect(v.Key, mvcc.Garbage{TS: v.TS}) // without a size: after large statements they lie side by side
	}
	r.stats.Collected.Add(int64(len(refs)))
	return r.group.Propose(fence, b.Bytes())
}

// ClearSpan drops all versions of all keys in [start, end). The span must lie in the range, and no
// transaction may be able to read it.
func (r *Replica) ClearSpan(start, end []byte) error {
	return r.ClearWithin(context.Background(), start, end)
}

// Trim frees memory that was not used since the last call.
func (r *Replica) Trim() {
	r.reads.Shrink()
	r.feeds.Expire()
	r.finished.Trim(r.deps.Clock.PhysicalNow())
}

// ClearWithin is ClearSpan with a context. It fails if the span is not within the range.
func (r *Replica) ClearWithin(ctx context.Context, start, end []byte) error {
	if err := r.deps.AdmitWrite(); err != nil {
		return err
	}
	fence, err := r.admitWrite(ctx, start)
	if err != nil {
		return err
	}
	if d := r.Desc(); d.BoundsGen != fence.BoundsGen || bytes.Compare(end, d.EndKey) > 0 {
		return r.mismatch()
	}
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, hlc.Timestamp{})
	b.ClearSpan(start, end)
	return r.group.Propose(fence, b.Bytes())
}
