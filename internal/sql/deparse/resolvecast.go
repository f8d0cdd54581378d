package deparse

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// way is how a cast converts, which decides where PostgreSQL prints parentheses around it.
type way uint8

const (
	byFunction  way = iota // a function is called, that of a type's modifier too
	relabeled              // nothing happens to the value
	throughText            // it is printed and read
	byElement              // that of an array
	toDomain               // it is checked
)

// literalOf reads a literal as a constant of a type, without its modifier: the cast to that
// is another step. The fields of an interval say what a bare number counts.
func (d *deparser) literalOf(s string, t *types.T) *node {
	read := t.WithTypmod(-1)
	if t.Family == types.IntervalFamily {
		read = t
	}
	v, err := typeio.ParseText(read, s, d.env.Planner.Format)
	d.fail(err)
	if t.Family == types.IntervalFamily && t.Typmod >= 0 && err == nil {
		v, err = types.ApplyTypmod(v, t, true, nil)
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

// coerce converts implicitly, without a modifier.
func (d *deparser) coerce(n *node, t *types.T) *node {
	if t == nil {
		return n
	}
	t = t.Shown()
	switch {
	case n.unknown() && n.kind != constant, t.Oid == types.Any.Oid:
		return n
	case n.unknown() && t.Family == types.AnyFamily:
		t = types.Text
	case n.unknown():
	case t.Family == types.AnyFamily, t.Oid == types.Record.Oid, t.Oid == types.RecordArray.Oid:
		return n // a composite value is a record
	}
	return d.convert(n, t.WithTypmod(-1), true)
}

// assign converts to the type of a column.
func (d *deparser) assign(n *node, t *types.T) *node {
	return d.castAs(n, t.BaseType(), true)
}

// cast is an explicit cast.
func (d *deparser) cast(e *ast.Cast) *node {
	t := d.notes.Casts[e]
	if t == nil {
		d.unsupported(e)
		return &node{kind: constant, typ: types.Text, null: true}
	}
	if a, ok := e.X.(*ast.ArrayExpr); ok {
		list := t
		if t.IsDomain() {
			list = t.BaseType()
		}
		if list.Elem != nil {
			return d.castTo(d.array(a, list), t)
		}
	}
	return d.castTo(d.resolve(e.X), t)
}

func (d *deparser) castTo(n *node, t *types.T) *node { return d.castAs(n, t, false) }

// castAs converts to a type and then to its modifier, of which steps the last one shows.
func (d *deparser) castAs(n *node, t *types.T, implicit bool) *node {
	if n.kind == collate && t.Collatable() {
		c := *n
		c.args = []*node{d.castAs(n.args[0], t, implicit)}
		c.typ = t
		return &c
	}
	for n.kind == collate {
		n = n.args[0]
	}
	if n.unknown() && n.kind != constant {
		d.unsupported(n)
		return n
	}
	x := d.convert(n, t, implicit)
	return d.modify(x, t, implicit, x != n && x.kind != constant)
}

// convert converts to a type, and to its modifier only where one step does both.
func (d *deparser) convert(n *node, t *types.T, implicit bool) *node {
	base := t
	if t.IsDomain() {
		base = t.BaseType()
	}
	switch {
	case n.unknown() && n.null:
		return d.checked(&node{kind: constant, typ: base.WithTypmod(-1), null: true}, t, implicit)
	case n.unknown():
		return d.checked(d.literalOf(n.literal, base), t, implicit)
	case n.typ.Oid == t.Oid:
		return n
	case n.kind == collate:
		c := *n
		c.args = []*node{d.convert(n.args[0], t, implicit)}
		c.typ = c.args[0].typ
		return &c
	case n.kind == special && n.text == "ROW(" && len(base.Fields()) == len(n.args):
		return d.checked(d.rowTo(n, base, implicit), t, implicit)
	}
	w, whole := wayTo(n.typ, base)
	if w == relabeled && t.IsDomain() {
		return d.checked(n, t, implicit)
	}
	to := base
	if !whole {
		to = base.WithTypmod(-1)
	}
	x := &node{kind: convert, way: w, typ: to, args: []*node{n}, implicit: implicit}
	if t.IsDomain() {
		x.implicit = true
	}
	return d.checked(x, t, implicit)
}

// wayTo returns how a value of one type becomes one of another, and whether that gives it the
// modifier too.
func wayTo(from, to *types.T) (w way, whole bool) {
	if from.IsDomain() {
		from = from.BaseType()
	}
	if from.Oid == to.Oid {
		return relabeled, false
	}
	c, _ := casts.Find(from.BaseType(), to.BaseType())
	switch {
	case from.SubArray() && to.SubArray():
		return byElement, true
	case c.Method == 'b':
		return relabeled, false
	case c.Method == 'i':
		return throughText, false
	}
	return byFunction, to.Oid == types.Bit.Oid
}

// modify converts a value of a type to its modifier. hide says that the step before is no
// more to be seen.
func (d *deparser) modify(n *node, t *types.T, implicit, hide bool) *node {
	if t.IsDomain() || n.typ.Typmod == t.Typmod {
		return n
	}
	if hide {
		c := *n
		c.implicit = true
		n = &c
	}
	if t.Typmod >= 0 {
		w := byFunction
		if t.SubArray() {
			w = byElement
		}
		return &node{kind: convert, way: w, typ: t, args: []*node{n}, implicit: implicit}
	}
	for n.kind == convert && n.way == relabeled {
		n = n.args[0]
	}
	if n.kind == constant {
		c := *n
		c.typ = t
		return &c
	}
	return &node{kind: convert, way: relabeled, typ: t, args: []*node{n}, implicit: implicit}
}

// checked makes a value of the type below a domain one of t, if t is a domain.
func (d *deparser) checked(n *node, t *types.T, implicit bool) *node {
	if !t.IsDomain() {
		return n
	}
	n = d.modify(n, t.BaseType(), true, false)
	return &node{kind: convert, way: toDomain, typ: t, args: []*node{n}, implicit: implicit}
}

// rowTo converts the fields of a row to those of a composite type.
func (d *deparser) rowTo(n *node, t *types.T, implicit bool) *node {
	row := &node{kind: special, typ: t, text: n.text, cast: !implicit}
	for i, f := range t.Fields() {
		row.args = append(row.args, d.castAs(n.args[i], f.Type.Shown(), true))
	}
	return row
}
