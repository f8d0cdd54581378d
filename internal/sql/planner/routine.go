package planner

import (
	"context"
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

// routines returns the user-defined functions and procedures of a name that a call may mean, those of
// schemas that are searched first before others.
func (b *builder) routines(schema, name string) ([]*call.Overload, error) {
	list := b.extensionFunctions(schema, name)
	finder, ok := b.env.Catalog.(catalog.RoutineFinder)
	if !ok {
		return list, nil
	}
	found, err := finder.FindRoutines(b.ctx, schema, name)
	if err != nil {
		return nil, err
	}
	for _, t := range found {
		list = append(list, t.Overload())
	}
	return list, nil
}

// userFunction reports whether a call, whose schema is not that of a built-in function, may be of something that a user has
// made.
func (b *builder) userFunction(e *ast.FuncCall) bool {
	own, err := b.routines(e.Name.Schema, e.Name.Name)
	return err == nil && own != nil || b.userType(e.Name.Schema, e.Name.Name) != nil
}

// resolveRoutine finds the function of a name that users have given to some of their own.
func (b *builder) resolveRoutine(schema, name string, own []*call.Overload, ts []*types.T, err error) (*call.Overload, error) {
	if err != nil {
		return nil, err
	}
	candidates := own
	if schema == "" {
		candidates = slices.DeleteFunc(own, func(o *call.Overload) bool { return hides(builtin.Functions(name), o) })
		candidates = slices.Concat(builtin.Functions(name), candidates)
	}
	return b.noted(builtin.Resolve(candidates, ts))
}

// hides reports whether a built-in function has the signature of another: the system's schema is searched first.
func hides(list []*call.Overload, o *call.Overload) bool {
	return slices.ContainsFunc(list, func(x *call.Overload) bool {
		return x.Variadic == o.Variadic && slices.EqualFunc(x.Args, o.Args, func(s, t *types.T) bool { return s.Oid == t.Oid })
	})
}

// noted notes that the plan depends on a function, if it is a user's.
func (b *builder) noted(fn *call.Overload, err error) (*call.Overload, error) {
	if err == nil && fn.Routine != nil {
		b.calls(fn)
	}
	return fn, err
}

// mayCall refuses a call of a routine that expressions can't call.
func (b *builder) mayCall(fn *call.Overload, at int) error {
	r := fn.Routine.(*catalog.Table).Routine
	b.callsRoutines = true
	switch {
	case r.Aggregate != nil:
		return pgerr.New(pgerr.GroupingError, "aggregate functions are not allowed in functions in FROM").At(at)
	case r.Procedure:
		return pgerr.New(pgerr.WrongObjectType, "%s is a procedure", call.CallText(fn.Name, false, fn.Args)).
			WithHint("To call a procedure, use CALL.").At(at)
	case r.Trigger(), r.EventTrigger():
		return pgerr.Unsupported("trigger functions can only be called as triggers").At(at)
	}
	if r.Volatility == 'v' {
		b.callsVolatile = true
	}
	return nil
}

// defaultArg plans the default of argument i of a function.
func (b *builder) defaultArg(fn *call.Overload, i int) (plan.Expr, error) {
	k := i - (len(fn.Args) - fn.Defaults)
	if fn.Routine == nil {
		return plan.NewConst(fn.Args[i], fn.DefaultArgs[k]), nil
	}
	e, err := b.storedExpr(fn.DefaultTexts[k], func(x ast.Expr) (plan.Expr, error) { return b.expr(x, &scope{}) })
	if err != nil {
		return nil, err
	}
	if isUnknown(e.Type()) || fn.Args[i].Family == types.AnyFamily {
		return e, nil
	}
	return b.coerceArg(e, fn.Args[i], 0)
}

// callProcedure plans CALL: the row of the arguments.
func (b *builder) callProcedure(st *ast.Call) (plan.Node, []plan.Column, error) {
	e, s := st.Func, b.rootScope()
	own, err := b.routines(e.Name.Schema, e.Name.Name)
	if err != nil {
		return nil, nil, err
	}
	b.untypeVoid(e.Args)
	given, pos, names, err := b.callArgs(e, s)
	if err != nil {
		return nil, nil, err
	}
	ts := argTypes(given)
	fn, args, pos, err := b.findProcedure(e, own, given, pos, names)
	if err != nil {
		return nil, nil, err
	}
	if fn == nil {
		return nil, nil, b.noProcedure(e, ts)
	}
	b.calls(fn)
	params, _, err := fn.Signature(argTypes(args))
	if err != nil {
		return nil, nil, ofSignature(err, e.Pos)
	}
	n := &plan.Project{Input: oneRow()}
	for i := range args {
		if args[i], err = b.coerceArg(args[i], params[i], pos[i]); err != nil {
			return nil, nil, err
		}
		n.Exprs = append(n.Exprs, args[i])
		n.Cols = append(n.Cols, plan.Column{ID: b.newCol(), Name: "arg", Type: args[i].Type()})
	}
	b.procedure, b.callsRoutines, b.callsVolatile = fn, true, true
	var out []plan.Column
	for _, p := range fn.Routine.(*catalog.Table).Routine.Outputs() {
		out = append(out, plan.Column{ID: b.newCol(), Name: p.Name, Type: p.Type})
	}
	return n, out, nil
}

// untypeVoid infers the types of arguments that a client declares to be void: so JDBC calls outputs of functions and procedures alike.
func (b *builder) untypeVoid(args []ast.Expr) {
	for _, a := range args {
		if p, ok := a.(*ast.Param); ok && p.N >= 1 && p.N <= len(b.params) && b.params[p.N-1] != nil && b.params[p.N-1].Oid == types.Void.Oid {
			b.params[p.N-1] = nil
		}
	}
}

func argTypes(args []plan.Expr) []*types.T {
	ts := make([]*types.T, len(args))
	for i := range args {
		ts[i] = args[i].Type()
	}
	return ts
}

// findProcedure finds the procedure that CALL means, and its arguments with the defaults; nil if there is none.
func (b *builder) findProcedure(e *ast.FuncCall, own []*call.Overload, given []plan.Expr, pos []int, names []string) (*call.Overload, []plan.Expr, []int, error) {
	for _, o := range own {
		if len(names) == 0 {
			break
		}
		args, at, ok, err := b.orderArgs(o, given, pos, names, e.Pos)
		if err != nil {
			return nil, nil, nil, err
		}
		if ok {
			return o, args, at, procedureOnly(o, e)
		}
	}
	if len(own) == 0 || len(names) > 0 {
		return nil, nil, nil, nil
	}
	fn, err := builtin.Resolve(own, argTypes(given))
	if err != nil {
		if noFunction(err) {
			return nil, nil, nil, nil
		}
		return nil, nil, nil, pgerr.From(err).At(e.Pos)
	}
	for i := len(given); i < len(fn.Args); i++ {
		d, err := b.defaultArg(fn, i)
		if err != nil {
			return nil, nil, nil, err
		}
		given, pos = append(given, d), append(pos, e.Pos)
	}
	return fn, given, pos, procedureOnly(fn, e)
}

func procedureOnly(fn *call.Overload, e *ast.FuncCall) error {
	if fn.Routine.(*catalog.Table).Routine.Procedure {
		return nil
	}
	return pgerr.New(pgerr.WrongObjectType, "%s is not a procedure", call.CallText(fn.Name, false, fn.Args)).
		WithHint("To call a function, use SELECT.").At(e.Pos)
}

// noProcedure is 42883 for CALL of what there is not.
func (b *builder) noProcedure(e *ast.FuncCall, ts []*types.T) error {
	if fn, err := builtin.ResolveFunction(e.Name.Name, ts); err == nil && e.Name.Schema == "" {
		return pgerr.New(pgerr.WrongObjectType, "%s is not a procedure", call.CallText(fn.Name, false, fn.Args)).
			WithHint("To call a function, use SELECT.").At(e.Pos)
	}
	return pgerr.New(pgerr.UndefinedFunction, "procedure %s does not exist", call.CallText(e.Name.String(), false, ts)).
		WithHint("No procedure matches the given name and argument types. You might need to add explicit type casts.").At(e.Pos)
}

// callArgs plans the arguments of CALL, of which the last ones may have names.
func (b *builder) callArgs(e *ast.FuncCall, s *scope) (args []plan.Expr, pos []int, names []string, err error) {
	exprs := make([]ast.Expr, len(e.Args))
	for i, x := range e.Args {
		exprs[i] = x
		if n, ok := x.(*ast.NamedArg); ok {
			names, exprs[i] = append(names, n.Name), n.X
		} else if len(names) > 0 {
			return nil, nil, nil, pgerr.New(pgerr.SyntaxError, "positional argument cannot follow named argument").At(x.Position())
		}
	}
	args, pos, err = b.exprList(exprs, s)
	return args, pos, names, err
}

// ColumnTypeOf returns the type of a column that is named with its relation: name%TYPE.
func ColumnTypeOf(ctx context.Context, r catalog.Resolver, names []ast.Name) (*types.T, error) {
	if len(names) < 2 || len(names) > 4 {
		return nil, pgerr.New(pgerr.SyntaxError, "improper %%TYPE reference (too few dotted names): %s", strings.Join(names, "."))
	}
	parts := append(make([]ast.Name, 4-len(names)), names...)
	t, err := r.ResolveTable(ctx, parts[0], parts[1], parts[2])
	if err != nil {
		return nil, err
	}
	i, ok := t.ColumnByName(parts[3])
	if !ok {
		return nil, t.UndefinedColumn(parts[3])
	}
	if d := t.Columns[i].Domain; d != nil {
		return d, nil
	}
	return t.Columns[i].Type, nil
}
