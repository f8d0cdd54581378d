package deparse

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/types"
)

// entry is an item of GROUP BY, ORDER BY or DISTINCT ON. Those with the same key are one.
type entry struct {
	n   *node
	key string
}

// entries prints a list of what is sorted or grouped by, each once.
type entries struct {
	d    *deparser
	n    int
	seen map[string]bool
}

// add prints an item and reports whether it is the first of its kind.
func (l *entries) add(e entry) bool {
	if l.seen[e.key] {
		return false
	}
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	l.seen[e.key] = true
	l.separate()
	l.d.sortExpr(e.n)
	return true
}

// separate prints the comma before all items but the first.
func (l *entries) separate() {
	if l.n > 0 {
		l.d.w(", ")
	}
	l.n++
}

// entry finds what an item means: an output by name or number, or an expression, which may be
// that of an output too. By number, outputs are printed as these.
func (d *deparser) entry(e ast.Expr, outs []output, byNumber bool) entry {
	at := d.outputMeant(e, outs, byNumber)
	switch {
	case at < 0:
		return d.entryOf(d.settle(d.resolve(e)), outs)
	case byNumber:
		return entry{n: &node{kind: word, typ: types.Int4, text: strconv.Itoa(at + 1), number: true}, key: outputKey(at)}
	}
	return entry{n: d.outputNode(outs[at], nil), key: outputKey(at)}
}

// outputKey is the key of an output, which no expression prints as.
func outputKey(at int) string { return "#" + strconv.Itoa(at) }

// entryOf is the entry of an expression.
func (d *deparser) entryOf(n *node, outs []output) entry {
	text := d.sortText(n)
	for i := range outs {
		o := &outs[i]
		if o.text == "" {
			o.text = d.sortText(d.outputNode(*o, nil))
		}
		if o.text == text {
			return entry{n: n, key: outputKey(i)}
		}
	}
	return entry{n: n, key: text}
}

func (d *deparser) sortText(n *node) string { return d.apart(func() { d.sortExpr(n) }) }

// outputMeant is the place of the output that an item names, -1 if it is an expression.
func (d *deparser) outputMeant(e ast.Expr, outs []output, byNumber bool) int {
	switch e := e.(type) {
	case *ast.IntLit:
		if at := int(e.Val) - 1; at >= 0 && at < len(outs) {
			return at
		}
	case *ast.ColumnRef:
		if _, ok := d.notes.Columns[e]; ok && !byNumber || e.Table != "" {
			break
		}
		return slices.IndexFunc(outs, func(o output) bool { return o.name == e.Column })
	}
	return -1
}

// sortExpr prints what is sorted or grouped by, so that it is not taken for a number
// or a grouping set.
func (d *deparser) sortExpr(n *node) {
	switch {
	case n.kind == constant:
		d.constant(n, 1)
		return
	case n.column != "" || n.row || n.number:
		d.expr(n, true)
		return
	}
	paren := d.layout.Pretty || n.kind == call || n.kind == grammar || n.kind == convert && n.way == byFunction
	if paren {
		d.w("(")
	}
	d.expr(n, true)
	if paren {
		d.w(")")
	}
}

// orderItems prints the items of ORDER BY. outs are the outputs that names and
// numbers mean; by number, items are printed as these. params are types that they are
// converted to, if any.
func (d *deparser) orderItems(items []ast.OrderItem, outs []output, byNumber bool, params ...*types.T) {
	list := &entries{d: d}
	for i := range items {
		it := &items[i]
		e := d.entry(it.X, outs, byNumber)
		if i < len(params) {
			e = d.entryOf(d.coerce(e.n, params[i]), nil)
		}
		if !list.add(e) {
			continue
		}
		desc := it.Dir == ast.DirDesc || it.Using.Name == ">"
		switch {
		case !desc && it.Nulls == ast.NullsFirst:
			d.w(" NULLS FIRST")
		case desc && it.Nulls == ast.NullsLast:
			d.w(" DESC NULLS LAST")
		case desc:
			d.w(" DESC")
		}
	}
}

// distinctOn prints the expressions of DISTINCT ON: in the order of ORDER BY those that
// stand there.
func (d *deparser) distinctOn(q *ast.Select, outs []output) {
	var on []entry
	for _, e := range q.DistinctOn {
		on = append(on, d.entry(e, outs, false))
	}
	list := &entries{d: d}
	for i := range q.OrderBy {
		e := d.entry(q.OrderBy[i].X, outs, false)
		if slices.ContainsFunc(on, func(o entry) bool { return o.key == e.key }) {
			list.add(e)
		}
	}
	for _, e := range on {
		list.add(e)
	}
}

// groupBy prints the GROUP BY clause.
func (d *deparser) groupBy(q *ast.Select, outs []output) {
	if len(q.GroupBy) == 0 {
		return
	}
	d.keyword(" GROUP BY ", -indentStep, indentStep, 1)
	if q.GroupDistinct {
		d.w("DISTINCT ")
	}
	items := flatten(q.GroupBy)
	if plain := plainItems(items); len(plain) > 0 && setsOf(items, q.GroupDistinct) == 1 {
		items = plain
	}
	list := &entries{d: d}
	for _, x := range items {
		set, ok := x.(*ast.GroupingSet)
		switch {
		case !ok:
			list.add(d.entry(x, outs, false))
		case set.Kind != ast.GroupingEmpty: // which changes nothing
			list.separate()
			d.groupingSet(set, outs)
		}
	}
	if list.n == 0 {
		d.w("()")
	}
}

// flatten takes the parentheses off rows.
func flatten(items []ast.Expr) []ast.Expr {
	var out []ast.Expr
	for _, x := range items {
		if row, ok := x.(*ast.Row); ok && !row.Explicit {
			out = append(out, flatten(row.Elems)...)
		} else {
			out = append(out, x)
		}
	}
	return out
}

// setsOf counts the grouping sets that items make together, as far as their number matters: one
// or more. If they are distinct, those that come again do not count.
func setsOf(items []ast.Expr, distinct bool) int {
	for _, x := range items {
		set, ok := x.(*ast.GroupingSet)
		if !ok || set.Kind == ast.GroupingEmpty {
			continue
		}
		sets := unnest(set.Items)
		if distinct {
			sets = slices.CompactFunc(sets, func(a, b ast.Expr) bool { return ast.Format(a) == ast.Format(b) })
		}
		if set.Kind != ast.GroupingSets || len(sets) > 1 || setsOf(sets, distinct) > 1 {
			return 2 // ROLLUP and CUBE make one of all items and one of none
		}
	}
	return 1
}

// plainItems are the expressions of the only grouping set that items make.
func plainItems(items []ast.Expr) []ast.Expr {
	var out []ast.Expr
	for _, x := range items {
		if set, ok := x.(*ast.GroupingSet); ok {
			x := unnest(set.Items)
			out = append(out, plainItems(flatten(x))...)
		} else {
			out = append(out, x)
		}
	}
	return out
}

// unnest puts the sets of GROUPING SETS within GROUPING SETS in their place.
func unnest(items []ast.Expr) []ast.Expr {
	var out []ast.Expr
	for _, x := range items {
		if set, ok := x.(*ast.GroupingSet); ok && set.Kind == ast.GroupingSets {
			out = append(out, unnest(set.Items)...)
		} else {
			out = append(out, x)
		}
	}
	return out
}

// groupingSet prints grouping sets.
func (d *deparser) groupingSet(set *ast.GroupingSet, outs []output) {
	if set.Kind == ast.GroupingEmpty {
		d.w("()")
		return
	}
	d.w([...]string{ast.GroupingRollup: "ROLLUP(", ast.GroupingCube: "CUBE(", ast.GroupingSets: "GROUPING SETS ("}[set.Kind])
	for i, x := range unnest(set.Items) {
		if i > 0 {
			d.w(", ")
		}
		if inner, ok := x.(*ast.GroupingSet); ok {
			d.groupingSet(inner, outs)
		} else {
			d.groupingItem(flatten([]ast.Expr{x}), outs, set.Kind == ast.GroupingSets)
		}
	}
	d.w(")")
}

// groupingItem prints expressions that are grouped by together, in parentheses where one alone
// needs them too.
func (d *deparser) groupingItem(items []ast.Expr, outs []output, paren bool) {
	text := d.apart(func() {
		list := &entries{d: d}
		for _, x := range items {
			list.add(d.entry(x, outs, false))
		}
		paren = paren || list.n != 1
	})
	if paren {
		text = "(" + text + ")"
	}
	if strings.HasPrefix(text, "\n") { // a CASE
		d.trimSpaces()
	}
	d.w(text)
}
