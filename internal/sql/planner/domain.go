package planner

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/catalogfuncs"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// domainScope is the scope of a domain's constraint: VALUE is the only name.
func domainScope(value plan.Expr) *scope { return &scope{clause: clauseCheck, domainValue: value} }

// domainCond plans a constraint of a domain over its value.
func (b *builder) domainCond(k *types.DomainCheck, value plan.Expr) (plan.Expr, error) {
	return b.storedExpr(k.Expr, func(e ast.Expr) (plan.Expr, error) {
		return b.boolExpr(e, "CHECK", domainScope(baseCollated(value)))
	})
}

// baseCollated is VALUE, whose collation is that of the base type, not the domain's.
func baseCollated(value plan.Expr) plan.Expr {
	switch v := value.(type) {
	case *plan.ColRef:
		c := *v
		c.T = v.T.WithCollation(nil)
		return &c
	case *plan.CaseOperand:
		return &plan.CaseOperand{T: v.T.WithCollation(nil)}
	}
	return value
}

// domainName is what errors call a domain.
func (b *builder) domainName(t *types.T) catalogfuncs.DomainName {
	d := catalogfuncs.DomainName{Name: t.Name, SQLName: t.SQLName}
	finder, ok := b.env.Catalog.(catalog.TypeFinder)
	if !ok || !t.IsDomain() {
		return d
	}
	var visible bool
	if d.Schema, visible = finder.PeekTypeSchema(b.ctx, t.Oid); d.Schema != "" && !visible {
		d.SQLName = ast.QuoteIdent(d.Schema) + "." + ast.QuoteIdent(d.Name)
	}
	return d
}

// domainConds plans what a value of a domain, or of an array of one, has to fulfil:
// first the constraints of the type below, of each domain by their names. Errors name
// the domain of the value, which is name.
func (b *builder) domainConds(t *types.T, name catalogfuncs.DomainName, value plan.Expr) ([]plan.CheckExpr, error) {
	switch {
	case !t.OfDomain():
		return nil, nil
	case !t.IsDomain():
		return b.elementConds(t.Elem, value)
	}
	list, err := b.domainConds(t.Def.Base, name, value)
	if err != nil {
		return nil, err
	}
	if t.Def.NotNull {
		notNull := plan.CheckExpr{Domain: name, Cond: &plan.Is{Arg: value, Kind: plan.IsNotUnknown}}
		list = slices.Insert(list, 0, notNull)
	}
	checks := slices.SortedFunc(slices.Values(t.Def.Checks), func(x, y types.DomainCheck) int { return strings.Compare(x.Name, y.Name) })
	for i := range checks {
		cond, err := b.domainCond(&checks[i], value)
		if err != nil {
			return nil, err
		}
		list = append(list, plan.CheckExpr{Name: checks[i].Name, Domain: name, Cond: cond})
	}
	return list, nil
}

// elementConds plans what the elements of an array of a domain have to fulfil.
func (b *builder) elementConds(t *types.T, array plan.Expr) ([]plan.CheckExpr, error) {
	list, err := b.domainConds(t, b.domainName(t), &plan.CaseOperand{T: t.BaseType()})
	for i := range list {
		list[i].Cond = &plan.AllElements{Array: array, Cond: list[i].Cond}
	}
	return list, err
}

// domainValue plans a value of a domain, or of an array of one: x, already of the
// type below, with the constraints checked.
func (b *builder) domainValue(x plan.Expr, t *types.T, at int) (plan.Expr, error) {
	base := x.Type()
	conds, err := b.domainConds(t, b.domainName(t), &plan.CaseOperand{T: base})
	if err != nil || len(conds) == 0 {
		return x, err
	}
	fn, err := builtin.ResolveFunction("lichen_domain_error", []*types.T{types.Text, types.Text, types.Text, types.Text})
	if err != nil {
		return nil, err
	}
	c := &plan.Case{Operand: x, T: base, OperandElse: true}
	for _, k := range conds {
		call := &plan.Call{Fn: fn, T: types.Text, Pos: at}
		for _, s := range []string{k.Domain.Schema, k.Domain.Name, k.Domain.SQLName, k.Name} {
			call.Args = append(call.Args, plan.NewConst(types.Text, types.NewString(s)))
		}
		raise, ok, err := b.coerce(call, base, plan.CastExplicit, at)
		if err == nil && !ok {
			err = pgerr.Unsupported("domains over type %s are not supported", base.SQLName)
		}
		if err != nil {
			return nil, err
		}
		c.Whens = append(c.Whens, plan.When{Cond: &plan.Is{Arg: k.Cond, Kind: plan.IsFalse}, Result: raise})
	}
	return c, nil
}

// retyped returns x as of type t, which differs in the domain only.
func retyped(x plan.Expr, t *types.T) plan.Expr {
	if x.Type() == t {
		return x
	}
	switch x := x.(type) {
	case *plan.ColRef:
		c := *x
		c.T = t
		return &c
	case *plan.Const:
		return plan.NewConst(t, x.D)
	}
	return &plan.Cast{Arg: x, T: t, Mode: plan.CastImplicit}
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
		list, err := b.domainConds(c.Domain, b.domainName(c.Domain), &plan.ColRef{Col: row[ord], T: c.Type, Name: c.Name})
		if err != nil {
			return nil, err
		}
		for i := range list {
			list[i].Ord = ord
		}
		out = append(out, list...)
	}
	return out, nil
}

// CheckDomain plans the constraints and the default of a domain, to find errors in them.
func CheckDomain(ctx context.Context, env *Env, t *types.T) error {
	b := &builder{ctx: ctx, env: env.forChecks()}
	for i := range t.Def.Checks {
		if _, err := b.domainCond(&t.Def.Checks[i], plan.NewNull(t.BaseType())); err != nil {
			return err
		}
	}
	_, err := b.defaultExpr(&catalog.Column{Name: t.Name, Type: t.BaseType(), Default: t.Def.Default})
	return err
}

// DomainInput plans what reads a value of a domain, or of an array of one: $1, of the type
// below, with the constraints checked.
func DomainInput(ctx context.Context, env *Env, t *types.T) (*plan.Prepared, error) {
	b := &builder{ctx: ctx, env: env}
	base := t.BaseType()
	x, err := b.domainValue(&plan.Param{T: base}, t, 0)
	if err != nil {
		return nil, err
	}
	out := plan.Column{ID: b.newCol(), Type: base}
	root := &plan.Project{Input: oneRow(), Exprs: []plan.Expr{x}}
	root.Cols = []plan.Column{out}
	return &plan.Prepared{Root: root, Columns: root.Cols, ParamTypes: []*types.T{base}, NextCol: b.nextCol + 1}, nil
}

// CheckDefault plans the default of a column, to find errors in it.
func CheckDefault(ctx context.Context, env *Env, c *catalog.Column) error {
	b := &builder{ctx: ctx, env: env.forChecks()}
	_, err := b.defaultExpr(c)
	return err
}

// forChecks returns the environment to plan expressions in that are only looked at.
func (env *Env) forChecks() *Env {
	e := *env
	e.AnyLength = true
	return &e
}

// isDomainValue reports whether a name is VALUE in a domain's constraint.
func (s *scope) isDomainValue(e *ast.ColumnRef) bool {
	return s.domainValue != nil && e.Table == "" && e.Column == "value"
}
