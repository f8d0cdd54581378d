package optimizer

import (
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// wanted is what the consumer of an operator would like of it.
type wanted struct {
	// order is an order that saves the consumer a sort; sorted says that it
	// would sort the rows otherwise (else it would hash them, which costs less).
	order  []plan.SortKey
	sorted bool
	// bound limits how many rows are needed, when set.
	bound plan.RowBound
	// guess says that bound is for costing only: the consumer may drop rows and
	// then needs more.
	guess bool
}

func (w wanted) unordered() wanted { w.order, w.sorted = nil, false; return w }

// unlimited drops the bound: the operator in between may drop rows.
func (w wanted) unlimited() wanted { w.bound = plan.RowBound{}; return w }

// path is a way to read a table.
type path struct {
	c              constrained
	reverse        bool
	ordered        bool
	covering       bool
	tokens         *plan.TokenScan // through an inverted index to the primary one
	rows           float64         // after all conditions
	scanned        float64         // entries read
	startup, total float64
	cost           float64 // with what the consumer has to do in addition
}

// accessPath chooses how to read a table.
func (o *optimizer) accessPath(n *plan.Scan, w wanted) plan.Node {
	st := o.stats(n.Table)
	atoms := o.atoms(n)
	if !o.on(RuleIndexes) {
		atoms.atoms = nil
	}
	outputs := o.outputsOf(n)
	var best path
	found := false
	for i := range n.Table.Indexes {
		ix := &n.Table.Indexes[i]
		if !o.on(RuleIndexes) && i > 0 {
			break
		}
		if !o.complete(n, ix, atoms) {
			continue
		}
		if o.on(RuleIndexes) && n.Hint != nil && n.Hint.ID != ix.ID {
			continue
		}
		if ix.Method() == catalog.MethodInverted {
			if p, ok := o.tokenPath(n, ix, atoms, &st, w); ok && (!found || p.cost < best.cost) {
				best, found = p, true
			}
			continue
		}
		p := o.path(n, ix, atoms, &st, outputs, w)
		if n.Virtual() && i > 0 && !p.c.any {
			continue // it answers lookups only
		}
		if p.c.point && p.c.keys == 1 && i == 0 {
			best = p
			break
		}
		if !found || p.cost < best.cost {
			best, found = p, true
		}
	}
	if !found && best.c.index == nil { // what the hint names is of no use here
		best = o.path(n, n.Table.Primary(), atoms, &st, outputs, w)
	}
	return o.build(n, &best, atoms, outputs)
}

// usable reports whether a scan may read the rows themselves from an index.
func (o *optimizer) usable(n *plan.Scan, ix *catalog.Index, atoms *atomList) bool {
	return ix.EntriesByRow() && o.complete(n, ix, atoms)
}

// complete reports whether an index leads to all rows of a scan: it is filled and, if it
// has entries for some rows only, the conditions leave no others.
func (o *optimizer) complete(n *plan.Scan, ix *catalog.Index, atoms *atomList) bool {
	if ix.WriteOnly {
		return false
	}
	if ix.Total() {
		return true
	}
	for i := range n.Predicates {
		if n.Predicates[i].Index == ix.ID {
			return plan.Implies(atoms.conjs, n.Predicates[i].Cond)
		}
	}
	return false
}

// outputsOf is how many leading columns of a scan are needed above it.
func (o *optimizer) outputsOf(n *plan.Scan) int {
	for i := range o.outputs {
		if o.outputs[i].scan == n {
			return o.outputs[i].n
		}
	}
	return len(n.Cols)
}

// partialSel is the assumed share of rows that a partial index has.
const partialSel = 0.2

// path costs reading the table through one index.
func (o *optimizer) path(n *plan.Scan, ix *catalog.Index, atoms *atomList, st *TableStats, outputs int, w wanted) path {
	p := path{c: o.constrain(n, ix, atoms, st)}
	p.covering = ix.ID == n.Table.Primary().ID || o.covers(n, ix, &p.c, atoms, outputs)
	p.scanned = max(st.Rows*p.c.sel, 1)
	if p.c.point {
		p.scanned = min(p.c.keys, max(st.Rows, 1))
	}
	if !ix.Total() {
		p.scanned = max(p.scanned*partialSel, 1)
	}
	sel, fetched, ops := o.residual(n, &p, atoms, st)
	p.rows = max(p.scanned*sel, 0)
	if len(st.Extended) > 0 && ix.Total() && !p.c.point { // what conditions have to do with one another does not depend on the index
		p.rows = min(st.Rows*allSel(atoms.conjs, st, n), p.scanned)
	}
	perRow := costIndexRow + ops
	if ix.ID == n.Table.Primary().ID {
		perRow = costRow + ops
	}
	p.startup = costSeek
	p.total = costSeek*max(p.c.keys, 1) + p.scanned*perRow
	if !p.covering {
		p.total += o.fetchCost(p.scanned*fetched, w)
	}
	if len(w.order) > 0 && !n.Virtual() {
		p.ordered, p.reverse = indexOrder(n, &p.c, w.order)
	}
	o.weigh(&p, w)
	return p
}

// fetchCost is the cost of reading so many rows by primary key. If nobody wants them in the order of the index, and
// nearly all of them, most are read in the order of their keys (scan.sortedRows).
func (o *optimizer) fetchCost(rows float64, w wanted) float64 {
	if rows <= sortedFrom || len(w.order) > 0 || w.bound.Count != nil || o.opts.Vectorize == VectorizeNever {
		return rows * costFetch
	}
	return sortedFrom*costFetch + (rows-sortedFrom)*costSorted
}

// residual estimates what the conditions that a path's spans do not answer leave of its
// rows, what those leave of them that are checked before the row is read (see indexJoin),
// and what checking a row costs.
func (o *optimizer) residual(n *plan.Scan, p *path, atoms *atomList, st *TableStats) (sel, fetched, ops float64) {
	var left []plan.Expr
	covered := 0 // they come first
	for i, c := range atoms.conjs {
		if p.c.used != nil && p.c.used[i] {
			continue
		}
		ops += operators(c)
		left = append(left, c)
		if p.c.any && !p.covering && coversExpr(n, p.c.index, c) {
			left[covered], left[len(left)-1] = c, left[covered]
			covered++
		}
	}
	sel, fetched = allSel(left, st, n), 1
	if covered == len(left) {
		fetched = sel
	} else if covered > 0 {
		fetched = allSel(left[:covered], st, n)
	}
	return sel, fetched, ops
}

// weigh adds to a path's cost what its consumer has to do.
func (o *optimizer) weigh(p *path, w wanted) {
	p.cost = p.total
	if p.ordered || len(w.order) == 0 {
		if w.bound.Count != nil && p.rows > 0 {
			part := o.limited(w.bound, p.rows) / p.rows
			p.cost = p.startup + (p.total-p.startup)*part
		}
	} else if w.sorted {
		p.cost += sortCost(p.rows, o.limited(w.bound, p.rows))
	} else {
		p.cost += p.rows * costHash
	}
}

// covers reports whether an index holds all columns that the scan has to
// produce and that its remaining conditions refer to.
func (o *optimizer) covers(n *plan.Scan, ix *catalog.Index, c *constrained, atoms *atomList, outputs int) bool {
	for i := 0; i < outputs; i++ {
		if !inIndex(n.Table, ix, n.Ords[i]) {
			return false
		}
	}
	for i, e := range atoms.conjs {
		if c.used != nil && c.used[i] {
			continue
		}
		if !coversExpr(n, ix, e) {
			return false
		}
	}
	return true
}

// coversExpr reports whether an index holds all columns of n that e refers to.
func coversExpr(n *plan.Scan, ix *catalog.Index, e plan.Expr) bool {
	ok := true
	plan.Refs(e, func(id plan.ColID) {
		if k := plan.FindCol(n.Cols, id); k >= 0 && !inIndex(n.Table, ix, n.Ords[k]) {
			ok = false
		}
	})
	return ok
}

// inIndex reports whether an entry of ix holds a column of the table: as key,
// stored, or part of the primary key.
func inIndex(t *catalog.Table, ix *catalog.Index, ord int) bool {
	id := t.Columns[ord].ID
	if ix.ID == t.Primary().ID {
		return true
	}
	for _, c := range ix.Columns {
		if c.Column == id {
			return true
		}
	}
	for _, s := range ix.Stored {
		if s == id {
			return true
		}
	}
	for _, c := range t.Primary().Columns {
		if c.Column == id {
			return true
		}
	}
	return false
}

// build makes the plan of a path.
func (o *optimizer) build(n *plan.Scan, p *path, atoms *atomList, outputs int) plan.Node {
	var residual []plan.Expr
	for i, c := range atoms.conjs {
		if p.c.used == nil || !p.c.used[i] {
			residual = append(residual, c)
		}
	}
	if p.c.any {
		n.Spans = p.c.spans()
		n.Point = p.c.point
	}
	n.Index, n.Reverse, n.Ordered, n.Tokens = p.c.index, p.reverse, p.ordered, p.tokens
	if plant.On(plant.ResidualDropped) && p.c.any {
		residual = nil
	}
	n.Filter = plan.ConjoinAll(residual)
	if o.on(RulePrune) {
		dropUnused(n, outputs)
	}
	n.Startup, n.Total, n.Rows = p.startup, p.total, p.rows
	n.Order = scanOrder(n, p)
	if p.covering {
		return n
	}
	j := o.indexJoin(n, residual)
	if j.Unordered = !p.ordered && p.c.any; j.Unordered {
		j.Order = nil
	}
	return j
}

// dropUnused removes columns that only conditions needed which the spans now
// answer.
func dropUnused(n *plan.Scan, outputs int) {
	k := outputs
	for i := outputs; i < len(n.Cols); i++ {
		used := false
		if n.Filter != nil {
			plan.Refs(n.Filter, func(id plan.ColID) { used = used || id == n.Cols[i].ID })
		}
		if used {
			n.Cols[k], n.Ords[k] = n.Cols[i], n.Ords[i]
			k++
		}
	}
	n.Cols, n.Ords = n.Cols[:k], n.Ords[:k]
}

// indexJoin reads the index and then the rows it points to.
func (o *optimizer) indexJoin(n *plan.Scan, residual []plan.Expr) *plan.IndexJoin {
	t := n.Table
	j := &plan.IndexJoin{Table: t, Input: n, Ords: n.Ords}
	j.Cols, j.Order = n.Cols, n.Order
	j.Startup, j.Total, j.Rows = n.Startup, n.Total, n.Rows
	var low, high []plan.Expr
	for _, c := range residual {
		if coversExpr(n, n.Index, c) {
			low = append(low, c)
		} else {
			high = append(high, c)
		}
	}
	// The index yields the primary key and what its own filter and order need.
	var cols []plan.Column
	var ords []int
	add := func(ord int) plan.ColID {
		for i := range ords {
			if ords[i] == ord {
				return cols[i].ID
			}
		}
		c := &t.Columns[ord]
		col := plan.Column{ID: o.newCol(), Name: c.Name, Type: c.Type, TableOid: t.Oid, Attnum: c.Attnum, NotNull: c.NotNull}
		for i := range j.Ords {
			if j.Ords[i] == ord {
				col = j.Cols[i]
			}
		}
		cols, ords = append(cols, col), append(ords, ord)
		return col.ID
	}
	for _, k := range t.Primary().Columns {
		j.Key = append(j.Key, add(t.ColumnByID(k.Column)))
	}
	for i, ord := range j.Ords {
		if !inIndex(t, n.Index, ord) {
			continue
		}
		for _, c := range low {
			used := false
			plan.Refs(c, func(id plan.ColID) { used = used || id == j.Cols[i].ID })
			if used {
				add(ord)
			}
		}
	}
	n.Cols, n.Ords = cols, ords
	n.Filter, j.Filter = plan.ConjoinAll(low), plan.ConjoinAll(high)
	return j
}

// scanOrder is the order of a scan's rows in terms of its columns.
func scanOrder(n *plan.Scan, p *path) []plan.SortKey {
	var out []plan.SortKey
	if n.Virtual() || p.c.singles < p.c.index.HashColumns {
		return nil // as they are made; by bucket
	}
	for i, c := range p.c.key {
		if i < p.c.singles {
			continue // one value only
		}
		ord := n.Table.ColumnByID(c.Column)
		id := orderID(n, ord)
		if id == 0 {
			break
		}
		k := plan.SortKey{Col: id, Desc: c.Desc, NullsFirst: c.NullsFirst}
		if n.Reverse {
			k.Desc, k.NullsFirst = !k.Desc, !k.NullsFirst
		}
		out = append(out, k)
	}
	return out
}

// orderID is how orders name the column at ord of a scan's table, 0 if they don't.
func orderID(n *plan.Scan, ord int) plan.ColID {
	if at := indexOf(n.Ords, ord); at >= 0 {
		return n.Cols[at].ID
	}
	for i := range n.Computed {
		if n.Computed[i].Ord == ord {
			return n.Computed[i].ID
		}
	}
	return 0
}

// orderOrd is the inverse of orderID, -1 for columns that are not the scan's.
func orderOrd(n *plan.Scan, id plan.ColID) int {
	if at := plan.FindCol(n.Cols, id); at >= 0 {
		return n.Ords[at]
	}
	for i := range n.Computed {
		if n.Computed[i].ID == id {
			return n.Computed[i].Ord
		}
	}
	return -1
}

func indexOf(list []int, x int) int {
	for i, v := range list {
		if v == x {
			return i
		}
	}
	return -1
}

// indexOrder reports whether an index, read forwards or in reverse, yields rows
// in the given order.
func indexOrder(n *plan.Scan, c *constrained, want []plan.SortKey) (ordered, reverse bool) {
	if matchOrder(n, c, want, false) {
		return true, false
	}
	back := matchOrder(n, c, want, true)
	return back, back
}

func matchOrder(n *plan.Scan, c *constrained, want []plan.SortKey, reverse bool) bool {
	next := c.singles
	hashed := next < c.index.HashColumns // the entries come by bucket
	for _, k := range want {
		ord := orderOrd(n, k.Col)
		if ord < 0 {
			return false
		}
		col := &n.Table.Columns[ord]
		if bound(c, n, col.ID) {
			continue // one value only: any order will do
		}
		if hashed {
			return false
		}
		if next >= len(c.key) {
			return !c.index.Unique || unambiguous(n, c.index)
		}
		ic := c.key[next]
		desc, nulls := ic.Desc, ic.NullsFirst
		if reverse {
			desc, nulls = !desc, !nulls
		}
		if ic.Column != col.ID || desc != k.Desc || nulls != k.NullsFirst && !col.NotNull {
			return false
		}
		next++
	}
	return true
}

// unambiguous reports whether the whole key of a unique index orders rows
// completely, so that further keys do not matter.
func unambiguous(n *plan.Scan, ix *catalog.Index) bool {
	for _, c := range ix.Columns {
		if !n.Table.Columns[n.Table.ColumnByID(c.Column)].NotNull {
			return false
		}
	}
	return true
}

// bound reports whether the span leaves a column one value.
func bound(c *constrained, n *plan.Scan, id catalog.ColumnID) bool {
	for i := 0; i < c.singles; i++ {
		if c.key[i].Column == id {
			return true
		}
	}
	return false
}
