package scan

import (
	"bytes"
	"runtime"
	"slices"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/vecexpr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// parallelScan reads several parts of an index at once. Each worker has a goroutine read, decode and filter
// the next page of its part while the consumer works on the page before:
//
//	worker 1   read and decode page 1.1 ─┐     ┌ page 1.2 …
//	worker 2   read and decode page 2.1 ─┼──┐  │    ┌ page 2.2 …
//	consumer                             └ page 1.1 ┴ page 2.1 …
//
// The consumer takes a page of each worker in turn. So the order of the rows depends on the data and the
// number of workers, never on which goroutine is faster: the same query gives the same answer again.
type parallelScan struct {
	run   *operator.Run
	rows  RowAccess
	spans *spanSet
	cuts  []types.Datum // of the plan
	// rest are the conditions that only the consumer's goroutine may compute.
	rest      vecexpr.Pred
	sel       [vector.BatchRows]uint16
	newWorker func() (*partReader, error)
	newBatch  func() *decodedBatch
	workers   []*partReader
	extra     int         // workers taken from the node's
	keys      [][]byte    // of cuts
	parts     []kvpb.Span // that no worker has begun
	turn      int         // the worker to take a page of
	page      *vectorPage // the consumer's
}

// partReader is a worker: it reads one part after the other.
type partReader struct {
	scan    *parallelScan
	span    [1]kvpb.Span // what is left of its part
	resume  []byte
	busy    bool
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

// compileParallel compiles a scan whose plan says where to cut the index.
func compileParallel(c *operator.Compiler, n *plan.Scan, x *rowcodec.Index) (operator.VectorOperator, error) {
	s := &parallelScan{run: c.Run, rows: NewRowAccess(c.Run, x, n.Ords), cuts: n.Cuts}
	var err error
	if s.spans, err = newSpanSet(c, n, x); err != nil {
		return nil, err
	}
	scope := expr.ScopeOf(n.Cols)
	own, rest := splitIndependent(n.Filter, scope)
	if s.rest, err = (vecexpr.Compiler{Rows: &c.Compiler, Scope: scope}).Pred(rest); err != nil {
		return nil, err
	}
	s.newWorker = func() (*partReader, error) {
		w := &partReader{scan: s}
		rows := expr.NewCompiler(&w.state, nil)
		var err error
		w.filter, err = vecexpr.Compiler{Rows: &rows, Scope: scope}.Pred(own)
		return w, err
	}
	s.newBatch = func() *decodedBatch {
		b := &decodedBatch{dec: x.NewVectorDecoder(n.Ords)}
		for range n.Ords {
			b.cols = append(b.cols, &vector.Vector{})
		}
		return b
	}
	return s, s.employ(1)
}

// employ makes workers until there are n.
func (s *parallelScan) employ(n int) error {
	for len(s.workers) < n {
		w, err := s.newWorker()
		if err != nil {
			return err
		}
		s.workers = append(s.workers, w)
	}
	return nil
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

// Open implements VectorOperator.
func (s *parallelScan) Open() error {
	s.stop()
	s.page, s.turn = nil, 0
	if err := s.spans.eval(); err != nil {
		return err
	}
	s.divide()
	return s.start()
}

// Close implements VectorOperator.
func (s *parallelScan) Close() {
	s.stop()
	s.page = nil
	for _, w := range s.workers {
		for i := range w.pages {
			LeavePage(&s.run.State, &w.pages[i].entries)
			w.pages[i] = vectorPage{} // an idle program keeps little
		}
		if w.state.Ctx != nil {
			w.state.Unbind()
		}
	}
}

// stop ends the workers.
func (s *parallelScan) stop() {
	for _, w := range s.workers {
		if w.ahead != nil {
			w.ahead.Abandon()
		}
		w.ahead, w.busy = nil, false
	}
	if s.extra > 0 {
		s.run.Env.Workers.Give(s.extra)
		s.extra = 0
	}
}

// divide cuts the spans into parts at the keys of the plan's values.
func (s *parallelScan) divide() {
	s.keys = s.keys[:0]
	for _, d := range s.cuts {
		s.keys = append(s.keys, s.spans.x.AppendKeyDatum(bytes.Clone(s.spans.x.Prefix()), 0, d))
	}
	slices.SortFunc(s.keys, bytes.Compare) // the values of a descending column come in the other order
	s.parts = s.parts[:0]
	for i := range s.spans.list {
		part := kvpb.Span{Key: s.spans.first(i)}
		if s.spans.list[i].point {
			s.parts = append(s.parts, part)
			continue
		}
		end := s.spans.last(i)
		for _, key := range s.keys {
			if bytes.Compare(part.Key, key) < 0 && bytes.Compare(key, end) < 0 {
				s.parts = append(s.parts, kvpb.Span{Key: part.Key, EndKey: key})
				part.Key = key
			}
		}
		s.parts = append(s.parts, kvpb.Span{Key: part.Key, EndKey: end})
	}
}

// start has workers begin: as many as there are parts, processors, and the session and the node allow.
func (s *parallelScan) start() error {
	n := min(len(s.parts), runtime.GOMAXPROCS(0), s.run.Env.ParallelWorkers)
	s.extra = s.run.Env.Workers.Take(max(n-1, 0))
	if err := s.employ(1 + s.extra); err != nil {
		return err
	}
	for _, w := range s.running() {
		w.span[0].Key = nil
		s.run.State.Share(&w.state)
	}
	return nil
}

// running returns the workers of this execution: there may have been more before.
func (s *parallelScan) running() []*partReader { return s.workers[:1+s.extra] }

// Next implements VectorOperator.
func (s *parallelScan) Next(b *vector.Batch) error {
	for s.page == nil || s.page.next == s.page.n {
		if s.page != nil && s.page.err != nil {
			return s.page.err
		}
		if err := s.run.Canceled(); err != nil {
			return err
		}
		if more, err := s.turnPage(); err != nil || !more {
			*b = vector.Batch{}
			return err
		}
	}
	d := s.page.batches[s.page.next]
	s.page.next++
	*b = d.Batch
	vecexpr.Select(b, s.rest, s.sel[:0])
	return nil
}

// turnPage takes the next page, and has its worker read on; false if nothing is left.
func (s *parallelScan) turnPage() (bool, error) {
	if s.page == nil {
		return s.firstPage()
	}
	for range s.running() {
		w := s.running()[s.turn]
		s.turn = (s.turn + 1) % len(s.running())
		if w.busy {
			return true, s.take(w)
		}
	}
	return false, nil
}

// firstPage reads one page before the workers begin: the first read of a transaction may move its
// snapshot, and nothing is read ahead before.
func (s *parallelScan) firstPage() (bool, error) {
	w := s.running()[0]
	if w.begin(); !w.busy {
		return false, nil
	}
	if err := s.take(w); err != nil {
		return false, err
	}
	for _, w := range s.running()[1:] {
		w.begin()
	}
	s.turn = 1 % len(s.running())
	return true, nil
}

// take makes the page that a worker has read the consumer's.
func (s *parallelScan) take(w *partReader) error {
	p, err := w.finish()
	if err != nil {
		return err
	}
	s.page = p
	w.begin()
	return nil
}

// begin reads on: the rest of the worker's part, or the next one.
func (w *partReader) begin() {
	s := w.scan
	if w.busy = w.span[0].Key != nil || len(s.parts) > 0; !w.busy {
		return
	}
	if w.span[0].Key == nil {
		w.span[0], s.parts = s.parts[0], s.parts[1:]
	}
	p := &w.pages[w.reading]
	TakePage(&p.entries)
	w.ahead = s.rows.Txn().ReadAhead(s.run.Ctx, w.span[:], kv.ScanOptions{MaxRows: mostPageRows(s.run)}, &p.entries, func() { w.decode(p) })
}

// finish waits for the page and returns it.
func (w *partReader) finish() (*vectorPage, error) {
	p := &w.pages[w.reading]
	err := w.read(p)
	if w.ahead = nil; err != nil {
		w.busy = false
		return nil, err
	}
	if w.span[0].Key = nil; p.entries.Resume != nil {
		w.resume = append(w.resume[:0], p.entries.Resume...)
		w.span[0].Key = w.resume
	}
	w.reading = 1 - w.reading
	return p, nil
}

func (w *partReader) read(p *vectorPage) error {
	s := w.scan
	if w.ahead != nil {
		return w.ahead.Finish(s.run.Ctx)
	}
	err := s.rows.Txn().ScanSpans(s.run.Ctx, w.span[:], kv.ScanOptions{MaxRows: mostPageRows(s.run)}, &p.entries)
	if err == nil {
		w.decode(p)
	}
	return err
}

// decode makes batches of the entries of a page. It runs on the goroutine that has read the page.
func (w *partReader) decode(p *vectorPage) {
	p.n, p.next, p.err = 0, 0, nil
	size := min(vector.BatchRows, w.scan.run.BatchRows)
	for from := 0; from < p.entries.Len(); from += size {
		if p.n == len(p.batches) {
			p.batches = append(p.batches, w.scan.newBatch())
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
