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

// pageFilter computes the condition of a scan that hands up rows for the entries of a page, as columns: only the
// columns that the condition reads are decoded of the entries that it drops. A nil pageFilter has nothing left.
type pageFilter struct {
	dec  *rowcodec.VectorDecoder
	cols []*vector.Vector
	pred vecexpr.Pred
	run  *operator.Run
	rows vector.Batch
	from int // where rows begins in the page
	next int // in the selection of rows
	sel  [vector.BatchRows]uint16
}

func newPageFilter(c *operator.Compiler, n *plan.Scan, x *rowcodec.Index) (*pageFilter, error) {
	f := &pageFilter{run: c.Run}
	var read []plan.Column
	var ords []int
	for _, pos := range (vecexpr.Compiler{Scope: expr.ScopeOf(n.Cols)}).ColumnsOf(n.Filter) {
		read, ords = append(read, n.Cols[pos]), append(ords, n.Ords[pos])
		f.cols = append(f.cols, &vector.Vector{})
	}
	f.dec = x.NewVectorDecoder(ords)
	var err error
	f.pred, err = vecexpr.Compiler{Rows: &c.Compiler, Scope: expr.ScopeOf(read)}.Pred(n.Filter)
	return f, err
}

// forget drops what is left of a page.
func (f *pageFilter) forget() {
	if f != nil {
		f.rows, f.next = vector.Batch{}, 0
	}
}

// left reports whether something is left of the entries that were looked at.
func (f *pageFilter) left() bool { return f != nil && (f.next < len(f.rows.Sel) || f.rows.Err != nil) }

// pass returns the position of the next entry of a page that passes; *pos is the first one that was not looked at. It
// returns false at the end of the page.
func (f *pageFilter) pass(page *kvpb.ScanResponse, pos *int) (at int, ok bool, err error) {
	for f.next == len(f.rows.Sel) {
		n := min(vector.BatchRows, f.run.BatchRows, page.Len()-*pos)
		if f.rows.Err != nil || n == 0 {
			return 0, false, f.rows.Err
		}
		if err := decodeEntries(f.dec, page, *pos, f.cols, n); err != nil {
			return 0, false, err
		}
		f.rows = vector.Batch{N: n, Sel: vector.All(n), Cols: f.cols}
		f.from, f.next = *pos, 0
		*pos += n
		vecexpr.Select(&f.rows, f.pred, f.sel[:0])
	}
	f.next++
	return f.from + int(f.rows.Sel[f.next-1]), true, nil
}
