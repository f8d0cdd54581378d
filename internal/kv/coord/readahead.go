package coord

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/kvpb"
)

// ReadAhead is a page of a scan that another goroutine reads while its transaction goes on. The
// goroutine has copies of all it needs of the transaction, which records the read only in Finish.
type ReadAhead struct {
	txn      *Txn
	meta     kvpb.TxnMeta
	seq      int32 // the statement that reads
	observed []kvpb.Observation
	spans    []kvpb.Span
	opts     ScanOptions
	page     *kvpb.ScanResponse
	then     func()
	cancel   context.CancelFunc
	done     chan struct{}
	err      error
}

// ReadAhead begins to read a page as ScanSpans does. It returns nil if it can't be read ahead: the read may
// still move the snapshot, or the transaction has buffered or spilled writes of earlier statements among its
// keys. Otherwise spans and res belong to the result until Finish or Abandon, one of which must be called.
// The goroutine that has read the page calls then, if it is not nil, before Finish returns: twice if Finish
// reads the page anew.
func (t *Txn) ReadAhead(ctx context.Context, spans []kvpb.Span, o ScanOptions, res *kvpb.ScanResponse, then func()) *ReadAhead {
	if !t.hasRead || t.stmtBase > t.spill.base {
		return nil
	}
	if _, ok := t.spill.span.Clip(kvpb.Bounds(spans)); ok {
		return nil
	}
	a := &ReadAhead{txn: t, meta: t.meta, seq: t.seq, observed: slices.Clone(t.observed), spans: spans, opts: o, page: res, then: then, done: make(chan struct{})}
	ctx, a.cancel = context.WithCancel(ctx)
	t.ahead = append(t.ahead, a)
	go a.read(ctx)
	return a
}

func (a *ReadAhead) read(ctx context.Context) {
	defer close(a.done)
	req := kvpb.ScanRequest{Txn: &a.meta, MaxKeys: a.opts.MaxRows, MaxBytes: a.opts.pageBytes(), Observed: a.observed}
	if req.Start, req.End = kvpb.Bounds(a.spans); len(a.spans) > 1 {
		req.Spans = a.spans
	}
	a.page.Reset()
	ctx, span := traced(ctx, "scan ahead", req.Start, req.End)
	a.err = a.txn.env.Sender.Scan(ctx, &req, a.page)
	if answered(span, a.page.Len(), a.err); a.err == nil {
		a.call()
	}
}

func (a *ReadAhead) call() {
	if a.then != nil {
		a.then()
	}
}

// Abandon ends the read; nothing is recorded.
func (a *ReadAhead) Abandon() {
	a.cancel()
	a.end()
}

// end waits for the goroutine.
func (a *ReadAhead) end() {
	<-a.done
	t := a.txn
	t.ahead = slices.DeleteFunc(t.ahead, func(b *ReadAhead) bool { return a == b })
}

// awaitReadAhead waits until no page is being read ahead. It is called before a spill: such a read would not
// pass over the spilled writes. Delegated reads end.
func (t *Txn) awaitReadAhead() {
	for _, a := range t.ahead {
		<-a.done
	}
	t.dropDelegated()
}

// Finish waits for the page and records it. If another statement or snapshot reads by now, or the read failed,
// the page is read anew.
func (a *ReadAhead) Finish(ctx context.Context) error {
	a.end()
	a.cancel()
	t := a.txn
	if a.err != nil || a.meta != t.meta || a.seq != t.seq {
		err := t.ScanSpans(ctx, a.spans, a.opts, a.page)
		if err == nil {
			a.call()
		}
		return err
	}
	t.noteRead(a.page.ReadTS, a.page.Observed)
	t.traffic += int64(a.page.Traffic)
	t.read += int64(a.page.Len())
	if len(a.spans) > 1 {
		t.noteSpans(a.spans, a.page)
		return nil
	}
	start, end := kvpb.Bounds(a.spans)
	t.noteSpan(start, end, false, a.page)
	resumeAfterFirst(a.spans, a.page)
	return nil
}
