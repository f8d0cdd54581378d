package scan

import (
	"runtime"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/vecexpr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// pageReaders are the workers of one operator. Each has a goroutine read, decode and filter a page while the
// consumer works on the page before:
//
//	worker 1   read and decode page 1.1 ─┐     ┌ page 1.2 …
//	worker 2   read and decode page 2.1 ─┼──┐  │    ┌ page 2.2 …
//	consumer                             └ page 1.1 ┴ page 2.1 …
type pageReaders struct {
	run  *operator.Run
	rows RowAccess
	// rest are the conditions that only the consumer's goroutine may compute.
	rest      vecexpr.Pred
	sel       [vector.BatchRows]uint16
	newReader func() (*pageReader, error)
	newBatch  func() *decodedBatch
	list      []*pageReader
	extra     int         // workers taken from the node's
	page      *vectorPage // the consumer's
}

// newPageReaders compiles readers of the columns ords of x, which are cols for a filter.
func newPageReaders(c *operator.Compiler, x *rowcodec.Index, ords []int, cols []plan.Column, filter plan.Expr) (*pageReaders, error) {
	r := &pageReaders{run: c.Run, rows: NewRowAccess(c.Run, x, ords)}
	scope := expr.ScopeOf(cols)
	own, rest := splitIndependent(filter, scope)
	var err error
	if r.rest, err = (vecexpr.Compiler{Rows: &c.Compiler, Scope: scope}).Pred(rest); err != nil {
		return nil, err
	}
	r.newReader = func() (*pageReader, error) {
		w := &pageReader{set: r}
		rows := expr.NewCompiler(&w.state, nil)
		var err error
		w.filter, err = vecexpr.Compiler{Rows: &rows, Scope: scope}.Pred(own)
		return w, err
	}
	r.newBatch = func() *decodedBatch {
		b := &decodedBatch{dec: x.NewVectorDecoder(ords)}
		for range ords {
			b.cols = append(b.cols, &vector.Vector{})
		}
		return b
	}
	return r, r.employ(1)
}

// splitIndependent splits the first conditions of a filter, which any goroutine can compute, from the rest.
func splitIndependent(filter plan.Expr, s expr.Scope) (own, rest plan.Expr) {
	if filter == nil {
		return nil, nil
	}
	conds := plan.Conjuncts(filter, nil)
	n := 0
	for n < len(conds) && vecexpr.Independent(conds[n], s) {
		n++
	}
	return plan.ConjoinAll(conds[:n]), plan.ConjoinAll(conds[n:])
}

// employ makes readers until there are n.
func (r *pageReaders) employ(n int) error {
	for len(r.list) < n {
		w, err := r.newReader()
		if err != nil {
			return err
		}
		r.list = append(r.list, w)
	}
	return nil
}

// start prepares readers for so many parts: as many as there are processors, and the session and the node allow.
func (r *pageReaders) start(parts int) error {
	n := min(parts, runtime.GOMAXPROCS(0), r.run.Env.ParallelWorkers)
	r.extra = r.run.Env.Workers.Take(max(n-1, 0))
	if err := r.employ(1 + r.extra); err != nil {
		return err
	}
	for _, w := range r.running() {
		w.spans = nil
		r.run.State.Share(&w.state)
	}
	return nil
}

// running returns the readers of this execution: there may have been more before.
func (r *pageReaders) running() []*pageReader { return r.list[:1+r.extra] }

// stop ends the readers.
func (r *pageReaders) stop() {
	for _, w := range r.list {
		if w.ahead != nil {
			w.ahead.Abandon()
		}
		w.ahead, w.spans = nil, nil
	}
	if r.extra > 0 {
		r.run.Env.Workers.Give(r.extra)
		r.extra = 0
	}
	r.page = nil
}

// close ends the readers and gives the memory of their pages back.
func (r *pageReaders) close() {
	r.stop()
	for _, w := range r.list {
		for i := range w.pages {
			LeavePage(&r.run.State, &w.pages[i].entries)
			w.pages[i] = vectorPage{} // an idle program keeps little
		}
		if w.state.Ctx != nil {
			w.state.Unbind()
		}
	}
}

// next hands up the next batch of the consumer's page, and of the pages that turn makes the consumer's; an empty one
// if turn has no more.
func (r *pageReaders) next(b *vector.Batch, turn func() (bool, error)) error {
	for r.page == nil || r.page.next == r.page.n {
		if r.page != nil && r.page.err != nil {
			return r.page.err
		}
		if err := r.run.Canceled(); err != nil {
			return err
		}
		if more, err := turn(); err != nil || !more {
			*b = vector.Batch{}
			return err
		}
	}
	d := r.page.batches[r.page.next]
	r.page.next++
	*b = d.Batch
	vecexpr.Select(b, r.rest, r.sel[:0])
	return nil
}

// take makes the page that w has read the consumer's, and has it read on.
func (r *pageReaders) take(w *pageReader) error {
	p, err := w.finish()
	if err != nil {
		return err
	}
	r.page = p
	w.begin()
	return nil
}

// pageReader is a worker: it reads its spans page by page.
type pageReader struct {
	set     *pageReaders
	spans   []kvpb.Span // left; the page that is read begins them
	resume  []byte
	ahead   *kv.ReadAhead // nil: the consumer's goroutine reads the page in finish
	pages   [2]vectorPage // the one that is read, and the consumer's
	reading int
	state   expr.State // of filter
	filter  vecexpr.Pred
}

// vectorPage is a page of entries and what was decoded of it.
type vectorPage struct {
	entries kvpb.ScanResponse
	batches []*decodedBatch // those behind n are to be used again
	n       int
	next    int // to hand up
	err     error
}

type decodedBatch struct {
	vector.Batch
	dec  *rowcodec.VectorDecoder // the values live in its memory
	cols []*vector.Vector
	sel  [vector.BatchRows]uint16
}

// busy reports whether there is a page to finish.
func (w *pageReader) busy() bool { return len(w.spans) > 0 }

// begin reads the next page of the spans, if any are left.
func (w *pageReader) begin() {
	if !w.busy() {
		return
	}
	r := w.set
	p := &w.pages[w.reading]
	TakePage(&p.entries)
	w.ahead = r.rows.Txn().ReadAhead(r.run.Ctx, w.spans, kv.ScanOptions{MaxRows: mostPageRows(r.run)}, &p.entries, func() { w.decode(p) })
}

// finish waits for the page and returns it.
func (w *pageReader) finish() (*vectorPage, error) {
	p := &w.pages[w.reading]
	err := w.read(p)
	if w.ahead = nil; err != nil {
		w.spans = nil
		return nil, err
	}
	if p.entries.Resume == nil {
		w.spans = nil
	} else {
		w.resume = append(w.resume[:0], p.entries.Resume...)
		w.spans = kvpb.Rest(w.spans, w.resume)
	}
	w.reading = 1 - w.reading
	return p, nil
}

func (w *pageReader) read(p *vectorPage) error {
	r := w.set
	if w.ahead != nil {
		return w.ahead.Finish(r.run.Ctx)
	}
	err := r.rows.Txn().ScanSpans(r.run.Ctx, w.spans, kv.ScanOptions{MaxRows: mostPageRows(r.run)}, &p.entries)
	if err == nil {
		w.decode(p)
	}
	return err
}

// decode makes batches of the entries of a page. It runs on the goroutine that has read the page.
func (w *pageReader) decode(p *vectorPage) {
	p.n, p.next, p.err = 0, 0, nil
	size := min(vector.BatchRows, w.set.run.BatchRows)
	for from := 0; from < p.entries.Len(); from += size {
		if p.n == len(p.batches) {
			p.batches = append(p.batches, w.set.newBatch())
		}
		b := p.batches[p.n]
		if p.err = b.decode(&p.entries, from, min(size, p.entries.Len()-from)); p.err != nil {
			return
		}
		vecexpr.Select(&b.Batch, w.filter, b.sel[:0])
		if p.n++; b.Err != nil {
			return
		}
	}
}

// decode reads n entries, from the one at from on.
func (b *decodedBatch) decode(entries *kvpb.ScanResponse, from, n int) error {
	b.Batch = vector.Batch{N: n, Sel: vector.All(n), Cols: b.cols}
	return decodeEntries(b.dec, entries, from, b.cols, n)
}
