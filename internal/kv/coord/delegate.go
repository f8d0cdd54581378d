package coord

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
)

// Delegated is a read that another node does for a transaction. The transaction goes on meanwhile, and records
// the read only in Finish.
type Delegated struct {
	txn     *Txn
	meta    kvpb.TxnMeta
	seq     int32 // the statement that reads
	cancel  context.CancelFunc
	done    chan struct{}
	result  DelegatedRead
	err     error
	dropped bool
}

// DelegatedRead is what another node has read for a transaction.
type DelegatedRead struct {
	// Spans were read to their ends, whatever of them was handed on. They are sorted and disjoint.
	Spans []kvpb.Span
	// Observed are the first readings of leaders' clocks.
	Observed []kvpb.Observation
	// Traffic is how many bytes the request and its answer took between nodes.
	Traffic int
	// Entries is how many entries were read.
	Entries int64
}

// Delegate calls read on a new goroutine, in the transaction's snapshot. It returns nil if the transaction has writes, which other nodes don't know, or checks a constraint.
// Finish or Abandon must be called.
func (t *Txn) Delegate(ctx context.Context, read func(context.Context, kvpb.TxnMeta, []kvpb.Observation) (DelegatedRead, error)) *Delegated {
	if t.state != active || t.HasWrites() || t.check.active {
		return nil
	}
	d := &Delegated{txn: t, meta: t.meta, seq: t.seq, done: make(chan struct{})}
	ctx, d.cancel = context.WithCancel(ctx)
	t.delegated = append(t.delegated, d)
	observed := slices.Clone(t.observed)
	go func() {
		defer close(d.done)
		d.result, d.err = read(ctx, d.meta, observed)
	}()
	return d
}

// Meta returns what requests say of the transaction.
func (t *Txn) Meta() kvpb.TxnMeta { return t.meta }

// Abandon ends the read; nothing is recorded.
func (d *Delegated) Abandon() {
	d.cancel()
	d.end()
}

// end waits for the goroutine.
func (d *Delegated) end() {
	<-d.done
	d.cancel()
	t := d.txn
	t.delegated = slices.DeleteFunc(t.delegated, func(o *Delegated) bool { return o == d })
}

// dropDelegated ends all delegated reads before a spill, whose versions they could meet: Finish reports that they
// must be done anew.
func (t *Txn) dropDelegated() {
	for _, d := range t.delegated {
		d.dropped = true
		d.cancel()
		<-d.done
	}
}

// Finish waits for the read and records it. It returns false without an error if the read must be done anew, since the
// snapshot is another by now: the transaction has refreshed its reads, perhaps just now because this read met a version
// of uncertain time. attempt is how often the read has been done before without success.
func (d *Delegated) Finish(ctx context.Context, attempt int) (ok bool, err error) {
	d.end()
	t := d.txn
	switch {
	case d.dropped || (d.meta != t.meta || d.seq != t.seq) && !plant.On(plant.DelegateLate):
		return false, nil
	case d.err != nil:
		return false, t.settleUncertainty(ctx, d.err, attempt)
	}
	t.traffic += int64(d.result.Traffic)
	t.read += d.result.Entries
	t.noteRead(hlc.Timestamp{}, kvpb.Observation{})
	for _, o := range d.result.Observed {
		t.observe(o)
	}
	if t.remembersReads() && len(d.result.Spans) > 0 && !plant.On(plant.DelegateUnrecorded) {
		_, end := kvpb.Bounds(d.result.Spans)
		t.rememberSpans(d.result.Spans, end)
	}
	return true, nil
}
