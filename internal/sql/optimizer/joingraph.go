package optimizer

import (
	"cmp"
	"slices"

	"github.com/lichendb/lichen/internal/sql/plan"
)

// joinGraph is what the order of joins is chosen by: how large the relations of a
// cluster are and what connects them.
type joinGraph struct {
	rels  []graphRel
	edges []graphEdge
	of    [][]int // the edges of each relation
	tick  func()  // counts a step of the search
}

// graphRel is a relation: its rows after its own conditions, those of its whole table,
// and what reading it costs.
type graphRel struct {
	rows, whole, read float64
}

// graphEdge is what the conditions among rels leave of the product of their rows.
type graphEdge struct {
	rels relSet
	sel  float64
	// lookups are those of two relations that the keys allow to read by an index for
	// each row of the other.
	lookups relSet
	// classes are those of the equal columns that it is about, if it is about nothing else:
	// once they are known to be equal it leaves all rows.
	classes uint64
}

func (g *joinGraph) addEdge(e graphEdge) {
	for i := range g.rels {
		if e.rels.has(i) {
			g.of[i] = append(g.of[i], len(g.edges))
		}
	}
	g.edges = append(g.edges, e)
}

func (o *optimizer) newJoinGraph(c *joinCluster) *joinGraph {
	g := &joinGraph{of: make([][]int, len(c.rels)), tick: o.step}
	for _, r := range c.rels {
		g.rels = append(g.rels, o.graphRel(r))
	}
	pairs := map[[2]int][]equiKey{}
	classes := map[[2]int][]int{}
	var order [][2]int
	for i, cond := range c.conds {
		set := c.sets[i]
		if set.len() == 2 {
			p := [2]int{set.next(0), set.next(set.next(0) + 1)}
			if keys, _ := equiKeys(cond, c.rels[p[0]].Props().Cols, c.rels[p[1]].Props().Cols); len(keys) == 1 {
				if pairs[p] == nil {
					order = append(order, p)
				}
				pairs[p], classes[p] = append(pairs[p], keys[0]), append(classes[p], c.classes[i])
				continue
			}
		}
		g.addEdge(graphEdge{rels: set, sel: o.leaves([]plan.Expr{cond}, c.rels...), lookups: newRelSet(len(c.rels))})
	}
	for _, p := range order {
		l, r := c.rels[p[0]], c.rels[p[1]]
		e := graphEdge{rels: newRelSet(len(c.rels), p[0], p[1]), sel: o.keysSel(l, r, pairs[p]), lookups: newRelSet(len(c.rels))}
		e.classes = classMask(classes[p])
		for _, k := range pairs[p] {
			if leadsIndex(l, k.left) {
				e.lookups.add(p[0])
			}
			if leadsIndex(r, k.right) {
				e.lookups.add(p[1])
			}
		}
		g.addEdge(e)
	}
	for _, of := range g.of {
		slices.SortStableFunc(of, func(a, b int) int { return cmp.Compare(g.edges[a].sel, g.edges[b].sel) })
	}
	return g
}

// classMask is the set of classes, empty if one of them is none or beyond what the set
// holds.
func classMask(classes []int) (mask uint64) {
	for _, c := range classes {
		if c == noClass || c >= 64 {
			return 0
		}
		mask |= 1 << c
	}
	return mask
}

func (o *optimizer) graphRel(n plan.Node) graphRel {
	rows := o.rough(n)
	s, ok := n.(*plan.Scan)
	if !ok {
		return graphRel{rows: rows, whole: rows, read: rows * costTuple}
	}
	st := o.stats(s.Table)
	return graphRel{rows: rows, whole: max(st.Rows, 1), read: o.leastRead(s, &st)}
}

// leastRead is what the cheapest index costs to read a relation by its own conditions.
func (o *optimizer) leastRead(n *plan.Scan, st *TableStats) float64 {
	atoms := o.atoms(n)
	outputs := o.outputsOf(n)
	least := o.path(n, n.Table.Primary(), atoms, st, outputs, wanted{}).total
	if !o.on(RuleIndexes) {
		return least
	}
	for i := range n.Table.Indexes {
		if ix := &n.Table.Indexes[i]; o.usable(n, ix, atoms) {
			least = min(least, o.path(n, ix, atoms, st, outputs, wanted{}).total)
		}
	}
	return least
}

// rough estimates the rows of a relation before the physical pass.
func (o *optimizer) rough(n plan.Node) float64 {
	switch n := n.(type) {
	case *plan.Scan:
		st := o.stats(n.Table)
		return max(min(o.reached(n, &st), st.Rows*selectivity(n.Filter, &st, n)), 1)
	case *plan.VirtualScan:
		return max(DefaultRows*selectivity(n.Filter, nil, nil), 1)
	case *plan.Values:
		return float64(len(n.RowExprs))
	case *plan.Filter:
		return max(o.rough(n.Input)*o.leaves(plan.Conjuncts(n.Cond, nil), n.Input), 1)
	case *plan.GroupBy:
		return o.groups(n.Input, o.rough(n.Input), n.Keys)
	case *plan.Distinct:
		return o.groups(n.Input, o.rough(n.Input), n.Keys)
	case *plan.Limit:
		return o.limited(plan.RowBound{Count: n.Count, Offset: n.Offset}, o.rough(n.Input))
	case *plan.Join:
		keys, rest := equiKeys(n.On, n.Left.Props().Cols, n.Right.Props().Cols)
		return o.joinRows(n, o.rough(n.Left), o.rough(n.Right), keys, rest)
	case *plan.SetOp:
		return o.rough(n.Left) + o.rough(n.Right)
	case *plan.CTEScan, *plan.TransitionScan:
		return DefaultRows
	}
	if ch := plan.Children(n); len(ch) == 1 {
		return o.rough(ch[0])
	}
	return srfRows
}

// reached is the number of rows that the keys of an index with known values reach, all
// rows if there is none.
func (o *optimizer) reached(n *plan.Scan, st *TableStats) float64 {
	rows := st.Rows
	atoms := o.atoms(n)
	for i := range n.Table.Indexes {
		if !o.usable(n, &n.Table.Indexes[i], atoms) {
			continue
		}
		if c := o.constrain(n, &n.Table.Indexes[i], atoms, st); c.point {
			rows = min(rows, c.keys)
		}
	}
	return rows
}

// joined estimates the rows of the join of relation i to those of s, which are so many.
func (g *joinGraph) joined(s relSet, rows float64, i int) float64 {
	rows *= g.rels[i].rows
	equal := uint64(0)
	for _, k := range g.of[i] {
		e := &g.edges[k]
		if e.rels.withinAnd(s, i) && !e.follows(equal) {
			rows *= e.sel
			equal |= e.classes
		}
	}
	return rows
}

// follows reports whether the edge's conditions hold where the classes are equal.
func (e *graphEdge) follows(equal uint64) bool {
	return e.classes != 0 && e.classes&^equal == 0
}

// step estimates what joining relation i to the rows of s costs, s being joined
// already: by hashing it or by looking it up, whichever is cheaper.
func (g *joinGraph) step(s relSet, rows float64, i int, out float64) float64 {
	r := &g.rels[i]
	linked, lookup, matches, equal := false, false, r.whole, uint64(0)
	for _, k := range g.of[i] {
		e := &g.edges[k]
		if !e.rels.withinAnd(s, i) || e.rels.len() == 1 {
			continue
		}
		linked = true
		if e.lookups.has(i) && !e.follows(equal) {
			lookup = true
			matches *= e.sel
			equal |= e.classes
		}
	}
	passed := out * costTuple
	if !linked {
		return r.read + rows*r.rows*costTuple/4 + passed
	}
	hash := r.read + min(r.rows, rows)*costHash + max(r.rows, rows)*(costTuple+costOperator) + passed
	if !lookup {
		return hash
	}
	return min(hash, rows*(costSeek+costTuple+matches*(costIndexRow+costRow))+passed)
}

// first is what beginning with relation i costs.
func (g *joinGraph) first(i int) float64 { return g.rels[i].read }

// leadsIndex reports whether e is the first column of an index of n's table.
func leadsIndex(n plan.Node, e plan.Expr) bool {
	s, ok := n.(*plan.Scan)
	if !ok {
		return false
	}
	ord := column(s, e)
	if ord < 0 {
		return false
	}
	for i := range s.Table.Indexes {
		ix := &s.Table.Indexes[i]
		if ix.Total() && !ix.WriteOnly && len(ix.Columns) > 0 && ix.Columns[0].Column == s.Table.Columns[ord].ID {
			return true
		}
	}
	return false
}
