package optimizer

import (
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// equiKey is a condition left = right between the two sides of a join.
type equiKey struct {
	left, right plan.Expr
	cond        plan.Expr
}

// equiKeys separates the conditions of a join that compare the two sides for
// equality from the rest.
func equiKeys(on plan.Expr, lc, rc []plan.Column) (keys []equiKey, rest []plan.Expr) {
	for _, c := range plan.Conjuncts(on, nil) {
		call, ok := c.(*plan.Call)
		if !ok || !call.Fn.Operator || call.Fn.Name != "=" || len(call.Args) != 2 || plan.Volatile(c) {
			rest = append(rest, c)
			continue
		}
		l, r := call.Args[0], call.Args[1]
		if refsAny(l, rc) {
			l, r = r, l
		}
		if !refsAny(l, lc) || refsAny(l, rc) || !refsAny(r, rc) || refsAny(r, lc) || !hashable(l, r) {
			rest = append(rest, c)
			continue
		}
		keys = append(keys, equiKey{l, r, c})
	}
	return keys, rest
}

// hashable reports whether equal values of two expressions have equal
// encodings.
func hashable(l, r plan.Expr) bool {
	lt, rt := l.Type(), r.Type()
	if lt.Family != rt.Family {
		return false
	}
	switch lt.Family {
	case types.RecordFamily, types.JSONFamily, types.ArrayFamily, types.RangeFamily, types.MultirangeFamily:
		return false
	}
	if !types.HasEquality(lt) { // its operator = compares something else
		return false
	}
	return (lt.Oid == types.Bpchar.Oid) == (rt.Oid == types.Bpchar.Oid)
}

// join chooses the algorithm of a join.
func (o *optimizer) join(n *plan.Join, w wanted) plan.Node {
	lc := n.Left.Props().Cols
	lw := wanted{}
	if loopKeepsOrder(n.Kind) {
		lw.order, lw.sorted = leftOrder(w.order, lc), w.sorted
	}
	if len(n.Outer) > 0 {
		return o.applyJoin(n, lw)
	}
	keys, rest := equiKeys(n.On, lc, n.Right.Props().Cols)
	rawLeft, rawRight := o.rawScan(n.Left), o.rawScan(n.Right)
	mergeLeft, mergeRight := o.rawScan(n.Left), o.rawScan(n.Right)
	n.Left = o.physical(n.Left, lw)
	n.Right = o.physical(n.Right, wanted{})
	l, r := n.Left.Props(), n.Right.Props()
	n.Rows = o.joinRows(n, l.Rows, r.Rows, keys, rest)
	alt := o.lookupJoin(n, keys, rawLeft, rawRight)
	merge := o.mergeJoin(n, keys, rest, mergeLeft, mergeRight)
	if len(keys) == 0 || !o.on(RuleHashJoin) {
		n.Algo = plan.LoopJoin
		n.Order = nil
		if loopKeepsOrder(n.Kind) {
			n.Order = l.Order
		}
		n.Startup = l.Startup + r.Startup
		n.Total = l.Total + r.Total + max(l.Rows, 1)*max(r.Rows, 1)*(costTuple/4+operators(n.On))
	} else {
		o.hashJoin(n, keys, rest)
	}
	return o.cheaper(w, n, alt, merge)
}

func loopKeepsOrder(k plan.JoinKind) bool {
	return k == plan.InnerJoin || k == plan.LeftJoin || k == plan.SemiJoin || k == plan.AntiJoin
}

// leftOrder returns order if all of it is about cols.
func leftOrder(order []plan.SortKey, cols []plan.Column) []plan.SortKey {
	for _, k := range order {
		if plan.FindCol(cols, k.Col) < 0 {
			return nil
		}
	}
	return order
}

// cheaper picks among a join and its alternatives, nil ones aside; which is
// best depends on the order and the bound that the consumer wants.
func (o *optimizer) cheaper(w wanted, best *plan.Join, alternatives ...*plan.Join) plan.Node {
	for _, a := range alternatives {
		if a != nil && o.joinCost(a, w) <= o.joinCost(best, w) {
			best = a
		}
	}
	return best
}

func (o *optimizer) joinCost(n *plan.Join, w wanted) float64 {
	rows := max(n.Rows, 1)
	if len(w.order) > 0 && !satisfies(n.Order, w.order, n) {
		if w.sorted {
			return n.Total + sortCost(rows, o.limited(w.bound, rows))
		}
		return n.Total
	}
	return n.Startup + (n.Total-n.Startup)*o.limited(w.bound, rows)/rows
}

// applyJoin plans a join whose right side depends on the left row.
func (o *optimizer) applyJoin(n *plan.Join, lw wanted) plan.Node {
	n.Left = o.physical(n.Left, lw)
	n.Right = o.physical(n.Right, wanted{})
	l, r := n.Left.Props(), n.Right.Props()
	n.Algo = plan.ApplyJoin
	n.Rows = max(l.Rows*max(r.Rows, 1)*selectivity(n.On, nil, nil), 1)
	n.Startup, n.Total = l.Startup, l.Total+max(l.Rows, 1)*(r.Total+operators(n.On))
	n.Order = l.Order
	return n
}

// hashJoin makes n a hash join that builds from the smaller side.
func (o *optimizer) hashJoin(n *plan.Join, keys []equiKey, rest []plan.Expr) {
	l, r := n.Left.Props(), n.Right.Props()
	if swapped, ok := mirrored(n.Kind); ok && l.Rows < r.Rows {
		n.Left, n.Right, n.Kind = n.Right, n.Left, swapped
		l, r = r, l
		for i := range keys {
			keys[i].left, keys[i].right = keys[i].right, keys[i].left
		}
	}
	n.Algo, n.On, n.Order = plan.HashJoin, plan.ConjoinAll(rest), nil
	for _, k := range keys {
		n.LeftKeys, n.RightKeys = append(n.LeftKeys, k.left), append(n.RightKeys, k.right)
	}
	n.Startup = r.Total + r.Rows*costHash + l.Startup
	n.Total = n.Startup + l.Total - l.Startup + l.Rows*(costTuple+costOperator*float64(len(keys))) + n.Rows*operators(n.On)
}

// mirrored is the kind of a join with its sides exchanged.
func mirrored(k plan.JoinKind) (plan.JoinKind, bool) {
	switch k {
	case plan.InnerJoin, plan.FullJoin:
		return k, true
	case plan.LeftJoin:
		return plan.RightJoin, true
	case plan.RightJoin:
		return plan.LeftJoin, true
	}
	return k, false
}

// rawScan copies n if it is a scan, to plan it in another way as well.
func (o *optimizer) rawScan(n plan.Node) *plan.Scan {
	s, ok := n.(*plan.Scan)
	if !ok {
		return nil
	}
	c := *s
	c.Cols, c.Ords = append([]plan.Column(nil), s.Cols...), append([]int(nil), s.Ords...)
	o.outputs = append(o.outputs, scanOutputs{&c, o.outputsOf(s)})
	return &c
}

// lookupJoin returns the join done by reading one table by index for each row
// of the other side, nil if no index fits. Both sides of n are planned; the
// scans given are not.
func (o *optimizer) lookupJoin(n *plan.Join, keys []equiKey, rawLeft, rawRight *plan.Scan) *plan.Join {
	if !o.on(RuleLookupJoin) || !o.on(RuleIndexes) || len(keys) == 0 {
		return nil
	}
	var forward, backward *plan.Join
	switch n.Kind {
	case plan.InnerJoin, plan.LeftJoin, plan.SemiJoin, plan.AntiJoin:
		forward = o.lookupInto(n, n.Left, rawRight, n.Kind)
	}
	switch n.Kind {
	case plan.InnerJoin:
		backward = o.lookupInto(n, n.Right, rawLeft, n.Kind)
	case plan.RightJoin:
		backward = o.lookupInto(n, n.Right, rawLeft, plan.LeftJoin)
	case plan.SemiJoin:
		if d := o.distinctRight(n, keys); d != nil {
			backward = o.lookupInto(n, d, rawLeft, plan.InnerJoin)
		}
	}
	if forward == nil || backward != nil && backward.Total < forward.Total {
		return backward
	}
	return forward
}

// distinctRight returns the right side of a semi join without duplicates of its
// keys, so that the join can be an inner one; nil if the condition is more than
// the keys or the keys are computed.
func (o *optimizer) distinctRight(n *plan.Join, keys []equiKey) plan.Node {
	if len(plan.Conjuncts(n.On, nil)) != len(keys) {
		return nil
	}
	in := n.Right.Props()
	d := &plan.Distinct{Input: n.Right}
	for _, k := range keys {
		r, ok := k.right.(*plan.ColRef)
		if !ok {
			return nil
		}
		d.Keys = append(d.Keys, r.Col)
	}
	if uniqueOn(n.Right, d.Keys) {
		return n.Right
	}
	if len(in.Cols) == len(d.Keys) {
		d.Cols = in.Cols
		d.Rows, d.Startup, d.Total = o.groups(n.Right, in.Rows, d.Keys), in.Startup, in.Total+in.Rows*costHash
		return d
	}
	// What is distinct must be the keys alone.
	p := &plan.Project{Input: n.Right}
	for _, id := range d.Keys {
		if i := plan.FindCol(in.Cols, id); plan.FindCol(p.Cols, id) < 0 {
			p.Cols, p.Exprs = append(p.Cols, in.Cols[i]), append(p.Exprs, plan.Ref(in.Cols[i]))
		}
	}
	p.Rows, p.Startup, p.Total = in.Rows, in.Startup, in.Total
	d.Input, d.Cols = p, p.Cols
	d.Rows = o.groups(n.Right, in.Rows, d.Keys)
	d.Startup, d.Total = in.Startup, in.Total+in.Rows*costHash
	return d
}

// lookupInto plans a lookup into the scan inner from the rows of outer.
func (o *optimizer) lookupInto(n *plan.Join, outer plan.Node, inner *plan.Scan, kind plan.JoinKind) *plan.Join {
	if inner == nil {
		return nil
	}
	oc := outer.Props().Cols
	// The join's conditions become the scan's, with the outer columns fixed.
	var onlyOuter []plan.Expr
	for _, cond := range plan.Conjuncts(n.On, nil) {
		if inner.Guarded && !leakproof(cond) {
			return nil // it could be computed for an entry of an index before the conditions that come first
		}
		if refsAny(cond, inner.Cols) && !plan.Volatile(cond) {
			inner.Filter = plan.Conjoin(inner.Filter, cond)
		} else {
			onlyOuter = append(onlyOuter, cond)
		}
	}
	right := o.accessPath(inner, wanted{})
	if !usesOuter(inner, oc) {
		return nil
	}
	j := &plan.Join{Kind: kind, Algo: plan.LookupJoin, Left: outer, Right: right, On: plan.ConjoinAll(onlyOuter)}
	j.Cols = n.Cols
	for _, col := range oc {
		if nodeRefs(right, col.ID) {
			j.Outer = append(j.Outer, col.ID)
		}
	}
	l, r := outer.Props(), right.Props()
	j.Rows = n.Rows
	j.Startup, j.Total = l.Startup+r.Startup, l.Total+max(l.Rows, 1)*(r.Total+costTuple)
	j.Order = l.Order
	return j
}

// usesOuter reports whether the keys that a scan reads depend on columns of cols.
func usesOuter(n *plan.Scan, cols []plan.Column) (uses bool) {
	plan.VisitExprs(&plan.Scan{Spans: n.Spans, Tokens: n.Tokens}, func(e *plan.Expr) {
		uses = uses || refsAny(*e, cols)
	})
	return uses
}

// nodeRefs reports whether a scan's expressions refer to a column.
func nodeRefs(n plan.Node, id plan.ColID) (uses bool) {
	plan.Walk(n, func(n plan.Node) bool {
		plan.VisitExprs(n, func(e *plan.Expr) {
			plan.Refs(*e, func(x plan.ColID) { uses = uses || x == id })
		})
		return true
	})
	return uses
}
