package optimizer

import (
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/inverted"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Estimates for conditions that inverted indexes answer.
const (
	tokenSel     = 0.01
	costPosting  = 0.004 // reading an entry of an inverted index
	postingShare = 4     // entries read for each row found
)

// tokenPath costs reading the rows that an inverted index finds; false if no condition
// is of use.
func (o *optimizer) tokenPath(n *plan.Scan, ix *catalog.Index, atoms *atomList, st *TableStats, w wanted) (path, bool) {
	class := inverted.ByName(ix.Inverted)
	if class == nil {
		return path{}, false
	}
	ord := n.Table.ColumnByID(ix.Columns[0].Column)
	t := &plan.TokenScan{Index: ix}
	sel := 1.0
	for _, c := range atoms.conjs {
		if conds := tokenConds(n, class, ord, c); conds != nil {
			t.Conds = append(t.Conds, conds)
			sel *= min(1, tokenSel*float64(len(conds)))
		}
	}
	if len(t.Conds) == 0 {
		return path{}, false
	}
	primary := n.Table.Primary()
	p := path{c: constrained{index: primary, key: plan.KeyColumns(n.Table, primary), sel: sel, keys: 1}, covering: true, tokens: t}
	p.scanned = max(st.Rows*sel, 1)
	p.rows = p.scanned
	ops := 0.0
	for _, c := range atoms.conjs {
		ops += operators(c)
	}
	p.startup = costSeek
	p.total = costSeek*float64(1+len(t.Conds)) + p.scanned*(postingShare*costPosting+costFetch+ops)
	if len(w.order) > 0 {
		p.ordered = matchOrder(n, &p.c, w.order, false)
	}
	o.weigh(&p, w)
	return p, true
}

// tokenConds returns the conditions of which one must hold for cond to be true, if an
// index on column ord answers them all.
func tokenConds(n *plan.Scan, class *inverted.Class, ord int, cond plan.Expr) []plan.TokenCond {
	switch c := cond.(type) {
	case *plan.Call:
		if t, ok := tokenCond(n, class, ord, c); ok {
			return []plan.TokenCond{t}
		}
	case *plan.And: // any of them is enough: all are checked again
		for _, a := range c.Args {
			if list := tokenConds(n, class, ord, a); list != nil {
				return list
			}
		}
	case *plan.Or:
		var out []plan.TokenCond
		for _, a := range c.Args {
			list := tokenConds(n, class, ord, a)
			if list == nil {
				return nil
			}
			out = append(out, list...)
		}
		return out
	}
	return nil
}

func tokenCond(n *plan.Scan, class *inverted.Class, ord int, c *plan.Call) (plan.TokenCond, bool) {
	if !c.Fn.Operator || len(c.Args) != 2 {
		return plan.TokenCond{}, false
	}
	op, value := c.Fn.Name, c.Args[1]
	if column(n, c.Args[0]) != ord {
		op, value = inverted.Commuted(op), c.Args[0]
		if column(n, c.Args[1]) != ord {
			return plan.TokenCond{}, false
		}
	}
	t := n.Table.Columns[ord].Type
	if !class.Supports(op) || !refsOnly(value, n.Cols) || plan.Volatile(value) || !operandFits(t, value.Type()) {
		return plan.TokenCond{}, false
	}
	if d, ok := constOf(value); ok && !d.IsNull() {
		f := class.Query(t, op, d, inverted.Options{Similarity: inverted.DefaultSimilarity})
		if f.Kind == inverted.All {
			return plan.TokenCond{}, false
		}
	}
	return plan.TokenCond{Op: op, Value: value}, true
}

// operandFits reports whether a value is taken apart as the column's values are.
func operandFits(column, value *types.T) bool {
	return column.Family != types.ArrayFamily || value.Elem != nil && value.Elem.Family == column.Elem.Family &&
		(value.Elem.Oid == types.Bpchar.Oid) == (column.Elem.Oid == types.Bpchar.Oid)
}
