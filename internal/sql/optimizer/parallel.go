package optimizer

import (
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

const (
	// leastParallel is the least cost of a scan that several workers read: about thirty thousand rows.
	leastParallel = 500
	// partRows is how many rows a part has about: a few pages, so that the last part ends not long
	// after the others.
	partRows = 16384
)

// parallelize has several workers read the scans of many rows in whose order nobody is interested.
// anyOrder says that the consumer of n takes its rows in any order.
func (o *optimizer) parallelize(n plan.Node, anyOrder bool) {
	if s, ok := n.(*plan.Scan); ok && anyOrder && s.Vectorized && s.Total >= leastParallel {
		s.Cuts = o.cuts(s)
	}
	for _, in := range plan.Children(n) {
		o.parallelize(in, takesAnyOrder(n, in, anyOrder))
	}
}

// takesAnyOrder reports whether n takes the rows of its input in in any order, if its own consumer does or
// does not.
func takesAnyOrder(n, in plan.Node, anyOrder bool) bool {
	switch n := n.(type) {
	case *plan.GroupBy:
		for i := range n.Aggs {
			if !n.Aggs[i].Fn.OrderIndependent {
				return false
			}
		}
		return !n.Ordered
	case *plan.Filter, *plan.Project:
		return anyOrder
	case *plan.Join:
		return anyOrder && (n.Algo == plan.HashJoin || n.Batches() && in == n.Left)
	}
	return false
}

// cuts returns values of the first column of a scan's index that divide the table into parts of about
// equally many rows; nil where that is not known, or the scan reads single values of the column.
func (o *optimizer) cuts(n *plan.Scan) []types.Datum {
	if n.Point || n.Reverse || n.Tokens != nil || n.Bound.Count != nil || n.Locking != nil || n.Index.HashColumns > 0 {
		return nil
	}
	for i := range n.Spans {
		if len(n.Spans[i].Eq) > 0 {
			return nil
		}
	}
	ord := n.Table.ColumnByID(n.Index.Columns[0].Column)
	stats := o.stats(n.Table)
	c := stats.column(n.Table, ord)
	if c == nil || len(c.Bounds) < 3 || c.Bounds[0].Family() != n.Table.Columns[ord].Type.Family {
		return nil
	}
	steps := len(c.Bounds) - 1
	parts := min(int(stats.Rows/partRows), steps)
	var cuts []types.Datum
	for i := 1; i < parts; i++ {
		cuts = append(cuts, c.Bounds[i*steps/parts])
	}
	return cuts
}
