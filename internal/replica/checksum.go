package replica

import (
	"context"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/checksum"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/snapshot"
)

// AskChecksums makes all replicas of the range compute a checksum at the same index. This replica must lead.
// Each replica keeps the result for its Checksum.
func (r *Replica) AskChecksums(ctx context.Context, id apply.CheckID) error {
	fence, err := r.admitWrite(ctx)
	if err != nil {
		return err
	}
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, hlc.Timestamp{})
	b.Check(id)
	return r.group.Propose(fence, b.Bytes())
}

// Checksum waits for the checksum that AskChecksums requested under an id.
func (r *Replica) Checksum(ctx context.Context, id apply.CheckID) (checksum.Checksum, error) {
	return r.checks.Wait(ctx, id)
}

// beginCheck computes the checksum of the present state, after the entry that requests it. While the engine
// may hold tables of later entries it does nothing: nobody waits for so old a request any more.
func (g *group) beginCheck(id apply.CheckID) {
	if g.recovering() {
		return
	}
	if c := g.r.checks.Begin(id); c != nil {
		c.Compute(g.checksumState(), g.r.deps.CheckSlots, g.r.deps.OnFatal)
	}
}

// checksumState returns what replicas must agree on: data, locks, transaction records, descriptor and
// collection threshold.
func (g *group) checksumState() checksum.State {
	id, st := uint64(g.r.id), g.applier.State()
	return checksum.State{
		Engine: g.r.deps.Engine, Index: st.Index, Term: st.Term,
		Keys: [][]byte{keys.RangeDescriptor(id), keys.RangeGCThreshold(id)}, Spans: snapshot.DataSpans(g.r.Desc()),
	}
}
