package optimizer

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/plan"
)

const (
	// maxJoinRelations bounds the joins that are reordered together; larger ones
	// keep the written order.
	maxJoinRelations = 32
	// maxJoinSearch bounds those whose orders are all compared; larger ones are put
	// together step by step, the cheapest next.
	maxJoinSearch = 10
)

// orderJoins reorders inner joins into the left-deep tree that is estimated to cost
// least.
func (o *optimizer) orderJoins(n plan.Node) plan.Node {
	j, ok := n.(*plan.Join)
	if !ok || j.Kind != plan.InnerJoin || len(j.Outer) > 0 {
		eachChild(n, o.orderJoins)
		return n
	}
	var c joinCluster
	c.collect(j)
	if o.on(RulePushFilters) {
		o.restrictByArms(&c)
	}
	for i := range c.rels {
		c.rels[i] = o.orderJoins(c.rels[i])
	}
	if len(c.rels) < 3 || len(c.rels) > maxJoinRelations {
		return c.rebuild(j)
	}
	g := o.newJoinGraph(&c)
	var order []int
	if len(c.rels) <= maxJoinSearch {
		order = g.search()
	} else {
		order = g.greedy()
	}
	return c.inOrder(order, j.Cols)
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

// rebuild puts the (possibly rewritten) relations back where they were. A relation that
// was an outer join may have become an inner one since: it stays a relation.
func (c *joinCluster) rebuild(n plan.Node) plan.Node {
	next := 0
	var put func(n plan.Node) plan.Node
	put = func(n plan.Node) plan.Node {
		j, ok := n.(*plan.Join)
		if !ok || !slices.Contains(c.joins, j) {
			next++
			return c.rels[next-1]
		}
		j.Left = put(j.Left)
		j.Right = put(j.Right)
		return j
	}
	return put(n)
}

// inOrder builds the left-deep tree that joins the relations in the given order.
func (c *joinCluster) inOrder(order []int, cols []plan.Column) plan.Node {
	tree := c.rels[order[0]]
	for _, i := range order[1:] {
		tree = c.joinNext(tree, i)
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
