package planner

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// castByFunction plans a cast that a user has made with a function: a call of it, so that nothing below knows of such casts.
func (b *builder) castByFunction(f *types.CastFunction, e plan.Expr, t *types.T, mode plan.CastMode, pos int) (plan.Expr, error) {
	fn, err := b.functionOf(catalog.AggregateFunction{Oid: f.Oid, Name: f.Name, ID: catalog.ID(f.ID)})
	if err != nil {
		return nil, err
	}
	if fn.Routine != nil {
		b.calls(fn)
	}
	args := []plan.Expr{e}
	if f.Args > 1 {
		args = append(args, plan.NewConst(types.Int4, types.NewInt(int64(t.Typmod))))
	}
	if f.Args > 2 {
		args = append(args, plan.NewConst(types.Bool, types.NewBool(mode == plan.CastExplicit)))
	}
	x, err := b.callOfCast(fn, args, t, pos)
	if err != nil {
		return nil, err
	}
	if c, ok := x.(*plan.Call); ok && f.Args > 1 && c.T.Oid == t.Oid { // the function saw to the modifier
		c.T = t
		return c, nil
	}
	if x.Type().Oid != t.Oid || t.Typmod >= 0 {
		return &plan.Cast{Arg: x, T: t, Mode: mode}, nil
	}
	return x, nil
}

// callOfCast plans the call of a cast's function: for each element, if the cast is one of arrays.
func (b *builder) callOfCast(fn *call.Overload, args []plan.Expr, t *types.T, pos int) (plan.Expr, error) {
	ts, at := argTypes(args), make([]int, len(args))
	for i := range at {
		at[i] = pos
	}
	if !ts[0].SubArray() || !t.SubArray() {
		return b.finishCall(fn, args, ts, at, pos)
	}
	array := ts[0]
	ts[0] = array.Elem
	_, elem, err := fn.Signature(ts)
	if err != nil {
		return nil, ofSignature(err, pos)
	}
	whole, ok := types.ArrayOf(elem)
	if !ok {
		return nil, cannotCast(array, t, pos)
	}
	each := *fn
	each.Args, each.Ret, each.Strict = append([]*types.T{array}, fn.Args[1:]...), whole, true
	each.Bind = func(call.Binding) (call.EvalFunc, error) { return elementwise(fn, ts) }
	ts[0] = array
	return b.finishCall(&each, args, ts, at, pos)
}

// elementwise returns what calls fn for each element of an array, with the same further arguments.
func elementwise(fn *call.Overload, ts []*types.T) (call.EvalFunc, error) {
	of := append([]*types.T{ts[0].Elem}, ts[1:]...)
	one, err := fn.Bound(call.Binding{Types: of})
	if err != nil {
		return nil, err
	}
	return func(c *call.Context, args []types.Datum) (_ types.Datum, err error) {
		given := append([]types.Datum{}, args...)
		a := args[0].DecodeArray(c.Format)
		for i, d := range a.Elems {
			if err := c.Format.CountSteps(1); err != nil {
				return types.Null, err
			}
			if given[0] = d; d.IsNull() && fn.Strict {
				continue
			}
			if a.Elems[i], err = one(c, given); err != nil {
				return types.Null, err
			}
		}
		return types.EncodeArray(a.Dims, a.Elems, c.Format), c.Format.CountSteps(0)
	}, nil
}

// castsBuiltIn notes that the statement calls the function of the system behind a cast, if that is not everybody's.
func (b *builder) castsBuiltIn(from, to *types.T, method byte) {
	if method != 'f' || b.env.Catalog == nil || b.builtInACLs() == nil {
		return
	}
	for from.SubArray() && to.SubArray() {
		from, to = from.Elem, to.Elem
	}
	if fn := builtin.FunctionOfCast(from.Oid, to.Oid); fn.Oid != 0 {
		b.takesExecute(access.BuiltIn{Oid: fn.Oid, Name: fn.Name})
	}
}

// CastInput plans what makes a value of one type one of another, as assignments do: $1, converted by a cast that has a function.
func CastInput(ctx context.Context, env *Env, from, to *types.T) (*plan.Prepared, error) {
	b := &builder{ctx: ctx, env: env}
	x, ok, err := b.coerce(&plan.Param{T: from}, to, plan.CastAssignment, 0)
	if err == nil && !ok {
		err = pgerr.New(pgerr.CannotCoerce, "cannot cast type %s to %s", from.SQLName, to.SQLName)
	}
	if err != nil {
		return nil, err
	}
	out := plan.Column{ID: b.newCol(), Type: to}
	root := &plan.Project{Input: oneRow(), Exprs: []plan.Expr{x}}
	root.Cols = []plan.Column{out}
	return &plan.Prepared{Root: root, Columns: root.Cols, ParamTypes: []*types.T{from}, NextCol: b.nextCol + 1, Uses: b.allUses()}, nil
}
