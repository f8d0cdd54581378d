package planner

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// ownAggregates returns the aggregates that users have made of a name, as far as a call may mean them.
func (b *builder) ownAggregates(schema, name string) ([]*call.Overload, error) {
	finder, ok := b.env.Catalog.(catalog.RoutineFinder)
	if !ok {
		return nil, nil
	}
	found, err := finder.FindRoutines(b.ctx, schema, name)
	var list []*call.Overload
	for _, t := range found {
		if t.Routine.Aggregate != nil {
			list = append(list, t.Overload())
		}
	}
	return list, err
}

// isOwnAggregate reports whether a call is of an aggregate that a user has made: there is one of the name that takes as many arguments.
func (b *builder) isOwnAggregate(e *ast.FuncCall) bool {
	own, err := b.ownAggregates(e.Name.Schema, e.Name.Name)
	return err == nil && slices.ContainsFunc(own, func(o *call.Overload) bool { return o.AcceptsCount(len(e.Args)) })
}

// findAggregate finds the aggregate that a call means; as is the name by which those of the system are called.
func (b *builder) findAggregate(e *ast.FuncCall, as string, ts []*types.T) (*call.Aggregate, error) {
	own, err := b.ownAggregates(e.Name.Schema, e.Name.Name)
	if err != nil || len(own) == 0 {
		if err == nil && e.Name.Schema != "" && e.Name.Schema != builtin.SchemaOf(as) {
			return nil, call.NoMatch(e.Name.String(), false, ts)
		}
		return builtin.ResolveAggregate(as, ts)
	}
	var candidates []*call.Overload
	if e.Name.Schema == "" {
		for _, a := range builtin.Aggregates(as) {
			candidates = append(candidates, &a.Overload)
		}
	}
	system := candidates
	for _, o := range own {
		if !hides(system, o) {
			candidates = append(candidates, o)
		}
	}
	var fn *call.Overload
	if i := slices.IndexFunc(own, func(o *call.Overload) bool { return len(o.Args) == 0 }); len(ts) == 0 && i >= 0 {
		fn = own[i]
	} else if fn, err = builtin.Resolve(candidates, ts); err != nil {
		return nil, err
	}
	if fn.Agg != nil {
		return fn.Agg, nil
	}
	return b.ownAggregate(e, fn, ts)
}

// polymorphicArrays stand for arrays of what other polymorphic types stand for.
var polymorphicArrays = []*types.T{types.AnyArray, types.AnyCompatibleArray}

func isOneOf(t *types.T, list []*types.T) bool {
	return slices.ContainsFunc(list, func(u *types.T) bool { return t.Oid == u.Oid })
}

// ownAggregate makes an aggregate of one that a user has made, for arguments of types.
func (b *builder) ownAggregate(e *ast.FuncCall, fn *call.Overload, ts []*types.T) (*call.Aggregate, error) {
	t := fn.Routine.(*catalog.Table)
	def := t.Routine.Aggregate
	b.calls(fn)
	params, _, err := fn.Signature(ts)
	if err != nil {
		return nil, err
	}
	of := *fn // the state follows from the arguments as a result does
	of.Ret = def.State
	_, state, err := of.Signature(ts)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(params, func(p *types.T) bool { return p.Elem != nil }); i >= 0 && isOneOf(def.State, polymorphicArrays) && !isOneOf(fn.Args[i], polymorphicArrays) &&
		fn.Args[i].Family == types.AnyFamily {
		return nil, pgerr.New(pgerr.UndefinedObject, "could not find array type for data type %s", types.FormatType(params[i]))
	}
	s := &call.StateAggregate{}
	args := append([]*types.T{state}, params...)
	if s.Transition, s.TransitionStrict, err = b.aggregateFunction(t, def.Transition, args); err != nil {
		return nil, err
	}
	if def.Final.Oid != 0 {
		if !def.FinalExtra {
			args = args[:1]
		}
		s.FinalArgs = len(args) - 1
		if s.Final, s.FinalStrict, err = b.aggregateFunction(t, def.Final, args); err != nil {
			return nil, err
		}
	}
	if def.Initial != nil {
		if s.Initial, err = typeio.ParseText(state.BaseType(), *def.Initial, b.env.Format); err != nil {
			return nil, err
		}
	}
	a := &call.Aggregate{Overload: *fn, New: func([]*types.T) call.Accumulator { return s.Accumulator() }}
	a.Overload.Agg = a
	in, err := b.schemaName(t)
	b.env.Notes.noteAggregate(e, in)
	a.Overload.Name = in + "." + fn.Name // so that nobody takes it for one of the system
	return a, err
}

// aggregateFunction binds a function that an aggregate computes with, which the aggregate's owner must be able to call.
func (b *builder) aggregateFunction(t *catalog.Table, f catalog.AggregateFunction, ts []*types.T) (eval call.EvalFunc, strict bool, err error) {
	fn, err := b.functionOf(f)
	if err != nil {
		return nil, false, err
	}
	if fn.Routine != nil {
		if err := b.mayCall(fn, 0); err != nil {
			return nil, false, err
		}
		of := fn.Routine.(*catalog.Table)
		b.noteTable(of)
		b.uses(of, privilege.Execute).As = t.Owner.Role()
	}
	eval, err = fn.Bound(call.Binding{Types: ts})
	return eval, fn.Strict, err
}

// functionOf finds a function that an aggregate computes with.
func (b *builder) functionOf(f catalog.AggregateFunction) (*call.Overload, error) {
	if f.ID != 0 {
		t, err := b.env.Catalog.TableByID(b.ctx, f.ID)
		if err != nil {
			return nil, err
		}
		return t.Overload(), nil
	}
	if o := BuiltInFunction(f); o != nil {
		return o, nil
	}
	return nil, pgerr.New(pgerr.UndefinedFunction, "function with OID %d does not exist", f.Oid)
}

// BuiltInFunction returns the function of the system or of an extension that an aggregate computes with, nil if there is none.
func BuiltInFunction(f catalog.AggregateFunction) *call.Overload {
	for _, o := range slices.Concat(builtin.Functions(f.Name), builtin.ExtensionFunctions(f.Name)) {
		if o.Oid == f.Oid {
			return o
		}
	}
	return nil
}

// checkOwnWindow refuses an aggregate as a window function whose state is not the same once a result is made of it.
func checkOwnWindow(a *plan.Agg) error {
	t, ok := a.Fn.Routine.(*catalog.Table)
	if !ok || t.Routine.Aggregate.FinalModify == 'r' {
		return nil
	}
	return pgerr.Unsupported("aggregate function %s does not support use as a window function", call.CallText(t.Name, false, t.Overload().Args))
}

// sameFunction reports whether two calls are of one aggregate. Those of users are made for each call.
func sameFunction(a, c *call.Aggregate) bool {
	return a == c || a.Routine != nil && c.Routine != nil && a.Oid == c.Oid
}
