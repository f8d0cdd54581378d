package deparse

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// resolve makes the node of an expression, before its context converts it.
func (d *deparser) resolve(e ast.Expr) *node {
	switch e := e.(type) {
	case *ast.ColumnRef:
		return d.columnRef(e)
	case *ast.IntLit:
		t := types.Int8
		if e.Val >= math.MinInt32 && e.Val <= math.MaxInt32 {
			t = types.Int4
		}
		return &node{kind: constant, typ: t, datum: types.NewInt(e.Val)}
	case *ast.NumLit:
		return d.literalOf(e.Text, types.Numeric)
	case *ast.StrLit:
		return &node{kind: constant, typ: types.Unknown, literal: e.Val}
	case *ast.NullLit:
		return &node{kind: constant, typ: types.Unknown, null: true}
	case *ast.BoolLit:
		return &node{kind: constant, typ: types.Bool, datum: types.NewBool(e.Val)}
	case *ast.BitLit:
		return d.bitLit(e)
	case *ast.Cast:
		return d.cast(e)
	case *ast.FuncCall:
		return d.call(e)
	case *ast.Subquery:
		return d.subquery(e)
	case *ast.Collate:
		x := d.settle(d.resolve(e.X))
		n := &node{kind: collate, typ: x.typ, args: []*node{x}}
		if c := d.typeOf(e).Collation(); c != nil {
			n.text = d.env.CollationName(c)
		} else {
			d.unsupported(e)
		}
		return n
	case *ast.ArrayExpr:
		return d.array(e, nil)
	case *ast.Row:
		return d.row(e)
	case *ast.Subscript:
		return d.subscript(e)
	case *ast.FieldSelect:
		if c, ok := d.notes.FieldColumns[e]; ok {
			return d.noted(c)
		}
		x := d.resolve(e.X)
		return &node{kind: field, typ: d.typeOf(e), text: ast.QuoteIdent(e.Field), args: []*node{x}}
	case *ast.SQLValue:
		return &node{kind: word, typ: d.typeOf(e), text: ast.Format(e)}
	case *ast.Grouping:
		return &node{kind: special, typ: types.Int4, text: "GROUPING(", args: d.list(e.Args)}
	}
	return d.resolveOp(e)
}

// typeOf is the type that an expression is said to have: a domain, if it is of one.
func (d *deparser) typeOf(e ast.Expr) *types.T {
	if t := d.notes.Types[e]; t != nil {
		return t.Shown()
	}
	d.unsupported(e)
	return types.Text
}

func (d *deparser) list(es []ast.Expr) []*node {
	out := make([]*node, len(es))
	for i, e := range es {
		out[i] = d.resolve(e)
	}
	return out
}

func (d *deparser) columnRef(e *ast.ColumnRef) *node {
	c, ok := d.notes.Columns[e]
	if !ok { // VALUE, which is no column
		return &node{kind: word, typ: d.typeOf(e), text: "VALUE"}
	}
	n := d.noted(c)
	n.typ = d.typeOf(e)
	return n
}

func (d *deparser) noted(c planner.NotedColumn) *node {
	n := &node{kind: word, typ: types.Record, text: d.columnText(c), column: c.Name, row: c.Name == ""}
	switch {
	case !n.row && c.Type != nil:
		n.typ = c.Type.Shown()
	case c.Relation != nil:
		n.table = c.Relation.Table
	}
	return n
}

func (d *deparser) bitLit(e *ast.BitLit) *node {
	read := types.ParseBinaryBits
	if e.Hex {
		read = types.ParseHexBits
	}
	v, err := read(e.Val)
	d.fail(err)
	return &node{kind: constant, typ: types.Bit, datum: v}
}

// literalOf reads a literal as a constant of a type, without its modifier.
func (d *deparser) literalOf(s string, t *types.T) *node {
	read := t.WithTypmod(-1)
	if t.Family == types.IntervalFamily {
		read = t
	}
	v, err := types.ParseText(read, s, d.env.Planner.Format)
	d.fail(err)
	if t.Family == types.IntervalFamily && t.Typmod >= 0 && err == nil {
		v, err = types.ApplyTypmod(v, t, true)
		d.fail(err)
	}
	return &node{kind: constant, typ: read, datum: v}
}

// settle makes what is of unknown type text.
func (d *deparser) settle(n *node) *node {
	if n.unknown() {
		return d.coerce(n, types.Text)
	}
	return n
}

// coerce converts implicitly.
func (d *deparser) coerce(n *node, t *types.T) *node {
	if t == nil {
		return n
	}
	t = t.Shown()
	switch {
	case n.unknown():
		if t.Family == types.AnyFamily && t.Oid != types.Any.Oid {
			t = types.Text
		}
		if n.kind != constant || t.Oid == types.Any.Oid {
			return n
		}
		if n.null {
			return &node{kind: constant, typ: t.WithTypmod(-1), null: true}
		}
		return d.literalOf(n.literal, t.BaseType().WithTypmod(-1))
	case t.Family == types.AnyFamily || n.typ.Oid == t.Oid:
		return n
	case t.Oid == types.Record.Oid || t.Oid == types.RecordArray.Oid:
		return n // a composite value is a record
	case n.kind == collate:
		c := *n
		c.args = []*node{d.coerce(n.args[0], t)}
		c.typ = c.args[0].typ
		return &c
	case n.null:
		return &node{kind: constant, typ: t.WithTypmod(-1), null: true}
	}
	return d.convert(n, t.WithTypmod(-1), true)
}

// convert makes a cast.
func (d *deparser) convert(n *node, t *types.T, implicit bool) *node {
	if n.kind == constant && n.typ.Oid == t.Oid && t.Typmod < 0 { // only the modifier goes
		c := *n
		c.typ = t
		return &c
	}
	c, _ := types.FindCast(n.typ.BaseType(), t.BaseType())
	return &node{kind: convert, typ: t, args: []*node{n}, implicit: implicit, relabel: c.Fn == nil}
}

// assign converts to the type of a column.
func (d *deparser) assign(n *node, t *types.T) *node {
	if base := t.BaseType(); n.unknown() && n.kind == constant && !n.null && base.Family == types.IntervalFamily {
		return d.literalOf(n.literal, base) // whose fields say what it counts
	}
	n = d.coerce(n, t.BaseType())
	if n.typ.Oid == t.Oid && n.typ.Typmod == t.Typmod || n.kind == convert && n.implicit {
		return n
	}
	return d.convert(n, t, true) // nothing shows
}

// cast is an explicit cast.
func (d *deparser) cast(e *ast.Cast) *node {
	t := d.notes.Casts[e]
	if t == nil {
		d.unsupported(e)
		return &node{kind: constant, typ: types.Text, null: true}
	}
	if a, ok := e.X.(*ast.ArrayExpr); ok && t.Elem != nil && !t.OfDomain() {
		return d.array(a, t)
	}
	return d.castTo(d.resolve(e.X), t)
}

func (d *deparser) castTo(n *node, t *types.T) *node {
	base := t.BaseType()
	if n.unknown() {
		if n.kind != constant {
			d.unsupported(n)
			return n
		}
		if n.null {
			n = &node{kind: constant, typ: base.WithTypmod(-1), null: true}
		} else {
			n = d.literalOf(n.literal, base)
		}
	}
	if n.typ.Oid == t.Oid && n.typ.Typmod == t.Typmod {
		return n
	}
	if n.null && !t.OfDomain() && t.Typmod < 0 {
		return &node{kind: constant, typ: t, null: true}
	}
	switch {
	case n.kind == special && n.text == "ROW(" && len(t.Fields()) == len(n.args):
		return d.rowTo(n, t)
	case n.kind == collate:
		c := *n
		c.args = []*node{d.castTo(n.args[0], t)}
		c.typ = t
		return &c
	}
	return d.convert(n, t, false)
}

// rowTo converts the fields of a row to those of a composite type.
func (d *deparser) rowTo(n *node, t *types.T) *node {
	row := &node{kind: special, typ: t, text: n.text, cast: true}
	for i, f := range t.Fields() {
		x := d.castTo(n.args[i], f.Type.Shown())
		if x.kind == convert {
			x.implicit = true
		}
		row.args = append(row.args, x)
	}
	return row
}

// array makes ARRAY[...]; want is the type that a cast asks for.
func (d *deparser) array(e *ast.ArrayExpr, want *types.T) *node {
	n := &node{kind: special, text: "ARRAY["}
	for _, x := range e.Elems {
		var el *node
		if a, ok := x.(*ast.ArrayExpr); ok {
			el = d.array(a, want)
		} else {
			el = d.resolve(x)
		}
		n.args = append(n.args, el)
	}
	if want != nil {
		n.typ = want.WithTypmod(-1)
		for i, el := range n.args {
			if el.typ.Elem == nil {
				n.args[i] = d.castTo(el, want.Elem.WithTypmod(want.Typmod))
			}
		}
		return n
	}
	t := d.common(n.args, "ARRAY")
	if n.typ = t; t.Elem == nil {
		n.typ, _ = types.ArrayOf(t.WithTypmod(-1))
	}
	return n
}

func (d *deparser) coerceAll(list []*node, t *types.T) {
	for i := range list {
		list[i] = d.coerce(list[i], t)
	}
}

// common converts alternatives to their common type.
func (d *deparser) common(list []*node, what string) *types.T {
	ts := make([]*types.T, len(list))
	for i, n := range list {
		ts[i] = n.typ
	}
	t := d.commonOf(what, ts...)
	d.coerceAll(list, t)
	return t
}

// commonOf is the type that alternatives have together: a domain if all are of it.
func (d *deparser) commonOf(what string, ts ...*types.T) *types.T {
	t, err := commonType(what, ts)
	if err != nil {
		d.fail(err)
		return types.Text
	}
	return t
}

func commonType(what string, ts []*types.T) (*types.T, error) {
	marked := make([]*types.T, len(ts))
	for i, t := range ts {
		if t == nil {
			return nil, pgerr.New(pgerr.InternalError, "an expression without a type")
		}
		if marked[i] = t; t.OfDomain() {
			marked[i] = t.BaseType().WithDomain(t)
		}
	}
	t, err := builtin.CommonType(marked, what)
	if err != nil {
		return nil, err
	}
	return t.Shown(), nil
}

func (d *deparser) row(e *ast.Row) *node {
	n := &node{kind: special, text: "ROW(", typ: types.Record, args: d.rowFields(e)}
	for i := range n.args {
		n.args[i] = d.settle(n.args[i])
	}
	return n
}

// rowFields are the elements of a row; t.* among them is expanded.
func (d *deparser) rowFields(e *ast.Row) []*node {
	var out []*node
	for _, x := range e.Elems {
		if ref, ok := x.(*ast.ColumnRef); ok && ref.Star {
			for _, c := range d.notes.Stars[ref] {
				out = append(out, d.noted(c))
			}
			continue
		}
		out = append(out, d.resolve(x))
	}
	return out
}

func (d *deparser) subscript(e *ast.Subscript) *node {
	n := &node{kind: subscript, typ: d.typeOf(e), args: []*node{d.resolve(e.X)}}
	bound := func(x ast.Expr) *node {
		if x == nil {
			return nil
		}
		if n.args[0].typ.Oid == types.JSONB.Oid {
			return d.settle(d.resolve(x))
		}
		return d.coerce(d.resolve(x), types.Int4)
	}
	for _, ix := range e.Indexes {
		n.index = append(n.index, index{slice: ix.Slice, lo: bound(ix.Lo), hi: bound(ix.Hi)})
	}
	return n
}

func (d *deparser) subquery(e *ast.Subquery) *node {
	n := &node{kind: subquery, typ: d.typeOf(e), sub: &sublink{query: e.Query}}
	switch e.Kind {
	case ast.SubqueryExists:
		n.sub.mid, n.sub.paren = "EXISTS ", true
	case ast.SubqueryArray:
		n.sub.array = true
	}
	return n
}
