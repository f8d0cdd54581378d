package optimizer

import (
	"github.com/lichendb/lichen/internal/sql/plan"
)

// prune drops columns that nothing above n needs, and projections that only
// drop columns.
func (o *optimizer) prune(n plan.Node, need colSet) plan.Node {
	switch n := n.(type) {
	case *plan.Scan:
		o.pruneScan(n, need)
	case *plan.VirtualScan:
		full := need.clone()
		full.addRefs(n.Filter)
		n.Cols, n.Ords = pruneTable(n.Cols, n.Ords, full)
	case *plan.Filter:
		below := need.clone()
		below.addRefs(n.Cond)
		n.Input = o.prune(n.Input, below)
		n.Cols = n.Input.Props().Cols
	case *plan.Barrier:
		n.Input = o.prune(n.Input, need)
		n.Cols = n.Input.Props().Cols
	case *plan.Project:
		return o.pruneProject(n, need)
	case *plan.ProjectSet:
		below := need.clone()
		for i := range n.Funcs {
			below.addRefs(n.Funcs[i].Call)
		}
		n.Input = o.prune(n.Input, below)
		n.Cols = setColumns(n, n.Input.Props().Cols)
	case *plan.Join:
		o.pruneJoin(n, need)
	case *plan.GroupBy:
		o.pruneGroup(n, need)
	case *plan.Values:
		pruneValues(n, need)
	case *plan.TransitionScan:
		n.Cols, n.Ords = pruneTable(n.Cols, n.Ords, need)
	case *plan.CTEScan:
		var cols []plan.Column
		var src []plan.ColID
		for i, c := range n.Cols {
			if need.has(c.ID) {
				cols, src = append(cols, c), append(src, n.SourceCols[i])
			}
		}
		n.Cols, n.SourceCols = cols, src
	default:
		return o.pruneRest(n, need)
	}
	return n
}

// pruneRest handles operators that pass their input's columns on.
func (o *optimizer) pruneRest(n plan.Node, need colSet) plan.Node {
	below := need.clone()
	switch n := n.(type) {
	case *plan.Distinct:
		for _, k := range n.Keys {
			below.add(k)
		}
		n.Input = o.prune(n.Input, below)
		n.Cols = n.Input.Props().Cols
	case *plan.Sort:
		for _, k := range n.Keys {
			below.add(k.Col)
		}
		n.Input = o.prune(n.Input, below)
		n.Cols = n.Input.Props().Cols
	case *plan.Limit:
		for _, k := range n.TiesKeys {
			below.add(k.Col)
		}
		n.Input = o.prune(n.Input, below)
		n.Cols = n.Input.Props().Cols
	case *plan.Window:
		return o.pruneWindow(n, below)
	case *plan.SetOp:
		o.pruneSetOp(n, need)
	case *plan.LockRows:
		for i := range n.Targets {
			for _, id := range append(n.Targets[i].Key, n.Targets[i].Row...) {
				below.add(id)
			}
		}
		below.addRefs(n.Recheck)
		n.Input = o.prune(n.Input, below)
		n.Cols = n.Input.Props().Cols
	case *plan.With:
		for _, c := range n.CTEs {
			c.Plan = o.prune(c.Plan, o.setOf(c.Plan.Props().Cols))
			if c.Recursive != nil {
				c.Recursive = o.prune(c.Recursive, newSet(o.nextCol, c.RecursiveCols))
			}
		}
		n.Body = o.prune(n.Body, need)
		n.Cols = n.Body.Props().Cols
	case *plan.Insert:
		want := n.Input.Props().Cols
		n.Input = exactColumns(o.prune(n.Input, o.setOf(want)), want)
	case *plan.Instead:
		if n.Old == nil {
			want := n.Input.Props().Cols
			n.Input = exactColumns(o.prune(n.Input, o.setOf(want)), want)
			break
		}
		o.pruneDML(n, &n.Input, n.Old)
	case *plan.Update:
		o.pruneDML(n, &n.Input, n.Old)
	case *plan.Delete:
		o.pruneDML(n, &n.Input, n.Old)
	case *plan.Merge:
		o.pruneDML(n, &n.Input, n.Old)
	}
	return n
}

// pruneDML keeps the row that is changed and what the node's expressions need.
func (o *optimizer) pruneDML(n plan.Node, input *plan.Node, old []plan.ColID) {
	need := newSet(o.nextCol, old)
	plan.VisitExprs(n, func(e *plan.Expr) { need.addRefs(*e) })
	*input = o.prune(*input, need)
}

// pruneTable keeps the columns of a table that are needed.
func pruneTable(cols []plan.Column, ords []int, need colSet) ([]plan.Column, []int) {
	out, outOrds := cols[:0:0], ords[:0:0]
	for i := range cols {
		if need.has(cols[i].ID) {
			out, outOrds = append(out, cols[i]), append(outOrds, ords[i])
		}
	}
	return out, outOrds
}

// pruneScan puts the columns that are needed above first, those that only the
// filter needs after them.
func (o *optimizer) pruneScan(n *plan.Scan, need colSet) {
	filter := newSet(o.nextCol, nil)
	filter.addRefs(n.Filter)
	k := 0
	for i := range n.Cols {
		if need.has(n.Cols[i].ID) || filter.has(n.Cols[i].ID) {
			k++
		}
	}
	cols, ords := make([]plan.Column, 0, k), make([]int, 0, k)
	for i := range n.Cols {
		if need.has(n.Cols[i].ID) {
			cols, ords = append(cols, n.Cols[i]), append(ords, n.Ords[i])
		}
	}
	o.outputs = append(o.outputs, scanOutputs{n, len(cols)})
	for i := range n.Cols {
		if !need.has(n.Cols[i].ID) && filter.has(n.Cols[i].ID) {
			cols, ords = append(cols, n.Cols[i]), append(ords, n.Ords[i])
		}
	}
	n.Cols, n.Ords = cols, ords
}

// pruneProject drops unused expressions; what is left may be no projection at
// all, or one that its input can be merged into.
func (o *optimizer) pruneProject(n *plan.Project, need colSet) plan.Node {
	below := newSet(o.nextCol, nil)
	trivial := true
	var cols []plan.Column
	var exprs []plan.Expr
	for i, e := range n.Exprs {
		if !need.has(n.Cols[i].ID) && !plan.Volatile(e) && (!n.Called || isValue(e)) {
			continue
		}
		cols, exprs = append(cols, n.Cols[i]), append(exprs, e)
		below.addRefs(e)
		r, ok := e.(*plan.ColRef)
		trivial = trivial && ok && r.Col == n.Cols[i].ID && plan.FindCol(n.Input.Props().Cols, r.Col) >= 0
	}
	n.Cols, n.Exprs = cols, exprs
	n.Input = o.prune(n.Input, below)
	if trivial {
		return n.Input
	}
	mergeProject(n)
	return n
}

func (o *optimizer) pruneJoin(n *plan.Join, need colSet) {
	below := need.clone()
	below.addRefs(n.On)
	for i := range n.LeftKeys {
		below.addRefs(n.LeftKeys[i])
		below.addRefs(n.RightKeys[i])
	}
	for _, id := range n.Outer {
		below.add(id)
	}
	n.Left = o.prune(n.Left, below)
	n.Right = o.prune(n.Right, below)
	cols := make([]plan.Column, 0, len(n.Cols))
	for _, c := range n.Cols {
		if need.has(c.ID) {
			cols = append(cols, c)
		}
	}
	n.Cols = cols
}

func (o *optimizer) pruneGroup(n *plan.GroupBy, need colSet) {
	var aggs []plan.Agg
	for i := range n.Aggs {
		if need.has(n.Aggs[i].Out.ID) {
			aggs = append(aggs, n.Aggs[i])
		}
	}
	n.Aggs = aggs
	below := newSet(o.nextCol, n.Keys)
	plan.VisitExprs(n, func(e *plan.Expr) { below.addRefs(*e) })
	for i := range n.Aggs {
		for _, k := range n.Aggs[i].OrderBy {
			below.add(k.Col)
		}
	}
	var groupings []plan.GroupingCall
	for i := range n.Groupings {
		if need.has(n.Groupings[i].Out.ID) {
			groupings = append(groupings, n.Groupings[i])
		}
	}
	n.Groupings = groupings
	n.Cols = n.Outputs(n.Cols[:len(n.Keys)])
	n.Input = o.prune(n.Input, below)
}

func pruneValues(n *plan.Values, need colSet) {
	keep := make([]int, 0, len(n.Cols))
	for i := range n.Cols {
		if need.has(n.Cols[i].ID) {
			keep = append(keep, i)
		}
	}
	if len(keep) == len(n.Cols) {
		return
	}
	if mayFail(n) {
		return
	}
	var cols []plan.Column
	for _, i := range keep {
		cols = append(cols, n.Cols[i])
	}
	n.Cols = cols
	for r, row := range n.RowExprs {
		out := make([]plan.Expr, 0, len(keep))
		for _, i := range keep {
			out = append(out, row[i])
		}
		n.RowExprs[r] = out
	}
}

// mayFail reports whether something in rows is computed. The only row is a part of the query around
// it, of which what is not needed is not computed; several are computed as they are, as in PostgreSQL.
func mayFail(n *plan.Values) bool {
	for _, row := range n.RowExprs {
		for _, e := range row {
			if plan.Volatile(e) || len(n.RowExprs) > 1 && !isLeaf(e) {
				return true
			}
		}
	}
	return false
}

func isLeaf(e plan.Expr) bool {
	_, column := e.(*plan.ColRef)
	return column || isValue(e)
}

// pruneWindow drops functions whose results nobody reads, and with the last of
// them the operator and its sort. What only computes something volatile stays:
// it may have effects.
func (o *optimizer) pruneWindow(n *plan.Window, below colSet) plan.Node {
	all := n.Funcs
	n.Funcs = nil
	for _, f := range all {
		if below.has(f.Out.ID) || volatileCall(f) {
			n.Funcs = append(n.Funcs, f)
		}
	}
	if len(n.Funcs) == 0 {
		return o.prune(unsorted(n), below)
	}
	for _, id := range n.PartitionBy {
		below.add(id)
	}
	for _, k := range n.OrderBy {
		below.add(k.Col)
	}
	if n.RangeKey != 0 {
		below.add(n.RangeKey)
	}
	plan.VisitExprs(n, func(e *plan.Expr) { below.addRefs(*e) })
	n.Input = o.prune(n.Input, below)
	n.Cols = windowColumns(n, n.Input.Props().Cols)
	return n
}

// volatileCall reports whether one of the expressions of a window function is
// volatile.
func volatileCall(f plan.WindowCall) (found bool) {
	plan.VisitExprs(&plan.Window{Funcs: []plan.WindowCall{f}}, func(e *plan.Expr) {
		found = found || plan.Volatile(*e)
	})
	return found
}

// unsorted is the input of a Window without the sort that the planner put below
// it for it.
func unsorted(n *plan.Window) plan.Node {
	if sort, ok := n.Input.(*plan.Sort); ok && len(n.PartitionBy)+len(n.OrderBy) > 0 {
		return sort.Input
	}
	return n.Input
}

// windowColumns are a Window's columns: its input's and the results.
func windowColumns(n *plan.Window, in []plan.Column) []plan.Column {
	cols := append([]plan.Column(nil), in...)
	for i := range n.Funcs {
		cols = append(cols, n.Funcs[i].Out)
	}
	return cols
}

// setColumns are a ProjectSet's columns: its input's and the results.
func setColumns(n *plan.ProjectSet, in []plan.Column) []plan.Column {
	cols := append([]plan.Column(nil), in...)
	for i := range n.Funcs {
		cols = append(cols, n.Funcs[i].Out...)
	}
	if n.Ordinality.ID != 0 {
		cols = append(cols, n.Ordinality)
	}
	return cols
}

// pruneSetOp drops unused columns of UNION ALL; the other operations compare
// whole rows.
func (o *optimizer) pruneSetOp(n *plan.SetOp, need colSet) {
	if n.Kind == plan.Union && n.All {
		var cols []plan.Column
		var l, r []plan.ColID
		for i, c := range n.Cols {
			if need.has(c.ID) {
				cols, l, r = append(cols, c), append(l, n.LeftCols[i]), append(r, n.RightCols[i])
			}
		}
		n.Cols, n.LeftCols, n.RightCols = cols, l, r
	}
	n.Left = o.prune(n.Left, newSet(o.nextCol, n.LeftCols))
	n.Right = o.prune(n.Right, newSet(o.nextCol, n.RightCols))
}
