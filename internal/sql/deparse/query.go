package deparse

import (
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// output is a column that a query yields: an expression, or a column that a star stands
// for, or a field of a record.
type output struct {
	name  ast.Name
	typ   *types.T
	x     ast.Expr
	col   planner.NotedColumn
	field ast.Expr // the record
	// values marks a column of VALUES.
	values bool
	// text is how its expression is printed to sort by it, once that was asked for.
	text string
}

// outputs are the columns of a query.
func (d *deparser) outputs(q *ast.Select) []output {
	switch {
	case q.Op != ast.SetNone:
		l, r := d.outputs(q.L), d.outputs(q.R)
		for i := range l {
			if i < len(r) {
				l[i].typ = d.commonOf("UNION", l[i].typ, r[i].typ)
			}
		}
		return l
	case q.Values != nil:
		return d.valueOutputs(q.Values)
	}
	var out []output
	for _, it := range q.Items {
		switch x := it.X.(type) {
		case *ast.ColumnRef:
			if x.Star {
				for _, c := range d.notes.Stars[x] {
					out = append(out, output{name: c.Name, typ: c.Type.Shown(), col: c})
				}
				continue
			}
		case *ast.FieldSelect:
			if x.Star {
				for _, f := range d.fields(x.X) {
					out = append(out, output{name: f.Name, typ: f.Type.Shown(), field: x.X})
				}
				continue
			}
		}
		o := output{name: it.Alias, typ: d.typeOf(it.X), x: it.X}
		if o.name == "" {
			o.name = planner.ColumnName(it.X)
		}
		out = append(out, o)
	}
	return out
}

// fields are those of a record.
func (d *deparser) fields(e ast.Expr) []types.FieldDef {
	t := d.typeOf(e)
	if t.Fields() == nil {
		d.unsupported(e)
		return nil
	}
	return t.Fields()
}

func (d *deparser) valueOutputs(rows [][]ast.Expr) []output {
	var out []output
	for i := range rows[0] {
		var ts []*types.T
		for _, row := range rows {
			ts = append(ts, d.typeOf(row[i]))
		}
		out = append(out, output{name: "column" + strconv.Itoa(i+1), typ: d.commonOf("VALUES", ts...), values: true})
	}
	return out
}

// node is what an output is computed by.
func (d *deparser) outputNode(o output, want *types.T) *node {
	switch {
	case o.x != nil:
		if c, ok := o.x.(*ast.Collate); ok && want != nil {
			return d.collate(c, d.resolve(c.X)) // a literal in it stays unknown in a side of a set operation
		}
		n := d.resolve(o.x)
		if n.unknown() && want != nil {
			n = d.coerce(n, want.WithTypmod(-1))
		}
		return d.settle(n)
	case o.values:
		return &node{kind: word, typ: o.typ, text: `"*VALUES*".` + o.name, column: o.name}
	case o.field != nil:
		return &node{kind: field, typ: o.typ, text: ast.QuoteIdent(o.name), args: []*node{d.resolve(o.field)}}
	}
	return d.noted(o.col)
}

// nested prints a query in another.
func (d *deparser) nested(q *ast.Select, visible bool) { d.part(q, nil, visible, nil) }

// part prints a query in another; want are the types that literals take from around it.
func (d *deparser) part(q *ast.Select, cols []ast.Name, visible bool, want []*types.T) {
	indent, bare := d.indent, d.bare
	d.bare = false
	d.query(q, cols, visible, want)
	d.indent, d.bare = indent, bare
}

// query prints a query whose columns are called cols, if that is said; visible tells
// that their names matter.
func (d *deparser) query(q *ast.Select, cols []ast.Name, visible bool, want []*types.T) {
	if len(q.Locking) > 0 || q.AsOf != nil {
		d.unsupported(q)
		return
	}
	d.enter(q)
	defer d.leave()
	defer func(outer []*ast.WindowSpec) { d.windows = outer }(d.windows)
	d.windows = q.Windows
	d.with(q.With)
	outs := d.outputs(q)
	if q.Op != ast.SetNone {
		for i := range outs {
			if i < len(want) && outs[i].typ.Oid == types.Unknown.Oid {
				outs[i].typ = want[i]
			}
		}
		d.setOp(q, cols, visible)
	} else {
		d.simpleSelect(q, outs, cols, visible, want)
	}
	if len(q.OrderBy) > 0 {
		d.keyword(" ORDER BY ", -indentStep, indentStep, 1)
		d.orderItems(q.OrderBy, outs, q.Op != ast.SetNone)
	}
	if q.Offset != nil {
		d.keyword(" OFFSET ", -indentStep, indentStep, 0)
		d.expr(d.coerce(d.resolve(q.Offset), types.Int8), false)
	}
	if q.Limit != nil {
		d.limit(q)
	}
}

func (d *deparser) limit(q *ast.Select) {
	n := d.coerce(d.resolve(q.Limit), types.Int8)
	switch {
	case q.WithTies:
		d.keyword(" FETCH FIRST ", -indentStep, indentStep, 0)
		d.w("(")
		d.expr(n, false)
		d.w(") ROWS WITH TIES")
	case n.null:
		d.keyword(" LIMIT ALL", -indentStep, indentStep, 0)
	default:
		d.keyword(" LIMIT ", -indentStep, indentStep, 0)
		d.expr(n, false)
	}
}

// with prints a WITH clause.
func (d *deparser) with(w *ast.With) {
	if w == nil {
		return
	}
	d.indent += indentStep
	sep := " WITH "
	if w.Recursive {
		sep = " WITH RECURSIVE "
	}
	for _, c := range w.CTEs {
		d.w(sep, ast.QuoteIdent(c.Name))
		d.columnList(c.Cols)
		d.w(" AS ", [...]string{"", "MATERIALIZED ", "NOT MATERIALIZED "}[c.Materialize], "(")
		q, ok := c.Stmt.(*ast.Select)
		if !ok {
			d.unsupported(c.Stmt)
			return
		}
		d.keyword("", 0, 0, 0)
		d.nested(q, true)
		d.keyword("", 0, 0, 0)
		d.w(")")
		d.search(c)
		sep = ", "
	}
	d.indent -= indentStep
	d.keyword("", 0, 0, 0)
}

// search prints the SEARCH and CYCLE clauses of a CTE.
func (d *deparser) search(c *ast.CTE) {
	if s := c.Search; s != nil {
		order := "DEPTH"
		if s.Breadth {
			order = "BREADTH"
		}
		d.w(" SEARCH ", order, " FIRST BY ", identList(s.By), " SET ", ast.QuoteIdent(s.Set))
	}
	y := c.Cycle
	if y == nil {
		return
	}
	d.w(" CYCLE ", identList(y.Cols), " SET ", ast.QuoteIdent(y.Mark))
	if b, ok := y.Value.(*ast.BoolLit); y.Value != nil && !(ok && b.Val) {
		values := []*node{d.resolve(y.Value), d.resolve(y.Default)}
		d.common(values, "CYCLE")
		d.w(" TO ")
		d.cycleValue(values[0])
		d.w(" DEFAULT ")
		d.cycleValue(values[1])
	}
	d.w(" USING ", ast.QuoteIdent(y.Path))
}

// cycleValue prints a value that marks cycles. Only a literal may stand there, so its type comes
// before it; PostgreSQL prints a cast, which it can't read.
func (d *deparser) cycleValue(n *node) {
	if n.kind != constant || n.null {
		d.expr(n, false)
		return
	}
	text, plain := d.constantText(n)
	if !plain && n.typ.Oid != types.Text.Oid {
		d.w(d.typeText(n.typ), " ")
	}
	d.w(text)
}

func identList(names []ast.Name) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = ast.QuoteIdent(n)
	}
	return strings.Join(quoted, ", ")
}

func (d *deparser) columnList(names []ast.Name) {
	if len(names) > 0 {
		d.w("(", identList(names), ")")
	}
}

// setOp prints a set operation without its ORDER BY.
func (d *deparser) setOp(q *ast.Select, cols []ast.Name, visible bool) {
	outs := d.outputs(q)
	want := make([]*types.T, len(outs))
	for i := range outs {
		want[i] = outs[i].typ
	}
	paren, step := isSetOp(q.L) && (q.L.Op != q.Op || q.L.All != q.All), 0
	if paren {
		d.w("(")
		step = indentStep
		d.keyword("", step, 0, 0)
	}
	d.setOpSide(q.L, cols, visible, want)
	if paren {
		d.keyword(") ", -step, 0, 0)
	} else {
		d.keyword("", 0, 0, 0)
	}
	d.w([...]string{ast.SetUnion: "UNION ", ast.SetIntersect: "INTERSECT ", ast.SetExcept: "EXCEPT "}[q.Op])
	if q.All {
		d.w("ALL ")
	}
	if paren, step = isSetOp(q.R), 0; paren {
		d.w("(")
		step = indentStep
	}
	d.keyword("", step, 0, 0)
	d.setOpSide(q.R, cols, false, want)
	d.indent -= step
	if paren {
		d.keyword(")", 0, 0, 0)
	}
}

// isSetOp reports whether a side is a set operation and nothing more.
func isSetOp(q *ast.Select) bool { return q.Op != ast.SetNone && !furnished(q) }

// furnished reports whether a query has clauses for which a side of a set operation
// needs parentheses.
func furnished(q *ast.Select) bool {
	return q.With != nil || len(q.OrderBy) > 0 || q.Limit != nil || q.Offset != nil || len(q.Locking) > 0
}

func (d *deparser) setOpSide(q *ast.Select, cols []ast.Name, visible bool, want []*types.T) {
	switch {
	case isSetOp(q):
		d.setOp(q, cols, visible)
	case furnished(q):
		d.w("(")
		d.part(q, cols, visible, want)
		d.w(")")
	default:
		d.part(q, cols, visible, want)
	}
}

// simpleSelect prints SELECT or VALUES without what follows it.
func (d *deparser) simpleSelect(q *ast.Select, outs []output, cols []ast.Name, visible bool, want []*types.T) {
	d.indent += indentStep
	d.w(" ")
	if q.Values != nil {
		d.valuesQuery(q.Values, outs, cols)
		return
	}
	d.w("SELECT")
	switch {
	case len(q.DistinctOn) > 0:
		d.w(" DISTINCT ON (")
		d.distinctOn(q, outs)
		d.w(")")
	case q.Distinct:
		d.w(" DISTINCT")
	}
	d.targets(outs, cols, visible, want)
	d.from(q.From)
	if q.Where != nil {
		d.keyword(" WHERE ", -indentStep, indentStep, 1)
		d.expr(d.coerce(d.resolve(q.Where), types.Bool), false)
	}
	d.groupBy(q, outs)
	if q.Having != nil {
		d.keyword(" HAVING ", -indentStep, indentStep, 0)
		d.expr(d.coerce(d.resolve(q.Having), types.Bool), false)
	}
	for i, w := range q.Windows {
		if i == 0 {
			d.keyword(" WINDOW ", -indentStep, indentStep, 1)
		} else {
			d.w(", ")
		}
		d.w(ast.QuoteIdent(w.Name), " AS ")
		d.windowSpec(w)
	}
}

// valuesQuery prints VALUES, as a table where its columns have other names.
func (d *deparser) valuesQuery(rows [][]ast.Expr, outs []output, cols []ast.Name) {
	plain := true
	for i := range outs {
		plain = plain && (i >= len(cols) || cols[i] == outs[i].name)
	}
	if plain {
		d.values(rows, outs)
		return
	}
	d.w("SELECT")
	d.lines(len(outs), indentVar, func(i int) {
		d.w(`"*VALUES*".`, outs[i].name)
		if cols[i] != outs[i].name {
			d.w(" AS ", ast.QuoteIdent(cols[i]))
		}
	})
	d.keyword(" FROM ", -indentStep, indentStep, 2)
	d.w("(")
	d.values(rows, outs)
	d.w(`) "*VALUES*"`)
}

func (d *deparser) values(rows [][]ast.Expr, outs []output) {
	d.w("VALUES ")
	for r, row := range rows {
		if r > 0 {
			d.w(", ")
		}
		d.w("(")
		for i, x := range row {
			if i > 0 {
				d.w(",")
			}
			d.topLevel(d.coerce(d.resolve(x), outs[i].typ), false)
		}
		d.w(")")
	}
}

// topLevel prints a value that stands for itself: a whole row shows its type.
func (d *deparser) topLevel(n *node, implicit bool) {
	d.expr(n, implicit)
	if n.row {
		d.w("::", d.rowType(n))
	}
}

// targets prints the select list.
func (d *deparser) targets(outs []output, cols []ast.Name, visible bool, want []*types.T) {
	d.lines(len(outs), indentVar, func(i int) {
		var t *types.T
		if i < len(want) {
			t = want[i]
		}
		n := d.outputNode(outs[i], t)
		d.topLevel(n, true)
		name, known := outs[i].name, n.column
		if i < len(cols) {
			name = cols[i]
		}
		if known == "" && !visible && !n.row {
			known = "?column?"
		}
		if known != name {
			d.w(" AS ", ast.QuoteIdent(name))
		}
	})
}

// lines prints n items, each on a line of its own if they do not fit or the one before
// took several.
func (d *deparser) lines(n, plus int, item func(i int)) {
	several := false
	for i := range n {
		text := d.apart(func() { item(i) })
		if i == 0 {
			d.w(" ")
		} else {
			d.w(", ")
		}
		if strings.HasPrefix(text, "\n") {
			d.trimSpaces()
			text = text[1:]
			several = strings.Contains(text, "\n")
			text = "\n" + text
		} else {
			if i > 0 && (d.lineLen()+len(text) > d.layout.Wrap || several) {
				d.keyword("", -indentStep, indentStep, plus)
			}
			several = strings.Contains(text, "\n")
		}
		d.w(text)
	}
}
