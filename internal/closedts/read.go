package closedts

import (
	"bytes"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
)

// Read decides whether a replica that does not lead its range answers a read: every version that the read may
// have to return must be applied in the state of the engine that it sees.
//
//	Begin ──► open the engine's state ──► State ──► Lock, for each durable lock ──► read ──► End
//
// Each step says whether to go on.
//
// A read with an uncertainty interval is answered only if it may move to the end of the interval: a replica
// that does not lead can't tell whether a version in between was committed before the transaction began.
type Read struct {
	at     hlc.Timestamp // at which versions are read
	stays  bool          // versions above at are uncertain, and the read may not move past them
	bounds *kvpb.RangeDescriptor
}

// Verdict says how a Read continues.
type Verdict uint8

// The verdicts.
const (
	GoOn        Verdict = iota
	AskLeader           // the leader has to answer it
	WrongBounds         // the range does not hold all of its spans
	TooOld              // versions that it may need are collected
)

// NewRead returns the decision about a transaction's read. mayMove says that the transaction has read nothing in
// its snapshot yet, so that the read may move.
func NewRead(t *kvpb.TxnMeta, mayMove bool) Read {
	switch {
	case !t.ReadTS.Less(t.UncertainTS) || plant.On(plant.FollowerUncertain):
		return Read{at: t.ReadTS}
	case mayMove:
		return Read{at: t.UncertainTS}
	}
	return Read{at: t.UncertainTS, stays: true}
}

// At returns the timestamp at which versions are read.
func (r *Read) At() hlc.Timestamp { return r.at }

// Begin checks the timestamp that is closed at the applied index, and the bounds of the range.
func (r *Read) Begin(closed hlc.Timestamp, d *kvpb.RangeDescriptor, spans []kvpb.Span) Verdict {
	r.bounds = d
	if r.stays || !r.closed(closed) {
		return AskLeader
	}
	for _, s := range spans {
		if !d.ContainsKey(s.Key) || len(s.EndKey) > 0 && bytes.Compare(s.EndKey, d.EndKey) > 0 {
			return WrongBounds
		}
	}
	return GoOn
}

// State checks the timestamp that is closed at the index of the engine's state. The index is lower than in Begin
// if the replica was removed since, or created again. exists is false if the engine has no state of it.
func (r *Read) State(closed hlc.Timestamp, exists bool) Verdict {
	if !exists || !r.closed(closed) {
		return AskLeader
	}
	return GoOn
}

func (r *Read) closed(closed hlc.Timestamp) bool {
	return r.at.LessEq(closed) || plant.On(plant.FollowerAboveClosed)
}

// Lock checks the timestamp of a durable lock in the spans. Only the leader can find out the outcome of the
// lock's transaction.
func (r *Read) Lock(ts hlc.Timestamp) Verdict {
	if ts.LessEq(r.at) {
		return AskLeader
	}
	return GoOn
}

// End checks that the bounds have not changed during the read, and the collection threshold of the engine's state.
func (r *Read) End(d *kvpb.RangeDescriptor, threshold hlc.Timestamp) Verdict {
	switch {
	case d != r.bounds && d.BoundsGen != r.bounds.BoundsGen:
		return WrongBounds
	case r.at.Less(threshold):
		return TooOld
	}
	return GoOn
}
