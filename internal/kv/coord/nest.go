package coord

import (
	"context"
	"math"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// responses are those that the transaction's reads use again and again.
type responses struct {
	get  kvpb.GetResponse
	lock kvpb.LockResponse
	page kvpb.ScanResponse
}

// Outer is the state of a statement while another one runs within it.
type Outer struct {
	snapshot  Snapshot
	uncertain hlc.Timestamp
	certain   hlc.Timestamp
	observed  []kvpb.Observation
	renewals  uint8
	responses responses
	// writes is how many the transaction had made, wrote whether some of them were made within the statement.
	writes int
	wrote  bool
}

// Nest interrupts the current statement for others, which begin with BeginStatement, or read in its snapshot if they
// do not. Values that it has read stay as they are. Unnest continues it.
func (t *Txn) Nest() Outer {
	o := Outer{
		snapshot: t.Snapshot(), uncertain: t.meta.UncertainTS, certain: t.certain, renewals: t.renewals,
		responses: responses{t.getResp, t.lockResp, t.page}, writes: t.spill.base + t.buf.Len(), wrote: t.wroteWithin,
	}
	t.wroteWithin = false
	if len(t.observed) > 0 {
		o.observed = append(o.observed, t.observed...)
	}
	t.getResp, t.lockResp, t.page = t.spare.get, t.spare.lock, t.spare.page
	t.spare = responses{}
	return o
}

// Unnest continues the statement that Nest has interrupted.
func (t *Txn) Unnest(o Outer) {
	t.wroteWithin = o.wrote || t.spill.base+t.buf.Len() != o.writes
	t.spare = responses{t.getResp, t.lockResp, t.page}
	t.getResp, t.lockResp, t.page = o.responses.get, o.responses.lock, o.responses.page
	if t.state != active && t.state != spilled {
		return // it has ended
	}
	t.Use(o.snapshot)
	if t.opts.Isolation == kvpb.ReadCommitted {
		t.meta.UncertainTS = o.uncertain
		t.observed = append(t.observed[:0], o.observed...)
	}
	t.certain, t.renewals = o.certain, o.renewals
}

// WroteWithin reports whether statements that ran within the current one have written something.
func (t *Txn) WroteWithin() bool { return t.wroteWithin }

// WrittenWithin reports whether one of them has written a key last. known is false if such a write may have been
// spilled.
func (t *Txn) WrittenWithin(key []byte) (written, known bool) {
	_, _, seq, ok := t.buf.Get(key, math.MaxInt32)
	return ok && seq > t.seq, ok || t.state != spilled
}

// SpilledWithin reports whether a write of a key, by the current statement or one within it, has been spilled.
func (t *Txn) SpilledWithin(ctx context.Context, key []byte) (bool, error) {
	if t.state != spilled {
		return false, nil
	}
	_, self, _, err := t.getSpilled(ctx, key, math.MaxInt32)
	return self, err
}
