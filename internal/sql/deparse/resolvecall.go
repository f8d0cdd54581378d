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
	if e.Syntax != ast.SyntaxPlain {
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
