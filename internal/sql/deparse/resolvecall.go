package deparse

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/types"
)

// call makes the node of a call, its arguments converted.
func (d *deparser) call(e *ast.FuncCall) *node {
	n := &node{kind: call, typ: d.typeOf(e), syntax: e, text: d.functionName(e.Name)}
	params := d.notes.Params[e]
	for i, x := range e.Args {
		if a, ok := x.(*ast.NamedArg); ok {
			v := d.resolve(a.X)
			if i < len(params) {
				v = d.coerce(v, params[i])
			}
			n.args = append(n.args, &node{kind: named, typ: v.typ, text: ast.QuoteIdent(a.Name) + " => ", args: []*node{d.settle(v)}})
			continue
		}
		v := d.resolve(x)
		if i < len(params) {
			v = d.coerce(v, params[i])
		}
		if i >= len(params) || params[i].Oid != types.Any.Oid {
			v = d.settle(v)
		}
		n.args = append(n.args, v)
	}
	n.variadic = e.Variadic
	if from, ok := d.notes.Gathered[e]; ok {
		rest := n.args[from:]
		array := &node{kind: special, text: "ARRAY[", args: rest}
		array.typ, _ = types.ArrayOf(rest[0].typ.WithTypmod(-1))
		n.args, n.variadic = append(n.args[:from:from], array), true
	}
	switch {
	case e.Syntax == ast.SyntaxPlain, e.Syntax == ast.SyntaxSubstring && len(n.args) == 2 && n.args[1].typ.IsString():
	default:
		n.kind = grammar
	}
	if e.Filter != nil {
		n.els = d.coerce(d.resolve(e.Filter), types.Bool)
	}
	return n
}

// functionName is a function's name: those of user-defined types have a schema.
func (d *deparser) functionName(f ast.FuncName) string {
	if f.Schema == "" || f.Schema == "pg_catalog" {
		return ast.QuoteIdent(f.Name)
	}
	return d.env.FuncName(f.Schema, f.Name)
}
