package planner

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// domainOf returns the constraints of a domain and of the domains below it.
func domainOf(t *types.T) (checks []types.DomainCheck, notNull bool) {
	for t != nil && t.Def != nil && t.Def.Kind == types.DefDomain {
		checks = append(checks, t.Def.Checks...)
		notNull = notNull || t.Def.NotNull
		t = t.Def.Base
	}
	return checks, notNull
}

// domainScope is the scope of a domain's constraint: VALUE is the only name.
func domainScope(value plan.Expr) *scope { return &scope{clause: clauseCheck, domainValue: value} }

// domainCond plans a constraint of a domain over its value.
func (b *builder) domainCond(k *types.DomainCheck, value plan.Expr) (plan.Expr, error) {
	e, err := parser.ParseExpr(k.Expr)
	if err != nil {
		return nil, withoutPosition(err)
	}
	x, err := b.boolExpr(e, "CHECK", domainScope(value))
	if err != nil {
		return nil, withoutPosition(err)
	}
	return x, nil
}

// domainValue plans a value of a domain: x, already of the domain's base type,
// with the constraints checked.
func (b *builder) domainValue(x plan.Expr, t *types.T, at int) (plan.Expr, error) {
	checks, notNull := domainOf(t)
	if len(checks) == 0 && !notNull {
		return x, nil
	}
	base := x.Type()
	value := &plan.CaseOperand{T: base}
	c := &plan.Case{Operand: x, T: base, OperandElse: true}
	raise := func(constraint string) (plan.Expr, error) {
		fn, err := builtin.ResolveFunction("lichen_domain_error", []*types.T{types.Text, types.Text})
		if err != nil {
			return nil, err
		}
		call := &plan.Call{Fn: fn, T: types.Text, Pos: at, Args: []plan.Expr{
			plan.NewConst(types.Text, types.NewString(t.SQLName)), plan.NewConst(types.Text, types.NewString(constraint)),
		}}
		y, ok, err := b.coerce(call, base, plan.CastExplicit, at)
		if err == nil && !ok {
			err = pgerr.Unsupported("domains over type %s are not supported", base.SQLName)
		}
		return y, err
	}
	if notNull {
		r, err := raise("")
		if err != nil {
			return nil, err
		}
		c.Whens = append(c.Whens, plan.When{Cond: &plan.Is{Arg: value, Kind: plan.IsNull}, Result: r})
	}
	for i := range checks {
		cond, err := b.domainCond(&checks[i], value)
		if err != nil {
			return nil, err
		}
		r, err := raise(checks[i].Name)
		if err != nil {
			return nil, err
		}
		c.Whens = append(c.Whens, plan.When{Cond: &plan.Is{Arg: cond, Kind: plan.IsFalse}, Result: r})
	}
	return c, nil
}

// domainChecks plans the constraints of the domains of a table's columns as
// CHECK constraints of a new row.
func (b *builder) domainChecks(t *catalog.Table, row []plan.ColID) ([]plan.CheckExpr, error) {
	var out []plan.CheckExpr
	for ord := range t.Columns {
		c := &t.Columns[ord]
		if c.Domain == nil {
			continue
		}
		value := &plan.ColRef{Col: row[ord], T: c.Type, Name: c.Name}
		checks, notNull := domainOf(c.Domain)
		if notNull {
			out = append(out, plan.CheckExpr{Domain: c.Domain.SQLName, Ord: ord, Cond: &plan.Is{Arg: value, Kind: plan.IsNotNull}})
		}
		for i := range checks {
			cond, err := b.domainCond(&checks[i], value)
			if err != nil {
				return nil, err
			}
			out = append(out, plan.CheckExpr{Domain: c.Domain.SQLName, Ord: ord, Name: checks[i].Name, Cond: cond})
		}
	}
	return out, nil
}

// CheckDomain plans the constraints of a domain, to find errors in them.
func CheckDomain(ctx context.Context, env *Env, t *types.T) error {
	b := &builder{ctx: ctx, env: env}
	for i := range t.Def.Checks {
		if _, err := b.domainCond(&t.Def.Checks[i], plan.NewNull(t.BaseType())); err != nil {
			return err
		}
	}
	return nil
}

// isDomainValue reports whether a name is VALUE in a domain's constraint.
func (s *scope) isDomainValue(e *ast.ColumnRef) bool {
	return s.domainValue != nil && e.Table == "" && e.Column == "value"
}
