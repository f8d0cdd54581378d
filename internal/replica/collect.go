package replica

import (
	"context"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

const (
	// inlineEvery is how often a write looks for old versions of its key: what it
	// finds then pays for the writes that did not look.
	inlineEvery = 16
	// inlineWrites bounds the writes of one commit that look.
	inlineWrites = 64
	// collectVersions bounds the versions one command of the queue drops.
	collectVersions = 2000
	// collectBytes bounds the bytes that one command of the queue gives back.
	collectBytes = 4 << 20
)

// collectInline adds to a commit the garbage of the keys that it writes. It
// stays below the replicated threshold, so that a read that would miss a version
// fails.
func (r *Replica) collectInline(b *apply.Builder, writes []kvpb.Write) {
	th := *r.threshold.Load()
	if th.IsEmpty() || r.stats.Commits.Load()%inlineEvery != 0 {
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

// CollectGarbage raises the range's collection threshold to below and drops the
// versions that nobody can read any more. A read at an older timestamp fails
// from then on: the threshold is raised before anything is dropped (R8).
func (r *Replica) CollectGarbage(ctx context.Context, below hlc.Timestamp) error {
	if ts := r.spills.oldestUndecided(); !ts.IsEmpty() {
		below = below.Min(ts) // what an abort would lay bare again stays
	}
	if th := *r.threshold.Load(); !th.Less(below) || r.lastWrite.Load() < th.WallTime {
		return nil
	}
	if err := r.raiseThreshold(below); err != nil {
		return err
	}
	span := keys.Span{Start: r.Desc().StartKey, End: r.Desc().EndKey}
	limits := mvcc.GCLimits{MaxVersions: collectVersions, MaxBytes: collectBytes}
	for {
		refs, resume, _, err := mvcc.ScanGarbage(ctx, r.deps.Engine, span, below, limits)
		if err != nil {
			return err
		}
		if err := r.drop(refs); err != nil {
			return err
		}
		if resume == nil {
			return nil
		}
		span.Start = resume
	}
}

func (r *Replica) raiseThreshold(ts hlc.Timestamp) error {
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, hlc.Timestamp{})
	b.RaiseThreshold(ts)
	// Readers must see the new threshold before the first version is gone.
	r.threshold.Store(&ts)
	return r.proposeNow(b.Bytes())
}

func (r *Replica) drop(refs []mvcc.VersionRef) error {
	if len(refs) == 0 {
		return nil
	}
	if err := r.deps.AdmitWrite(); err != nil {
		return err
	}
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, hlc.Timestamp{})
	for _, v := range refs {
		b.Collect(v.Key, v.Garbage)
	}
	r.stats.Collected.Add(int64(len(refs)))
	return r.proposeNow(b.Bytes())
}

// ClearSpan drops all versions of all keys in [start, end), which lies in the
// range and which no transaction can read any more.
func (r *Replica) ClearSpan(start, end []byte) error {
	if err := r.deps.AdmitWrite(); err != nil {
		return err
	}
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, hlc.Timestamp{})
	b.ClearSpan(start, end)
	return r.proposeNow(b.Bytes())
}
