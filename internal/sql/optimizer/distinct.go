package optimizer

import (
	"slices"

	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// eliminateDistinct drops DISTINCT, and GROUP BY without aggregates, where the
// input has no duplicates of the keys.
func (o *optimizer) eliminateDistinct(n plan.Node) plan.Node {
	eachChild(n, o.eliminateDistinct)
	switch n := n.(type) {
	case *plan.Distinct:
		if uniqueOn(n.Input, n.Keys) {
			return n.Input
		}
		if constantOn(n.Input, n.Keys) { // one row stands for all
			l := &plan.Limit{Input: n.Input, Count: plan.NewConst(types.Int8, types.NewInt(1))}
			l.Cols, l.Order = n.Cols, n.Order
			return l
		}
	case *plan.GroupBy:
		if len(n.Aggs)+len(n.Groupings) == 0 && !n.Scalar && n.Sets == nil && uniqueOn(n.Input, n.Keys) {
			p := &plan.Project{Input: n.Input}
			p.Cols = n.Cols
			for _, c := range n.Cols {
				p.Exprs = append(p.Exprs, plan.Ref(c))
			}
			return p
		}
	}
	return n
}

// constantOn reports whether all rows of n agree on all of keys, as these are constants.
func constantOn(n plan.Node, keys []plan.ColID) bool {
	switch n := n.(type) {
	case *plan.Sort:
		return constantOn(n.Input, keys)
	case *plan.Project:
		return !slices.ContainsFunc(keys, func(k plan.ColID) bool {
			i := plan.FindCol(n.Cols, k)
			return i < 0 || !isConstant(n.Exprs[i])
		})
	}
	return false
}

// uniqueOn reports whether no two rows of n agree on all of keys.
func uniqueOn(n plan.Node, keys []plan.ColID) bool {
	switch n := n.(type) {
	case *plan.Scan:
		for i := range n.Table.Indexes {
			if ix := &n.Table.Indexes[i]; ix.Unique && ix.Total() && !ix.WriteOnly && keysCover(n, ix, keys) {
				return true
			}
		}
		return false
	case *plan.Filter:
		return uniqueOn(n.Input, keys)
	case *plan.Barrier:
		return uniqueOn(n.Input, keys)
	case *plan.Sort:
		return uniqueOn(n.Input, keys)
	case *plan.Limit:
		return uniqueOn(n.Input, keys)
	case *plan.Project:
		var below []plan.ColID
		for _, k := range keys {
			if i := plan.FindCol(n.Cols, k); i >= 0 {
				if r, ok := n.Exprs[i].(*plan.ColRef); ok {
					below = append(below, r.Col)
				}
			}
		}
		return uniqueOn(n.Input, below)
	case *plan.GroupBy:
		return n.Scalar || n.Sets == nil && subset(n.Keys, keys)
	case *plan.Distinct:
		return subset(n.Keys, keys)
	case *plan.Join:
		if n.Kind == plan.SemiJoin || n.Kind == plan.AntiJoin || plant.On(plant.DistinctOverJoin) {
			return uniqueOn(n.Left, keys)
		}
	case *plan.Values:
		return len(n.RowExprs) <= 1
	}
	return false
}

// keysCover reports whether keys include all columns of a unique index, none of
// which can be NULL.
func keysCover(n *plan.Scan, ix *catalog.Index, keys []plan.ColID) bool {
	for _, c := range ix.Columns {
		ord := n.Table.ColumnByID(c.Column)
		found := false
		for i, o := range n.Ords {
			if o == ord && (n.Table.Columns[ord].NotNull || plant.On(plant.DistinctByNullable)) {
				for _, k := range keys {
					found = found || k == n.Cols[i].ID
				}
			}
		}
		if !found {
			return false
		}
	}
	return true
}

func subset(a, b []plan.ColID) bool {
	for _, x := range a {
		found := false
		for _, y := range b {
			found = found || x == y
		}
		if !found {
			return false
		}
	}
	return true
}
