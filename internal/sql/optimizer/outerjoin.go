package optimizer

import (
	"slices"

	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// mostPerRow is how many rows for each of its own a join may leave of an input whose outer
// join is done after it: about one.
const mostPerRow = 1.01

// raiseOuterJoins turns (a LEFT JOIN b) JOIN c into (a JOIN c) LEFT JOIN b where c has
// nothing to do with b and leaves no more rows of a than there are: b then need be read for
// these only, and a and c are free to be joined in any order with what else there is. A
// LATERAL b, which is read for each row of a, is treated alike.
func (o *optimizer) raiseOuterJoins(n plan.Node) plan.Node {
	eachChild(n, o.raiseOuterJoins)
	j, ok := n.(*plan.Join)
	if !ok || j.Kind != plan.InnerJoin || len(j.Outer) > 0 || plan.Volatile(j.On) {
		return n
	}
	if left, ok := unwrapped(j.Left).(*plan.Join); ok && o.raises(j, left, j.Right) {
		return o.raise(j, left, &j.Left)
	}
	if right, ok := unwrapped(j.Right).(*plan.Join); ok && o.raises(j, right, j.Left) {
		return o.raise(j, right, &j.Right)
	}
	return n
}

// raises reports whether the outer join, an input of j beside other, is better done after j.
func (o *optimizer) raises(j, outer *plan.Join, other plan.Node) bool {
	lateral := outer.Kind == plan.InnerJoin && len(outer.Outer) > 0
	if outer.Kind != plan.LeftJoin && !lateral || refsAny(j.On, outer.Right.Props().Cols) && !plant.On(plant.RaisedUnchecked) {
		return false
	}
	if plan.Volatile(outer.On) || !plan.Pure(outer.Right) {
		return false
	}
	keys, rest := equiKeys(j.On, outer.Left.Props().Cols, other.Props().Cols)
	if len(keys) == 0 {
		return false
	}
	return o.rough(other)*o.keysSel(outer.Left, other, keys)*o.leaves(rest, outer.Left, other) <= mostPerRow
}

// unwrapped is n without projections that do nothing but leave out columns.
func unwrapped(n plan.Node) plan.Node {
	p, ok := n.(*plan.Project)
	if !ok {
		return n
	}
	for i, e := range p.Exprs {
		if r, ok := e.(*plan.ColRef); !ok || r.Col != p.Cols[i].ID {
			return n
		}
	}
	return unwrapped(p.Input)
}

// raise puts the outer join, which stands at input, above j, and goes on below it.
func (o *optimizer) raise(j, outer *plan.Join, input *plan.Node) plan.Node {
	all := j.Cols
	if plant.On(plant.RaisedUnchecked) {
		outer.On, j.On = plan.ConjoinAll([]plan.Expr{outer.On, above(j.On, outer, true)}), above(j.On, outer, false)
	}
	*input = outer.Left
	j.Cols = append(append([]plan.Column(nil), j.Left.Props().Cols...), j.Right.Props().Cols...)
	outer.Left = o.raiseOuterJoins(j)
	outer.Cols = all
	return outer
}

// above is what a condition has about the right side of an outer join, or the rest of it.
func above(cond plan.Expr, outer *plan.Join, right bool) plan.Expr {
	return plan.ConjoinAll(slices.DeleteFunc(plan.Conjuncts(cond, nil), func(c plan.Expr) bool {
		return refsAny(c, outer.Right.Props().Cols) != right
	}))
}

// testOfUnmatched returns the position of a condition above a left join that holds for just
// the rows without a match, as it asks for a NULL where no match has one; -1 if none does.
func testOfUnmatched(n *plan.Join, conds []plan.Expr) int {
	if n.Kind != plan.LeftJoin || len(n.Outer) > 0 || plan.Volatile(n.On) || !plan.Pure(n.Right) {
		return -1
	}
	return slices.IndexFunc(conds, func(c plan.Expr) bool {
		is, ok := c.(*plan.Is)
		if !ok || is.Kind != plan.IsNull || is.OfFields() {
			return false
		}
		r, ok := is.Arg.(*plan.ColRef)
		return ok && plan.FindCol(n.Right.Props().Cols, r.Col) >= 0 &&
			(notNull(n.Right, r.Col) || comparedBy(n.On, r.Col) || plant.On(plant.UnmatchedByAny))
	})
}

// comparedBy reports whether a condition is not true unless a column equals something.
func comparedBy(on plan.Expr, id plan.ColID) bool {
	return slices.ContainsFunc(plan.Conjuncts(on, nil), func(c plan.Expr) bool {
		call, ok := c.(*plan.Call)
		return ok && call.Fn.Operator && call.Fn.Name == "=" && slices.ContainsFunc(call.Args, func(a plan.Expr) bool {
			r, ok := a.(*plan.ColRef)
			return ok && r.Col == id
		})
	})
}

// unmatched is the rows of a left join without a match, by an anti join: in all of them the
// columns of the right side are NULL.
func unmatched(n *plan.Join) plan.Node {
	anti := &plan.Join{Kind: plan.AntiJoin, Left: n.Left, Right: n.Right, On: n.On}
	anti.Cols = n.Left.Props().Cols
	p := &plan.Project{Input: anti}
	p.Cols = n.Cols
	for _, c := range n.Cols {
		if plan.FindCol(anti.Cols, c.ID) >= 0 {
			p.Exprs = append(p.Exprs, plan.Ref(c))
		} else {
			p.Exprs = append(p.Exprs, plan.NewConst(c.Type, types.Null))
		}
	}
	return p
}
