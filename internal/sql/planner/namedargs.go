package planner

import (
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// hasNamed reports whether a call has named arguments.
func hasNamed(list []ast.Expr) bool {
	for _, x := range list {
		if _, ok := x.(*ast.NamedArg); ok {
			return true
		}
	}
	return false
}

// namedCall plans f(1, name => 2).
func (b *builder) namedCall(e *ast.FuncCall, name string, s *scope) (plan.Expr, error) {
	var names []string
	exprs := make([]ast.Expr, len(e.Args))
	for i, x := range e.Args {
		if n, ok := x.(*ast.NamedArg); ok {
			for _, have := range names {
				if have == n.Name {
					return nil, pgerr.New(pgerr.SyntaxError, "argument name \"%s\" used more than once", n.Name).At(n.Pos)
				}
			}
			names, exprs[i] = append(names, n.Name), n.X
			continue
		}
		if len(names) > 0 {
			return nil, pgerr.New(pgerr.SyntaxError, "positional argument cannot follow named argument").At(x.Position())
		}
		exprs[i] = x
	}
	given, pos, err := b.exprList(exprs, s)
	if err != nil {
		return nil, err
	}
	own, err := b.routines(e.Name.Schema, name)
	if err != nil {
		return nil, err
	}
	for _, o := range slices.Concat(own, builtin.Functions(name)) {
		args, at, ok, err := b.orderArgs(o, given, pos, names, e.Pos)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		ts := make([]*types.T, len(args))
		for i := range args {
			ts[i] = args[i].Type()
		}
		if _, err := builtin.Resolve([]*call.Overload{o}, ts); err != nil {
			continue
		}
		if o.Routine != nil {
			b.noteTable(o.Routine.(*catalog.Table))
		} else if params, _, err := o.Signature(ts); err == nil {
			b.env.Notes.noteNamed(e, builtin.ArgNames(o), params)
		}
		return b.finishCall(o, args, ts, at, e.Pos)
	}
	var text []string
	for i, x := range given {
		t := x.Type().SQLName
		if k := i - (len(given) - len(names)); k >= 0 {
			t = names[k] + " => " + t
		}
		text = append(text, t)
	}
	return nil, pgerr.New(pgerr.UndefinedFunction, "function %s(%s) does not exist", name, strings.Join(text, ", ")).
		WithHint("No function matches the given name and argument types. You might need to add explicit type casts.").At(e.Pos)
}

// orderArgs puts arguments in the order of o's declaration and completes them
// with defaults.
func (b *builder) orderArgs(o *call.Overload, given []plan.Expr, pos []int, names []string, at int) (args []plan.Expr, where []int, ok bool, err error) {
	declared := o.ArgNames
	if o.Routine == nil {
		declared = builtin.ArgNames(o)
	}
	if o.Variadic || len(declared) != len(o.Args) || len(given) > len(o.Args) {
		return nil, nil, false, nil
	}
	args, where = make([]plan.Expr, len(o.Args)), make([]int, len(o.Args))
	positional := len(given) - len(names)
	for i := range positional {
		args[i], where[i] = given[i], pos[i]
	}
	for k, n := range names {
		found := false
		for i, d := range declared {
			if d == n && args[i] == nil {
				args[i], where[i], found = given[positional+k], pos[positional+k], true
			}
		}
		if !found {
			return nil, nil, false, nil
		}
	}
	for i := range args {
		if args[i] != nil {
			continue
		}
		if i < len(o.Args)-o.Defaults {
			return nil, nil, false, nil
		}
		if args[i], err = b.defaultArg(o, i); err != nil {
			return nil, nil, false, err
		}
		where[i] = at
	}
	return args, where, true, nil
}
