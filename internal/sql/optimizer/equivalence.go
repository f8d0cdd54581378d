package optimizer

import (
	"slices"

	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// maxImplied bounds the columns that are equal to one another of which every two relations
// are joined by.
const maxImplied = 16

// equalColumns are columns of different relations that conditions make equal, directly or
// by way of others.
type equalColumns struct {
	cols []*plan.ColRef
	rels []int
	call *plan.Call // one of the conditions
}

// implied adds what the conditions between columns of the relations imply: of a = b and
// b = c also a = c, so that a and c can be joined first. Of the conditions of a class, as
// many as there are relations in it less one say all.
func (c *joinCluster) implied() {
	c.classes = make([]int, len(c.conds))
	var classes []equalColumns
	for i, cond := range c.conds {
		c.classes[i] = noClass
		if e, ok := c.equality(cond, c.sets[i]); ok {
			classes = merged(classes, e)
		}
	}
	for k := range classes {
		if e := &classes[k]; len(e.cols) > 2 && len(e.cols) <= maxImplied && e.oneEach() {
			c.complete(e, k)
		}
	}
}

// noClass marks conditions that stand for themselves.
const noClass = -1

// equality returns a condition as the class of the two columns that it makes equal.
func (c *joinCluster) equality(cond plan.Expr, set relSet) (e equalColumns, ok bool) {
	call, isCall := cond.(*plan.Call)
	if !isCall || !call.Fn.Operator || call.Fn.Name != "=" || len(call.Args) != 2 || set.len() != 2 {
		return e, false
	}
	l, lok := call.Args[0].(*plan.ColRef)
	r, rok := call.Args[1].(*plan.ColRef)
	if !lok || !rok || l.T.Oid != r.T.Oid || !hashable(l, r) {
		return e, false
	}
	first := set.next(0)
	second := set.next(first + 1)
	if plan.FindCol(c.rels[first].Props().Cols, l.Col) < 0 {
		first, second = second, first
	}
	return equalColumns{[]*plan.ColRef{l, r}, []int{first, second}, call}, true
}

func (e *equalColumns) has(id plan.ColID) bool {
	return slices.ContainsFunc(e.cols, func(c *plan.ColRef) bool { return c.Col == id })
}

// oneEach reports whether the columns are of as many relations.
func (e *equalColumns) oneEach() bool {
	rels := slices.Clone(e.rels)
	slices.Sort(rels)
	return len(slices.Compact(rels)) == len(e.rels)
}

// merged adds a pair of equal columns to classes, joining those that it connects. No column is in
// two classes of one operator.
func merged(classes []equalColumns, e equalColumns) []equalColumns {
	out, l, r := classes[:0], e.cols[0].Col, e.cols[1].Col
	for _, k := range classes {
		if k.call.Fn != e.call.Fn || !k.has(l) && !k.has(r) {
			out = append(out, k)
			continue
		}
		for i, col := range k.cols {
			if col.Col != l && col.Col != r {
				e.cols, e.rels = append(e.cols, col), append(e.rels, k.rels[i])
			}
		}
	}
	return append(out, e)
}

// complete makes the class of all conditions between the columns of e known, and adds those
// that are missing.
func (c *joinCluster) complete(e *equalColumns, class int) {
	given := map[[2]plan.ColID]bool{}
	for i, cond := range c.conds {
		call, ok := cond.(*plan.Call)
		if !ok || call.Fn != e.call.Fn {
			continue
		}
		l, lok := call.Args[0].(*plan.ColRef)
		r, rok := call.Args[1].(*plan.ColRef)
		if lok && rok && e.has(l.Col) && e.has(r.Col) {
			c.classes[i] = class
			given[[2]plan.ColID{l.Col, r.Col}], given[[2]plan.ColID{r.Col, l.Col}] = true, true
		}
	}
	for i, l := range e.cols {
		for k, r := range e.cols[:i] {
			if given[[2]plan.ColID{l.Col, r.Col}] {
				continue
			}
			left, right, call := *l, *r, *e.call
			call.Args = []plan.Expr{&left, &right}
			c.conds = append(c.conds, &call)
			c.sets = append(c.sets, newRelSet(len(c.rels), e.rels[i], e.rels[k]))
			c.classes = append(c.classes, class)
		}
	}
}

// sufficient returns those of the conditions at the given positions, which now apply as
// relation i is joined, that imply the others: of each class one, to a relation that other
// conditions join by as well if there is such a one.
func (c *joinCluster) sufficient(apply []int, i int) []plan.Expr {
	weight := make([]int, len(c.rels))
	other := func(k int) int {
		first := c.sets[k].next(0)
		if first == i {
			return c.sets[k].next(i + 1)
		}
		return first
	}
	for _, k := range apply {
		if c.sets[k].len() == 2 {
			weight[other(k)]++
		}
	}
	best := map[int]int{}
	for _, k := range apply {
		class := c.classes[k]
		if b, ok := best[class]; class != noClass && (!ok || weight[other(k)] > weight[other(b)]) {
			best[class] = k
		}
	}
	var on []plan.Expr
	for _, k := range apply {
		if class := c.classes[k]; class == noClass || best[class] == k && !plant.On(plant.ImpliedUnchecked) {
			on = append(on, c.conds[k])
		}
	}
	return on
}
