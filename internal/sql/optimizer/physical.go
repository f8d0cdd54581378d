package optimizer

import (
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// physical chooses access paths and algorithms for n and what is below it, and
// fills in orders and estimates.
func (o *optimizer) physical(n plan.Node, w wanted) plan.Node {
	switch n := n.(type) {
	case *plan.Scan:
		return o.bounded(o.accessPath(n, w), w)
	case *plan.VirtualScan:
		virtualScan(n)
	case *plan.Values:
		n.Rows = float64(len(n.RowExprs))
		n.Total = n.Rows * costTuple
	case *plan.Filter:
		n.Input = o.physical(n.Input, w.unlimited())
		in := n.Input.Props()
		n.Cols, n.Order = in.Cols, in.Order
		n.Rows = in.Rows * o.leaves(plan.Conjuncts(n.Cond, nil), n.Input)
		n.Startup, n.Total = in.Startup, in.Total+in.Rows*operators(n.Cond)
	case *plan.Project:
		o.project(n, w)
	case *plan.Sort:
		return o.sort(n, w)
	case *plan.Limit:
		o.limit(n)
	case *plan.Join:
		return o.join(n, w)
	case *plan.GroupBy:
		o.groupBy(n)
	case *plan.Distinct:
		o.distinct(n, w)
	default:
		o.physicalRest(n, w)
	}
	return n
}

// physicalRest handles the operators without alternatives.
func (o *optimizer) physicalRest(n plan.Node, w wanted) {
	switch n := n.(type) {
	case *plan.ProjectSet:
		n.Input = o.physical(n.Input, wanted{})
		in := n.Input.Props()
		n.Cols, n.Order = setColumns(n, in.Cols), in.Order
		n.Rows = max(in.Rows, 1) * o.srfCount(n)
		n.Startup, n.Total = in.Startup, in.Total+n.Rows*costTuple
	case *plan.SetOp:
		o.setOp(n)
	case *plan.Window:
		n.Input = o.physical(n.Input, wanted{})
		in := n.Input.Props()
		n.Cols = windowColumns(n, in.Cols)
		n.Order, n.Rows = in.Order, in.Rows
		n.Startup, n.Total = in.Startup, in.Total+in.Rows*costOperator*float64(len(n.Funcs)+1)
	case *plan.LockRows:
		w.guess = true // rows that are locked or changed may be skipped
		n.Input = o.physical(n.Input, w)
		in := n.Input.Props()
		n.Cols, n.Order, n.Rows, n.Startup, n.Total = in.Cols, in.Order, in.Rows, in.Startup, in.Total+in.Rows*costTuple
	case *plan.With:
		o.with(n, w)
	case *plan.CTEScan:
		n.Rows = max(o.ctes[n.ID], 1)
		n.Total = n.Rows * costTuple
	case *plan.TransitionScan:
		n.Rows = DefaultRows
		n.Total = n.Rows * costTuple
	case *plan.Insert, *plan.Update, *plan.Delete, *plan.Merge, *plan.Instead:
		eachChild(n, func(c plan.Node) plan.Node { return o.physical(c, wanted{}) })
		in, p := plan.Children(n)[0].Props(), n.Props()
		p.Startup, p.Total = in.Startup, in.Total
		if len(p.Cols) > 0 {
			p.Rows = in.Rows
		}
	default:
		eachChild(n, func(c plan.Node) plan.Node { return o.physical(c, wanted{}) })
	}
}

// bounded passes a row bound to the operator that reads a table.
func (o *optimizer) bounded(n plan.Node, w wanted) plan.Node {
	if w.bound.Count == nil || w.guess || !o.on(RuleLimit) || len(w.order) > 0 && !satisfies(n.Props().Order, w.order, n) {
		return n
	}
	switch n := n.(type) {
	case *plan.Scan:
		n.Bound = w.bound
	case *plan.IndexJoin:
		n.Bound = w.bound
		if n.Filter == nil {
			n.Input.Bound = w.bound
		}
	}
	return n
}

// satisfies reports whether rows that come in order have are in order want:
// keys bound to one value in the scan do not count.
func satisfies(have, want []plan.SortKey, n plan.Node) bool {
	return prefixSatisfied(have, want, n) == len(want)
}

// prefixSatisfied returns how many leading keys of want hold.
func prefixSatisfied(have, want []plan.SortKey, n plan.Node) int {
	if maxOneRow(n) {
		return len(want)
	}
	i := 0
	for k, w := range want {
		if i < len(have) && have[i].Col == w.Col && have[i].Desc == w.Desc &&
			(have[i].NullsFirst == w.NullsFirst || notNull(n, w.Col)) {
			i++
			continue
		}
		if constantIn(n, w.Col) {
			continue
		}
		if i > 0 && uniqueOn(n, sortCols(have[:i])) {
			return len(want) // no ties are left to order
		}
		return k
	}
	return len(want)
}

func sortCols(keys []plan.SortKey) []plan.ColID {
	ids := make([]plan.ColID, len(keys))
	for i := range keys {
		ids[i] = keys[i].Col
	}
	return ids
}

// maxOneRow reports whether n yields at most one row for sure.
func maxOneRow(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Scan:
		if !n.Point || len(n.Spans) != 1 {
			return false
		}
		for _, eq := range n.Spans[0].Eq {
			if len(eq.Values) != 1 {
				return false
			}
		}
		return true
	case *plan.IndexJoin:
		return maxOneRow(n.Input)
	case *plan.Filter:
		return maxOneRow(n.Input)
	case *plan.Project:
		return maxOneRow(n.Input)
	case *plan.GroupBy:
		return n.Scalar
	case *plan.Values:
		return len(n.RowExprs) <= 1
	}
	return false
}

func notNull(n plan.Node, id plan.ColID) bool {
	cols := n.Props().Cols
	i := plan.FindCol(cols, id)
	return i >= 0 && cols[i].NotNull
}

// constantIn reports whether a column has one value in all rows of n because
// a scan below binds it.
func constantIn(n plan.Node, id plan.ColID) bool {
	switch n := n.(type) {
	case *plan.Scan:
		if len(n.Spans) != 1 {
			return false
		}
		at := plan.FindCol(n.Cols, id)
		if at < 0 {
			return false
		}
		key := plan.KeyColumns(n.Table, n.Index)
		for i, eq := range n.Spans[0].Eq {
			if n.Table.ColumnByID(key[i].Column) == n.Ords[at] {
				return eq.Null || len(eq.Values) == 1
			}
		}
	case *plan.IndexJoin:
		at := plan.FindCol(n.Cols, id)
		if at < 0 || len(n.Input.Spans) != 1 {
			return false
		}
		key := plan.KeyColumns(n.Table, n.Input.Index)
		for i, eq := range n.Input.Spans[0].Eq {
			if n.Table.ColumnByID(key[i].Column) == n.Ords[at] {
				return eq.Null || len(eq.Values) == 1
			}
		}
	case *plan.Filter:
		return constantIn(n.Input, id)
	case *plan.Project:
		if i := plan.FindCol(n.Cols, id); i >= 0 {
			switch e := n.Exprs[i].(type) {
			case *plan.Const, *plan.Param:
				return true
			case *plan.ColRef:
				return constantIn(n.Input, e.Col)
			}
		}
	}
	return false
}

// virtualScan estimates a relation that is computed as a whole: mostly a few rows.
func virtualScan(n *plan.VirtualScan) {
	n.Rows = DefaultRows * selectivity(n.Filter, nil, nil)
	n.Total = DefaultRows * (costRow + operators(n.Filter))
}

// project maps the wanted order to the input and back.
func (o *optimizer) project(n *plan.Project, w wanted) {
	inner := w
	inner.order = nil
	for _, k := range w.order {
		i := plan.FindCol(n.Cols, k.Col)
		if i >= 0 {
			k.Col = orderedAs(n.Input, n.Exprs[i])
		}
		if i < 0 || k.Col == 0 {
			inner = w.unordered().unlimited()
			break
		}
		inner.order = append(inner.order, k)
	}
	n.Input = o.physical(n.Input, inner)
	in := n.Input.Props()
	n.Rows, n.Startup, n.Total = in.Rows, in.Startup, in.Total+in.Rows*costTuple/4
	n.Order = nil
	for _, k := range in.Order {
		id := plan.ColID(0)
		for i, e := range n.Exprs {
			if orderedAs(n.Input, e) == k.Col {
				id = n.Cols[i].ID
			}
		}
		if id == 0 {
			break
		}
		k.Col = id
		n.Order = append(n.Order, k)
	}
}

// orderedAs is the column by which the order of e over n is known: the one that it is, or
// the one that an index below holds it in; 0 for none.
func orderedAs(n plan.Node, e plan.Expr) plan.ColID {
	if r, ok := e.(*plan.ColRef); ok {
		return r.Col
	}
	switch n := n.(type) {
	case *plan.Filter:
		return orderedAs(n.Input, e)
	case *plan.IndexJoin:
		return orderedAs(n.Input, e)
	case *plan.Scan:
		for i := range n.Computed {
			if plan.ExprEqual(n.Computed[i].Value, e) {
				return n.Computed[i].ID
			}
		}
	}
	return 0
}

// sort drops a sort whose input can be read in order, or makes it a partial or
// top-k sort.
func (o *optimizer) sort(n *plan.Sort, w wanted) plan.Node {
	if len(w.order) > 0 && !satisfies(n.Keys, w.order, n) && !plant.On(plant.BoundBelowSort) {
		w = w.unlimited() // its rows are sorted again: the first ones there may be the last here
	}
	inner := wanted{bound: w.bound, guess: w.guess}
	if o.on(RuleSort) {
		inner.order, inner.sorted = n.Keys, true
	} else {
		inner.bound = plan.RowBound{}
	}
	n.Input = o.physical(n.Input, inner)
	in := n.Input.Props()
	n.Cols, n.Order, n.Rows = in.Cols, n.Keys, in.Rows
	if o.on(RuleSort) {
		n.Presorted = prefixSatisfied(in.Order, n.Keys, n.Input)
		if n.Presorted == len(n.Keys) {
			return n.Input
		}
	}
	if o.on(RuleTopK) && !w.guess {
		n.Bound = w.bound
	}
	if n.Presorted > 0 {
		markOrdered(n.Input)
	}
	cost := sortCost(in.Rows, o.limited(n.Bound, in.Rows))
	n.Startup, n.Total = in.Total+cost, in.Total+cost+in.Rows*costTuple/4
	if n.Presorted > 0 {
		n.Startup = in.Startup + cost/10
	}
	return n
}

// markOrdered notes at the scan below that its order is relied upon.
func markOrdered(n plan.Node) {
	switch n := n.(type) {
	case *plan.Scan:
		n.Ordered = true
	case *plan.IndexJoin:
		n.Input.Ordered = true
	case *plan.Filter:
		markOrdered(n.Input)
	case *plan.Project:
		markOrdered(n.Input)
	case *plan.Join:
		markOrdered(n.Left)
	}
}

func (o *optimizer) limit(n *plan.Limit) {
	w := wanted{}
	if !n.WithTies && !hasVolatileBound(n) {
		w.bound = plan.RowBound{Count: n.Count, Offset: n.Offset}
	}
	n.Input = o.physical(n.Input, w)
	in := n.Input.Props()
	n.Cols, n.Order = in.Cols, in.Order
	n.Rows = o.limited(plan.RowBound{Count: n.Count, Offset: n.Offset}, in.Rows)
	n.Startup, n.Total = in.Startup, in.Startup+(in.Total-in.Startup)*n.Rows/max(in.Rows, 1)
	if skip, ok := o.countOf(n.Offset); ok {
		n.Rows = max(n.Rows-skip, 0)
	}
}

func hasVolatileBound(n *plan.Limit) bool {
	return n.Count != nil && (plan.Volatile(n.Count) || hasSubquery(n.Count)) ||
		n.Offset != nil && (plan.Volatile(n.Offset) || hasSubquery(n.Offset))
}

// groupBy groups ordered input without a hash table.
func (o *optimizer) groupBy(n *plan.GroupBy) {
	w := wanted{}
	for _, k := range n.Keys {
		w.order = append(w.order, plan.SortKey{Col: k})
	}
	if !o.on(RuleOrderedGroup) || n.Sets != nil {
		w.order = nil
	}
	n.Input = o.physical(n.Input, w)
	in := n.Input.Props()
	n.Ordered = len(n.Keys) > 0 && len(w.order) > 0 && grouped(in.Order, n.Keys, n.Input)
	n.Rows = o.groupRows(n, in.Rows)
	if n.Ordered {
		markOrdered(n.Input)
	}
	per := costOperator * float64(len(n.Aggs)+1)
	switch {
	case n.Scalar:
		n.Rows = 1
		n.Startup = in.Total + in.Rows*per
		n.Total = n.Startup + costTuple
	case n.Ordered:
		n.Order = keyOrder(in.Order, n.Keys)
		n.Startup, n.Total = in.Startup, in.Total+in.Rows*per
	default:
		n.Startup = in.Total + in.Rows*(per+costHash)
		n.Total = n.Startup + n.Rows*costTuple
	}
}

// grouped reports whether an order makes equal keys adjacent: its leading keys
// are exactly these, in any sequence.
func grouped(order []plan.SortKey, keys []plan.ColID, n plan.Node) bool {
	need := 0
	for _, k := range keys {
		if !constantIn(n, k) {
			need++
		}
	}
	if len(order) < need {
		return false
	}
	return len(keyOrder(order, keys)) >= need
}

// keyOrder is the prefix of an order that consists of keys.
func keyOrder(order []plan.SortKey, keys []plan.ColID) []plan.SortKey {
	for i, k := range order {
		found := false
		for _, id := range keys {
			found = found || id == k.Col
		}
		if !found {
			return order[:i]
		}
	}
	return order
}

func (o *optimizer) distinct(n *plan.Distinct, w wanted) {
	inner := wanted{}
	if o.on(RuleOrderedGroup) && !n.On {
		inner.order, inner.sorted = w.order, w.sorted
		for _, k := range n.Keys {
			if !hasKey(inner.order, k) {
				inner.order = append(inner.order[:len(inner.order):len(inner.order)], plan.SortKey{Col: k})
			}
		}
	}
	n.Input = o.physical(n.Input, inner)
	in := n.Input.Props()
	n.Cols = in.Cols
	n.Ordered = grouped(in.Order, n.Keys, n.Input)
	n.Rows = o.groups(n.Input, in.Rows, n.Keys)
	n.Startup, n.Total = in.Startup, in.Total+in.Rows*costHash
	n.Order = nil
	if n.Ordered || n.On {
		n.Order = in.Order
	}
}

func hasKey(order []plan.SortKey, id plan.ColID) bool {
	for _, k := range order {
		if k.Col == id {
			return true
		}
	}
	return false
}

func (o *optimizer) setOp(n *plan.SetOp) {
	n.Left = o.physical(n.Left, wanted{})
	n.Right = o.physical(n.Right, wanted{})
	l, r := n.Left.Props(), n.Right.Props()
	n.Rows = l.Rows + r.Rows
	if n.Kind != plan.Union {
		n.Rows = l.Rows
	}
	n.Startup, n.Total = l.Startup, l.Total+r.Total+(l.Rows+r.Rows)*costTuple
	if n.Kind != plan.Union || !n.All {
		n.Startup = n.Total + (l.Rows+r.Rows)*costHash
		n.Total = n.Startup + n.Rows*costTuple
	}
}

func (o *optimizer) with(n *plan.With, w wanted) {
	if o.ctes == nil {
		o.ctes = map[int]float64{}
	}
	total := 0.0
	for _, c := range n.CTEs {
		c.Plan = o.physical(c.Plan, wanted{})
		rows := c.Plan.Props().Rows
		if c.Recursive != nil {
			rows *= recursiveMul
			o.ctes[c.ID] = rows
			c.Recursive = o.physical(c.Recursive, wanted{})
			total += c.Recursive.Props().Total * recursiveMul
		}
		o.ctes[c.ID] = rows
		total += c.Plan.Props().Total
	}
	n.Body = o.physical(n.Body, w)
	in := n.Body.Props()
	n.Cols, n.Order, n.Rows, n.Startup, n.Total = in.Cols, in.Order, in.Rows, in.Startup+total, in.Total+total
}

// srfCount estimates the rows a set-returning function makes of one.
func (o *optimizer) srfCount(n *plan.ProjectSet) float64 {
	rows := 1.0
	for i := range n.Funcs {
		c := n.Funcs[i].Call
		if !c.Fn.IsSRF() {
			continue
		}
		if c.Fn.Name == "generate_series" && len(c.Args) >= 2 {
			lo, ok1 := o.countOf(c.Args[0])
			hi, ok2 := o.countOf(c.Args[1])
			if ok1 && ok2 && hi >= lo {
				rows = max(rows, hi-lo+1)
				continue
			}
		}
		rows = max(rows, srfRows)
	}
	return rows
}
