package dist

import (
	"context"
	"errors"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
)

// errSplitMeanwhile says that a commit without an answer can't be sent again, because its keys are now in
// several ranges.
var errSplitMeanwhile = errors.New("the range was split before the commit was answered")

// Commit implements kvpb.Sender. It is a one-phase commit if one range holds all keys that the transaction
// has written and locked and, at SERIALIZABLE, read. Otherwise it is a parallel commit. Commit sets
// req.AllReadsHere and req.Resent.
func (d *Router) Commit(ctx context.Context, req *kvpb.CommitRequest, resp *kvpb.CommitResponse) error {
	defer must.Report(d.cfg.OnFatal)
	key := commitKey(req)
	if key == nil {
		return errors.New("dist: a commit without keys")
	}
	r := retry{commit: true}
	for {
		t, err := d.find(ctx, key, &r)
		if err == nil {
			req.AllReadsHere = holdsSpans(t.desc, req.Reads)
			if !req.AllReadsHere || !fits(t.desc, req) {
				if r.unknown {
					return r.giveUp(errSplitMeanwhile)
				}
				if req.Ingest {
					return &kvpb.SeveralRangesError{Next: t.desc.EndKey}
				}
				return d.commitParallel(ctx, req, resp)
			}
			req.Resent = r.unknown
			req.RenewDeadline()
			if err = t.Commit(ctx, req, resp); err == nil {
				return nil
			}
		}
		if err = r.next(ctx, d, t, key, err); err != nil {
			return err
		}
	}
}

// commitKey returns a key of the range that a one-phase commit goes to.
func commitKey(req *kvpb.CommitRequest) []byte {
	switch {
	case len(req.Writes) > 0:
		return req.Writes[0].Key
	case req.Spilled:
		return req.Anchor
	case len(req.Locks) > 0:
		return req.Locks[0]
	}
	return nil
}

// fits reports whether all keys that a commit writes or has locked lie in a range.
func fits(desc *kvpb.RangeDescriptor, req *kvpb.CommitRequest) bool {
	if n := len(req.Writes); n > 0 { // sorted: the first and the last decide
		if !desc.ContainsKey(req.Writes[0].Key) || !desc.ContainsKey(req.Writes[n-1].Key) {
			return false
		}
	}
	if req.Spilled && (!desc.ContainsKey(req.Anchor) || len(req.SpillSpan.Key) > 0 && !holdsSpan(desc, req.SpillSpan)) {
		return false
	}
	return holdsKeys(desc, req.Locks)
}
