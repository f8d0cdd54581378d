package optimizer

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/plan"
)

// maxJoinRelations bounds the joins that are reordered together; larger ones keep the
// written order.
const maxJoinRelations = 1024

// orderJoins reorders inner joins into the left-deep tree that is estimated to cost
// least, and semi and anti joins: see orderSemiJoins.
func (o *optimizer) orderJoins(n plan.Node) plan.Node {
	j, ok := n.(*plan.Join)
	if ok && dropsRows(j) {
		return o.orderSemiJoins(j)
	}
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
	c.resolve()
	c.implied()
	return c.inOrder(o.newJoinGraph(&c).order(), j.Cols)
}

// joinCluster is a set of relations joined by inner joins.
type joinCluster struct {
	rels  []plan.Node
	conds []plan.Expr
	joins []*plan.Join
	// sets are the relations that each condition refers to; see resolve.
	sets []relSet
	// classes are those of equal columns that each condition is of; see implied.
	classes []int
}

// resolve finds out which relations the conditions refer to.
func (c *joinCluster) resolve() {
	owner := map[plan.ColID]int{}
	for i, r := range c.rels {
		for _, col := range r.Props().Cols {
			owner[col.ID] = i
		}
	}
	for _, cond := range c.conds {
		set := newRelSet(len(c.rels))
		plan.Refs(cond, func(id plan.ColID) {
			if i, ok := owner[id]; ok {
				set.add(i)
			}
		})
		c.sets = append(c.sets, set)
	}
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
	joined := newRelSet(len(c.rels), order[0])
	for _, i := range order[1:] {
		joined.add(i)
		tree = c.joinNext(tree, i, joined)
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

// joinNext joins relation i, the last of joined, to the tree with all conditions that now
// apply.
func (c *joinCluster) joinNext(tree plan.Node, i int, joined relSet) plan.Node {
	j := &plan.Join{Kind: plan.InnerJoin, Left: tree, Right: c.rels[i]}
	j.Cols = append(append(j.Cols, tree.Props().Cols...), c.rels[i].Props().Cols...)
	var apply, left []int
	for k := range c.conds {
		if c.sets[k].within(joined) {
			apply = append(apply, k)
		} else {
			left = append(left, k)
		}
	}
	j.On = plan.ConjoinAll(c.sufficient(apply, i))
	for at, k := range left {
		c.conds[at], c.sets[at], c.classes[at] = c.conds[k], c.sets[k], c.classes[k]
	}
	c.conds, c.sets, c.classes = c.conds[:len(left)], c.sets[:len(left)], c.classes[:len(left)]
	return j
}
