package optimizer

import (
	"math"
	"slices"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// source is a table below an operator, as a scan of the columns that it yields.
type source struct {
	scan *plan.Scan
	at   plan.Node // what reads it
}

// sourceOf finds the column below n that e is, a nil scan if it is none: a projection may
// give it another name.
func sourceOf(n plan.Node, e plan.Expr) (s source, ord int) {
	switch x := n.(type) {
	case *plan.Scan:
		if ord := column(x, e); ord >= 0 {
			return source{x, x}, ord
		}
		return source{}, -1
	case *plan.IndexJoin:
		seen := &plan.Scan{Base: x.Base, Table: x.Table, Ords: x.Ords}
		if ord := column(seen, e); ord >= 0 {
			return source{seen, x}, ord
		}
		return source{}, -1
	case *plan.Project:
		if r, ok := e.(*plan.ColRef); ok {
			if i := plan.FindCol(x.Cols, r.Col); i >= 0 {
				return sourceOf(x.Input, x.Exprs[i])
			}
		}
	}
	for _, c := range plan.Children(n) {
		if s, ord := sourceOf(c, e); s.scan != nil {
			return s, ord
		}
	}
	return source{}, -1
}

// leaves estimates the share of the rows of some operators, or of their product, that meet
// conditions; those about one table below are estimated by its statistics.
func (o *optimizer) leaves(conds []plan.Expr, below ...plan.Node) float64 {
	if len(conds) == 0 {
		return 1
	}
	type group struct {
		source
		conds []plan.Expr
	}
	var groups []group
	for _, c := range conds {
		s := o.soleSource(c, below)
		i := slices.IndexFunc(groups, func(g group) bool { return g.at == s.at })
		if i < 0 {
			i, groups = len(groups), append(groups, group{source: s})
		}
		groups[i].conds = append(groups[i].conds, c)
	}
	sel := 1.0
	for _, g := range groups {
		if g.scan == nil {
			sel *= allSel(g.conds, nil, nil)
			continue
		}
		st := o.stats(g.scan.Table)
		sel *= allSel(g.conds, &st, g.scan)
	}
	return sel
}

// soleSource is the table that all columns in cond are of, none if they are of several or
// have other names in it.
func (o *optimizer) soleSource(cond plan.Expr, below []plan.Node) (sole source) {
	one := true
	plan.Refs(cond, func(id plan.ColID) {
		if !one || sole.scan != nil && plan.FindCol(sole.scan.Cols, id) >= 0 {
			return
		}
		var s source
		for _, n := range below {
			if s.scan == nil {
				s, _ = sourceOf(n, &plan.ColRef{Col: id})
			}
		}
		one = sole.scan == nil && s.scan != nil && plan.FindCol(s.scan.Cols, id) >= 0
		sole = s
	})
	if !one {
		return source{}
	}
	return sole
}

// keyColumns are the columns of one table that keys of a join or a grouping are.
type keyColumns struct {
	source
	ords  []int
	whole float64 // rows of the table
	// values estimates their combinations; known says that extended statistics tell them.
	values, most float64
	known        bool
}

// columnsOf sorts the columns that exprs are, or are computed from, by the tables below n;
// unknown is how many exprs come from none.
func (o *optimizer) columnsOf(n plan.Node, exprs []plan.Expr) (tables []keyColumns, unknown int) {
	add := func(e plan.Expr) bool {
		s, ord := sourceOf(n, e)
		if s.scan == nil {
			return false
		}
		i := slices.IndexFunc(tables, func(t keyColumns) bool { return t.at == s.at })
		if i < 0 {
			i = len(tables)
			tables = append(tables, keyColumns{source: s, whole: max(o.stats(s.scan.Table).Rows, 1), values: 1})
		}
		t := &tables[i]
		if !slices.Contains(t.ords, ord) {
			st := o.stats(s.scan.Table)
			d := st.distinct(s.scan.Table, ord)
			t.ords, t.values, t.most = append(t.ords, ord), t.values*d, max(t.most, d)
		}
		return true
	}
	for _, e := range exprs {
		if add(e) {
			continue
		}
		known, refs := true, 0
		plan.Refs(definition(n, e), func(id plan.ColID) {
			refs++
			known = known && add(&plan.ColRef{Col: id})
		})
		if !known {
			unknown++
		}
	}
	for i := range tables {
		t := &tables[i]
		if st := o.stats(t.scan.Table); len(t.ords) > 1 {
			if d, ok := st.combined(t.scan.Table, t.ords); ok {
				t.values, t.known = d, true
			}
		}
	}
	return tables, unknown
}

// definition is what computes e in the projection below n that does, e itself if none does.
func definition(n plan.Node, e plan.Expr) plan.Expr {
	r, ok := e.(*plan.ColRef)
	if !ok {
		return e
	}
	found := e
	plan.Walk(n, func(n plan.Node) bool {
		if p, ok := n.(*plan.Project); ok && found == e {
			if i := plan.FindCol(p.Cols, r.Col); i >= 0 {
				found = p.Exprs[i]
			}
		}
		return found == e
	})
	return found
}

// distinctOf estimates how many different combinations of values exprs have in the
// tables below n, whatever conditions n's rows meet: those of one table are no more
// than it has rows.
func (o *optimizer) distinctOf(n plan.Node, exprs []plan.Expr) float64 {
	tables, unknown := o.columnsOf(n, exprs)
	total := math.Pow(DefaultDistinct, float64(unknown))
	for _, t := range tables {
		total *= min(t.values, t.whole)
	}
	return total
}

// keysSel estimates what equality of the keys leaves of the product of two inputs: one
// row of the other for each value, as many values as the side with more of them has. Of
// keys that are a foreign key it leaves just the row that is referred to.
func (o *optimizer) keysSel(l, r plan.Node, keys []equiKey) float64 {
	sel := 1.0
	if len(keys) > 0 {
		keys, sel = o.referenced(l, r, keys)
	}
	if len(keys) == 0 {
		return sel
	}
	le, re := keySides(keys)
	return sel / max(o.distinctOf(l, le), o.distinctOf(r, re), 1)
}

func keySides(keys []equiKey) (left, right []plan.Expr) {
	for _, k := range keys {
		left, right = append(left, k.left), append(right, k.right)
	}
	return left, right
}

// keyPair is a key of a join: a column of one table and one of another.
type keyPair struct {
	from, to       source
	fromOrd, toOrd int
}

func (p keyPair) flipped() keyPair { return keyPair{p.to, p.from, p.toOrd, p.fromOrd} }

// referenced takes the keys that make up a foreign key of several columns away, and returns
// what they leave of the product of two inputs.
func (o *optimizer) referenced(l, r plan.Node, keys []equiKey) (rest []equiKey, sel float64) {
	if len(keys) < 2 {
		return keys, 1 // the numbers of distinct values tell as much
	}
	pairs, flipped := make([]keyPair, len(keys)), make([]keyPair, len(keys))
	for i, k := range keys {
		p := &pairs[i]
		p.from, p.fromOrd = sourceOf(l, k.left)
		p.to, p.toOrd = sourceOf(r, k.right)
		flipped[i] = p.flipped()
	}
	for _, side := range [][]keyPair{pairs, flipped} {
		for i := range side {
			if made := foreignKey(side, &side[i]); made != nil {
				for k := range keys {
					if !slices.Contains(made, k) {
						rest = append(rest, keys[k])
					}
				}
				return rest, 1 / max(o.stats(side[i].to.scan.Table).Rows, 1)
			}
		}
	}
	return keys, 1
}

// foreignKey returns which of pairs make up a foreign key of several columns between the
// tables of p, nil if none do.
func foreignKey(pairs []keyPair, p *keyPair) []int {
	if p.from.scan == nil || p.to.scan == nil {
		return nil
	}
	for _, fk := range p.from.scan.Table.ForeignKeys {
		if fk.Table != p.to.scan.Table.ID || len(fk.Columns) < 2 {
			continue
		}
		var made []int
		for i := range pairs {
			q := &pairs[i]
			if q.from.at != p.from.at || q.to.at != p.to.at {
				continue
			}
			k := slices.Index(fk.Columns, q.from.scan.Table.Columns[q.fromOrd].ID)
			if k >= 0 && fk.RefColumns[k] == q.to.scan.Table.Columns[q.toOrd].ID {
				made = append(made, i)
			}
		}
		if len(made) >= len(fk.Columns) {
			return made
		}
	}
	return nil
}

// joinRows estimates the rows of a join of inputs with so many.
func (o *optimizer) joinRows(n *plan.Join, l, r float64, keys []equiKey, rest []plan.Expr) float64 {
	l, r = max(l, 1), max(r, 1)
	left := o.leaves(rest, n.Left, n.Right)
	rows := 0.0
	switch n.Kind {
	case plan.SemiJoin:
		return max(l*o.matched(n, r, keys, left), 1)
	case plan.AntiJoin:
		return max(l*(1-o.matched(n, r, keys, left)), l*leastUnmatched, 1)
	default:
		rows = l * r * o.keysSel(n.Left, n.Right, keys) * left
	}
	switch n.Kind {
	case plan.LeftJoin:
		rows = max(rows, l)
	case plan.RightJoin:
		rows = max(rows, r)
	case plan.FullJoin:
		rows = max(rows, l, r)
	}
	return max(rows, 1)
}

// leastUnmatched is the share of rows that an anti join is taken to leave at least.
const leastUnmatched = 0.1

// matched estimates the share of the rows on the left of a join that have matches among r
// rows on the right: as many of their keys as there are keys on the right.
func (o *optimizer) matched(n *plan.Join, r float64, keys []equiKey, left float64) float64 {
	if len(keys) == 0 {
		return min(r*left, 1)
	}
	le, re := keySides(keys)
	dl, dr := o.distinctOf(n.Left, le), o.distinctOf(n.Right, re)
	perKey := max(r/min(dr, r), 1)
	return min(min(dr, r)/max(dl, 1), 1) * min(perKey*left, 1)
}

// groupRows estimates the rows of a grouping of so many.
func (o *optimizer) groupRows(n *plan.GroupBy, rows float64) (out float64) {
	if n.Sets == nil {
		return o.groups(n.Input, rows, n.Keys)
	}
	for _, set := range n.Sets {
		keys := make([]plan.ColID, len(set))
		for i, k := range set {
			keys[i] = n.Keys[k]
		}
		out += o.groups(n.Input, rows, keys)
	}
	return out
}

// severalSel is the share of a table's rows that combinations of several of its columns
// are at most taken for: they depend on one another.
const severalSel = 0.1

// groups estimates how many combinations of values keys have among so many rows of n.
func (o *optimizer) groups(n plan.Node, rows float64, keys []plan.ColID) float64 {
	if len(keys) == 0 {
		return 1
	}
	exprs := make([]plan.Expr, len(keys))
	for i, k := range keys {
		exprs[i] = &plan.ColRef{Col: k}
	}
	tables, unknown := o.columnsOf(n, exprs)
	total := math.Pow(DefaultDistinct, float64(unknown))
	for _, t := range tables {
		most := t.whole
		if len(t.ords) > 1 && !t.known && !t.unique() {
			most = max(t.whole*severalSel, t.most)
		}
		values := max(min(t.values, most), 1)
		if rows < t.whole {
			// Some values are not in the rows that are left.
			values *= 1 - math.Pow(1-rows/t.whole, t.whole/values)
		}
		total *= max(values, 1)
	}
	return max(1, min(rows, total))
}

// unique reports whether the columns have all of a unique index.
func (t *keyColumns) unique() bool {
	table := t.scan.Table
	for i := range table.Indexes {
		ix := &table.Indexes[i]
		if ix.Unique && ix.Total() && !slices.ContainsFunc(ix.Columns, func(c catalog.IndexColumn) bool {
			return !slices.Contains(t.ords, table.ColumnByID(c.Column))
		}) {
			return true
		}
	}
	return false
}
