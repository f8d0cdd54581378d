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
}

// Nest interrupts the current statement for others, which begin with BeginStatement, or read in its snapshot if they
// do not. Values that it has read stay as they are. Unnest continues it.
func (t *Txn) Nest() Outer {
	o := Outer{
		snapshot: t.Snapshot(), uncertain: t.meta.UncertainTS, certain: t.certain, renewals: t.renewals,
		responses: responses{t.getResp, t.lockResp, t.page},
	}
	if len(t.observed) > 0 {
		o.observed = append(o.observed, t.observed...)
	}
	t.getResp, t.lockResp, t.page = t.spare.get, t.spare.lock, t.spare.page
	t.spare = responses{}
	return o
}

// Unnest continues the statement that Nest has interrupted.
func (t *Txn) Unnest(o Outer) {
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

// RanWithin reports whether statements have run within the current one.
func (t *Txn) RanWithin() bool { return t.newest != t.seq }

// WrittenWithin reports whether a statement that ran within the current one has written a key, which the current one
// has not.
func (t *Txn) WrittenWithin(ctx context.Context, key []byte) (bool, error) {
	if _, _, seq, ok := t.buf.Get(key, math.MaxInt32); ok || t.state != spilled {
		return ok && seq > t.seq, nil
	}
	_, self, ok, err := t.getSpilled(ctx, key, math.MaxInt32)
	return ok && self, err
}
