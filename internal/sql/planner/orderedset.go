package planner

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/aggfuncs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// orderedSetArgs plans an aggregate with WITHIN GROUP: the ordered expressions
// follow the direct arguments as arguments.
func (b *builder) orderedSetArgs(e *ast.FuncCall, name string, s *scope) (*plan.Agg, error) {
	as, hypothetical, ok := aggfuncs.OrderedSet(name)
	if !ok && len(builtin.Aggregates(name)) > 0 {
		return nil, b.noOrderedSet(e, name, s)
	}
	if !ok {
		return nil, b.missingFunction(e, name, s, notOrderedSet(e, name))
	}
	if e.Distinct {
		return nil, pgerr.New(pgerr.SyntaxError, "cannot use DISTINCT with WITHIN GROUP").At(e.Pos)
	}
	args, pos, err := b.exprList(e.Args, s)
	if err != nil {
		return nil, err
	}
	direct := len(args)
	if hypothetical && direct != len(e.OrderBy) {
		return nil, b.noHypothetical(e, name, args, s)
	}
	var sorted, flags []plan.Expr
	for i := range e.OrderBy {
		o := &e.OrderBy[i]
		x, err := b.expr(o.X, s)
		if err != nil {
			return nil, err
		}
		desc, nulls, err := direction(o)
		if err != nil {
			return nil, err
		}
		flag := int64(0)
		if desc {
			flag |= aggfuncs.HypotheticalDesc
		}
		if nulls {
			flag |= aggfuncs.HypotheticalNullsFirst
		}
		if hypothetical {
			if x, args[i], err = b.hypothetical(x, args[i], o.X.Position(), pos[i]); err != nil {
				return nil, err
			}
		}
		sorted, flags = append(sorted, x), append(flags, plan.NewConst(types.Int4, types.NewInt(flag)))
	}
	args = append(args, sorted...)
	if hypothetical {
		args = append(args, flags...)
	}
	for len(pos) < len(args) {
		pos = append(pos, e.Pos)
	}
	a, err := b.boundAggregate(e, name, as, args, pos, s)
	if err != nil {
		return nil, err
	}
	if s.sel != nil {
		for i := range a.Args[:direct] {
			s.sel.direct = append(s.sel.direct, &a.Args[i])
		}
	}
	return a, b.aggregateOrder(a, e, s)
}

// hypothetical converts what is sorted and the value that is put among it to their common type. What
// is sorted decides between types that become each other.
func (b *builder) hypothetical(sorted, value plan.Expr, sortedAt, valueAt int) (x, y plan.Expr, err error) {
	pair := []plan.Expr{sorted, value}
	t, err := b.common(pair, []int{sortedAt, valueAt}, "WITHIN GROUP")
	if err != nil {
		return nil, nil, err
	}
	for i, x := range pair {
		if x.Type().Oid != t.Oid { // the values are the same, their order is not
			pair[i] = &plan.Cast{Arg: x, T: t.WithCollation(x.Type().Collation()), Mode: plan.CastImplicit}
		}
	}
	by, err := keyedBy(false, pair...)
	if err != nil {
		return nil, nil, err
	}
	return by.operand(pair[0]), by.operand(pair[1]), nil
}

// noHypothetical says that direct arguments and ordering columns of a
// hypothetical-set aggregate differ in number.
func (b *builder) noHypothetical(e *ast.FuncCall, name string, args []plan.Expr, s *scope) error {
	sorted, err := b.orderTypes(e, s)
	if err != nil {
		return err
	}
	return pgerr.New(pgerr.UndefinedFunction, "function %s(%s) does not exist", name, typeNames(append(typesOf(args), sorted...))).WithHint(
		"To use the hypothetical-set aggregate %s, the number of hypothetical direct arguments (here %d) must match the number of ordering columns (here %d).",
		name, len(args), len(sorted)).At(e.Pos)
}

// orderTypes returns the types of the ordering columns of an aggregate.
func (b *builder) orderTypes(e *ast.FuncCall, s *scope) ([]*types.T, error) {
	list := make([]ast.Expr, len(e.OrderBy))
	for i := range list {
		list[i] = e.OrderBy[i].X
	}
	xs, _, err := b.exprList(list, s)
	return typesOf(xs), err
}

func typesOf(xs []plan.Expr) []*types.T {
	ts := make([]*types.T, len(xs))
	for i := range xs {
		ts[i] = xs[i].Type()
	}
	return ts
}

// typeNames joins names of types as in the name of a function.
func typeNames(ts []*types.T) string {
	names := make([]string, len(ts))
	for i := range ts {
		names[i] = ts[i].SQLName
	}
	return strings.Join(names, ", ")
}

// noOrderedSet says that there is no ordered-set aggregate of the name of a plain
// one.
func (b *builder) noOrderedSet(e *ast.FuncCall, name string, s *scope) error {
	args, _, err := b.exprList(e.Args, s)
	if err != nil {
		return err
	}
	sorted, err := b.orderTypes(e, s)
	if err != nil {
		return err
	}
	ts := append(typesOf(args), sorted...)
	if _, err := builtin.ResolveAggregate(name, ts); err == nil {
		return notOrderedSet(e, name)
	}
	return pgerr.New(pgerr.UndefinedFunction, "function %s(%s) does not exist", name, typeNames(ts)).
		WithHint("There is an aggregate function %s, but it is not an ordered-set aggregate.", name).At(e.Pos)
}

func notOrderedSet(e *ast.FuncCall, name string) error {
	return pgerr.New(pgerr.WrongObjectType, "%s is not an ordered-set aggregate, so it cannot have WITHIN GROUP", name).At(e.Pos)
}
