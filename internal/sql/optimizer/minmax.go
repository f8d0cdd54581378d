package optimizer

import (
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// minMax computes the only min or max of a table from the first row in the
// order of an index: it restricts the aggregate's input to that row.
func (o *optimizer) minMax(n plan.Node) plan.Node {
	eachChild(n, o.minMax)
	g, ok := n.(*plan.GroupBy)
	if !ok || !g.Scalar || len(g.Aggs) != 1 || len(g.Groupings) > 0 {
		return n
	}
	a := &g.Aggs[0]
	if a.Fn.Name != "min" && a.Fn.Name != "max" || a.Filter != nil || len(a.Args) != 1 || len(a.OrderBy) > 0 && !a.Fn.OrderIndependent {
		return n
	}
	ref, ok := a.Args[0].(*plan.ColRef)
	scan, isScan := g.Input.(*plan.Scan)
	if !ok || !isScan || !o.orderedBy(scan, ref.Col) {
		return n
	}
	if !scan.Cols[plan.FindCol(scan.Cols, ref.Col)].NotNull {
		scan.Filter = plan.Conjoin(scan.Filter, &plan.Is{Arg: ref, Kind: plan.IsNotNull})
	}
	key := plan.SortKey{Col: ref.Col}
	if a.Fn.Name == "max" {
		key.Desc, key.NullsFirst = true, true
	}
	sort := &plan.Sort{Input: scan, Keys: []plan.SortKey{key}}
	sort.Cols, sort.Order = scan.Cols, sort.Keys
	limit := &plan.Limit{Input: sort, Count: plan.NewConst(types.Int8, types.NewInt(1))}
	limit.Cols, limit.Order = scan.Cols, sort.Keys
	g.Input = limit
	return g
}

// orderedBy reports whether some index of the table has rows in the order of a
// column, once the columns before it are bound by the filter.
func (o *optimizer) orderedBy(n *plan.Scan, id plan.ColID) bool {
	at := plan.FindCol(n.Cols, id)
	if at < 0 || n.Virtual() {
		return false
	}
	want := n.Table.Columns[n.Ords[at]].ID
	atoms := o.atoms(n)
	for i := range n.Table.Indexes {
		ix := &n.Table.Indexes[i]
		if ix.HashColumns > 0 || !o.usable(n, ix, atoms) {
			continue
		}
		for _, c := range plan.KeyColumns(n.Table, ix) {
			if c.Column == want {
				return true
			}
			if atoms.single(n.Table.ColumnByID(c.Column)) < 0 {
				break
			}
		}
	}
	return false
}
