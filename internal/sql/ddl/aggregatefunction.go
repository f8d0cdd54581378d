package ddl

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// foundFunction is a function that an aggregate is to compute with.
type foundFunction struct {
	ref  catalog.AggregateFunction
	fn   *call.Overload
	ret  *types.T // of a call with the arguments
	name ast.TableName
}

func (f *foundFunction) wrongResult(what string, want *types.T) error {
	return pgerr.New(pgerr.DatatypeMismatch, "return type of %s %s is not %s", what, f.name.String(), types.FormatType(want))
}

// function finds the function of an option for arguments of types, which it must take as they are.
func (n *newAggregate) function(ctx context.Context, option string, ts []*types.T) (f foundFunction, err error) {
	o := n.opts[option]
	if f.name, err = functionNameOf(o); err != nil {
		return f, err
	}
	candidates, err := functionsNamed(ctx, n.e, f.name)
	if err != nil {
		return f, err
	}
	text := call.CallText(f.name.String(), false, ts)
	for i := range ts { // domains are what is below them
		if ts[i].OfDomain() {
			ts = slices.Clone(ts)
			ts[i] = ts[i].BaseType()
		}
	}
	if f.fn = pickFunction(candidates, ts); f.fn == nil {
		return f, pgerr.New(pgerr.UndefinedFunction, "function %s does not exist", text)
	}
	if f.fn.IsSRF() {
		return f, pgerr.New(pgerr.DatatypeMismatch, "function %s returns a set", text)
	}
	params := f.fn.Args
	if f.ret = f.fn.Ret; !slices.ContainsFunc(ts, polymorphic) {
		if params, f.ret, err = f.fn.Signature(ts); err != nil {
			return f, err
		}
	}
	for i := range ts {
		if !sameForm(ts[i], params[i]) {
			return f, pgerr.New(pgerr.DatatypeMismatch, "function %s requires run-time type coercion", call.CallText(f.name.String(), false, params))
		}
	}
	f.ref = catalog.AggregateFunction{Oid: f.fn.Oid, Name: f.fn.Name}
	if t, ok := f.fn.Routine.(*catalog.Table); ok {
		f.ref.ID, f.ref.Name = t.ID, ""
		return f, mayExecute(n.e, t)
	}
	has, _ := access.OnFunction(n.e.Coll.Me(), n.e.Coll.DatabaseACLs(), f.fn.Oid, f.fn.Restricted, privilege.Execute)
	if has == 0 {
		return f, access.Denied("function", f.fn.Name)
	}
	return f, nil
}

func mayExecute(e *statement.Env, t *catalog.Table) error {
	if has, _ := access.OnTable(e.Coll.Me(), t, privilege.Execute); has == 0 {
		return access.Denied("function", t.Name)
	}
	return nil
}

// functionNameOf is the name in an option that is a function.
func functionNameOf(o *ast.AggregateOption) (ast.TableName, error) {
	var parts []ast.Name
	switch s, ok := o.Value.(*ast.StrLit); {
	case ok:
		parts = []ast.Name{s.Val}
	case o.Type != nil:
		parts = o.Type.Names
	default:
		return ast.TableName{}, pgerr.New(pgerr.SyntaxError, "argument of %s must be a name", o.Name)
	}
	return qualified(parts, o.Loc), nil
}

// functionsNamed are the functions that a name may mean, those of the system first.
func functionsNamed(ctx context.Context, e *statement.Env, name ast.TableName) ([]*call.Overload, error) {
	found, err := e.Coll.FindRoutines(ctx, name.Schema, name.Table)
	if err != nil {
		return nil, err
	}
	var list []*call.Overload
	for _, t := range found {
		if t.Routine.Aggregate == nil && !t.Routine.Procedure {
			list = append(list, t.Overload())
		}
	}
	for _, o := range builtin.ExtensionFunctions(name.Table) {
		if e.Coll.SeesExtension(ctx, name.Schema, o.Extension) {
			list = append(list, o)
		}
	}
	if name.Schema == "" || name.Schema == builtin.SchemaOf(name.Table) {
		list = append(slices.Clip(builtin.Functions(name.Table)), list...)
	}
	return list, nil
}

// pickFunction chooses among functions, nil if none fits. Where an argument is polymorphic, so must the function's be.
func pickFunction(candidates []*call.Overload, ts []*types.T) *call.Overload {
	if slices.ContainsFunc(ts, polymorphic) {
		i := slices.IndexFunc(candidates, func(o *call.Overload) bool {
			return len(o.Args) == len(ts) && !o.Variadic && slices.EqualFunc(o.Args, ts, func(want, t *types.T) bool { return want.Oid == t.Oid })
		})
		if i < 0 {
			return nil
		}
		return candidates[i]
	}
	fn, err := builtin.Resolve(candidates, ts)
	if err != nil || len(fn.Args) != len(ts) || fn.Variadic {
		return nil
	}
	return fn
}

// sameForm reports whether values of a type are values of another as they are.
func sameForm(from, to *types.T) bool {
	if from.Oid == to.Oid || to.Oid == types.Any.Oid {
		return true
	}
	c, ok := casts.Find(from.BaseType(), to.BaseType())
	return ok && c.Method == 'b' && c.Context == types.CastImplicit
}
