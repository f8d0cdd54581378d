package deparse

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/coerce"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
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
		return d.collate(e, d.settle(d.resolve(e.X)))
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
	n := &node{kind: word, typ: types.Record, text: d.columnText(c), column: d.columnName(c), row: c.Name == ""}
	switch {
	case !n.row && c.Type != nil:
		n.typ = c.Type.Shown()
	case c.Relation != nil:
		n.table = c.Relation.View
	}
	return n
}

func (d *deparser) bitLit(e *ast.BitLit) *node {
	read := typeio.ParseBinaryBits
	if e.Hex {
		read = typeio.ParseHexBits
	}
	v, err := read(e.Val, nil)
	d.fail(err)
	return &node{kind: constant, typ: types.Bit, datum: v}
}

// collate is a value under a collation.
func (d *deparser) collate(e *ast.Collate, x *node) *node {
	n := &node{kind: collate, typ: x.typ, args: []*node{x}}
	if c := d.typeOf(e).Collation(); c != nil {
		n.text = d.env.CollationName(c)
	} else {
		d.unsupported(e)
	}
	return n
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
		n.typ = want
		if len(n.args) == 0 {
			n.typ = want.WithTypmod(-1)
		}
		for i, el := range n.args {
			to := want
			if el.typ.Elem == nil {
				to = want.Elem.WithTypmod(want.Typmod)
			}
			n.args[i] = d.castTo(el, to)
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
			return nil, pgerr.Assertion("an expression without a type")
		}
		if marked[i] = t; t.OfDomain() {
			marked[i] = t.BaseType().WithDomain(t)
		}
	}
	t, err := coerce.CommonType(marked, what)
	if err != nil {
		return nil, err
	}
	return t.Shown(), nil
}

func (d *deparser) row(e *ast.Row) *node {
	return &node{kind: special, text: "ROW(", typ: types.Record, args: d.rowFields(e)}
}

// rowFields are the elements of a row; t.* and (x).* among them are expanded.
func (d *deparser) rowFields(e *ast.Row) []*node {
	var out []*node
	for _, x := range e.Elems {
		switch x := x.(type) {
		case *ast.ColumnRef:
			if x.Star {
				for _, c := range d.notes.Stars[x] {
					out = append(out, d.noted(c))
				}
				continue
			}
		case *ast.FieldSelect:
			if x.Star {
				out = append(out, d.recordFields(x.X)...)
				continue
			}
		}
		out = append(out, d.resolve(x))
	}
	return out
}

// recordFields are the fields of (x).*.
func (d *deparser) recordFields(x ast.Expr) []*node {
	var out []*node
	for _, f := range d.fields(x) {
		out = append(out, &node{kind: field, typ: f.Type.Shown(), text: ast.QuoteIdent(f.Name), args: []*node{d.resolve(x)}})
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
		if n.args[0].typ.Oid == types.Hstore.Oid {
			return d.coerce(d.resolve(x), types.Text)
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
