package advise

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/stmtstats"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Reads returns the tables that a plan reads, by which index and with which conditions.
func Reads(root plan.Node) (out []stmtstats.Read) {
	plan.EveryNode(root, func(n plan.Node) {
		s, ok := n.(*plan.Scan)
		if !ok || s.Virtual() || len(out) >= stmtstats.MaxReads {
			return
		}
		r := stmtstats.Read{Table: uint64(s.Table.ID), Index: uint64(s.Index.ID), Full: s.Spans == nil && s.Tokens == nil, Rows: s.Rows}
		if s.Tokens != nil {
			r.Index = uint64(s.Tokens.Index.ID)
		}
		if r.Full {
			conditions(s, &r)
		}
		out = append(out, r)
	})
	return out
}

// conditions notes which columns the filter of a scan compares with values.
func conditions(s *plan.Scan, r *stmtstats.Read) {
	for _, c := range plan.Conjuncts(s.Filter, nil) {
		ord, equal, ok := comparison(s, c)
		if !ok {
			continue
		}
		id := uint32(s.Table.Columns[ord].ID)
		switch {
		case equal && !slices.Contains(r.Equal, id) && len(r.Equal) < stmtstats.MaxColumns:
			r.Equal = append(r.Equal, id)
		case !equal && r.Range == 0:
			r.Range = id
		}
	}
	if slices.Contains(r.Equal, r.Range) {
		r.Range = 0
	}
}

// ranges are the operators by which an index finds a range of values.
var ranges = []string{"<", "<=", ">", ">="}

// comparison takes a condition apart that an index would find: a column of the scan, compared with what doesn't depend on the
// row. It returns the column's position in the table, and whether the comparison is with one value, or a few.
func comparison(s *plan.Scan, e plan.Expr) (ord int, equal, ok bool) {
	switch c := e.(type) {
	case *plan.Call:
		if !c.Fn.Operator || len(c.Args) != 2 || c.Fn.Name != "=" && !slices.Contains(ranges, c.Fn.Name) {
			return 0, false, false
		}
		for i, a := range c.Args {
			if ord, ok = column(s, a); ok && known(c.Args[1-i]) {
				return ord, c.Fn.Name == "=", true
			}
		}
	case *plan.InList:
		if ord, ok = column(s, c.Left); ok && !c.Not && !slices.ContainsFunc(c.List, func(v plan.Expr) bool { return !known(v) }) {
			return ord, true, true
		}
	case *plan.AnyAll:
		if ord, ok = column(s, c.Left); ok && !c.All && c.Op.Name == "=" && known(c.Array) {
			return ord, true, true
		}
	}
	return 0, false, false
}

// column returns the position of a column of the scan in its table.
func column(s *plan.Scan, e plan.Expr) (int, bool) {
	ref, ok := e.(*plan.ColRef)
	if !ok {
		return 0, false
	}
	i := slices.IndexFunc(s.Cols, func(c plan.Column) bool { return c.ID == ref.Col })
	if i < 0 || !indexable(&s.Table.Columns[s.Ords[i]]) {
		return 0, false
	}
	return s.Ords[i], true
}

// indexable reports whether an ordinary index can have a column.
func indexable(c *catalog.Column) bool { return !c.Hidden && types.HasOrder(c.Type) }

// known reports whether the value of e doesn't depend on the rows that are read.
func known(e plan.Expr) bool {
	found := true
	plan.WalkExpr(e, func(x plan.Expr) bool {
		switch x.(type) {
		case *plan.ColRef, *plan.Subquery:
			found = false
		}
		return found
	})
	return found
}
