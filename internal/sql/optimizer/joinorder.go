package optimizer

import (
	"github.com/lichendb/lichen/internal/sql/plan"
)

// maxJoinRelations bounds the joins that are reordered together; larger ones
// keep the written order.
const maxJoinRelations = 32

// orderJoins reorders inner joins: it starts from the smallest relation and
// adds, one by one, the connected relation that keeps the result smallest.
func (o *optimizer) orderJoins(n plan.Node) plan.Node {
	j, ok := n.(*plan.Join)
	if !ok || j.Kind != plan.InnerJoin || len(j.Outer) > 0 {
		eachChild(n, o.orderJoins)
		return n
	}
	var c joinCluster
	c.collect(j)
	for i := range c.rels {
		c.rels[i] = o.orderJoins(c.rels[i])
	}
	if len(c.rels) < 3 || len(c.rels) > maxJoinRelations {
		return c.rebuild(j)
	}
	return o.greedy(&c, j.Cols)
}

// joinCluster is a set of relations joined by inner joins.
type joinCluster struct {
	rels  []plan.Node
	conds []plan.Expr
	joins []*plan.Join
}

// collect flattens nested inner joins.
func (c *joinCluster) collect(n plan.Node) {
	j, ok := n.(*plan.Join)
	if !ok || j.Kind != plan.InnerJoin || len(j.Outer) > 0 {
		c.rels = append(c.rels, n)
		return
	}
	c.joins = append(c.joins, j)
	c.collect(j.Left)
	c.collect(j.Right)
	c.conds = plan.Conjuncts(j.On, c.conds)
}

// rebuild puts the (possibly rewritten) relations back where they were.
func (c *joinCluster) rebuild(n plan.Node) plan.Node {
	next := 0
	var put func(n plan.Node) plan.Node
	put = func(n plan.Node) plan.Node {
		j, ok := n.(*plan.Join)
		if !ok || j.Kind != plan.InnerJoin || len(j.Outer) > 0 {
			next++
			return c.rels[next-1]
		}
		j.Left = put(j.Left)
		j.Right = put(j.Right)
		return j
	}
	return put(n)
}

// rough estimates the rows of a relation before the physical pass.
func (o *optimizer) rough(n plan.Node) float64 {
	switch n := n.(type) {
	case *plan.Scan:
		st := o.stats(n.Table)
		rows := st.Rows
		atoms := o.atoms(n)
		for i := range n.Table.Indexes {
			if !o.usable(n, &n.Table.Indexes[i], atoms) {
				continue
			}
			c := o.constrain(n, &n.Table.Indexes[i], atoms, &st)
			if c.point {
				rows = min(rows, c.keys)
			}
		}
		return max(min(rows, st.Rows*selectivity(n.Filter, &st, n)), 1)
	case *plan.VirtualScan:
		return max(DefaultRows*selectivity(n.Filter, nil, nil), 1)
	case *plan.Values:
		return float64(len(n.RowExprs))
	case *plan.Filter:
		return max(o.rough(n.Input)*selectivity(n.Cond, nil, nil), 1)
	case *plan.GroupBy:
		return groups(o.rough(n.Input), len(n.Keys))
	case *plan.Limit:
		return limited(plan.RowBound{Count: n.Count, Offset: n.Offset}, o.rough(n.Input))
	case *plan.Join:
		l := o.rough(n.Left)
		if n.Kind == plan.SemiJoin || n.Kind == plan.AntiJoin {
			return max(l*otherSel, 1)
		}
		return max(l, o.rough(n.Right))
	case *plan.SetOp:
		return o.rough(n.Left) + o.rough(n.Right)
	case *plan.CTEScan:
		return DefaultRows
	}
	if ch := n.Children(); len(ch) == 1 {
		return o.rough(ch[0])
	}
	return srfRows
}

// greedy builds a left-deep tree.
func (o *optimizer) greedy(c *joinCluster, cols []plan.Column) plan.Node {
	n := len(c.rels)
	rows, used := make([]float64, n), make([]bool, n)
	start := 0
	for i := range c.rels {
		rows[i] = o.rough(c.rels[i])
		if rows[i] < rows[start] {
			start = i
		}
	}
	used[start] = true
	tree, size := c.rels[start], rows[start]
	for k := 1; k < n; k++ {
		best, bestSize, bestLinked := -1, 0.0, false
		for i := range c.rels {
			if used[i] {
				continue
			}
			s, linked := o.joined(c, tree, size, i, rows[i])
			if best < 0 || linked && !bestLinked || linked == bestLinked && s < bestSize {
				best, bestSize, bestLinked = i, s, linked
			}
		}
		used[best] = true
		tree, size = c.joinNext(tree, best), max(bestSize, 1)
	}
	tree = filtered(tree, c.conds)
	if j, ok := tree.(*plan.Join); ok {
		j.Cols = orderedCols(j.Cols, cols)
	}
	return tree
}

// orderedCols keeps the columns in the order the written join had them.
func orderedCols(have, want []plan.Column) []plan.Column {
	out := make([]plan.Column, 0, len(have))
	for _, c := range want {
		if plan.FindCol(have, c.ID) >= 0 {
			out = append(out, c)
		}
	}
	return out
}

// joined estimates the result of adding relation i; linked tells whether a
// condition connects it.
func (o *optimizer) joined(c *joinCluster, tree plan.Node, size float64, i int, rows float64) (float64, bool) {
	tc, rc := tree.Props().Cols, c.rels[i].Props().Cols
	sel, linked := 1.0, false
	for _, cond := range c.conds {
		if !refsAny(cond, tc) || !refsAny(cond, rc) || !c.covered(cond, tc, rc) {
			continue
		}
		linked = true
		keys, _ := equiKeys(cond, tc, rc)
		if len(keys) == 0 {
			sel *= selectivity(cond, nil, nil)
			continue
		}
		d := min(DefaultDistinct, max(size, rows))
		if r, ok := keys[0].right.(*plan.ColRef); ok && uniqueOn(c.rels[i], []plan.ColID{r.Col}) {
			d = max(o.unfiltered(c.rels[i]), 1)
		}
		if l, ok := keys[0].left.(*plan.ColRef); ok && uniqueOn(tree, []plan.ColID{l.Col}) {
			d = max(d, size)
		}
		sel /= max(d, 1)
	}
	return size * rows * sel, linked
}

// unfiltered is the number of rows of a relation's table.
func (o *optimizer) unfiltered(n plan.Node) float64 {
	if s, ok := n.(*plan.Scan); ok {
		return o.stats(s.Table).Rows
	}
	return o.rough(n)
}

// covered reports whether the relations of the cluster that cond refers to are
// all among the given columns.
func (c *joinCluster) covered(cond plan.Expr, tc, rc []plan.Column) bool {
	ok := true
	plan.Refs(cond, func(id plan.ColID) {
		if plan.FindCol(tc, id) >= 0 || plan.FindCol(rc, id) >= 0 {
			return
		}
		for _, r := range c.rels {
			if plan.FindCol(r.Props().Cols, id) >= 0 {
				ok = false
			}
		}
	})
	return ok
}

// joinNext joins relation i to the tree with all conditions that now apply.
func (c *joinCluster) joinNext(tree plan.Node, i int) plan.Node {
	j := &plan.Join{Kind: plan.InnerJoin, Left: tree, Right: c.rels[i]}
	tc, rc := tree.Props().Cols, c.rels[i].Props().Cols
	j.Cols = append(append(j.Cols, tc...), rc...)
	var on, later []plan.Expr
	for _, cond := range c.conds {
		if c.covered(cond, tc, rc) {
			on = append(on, cond)
		} else {
			later = append(later, cond)
		}
	}
	c.conds = later
	j.On = plan.ConjoinAll(on)
	return j
}
