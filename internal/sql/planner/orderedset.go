package planner

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// orderedSetArgs plans an aggregate with WITHIN GROUP: the ordered expressions
// follow the direct arguments as arguments.
func (b *builder) orderedSetArgs(e *ast.FuncCall, name string, s *scope) (*plan.Agg, error) {
	as, hypothetical, ok := builtin.OrderedSet(name)
	if !ok && len(builtin.Aggregates(name)) > 0 {
		return nil, b.noOrderedSet(e, name, s)
	}
	if !ok {
		return nil, pgerr.New(pgerr.WrongObjectType, "%s is not an ordered-set aggregate, so it cannot have WITHIN GROUP", name).At(e.Pos)
	}
	if e.Distinct {
		return nil, pgerr.New(pgerr.SyntaxError, "cannot use DISTINCT with WITHIN GROUP").At(e.Pos)
	}
	args, pos, err := b.exprList(e.Args, s)
	if err != nil {
		return nil, err
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
			flag |= builtin.HypotheticalDesc
		}
		if nulls {
			flag |= builtin.HypotheticalNullsFirst
		}
		if hypothetical && i < len(args) {
			pair := []plan.Expr{args[i], x}
			if _, err := b.common(pair, []int{pos[i], o.X.Position()}, "WITHIN GROUP"); err != nil {
				return nil, err
			}
			args[i], x = pair[0], pair[1]
		}
		sorted, flags = append(sorted, x), append(flags, plan.NewConst(types.Int4, types.NewInt(flag)))
	}
	if hypothetical {
		if len(args) != len(sorted) {
			return nil, pgerr.New(pgerr.UndefinedFunction, "function %s does not exist", name).WithHint(
				"To use the hypothetical-set aggregate %s, the number of hypothetical direct arguments (here %d) must match the number of ordering columns (here %d).",
				name, len(args), len(sorted)).At(e.Pos)
		}
		args = append(append(args, sorted...), flags...)
	} else {
		args = append(args, sorted...)
	}
	for len(pos) < len(args) {
		pos = append(pos, e.Pos)
	}
	return b.finishOrderedSet(e, name, as, args, pos, s)
}

// noOrderedSet says that there is no ordered-set aggregate of the name of a plain
// one.
func (b *builder) noOrderedSet(e *ast.FuncCall, name string, s *scope) error {
	var ts []string
	all := append([]ast.Expr(nil), e.Args...)
	for i := range e.OrderBy {
		all = append(all, e.OrderBy[i].X)
	}
	for _, x := range all {
		p, err := b.expr(x, s)
		if err != nil {
			return err
		}
		ts = append(ts, p.Type().SQLName)
	}
	return pgerr.New(pgerr.UndefinedFunction, "function %s(%s) does not exist", name, strings.Join(ts, ", ")).
		WithHint("There is an aggregate function %s, but it is not an ordered-set aggregate.", name).At(e.Pos)
}

func (b *builder) finishOrderedSet(e *ast.FuncCall, name, as string, args []plan.Expr, pos []int, s *scope) (*plan.Agg, error) {
	a, err := b.boundAggregate(e, name, as, args, pos, s)
	if err != nil {
		return nil, err
	}
	return a, b.aggregateOrder(a, e, s)
}
