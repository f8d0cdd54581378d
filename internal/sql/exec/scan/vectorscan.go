package scan

import (
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/vecexpr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// vectorScan reads an index as scanOp does, into vectors.
type vectorScan struct {
	pager
	dec    *rowcodec.VectorDecoder
	filter vecexpr.Pred
	cols   []*vector.Vector
	sel    [vector.BatchRows]uint16
}

// Vectorizable reports whether CompileVectors has an operator for n: it neither locks rows nor finds
// them by tokens, nobody wants only some, and no condition decides for all of them.
func Vectorizable(n *plan.Scan) bool {
	once, _ := SplitOneTime(n.Filter, n.Cols)
	return once == nil && !n.Virtual() && n.Tokens == nil && n.Locking == nil && n.Bound.Count == nil && !n.Reverse
}

// CompileVectors compiles a scan for which Vectorizable holds.
func CompileVectors(c *operator.Compiler, n *plan.Scan) (operator.VectorOperator, error) {
	x, err := rowcodec.Compile(n.Table, n.Index)
	if err != nil {
		return nil, err
	}
	if n.Cuts != nil {
		return compileParallel(c, n, x)
	}
	s := &vectorScan{dec: x.NewVectorDecoder(n.Ords), cols: make([]*vector.Vector, len(n.Ords))}
	for i := range s.cols {
		s.cols[i] = &vector.Vector{}
	}
	if s.pager, err = newPager(c, n, x); err != nil {
		return nil, err
	}
	s.filter, err = vecexpr.Compiler{Rows: &c.Compiler, Scope: expr.ScopeOf(n.Cols)}.Pred(n.Filter)
	return s, err
}

// Open implements VectorOperator.
func (s *vectorScan) Open() error {
	s.pager.reset()
	return s.spans.eval()
}

// Close implements VectorOperator.
func (s *vectorScan) Close() { s.pager.leave() }

// Next implements VectorOperator.
func (s *vectorScan) Next(b *vector.Batch) error {
	b.N, b.Sel, b.Cols, b.Err = 0, nil, s.cols, nil
	for s.pos >= s.page.Len() {
		if s.cur >= len(s.spans.list) {
			return nil
		}
		if err := s.readSpans(s.pageRows); err != nil {
			return err
		}
		s.pager.readAhead()
	}
	n := min(s.page.Len()-s.pos, vector.BatchRows, s.run.BatchRows)
	if err := decodeEntries(s.dec, &s.page, s.pos, s.cols, n); err != nil {
		return err
	}
	s.pos += n
	b.N, b.Sel = n, vector.All(n)
	vecexpr.Select(b, s.filter, s.sel[:0])
	return nil
}

// decodeEntries reads n entries of a page, from the one at from on, into vectors.
func decodeEntries(dec *rowcodec.VectorDecoder, page *kvpb.ScanResponse, from int, cols []*vector.Vector, n int) error {
	dec.Reset(cols, n)
	for i := range n {
		if err := dec.DecodeLater(page.Key(from+i), page.Value(from+i), cols, uint16(i)); err != nil {
			return err
		}
	}
	return dec.Flush(cols)
}
