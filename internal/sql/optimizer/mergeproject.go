package optimizer

import (
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// mergeProject computes a projection of a projection in one step. Expressions
// of the lower one must be free of effects, and are not duplicated unless they
// are trivial.
func mergeProject(n *plan.Project) {
	in, ok := n.Input.(*plan.Project)
	if !ok {
		return
	}
	uses := make([]int, len(in.Cols))
	blocked := false
	for _, e := range n.Exprs {
		blocked = blocked || hasSubquery(e)
		plan.Refs(e, func(id plan.ColID) {
			if i := plan.FindCol(in.Cols, id); i >= 0 {
				uses[i]++
			}
		})
	}
	for i, e := range in.Exprs {
		switch e.(type) {
		case *plan.ColRef, *plan.Const, *plan.Param:
			continue
		}
		blocked = blocked || in.Called && uses[i] == 0
		volatile := plan.Volatile(e) && !plant.On(plant.VolatileTwice)
		if uses[i] > 1 && !plant.On(plant.VolatileTwice) || volatile || hasSubquery(e) {
			blocked = true
		}
	}
	if blocked {
		return
	}
	for i, e := range n.Exprs {
		n.Exprs[i] = plan.MapExpr(e, func(x plan.Expr) plan.Expr {
			if r, ok := x.(*plan.ColRef); ok {
				if k := plan.FindCol(in.Cols, r.Col); k >= 0 {
					if plant.On(plant.MergedColumns) && in.Exprs[0].Type() == in.Exprs[k].Type() {
						k = 0
					}
					return in.Exprs[k]
				}
			}
			return x
		})
	}
	n.Input = in.Input
}
