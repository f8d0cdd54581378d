package deparse

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// findOwn returns the operator that a user has made and that a name with its schema means, nil if it means another.
func (d *deparser) findOwn(op ast.Operator, ts []*types.T) *catalog.Table {
	f, ok := d.env.Planner.Catalog.(catalog.OperatorFinder)
	if !ok {
		return nil
	}
	found, err := f.FindOperators(d.ctx, op.Schema, op.Name)
	d.fail(err)
	if op.Schema != "" {
		t, err := planner.ChooseOperator(found, nil, ts)
		d.fail(err)
		return t
	}
	x, ok := d.env.Planner.Catalog.(catalog.ExtensionFinder)
	system := builtin.OperatorsSeen(op.Name, ts, func(extension string) bool { return ok && x.HasExtension(d.ctx, extension) })
	t, err := planner.ChooseOperator(found, system, ts)
	if err != nil { // the name alone means several
		return nil
	}
	return t
}

// ownOperator is operator for one with a schema, which a user has made or an extension brought.
func (d *deparser) ownOperator(op ast.Operator, args ...*node) *node {
	ts := make([]*types.T, len(args))
	for i, a := range args {
		ts[i] = a.typ.BaseType()
	}
	t := d.findOwn(op, ts)
	if t == nil {
		return d.operator(op.Name, args...)
	}
	n := &node{kind: operator, typ: types.Bool, text: op.Name, args: args}
	params, ret, err := t.Overload().Signature(ts)
	if err != nil {
		d.fail(err)
		return n
	}
	for i := range args {
		args[i] = d.coerce(args[i], params[i])
	}
	n.typ, n.text = ret, d.ownOperatorName(op, t, ts)
	return n
}

// ownOperatorName is how an operator that a user has made is printed: with its schema unless the name alone means it.
func (d *deparser) ownOperatorName(op ast.Operator, t *catalog.Table, ts []*types.T) string {
	if u := d.findOwn(ast.Operator{Name: op.Name}, ts); u != nil && u.ID == t.ID {
		return op.Name
	}
	return "OPERATOR(" + ast.QuoteIdent(op.Schema) + "." + op.Name + ")"
}

// ownOverArray is overArray for an operator with a schema.
func (d *deparser) ownOverArray(op ast.Operator, any bool, x, array *node) *node {
	elem := types.Unknown
	if !array.unknown() && array.typ.Elem != nil {
		elem = array.typ.Elem
	}
	ts := []*types.T{x.typ.BaseType(), elem.BaseType()}
	t := d.findOwn(op, ts)
	if t == nil {
		return d.overArray(op.Name, any, x, array)
	}
	n := &node{kind: quantified, typ: types.Bool, text: " " + d.ownOperatorName(op, t, ts) + " ALL ("}
	if any {
		n.text = " " + d.ownOperatorName(op, t, ts) + " ANY ("
	}
	params, _, err := t.Overload().Signature(ts)
	if err != nil {
		d.fail(err)
		return n
	}
	if want, ok := types.ArrayOf(params[1].WithTypmod(-1)); ok && elem.Oid != params[1].Oid {
		array = d.coerce(array, want)
	}
	n.args = []*node{d.coerce(x, params[0]), array}
	return n
}
