package optimizer

import (
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// fold simplifies every expression of n and the operators below: immutable
// calls of constants, logic with constants, conditions that are always true or
// never.
func (o *optimizer) fold(n plan.Node) plan.Node {
	eachChild(n, o.fold)
	plan.VisitExprs(n, func(e *plan.Expr) { *e = o.foldExpr(o.fixed(*e)) })
	if s, ok := n.(*plan.Scan); ok { // to be compared with what else is folded
		for i := range s.Computed {
			s.Computed[i].Value = foldExpr(s.Computed[i].Value)
		}
		for i := range s.Predicates {
			s.Predicates[i].Cond = foldExpr(s.Predicates[i].Cond)
		}
	}
	if j, ok := n.(*plan.Join); ok {
		if d, isConst := constOf(j.On); isConst && d.IsTrue() {
			j.On = nil
		}
	}
	if g, ok := n.(*plan.GroupBy); ok {
		dropDistinct(g)
	}
	f, ok := n.(*plan.Filter)
	if !ok {
		return emptied(n)
	}
	d, isConst := constOf(f.Cond)
	switch {
	case isConst && d.IsTrue():
		return f.Input
	case nothingPasses(f.Cond):
		return emptyRows(f.Cols)
	}
	return emptied(n)
}

// nothingPasses reports whether a condition is known to be false or NULL for any row.
func nothingPasses(cond plan.Expr) bool {
	for _, c := range plan.Conjuncts(cond, nil) {
		if neverTrue(c) {
			return true
		}
	}
	return false
}

// dropDistinct drops DISTINCT of aggregates that duplicates do not change.
func dropDistinct(g *plan.GroupBy) {
	for i := range g.Aggs {
		switch a := &g.Aggs[i]; a.Fn.Name {
		case "min", "max", "bool_and", "bool_or", "every":
			a.Distinct = false
		}
	}
}

// fixed is e with constants instead of parameters if the plan is for these only.
func (o *optimizer) fixed(e plan.Expr) plan.Expr {
	if !o.opts.Fixed {
		return e
	}
	return plan.MapExpr(e, func(e plan.Expr) plan.Expr {
		if p, ok := e.(*plan.Param); ok && p.Index < len(o.opts.Params) {
			return plan.NewConst(p.T, o.opts.Params[p.Index])
		}
		return e
	})
}

// foldExpr simplifies e. A set-returning call stays a call.
func (o *optimizer) foldExpr(e plan.Expr) plan.Expr {
	return plan.MapExpr(e, func(e plan.Expr) plan.Expr {
		o.step()
		return foldNode(e)
	})
}

func foldExpr(e plan.Expr) plan.Expr { return plan.MapExpr(e, foldNode) }

func foldNode(e plan.Expr) plan.Expr {
	switch e := e.(type) {
	case *plan.Call:
		return foldCall(e)
	case *plan.Cast:
		return foldCast(e)
	case *plan.And:
		return foldLogic(e.Args, true)
	case *plan.Or:
		return orToIn(commonFactors(foldLogic(e.Args, false)))
	case *plan.Not:
		return foldNot(e)
	case *plan.Is:
		return foldIs(e)
	case *plan.InList:
		return foldIn(e)
	case *plan.Coalesce:
		return foldCoalesce(e)
	case *plan.Case:
		return foldCase(e)
	case *plan.FieldSelect:
		return foldField(e)
	}
	return e
}

func constOf(e plan.Expr) (types.Datum, bool) {
	c, ok := e.(*plan.Const)
	if !ok {
		return types.Null, false
	}
	return c.D, true
}

// foldCall evaluates an immutable call of constants, and yields NULL for a
// strict one with a NULL argument. What fails is left to fail at run time.
func foldCall(e *plan.Call) plan.Expr {
	if e.Fn.IsSRF() || len(e.Args) == 0 {
		return e
	}
	all, null := true, false
	for _, a := range e.Args {
		d, ok := constOf(a)
		all = all && ok
		null = null || ok && d.IsNull()
	}
	if null && e.Fn.Strict && e.Fn.Volatility != builtin.Volatile && !e.VariadicArray {
		return plan.NewNull(e.T)
	}
	if !all || e.Fn.Volatility != builtin.Immutable || e.VariadicArray {
		return e
	}
	args, ts := make([]types.Datum, len(e.Args)), make([]*types.T, len(e.Args))
	for i, a := range e.Args {
		args[i], _ = constOf(a)
		ts[i] = a.Type()
	}
	d, err := e.Fn.Fold(&builtin.Context{}, ts, args)
	if err != nil {
		return e
	}
	return plan.NewConst(e.T, d)
}

// foldable reports whether values of a family convert without session settings.
func foldable(t *types.T) bool {
	switch t.Family {
	case types.BoolFamily, types.IntFamily, types.DecimalFamily, types.StringFamily, types.UUIDFamily:
		return !t.IsReg()
	case types.FloatFamily:
		return true
	}
	return false
}

func foldCast(e *plan.Cast) plan.Expr {
	d, ok := constOf(e.Arg)
	if !ok {
		return e
	}
	if d.IsNull() {
		return plan.NewNull(e.T)
	}
	from := e.Arg.Type()
	dates := from.Family == types.DateFamily && e.T.Family == types.TimestampFamily
	if !dates && (!foldable(from) || !foldable(e.T) || from.Family == types.FloatFamily && e.T.Family == types.StringFamily) {
		return e
	}
	if builtin.Large(len(d.Str())) {
		return e // plans keep no large values that they were not given
	}
	if from.Oid != e.T.Oid {
		cast, ok := types.FindCast(from, e.T)
		if !ok {
			return e
		}
		if cast.Fn != nil {
			var err error
			if d, err = cast.Fn(nil, d, e.T); err != nil {
				return e
			}
		}
	}
	if e.T.Typmod >= 0 {
		var err error
		if d, err = types.ApplyTypmod(d, e.T, e.Mode == plan.CastExplicit); err != nil {
			return e
		}
	}
	return plan.NewConst(e.T, d)
}

// foldLogic simplifies AND (and is true) and OR: the neutral constant drops
// out, the dominating one decides, nested lists of the same kind are merged.
func foldLogic(args []plan.Expr, and bool) plan.Expr {
	var out []plan.Expr
	var add func(list []plan.Expr) bool
	add = func(list []plan.Expr) bool {
		for _, a := range list {
			if nested := nestedArgs(a, and); nested != nil {
				if add(nested) {
					return true
				}
				continue
			}
			if d, ok := constOf(a); ok && !d.IsNull() {
				if d.Bool() != and {
					return true
				}
				continue
			}
			out = append(out, a)
		}
		return false
	}
	if add(args) {
		return plan.NewConst(types.Bool, types.NewBool(!and))
	}
	switch {
	case len(out) == 0:
		return plan.NewConst(types.Bool, types.NewBool(and))
	case len(out) == 1:
		return out[0]
	case and:
		return &plan.And{Args: out}
	}
	return &plan.Or{Args: out}
}

func nestedArgs(e plan.Expr, and bool) []plan.Expr {
	switch e := e.(type) {
	case *plan.And:
		if and {
			return e.Args
		}
	case *plan.Or:
		if !and {
			return e.Args
		}
	}
	return nil
}

// negations maps a comparison to its negation.
var negations = map[string]string{"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

func foldNot(e *plan.Not) plan.Expr {
	switch a := e.Arg.(type) {
	case *plan.Const:
		if a.D.IsNull() {
			return plan.NewNull(types.Bool)
		}
		return plan.NewConst(types.Bool, types.NewBool(!a.D.Bool()))
	case *plan.Not:
		return a.Arg
	case *plan.Is:
		if a.OfFields() {
			return e
		}
		c := *a
		c.Kind ^= 1 // each test is followed by its negation
		return &c
	case *plan.InList:
		c := *a
		c.Not = !a.Not
		return &c
	case *plan.Subquery:
		if a.Kind == plan.AnySubquery || a.Kind == plan.ExistsSubquery {
			c := *a
			c.Not = !a.Not
			return &c
		}
	case *plan.Call:
		if neg, ok := negations[a.Fn.Name]; ok && a.Fn.Operator && len(a.Args) == 2 {
			if fn, err := builtin.ResolveOperator(neg, a.Fn.Args); err == nil {
				return &plan.Call{Fn: fn, Args: a.Args, T: types.Bool, Pos: a.Pos}
			}
		}
	}
	return e
}

func foldIs(e *plan.Is) plan.Expr {
	d, ok := constOf(e.Arg)
	if !ok || e.OfFields() && !d.IsNull() {
		return e
	}
	v := false
	switch e.Kind {
	case plan.IsNull, plan.IsUnknown:
		v = d.IsNull()
	case plan.IsNotNull, plan.IsNotUnknown:
		v = !d.IsNull()
	case plan.IsTrue:
		v = d.IsTrue()
	case plan.IsNotTrue:
		v = !d.IsTrue()
	case plan.IsFalse:
		v = !d.IsNull() && !d.Bool()
	case plan.IsNotFalse:
		v = d.IsNull() || d.Bool()
	}
	return plan.NewConst(types.Bool, types.NewBool(v))
}

// foldIn makes a list of one a comparison.
func foldIn(e *plan.InList) plan.Expr {
	if len(e.List) != 1 || e.Not {
		return e
	}
	return foldCall(&plan.Call{Fn: e.Eq, Args: []plan.Expr{e.Left, e.List[0]}, T: types.Bool})
}

// orToIn makes x = a OR x = b an IN list.
func orToIn(e plan.Expr) plan.Expr {
	or, ok := e.(*plan.Or)
	if !ok {
		return e
	}
	var in *plan.InList
	for _, a := range or.Args {
		left, list, eq := alternatives(a)
		if left == nil || in != nil && (in.Eq != eq || !plan.ExprEqual(in.Left, left)) {
			return e
		}
		if in == nil {
			in = &plan.InList{Left: left, Eq: eq}
		}
		in.List = append(in.List, list...)
	}
	return in
}

// alternatives returns what a condition compares a column with, nil if it is
// not of that form.
func alternatives(e plan.Expr) (plan.Expr, []plan.Expr, *builtin.Overload) {
	switch e := e.(type) {
	case *plan.Call:
		if !e.Fn.Operator || e.Fn.Name != "=" || len(e.Args) != 2 || !isValue(e.Args[1]) {
			return nil, nil, nil
		}
		if _, ok := e.Args[0].(*plan.ColRef); ok {
			return e.Args[0], e.Args[1:], e.Fn
		}
	case *plan.InList:
		if _, ok := e.Left.(*plan.ColRef); ok && !e.Not {
			return e.Left, e.List, e.Eq
		}
	}
	return nil, nil, nil
}

func isValue(e plan.Expr) bool {
	switch e.(type) {
	case *plan.Const, *plan.Param:
		return true
	}
	return false
}

func foldCoalesce(e *plan.Coalesce) plan.Expr {
	var out []plan.Expr
	for _, a := range e.Args {
		d, ok := constOf(a)
		if ok && d.IsNull() {
			continue
		}
		out = append(out, a)
		if ok {
			break
		}
	}
	switch {
	case len(out) == 0:
		return plan.NewNull(e.T)
	case len(out) == 1 && sameType(out[0].Type(), e.T):
		return out[0]
	case len(out) == len(e.Args):
		return e
	}
	return &plan.Coalesce{Args: out, T: e.T}
}

func sameType(a, b *types.T) bool { return a.Shown().Oid == b.Shown().Oid && a.Typmod == b.Typmod }

// foldField is the field of a row that is made only to take it from, if nothing in the row's other
// fields has to happen.
func foldField(e *plan.FieldSelect) plan.Expr {
	arg := e.Arg
	if c, ok := arg.(*plan.Cast); ok && c.T.Family == types.RecordFamily && c.T.BaseType() == c.T { // whose fields are converted already
		arg = c.Arg
	}
	row, ok := arg.(*plan.RowCtor)
	if !ok || row.NullRow != nil || e.Field >= len(row.Fields) || !sameType(row.Fields[e.Field].Type(), e.T) || plan.Volatile(row) {
		return e
	}
	return row.Fields[e.Field]
}

// withOperand puts a CASE's operand, if it is a constant, into the conditions, unless they hold
// operands of their own.
func withOperand(e *plan.Case) (searched *plan.Case, ok bool) {
	if _, ok := constOf(e.Operand); !ok || e.OperandElse {
		return nil, false
	}
	c := &plan.Case{Whens: append([]plan.When(nil), e.Whens...), Else: e.Else, T: e.T}
	for i := range c.Whens {
		if hasOperand(c.Whens[i].Cond) {
			return nil, false
		}
		c.Whens[i].Cond = foldExpr(plan.MapExpr(c.Whens[i].Cond, func(x plan.Expr) plan.Expr {
			if _, ok := x.(*plan.CaseOperand); ok {
				return e.Operand
			}
			return x
		}))
	}
	return c, true
}

// hasOperand reports whether something in e gives CaseOperand a meaning of its own.
func hasOperand(e plan.Expr) (found bool) {
	plan.WalkExpr(e, func(x plan.Expr) bool {
		switch x := x.(type) {
		case *plan.Case:
			found = found || x.Operand != nil
		case *plan.NullIf, *plan.AllElements:
			found = true
		}
		return !found
	})
	return found
}

// foldCase drops arms that are never taken and what follows one that always is.
func foldCase(e *plan.Case) plan.Expr {
	if e.Operand != nil {
		searched, ok := withOperand(e)
		if !ok {
			return e
		}
		e = searched
	}
	c := &plan.Case{Else: e.Else, T: e.T}
	for _, w := range e.Whens {
		d, ok := constOf(w.Cond)
		if ok && !d.IsTrue() {
			continue
		}
		if ok {
			c.Else = w.Result
			break
		}
		c.Whens = append(c.Whens, w)
	}
	if len(c.Whens) > 0 {
		return c
	}
	if c.Else == nil {
		return plan.NewNull(e.T)
	}
	if !sameType(c.Else.Type(), e.T) {
		return e
	}
	return c.Else
}
