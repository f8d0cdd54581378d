package scan

import (
	"bytes"
	"slices"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// parallelScan reads several parts of an index at once: each worker one part after the other.
//
// The consumer takes a page of each worker in turn. So the order of the rows depends on the data and the
// number of workers, never on which goroutine is faster: the same query gives the same answer again.
type parallelScan struct {
	*pageReaders
	spans *spanSet
	cuts  []types.Datum // of the plan
	keys  [][]byte      // of cuts
	parts []kvpb.Span   // that no worker has begun
	turn  int           // the worker to take a page of
}

// compileParallel compiles a scan whose plan says where to cut the index.
func compileParallel(c *operator.Compiler, n *plan.Scan, x *rowcodec.Index) (operator.VectorOperator, error) {
	s := &parallelScan{cuts: n.Cuts}
	var err error
	if s.spans, err = newSpanSet(c, n, x); err != nil {
		return nil, err
	}
	s.pageReaders, err = newPageReaders(c, x, n.Ords, n.Cols, n.Filter)
	return s, err
}

// Open implements VectorOperator.
func (s *parallelScan) Open() error {
	s.stop()
	s.turn = 0
	if err := s.spans.eval(); err != nil {
		return err
	}
	s.divide()
	return s.start(len(s.parts))
}

// Close implements VectorOperator.
func (s *parallelScan) Close() { s.close() }

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

// Next implements VectorOperator.
func (s *parallelScan) Next(b *vector.Batch) error { return s.next(b, s.turnPage) }

// turnPage takes the next page, and has its worker read on; false if nothing is left.
func (s *parallelScan) turnPage() (bool, error) {
	if s.page == nil {
		return s.firstPage()
	}
	for range s.running() {
		w := s.running()[s.turn]
		s.turn = (s.turn + 1) % len(s.running())
		if w.busy() {
			return true, s.takePage(w)
		}
	}
	return false, nil
}

// firstPage reads one page before the workers begin: the first read of a transaction may move its
// snapshot, and nothing is read ahead before.
func (s *parallelScan) firstPage() (bool, error) {
	w := s.running()[0]
	if s.beginPart(w); !w.busy() {
		return false, nil
	}
	if err := s.takePage(w); err != nil {
		return false, err
	}
	for _, w := range s.running()[1:] {
		s.beginPart(w)
	}
	s.turn = 1 % len(s.running())
	return true, nil
}

// takePage takes a worker's page, and gives it the next part if its own is done.
func (s *parallelScan) takePage(w *pageReader) error {
	err := s.take(w)
	if err == nil && !w.busy() {
		s.beginPart(w)
	}
	return err
}

// beginPart has a worker read the next part, if one is left.
func (s *parallelScan) beginPart(w *pageReader) {
	if len(s.parts) > 0 {
		w.spans, s.parts = s.parts[:1:1], s.parts[1:]
		w.begin()
	}
}
