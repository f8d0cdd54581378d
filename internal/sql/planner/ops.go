package planner

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/coerce"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// binaryOp plans L op R.
func (b *builder) binaryOp(e *ast.BinaryOp, s *scope) (plan.Expr, error) {
	lr, lok := e.L.(*ast.Row)
	if rr, rok := e.R.(*ast.Row); lok && rok {
		return b.rowCompareAST(e, lr, rr, s)
	}
	if sub, ok := e.R.(*ast.Subquery); ok && lok && sub.Kind == ast.SubqueryScalar {
		return b.rowSubquery(e, lr, sub, s)
	}
	l, err := b.expr(e.L, s)
	if err != nil {
		return nil, err
	}
	r, err := b.expr(e.R, s)
	if err != nil {
		return nil, err
	}
	return b.writtenOperator(e, e.Op, []plan.Expr{l, r}, []int{e.L.Position(), e.R.Position()}, e.Pos)
}

// operator resolves an operator for planned operands.
func (b *builder) operator(op ast.Operator, args []plan.Expr, pos []int, at int) (plan.Expr, error) {
	fn, ts, err := b.resolveOperator(op, args, at)
	if err != nil {
		return nil, err
	}
	return b.finishCall(fn, args, ts, pos, at)
}

// resolveOperator finds the operator for args, whose types it returns.
func (b *builder) resolveOperator(op ast.Operator, args []plan.Expr, at int) (*call.Overload, []*types.T, error) {
	ts := make([]*types.T, len(args))
	for i := range args {
		ts[i] = args[i].Type()
	}
	if op.Schema != "" && op.Schema != "pg_catalog" {
		if list := b.extensionOperators(op.Schema, op.Name, len(args) == 1); len(list) > 0 {
			fn, err := builtin.Resolve(list, ts)
			if err != nil {
				return nil, nil, pgerr.From(err).At(at)
			}
			return fn, ts, nil
		}
		return nil, nil, pgerr.New(pgerr.UndefinedFunction, "operator does not exist: %s.%s", op.Schema, op.Name).At(at)
	}
	fn, err := builtin.ResolveOperatorSeeing(op.Name, ts, b.hasExtension)
	if err != nil {
		return nil, nil, pgerr.From(err).At(at)
	}
	return fn, ts, nil
}

// finishCall coerces the arguments of a resolved call.
func (b *builder) finishCall(fn *call.Overload, args []plan.Expr, ts []*types.T, pos []int, at int) (plan.Expr, error) {
	params, ret, err := fn.Signature(ts)
	if err != nil {
		return nil, ofSignature(err, at)
	}
	b.callsBuiltIn(fn)
	for i := range args {
		if args[i], err = b.coerceArg(args[i], params[i], pos[i]); err != nil {
			return nil, err
		}
	}
	if fn.Routine != nil {
		if err := b.mayCall(fn, at); err != nil {
			return nil, err
		}
	}
	return b.collateCall(&plan.Call{Fn: fn, Args: args, T: ret, Pos: at})
}

// compare resolves a comparison of l and r and returns the operator with both
// sides coerced.
func (b *builder) compare(op string, l, r plan.Expr, lpos, rpos, at int) (*call.Overload, plan.Expr, plan.Expr, error) {
	x, err := b.operator(ast.Operator{Name: op}, []plan.Expr{l, r}, []int{lpos, rpos}, at)
	if err != nil {
		return nil, nil, nil, err
	}
	c := x.(*plan.Call)
	if c.T.Family != types.BoolFamily {
		return nil, nil, nil, pgerr.New(pgerr.DatatypeMismatch, "operator %s must return type boolean, not type %s",
			op, c.T.SQLName).At(at)
	}
	return c.Fn, c.Args[0], c.Args[1], nil
}

// comparator returns the operator op for two values of type t.
func comparator(op string, t *types.T, at int) (*call.Overload, error) {
	fn, err := builtin.ResolveOperator(op, []*types.T{t, t})
	if err != nil {
		return nil, pgerr.From(err).At(at)
	}
	return fn, nil
}

func (b *builder) isDistinct(e *ast.IsDistinct, s *scope) (plan.Expr, error) {
	lr, lok := e.L.(*ast.Row)
	rr, rok := e.R.(*ast.Row)
	if lok && rok {
		return b.rowsDistinct(e, lr, rr, s)
	}
	l, err := b.expr(e.L, s)
	if err != nil {
		return nil, err
	}
	r, err := b.expr(e.R, s)
	if err != nil {
		return nil, err
	}
	// Against NULL it is a test for NULL, whatever the type: of a record as a value, not of its
	// fields.
	if c, ok := r.(*plan.Const); ok && c.D.IsNull() && isUnknown(c.T) {
		kind := plan.IsNotNull
		if l.Type().Family == types.RecordFamily {
			kind = plan.IsNotUnknown
		}
		if e.Not {
			kind ^= 1 // each test is followed by its negation
		}
		if l, err = b.coerceText(l, e.L.Position()); err != nil {
			return nil, err
		}
		return &plan.Is{Arg: l, Kind: kind}, nil
	}
	fields := b.undecidedFields(l, r)
	eq, x, y, err := b.compare("=", l, r, e.L.Position(), e.R.Position(), e.Pos)
	if err != nil {
		return nil, err
	}
	if len(fields) > 0 {
		return distinctUndecided(l, r, fields, e.Not, e.Pos)
	}
	l, r = x, y
	return &plan.IsDistinct{Left: l, Right: r, Eq: eq, Not: e.Not}, nil
}

// rowsDistinct plans IS [NOT] DISTINCT FROM of two row constructors, field by field.
func (b *builder) rowsDistinct(e *ast.IsDistinct, l, r *ast.Row, s *scope) (plan.Expr, error) {
	lf, rf, err := b.bothRowFields(l, r, s)
	if err != nil {
		return nil, err
	}
	if len(lf) != len(rf) {
		return nil, pgerr.New(pgerr.SyntaxError, "unequal number of entries in row expressions").At(e.Pos)
	}
	if len(lf) == 0 {
		return plan.NewConst(types.Bool, types.NewBool(e.Not)), nil
	}
	alike := make([]plan.Expr, len(lf))
	for i := range lf {
		eq, x, y, err := b.compare("=", lf[i], rf[i], e.Pos, e.Pos, e.Pos)
		if err != nil {
			return nil, err
		}
		alike[i] = &plan.IsDistinct{Left: x, Right: y, Eq: eq, Not: true}
	}
	all := plan.ConjoinAll(alike)
	if e.Not {
		return all, nil
	}
	return &plan.Not{Arg: all}, nil
}

// between plans X BETWEEN Lo AND Hi as two comparisons; X is planned for each,
// so that each has an operand of its own.
func (b *builder) between(e *ast.Between, s *scope) (plan.Expr, error) {
	cmp := func(op string, bound ast.Expr) (plan.Expr, error) {
		return b.binaryOp(&ast.BinaryOp{Loc: e.Loc, Op: ast.Operator{Name: op}, L: e.X, R: bound}, s)
	}
	within := func(lo, hi ast.Expr) (plan.Expr, error) {
		ops := [2]string{">=", "<="}
		if e.Not {
			ops = [2]string{"<", ">"}
		}
		l, err := cmp(ops[0], lo)
		if err != nil {
			return nil, err
		}
		h, err := cmp(ops[1], hi)
		if err != nil {
			return nil, err
		}
		if e.Not {
			return &plan.Or{Args: []plan.Expr{l, h}}, nil
		}
		return &plan.And{Args: []plan.Expr{l, h}}, nil
	}
	x, err := within(e.Lo, e.Hi)
	if err != nil || !e.Symmetric {
		return x, err
	}
	y, err := within(e.Hi, e.Lo)
	if err != nil {
		return nil, err
	}
	if e.Not {
		return &plan.And{Args: []plan.Expr{x, y}}, nil
	}
	return &plan.Or{Args: []plan.Expr{x, y}}, nil
}

// in plans X IN (list) or X IN (query).
func (b *builder) in(e *ast.In, s *scope) (plan.Expr, error) {
	if e.Query != nil {
		op := "="
		return b.quantifiedQuery(e.X, ast.Operator{Name: op}, false, e.Not, e.Query, e.Pos, s)
	}
	if _, ok := e.X.(*ast.Row); ok {
		return b.inRows(e, s)
	}
	left, err := b.expr(e.X, s)
	if err != nil {
		return nil, err
	}
	list, pos, err := b.exprList(e.List, s)
	if err != nil {
		return nil, err
	}
	ts := []*types.T{left.Type()}
	for _, x := range list {
		ts = append(ts, x.Type())
	}
	t, err := coerce.CommonType(ts, "IN")
	if err != nil {
		return b.inOr(e, s)
	}
	if err := b.coerceAll(list, t, pos); err != nil {
		return nil, err
	}
	by, alike, err := b.keyedList(left, list)
	if !alike || slices.ContainsFunc(list, func(x plan.Expr) bool { return b.undecidedFields(left, x) != nil }) {
		return b.inOr(e, s)
	}
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i] = by.operand(list[i])
	}
	eq, left, _, err := b.compare("=", by.operand(left), list[0], e.X.Position(), pos[0], e.Pos)
	if err != nil {
		return nil, err
	}
	return &plan.InList{Left: left, List: list, Eq: eq, Not: e.Not}, nil
}

// inOr plans an IN list without a common type as comparisons one by one.
func (b *builder) inOr(e *ast.In, s *scope) (plan.Expr, error) {
	op := "="
	if e.Not {
		op = "<>"
	}
	var args []plan.Expr
	for _, x := range e.List {
		c, err := b.binaryOp(&ast.BinaryOp{Loc: e.Loc, Op: ast.Operator{Name: op}, L: e.X, R: x}, s)
		if err != nil {
			return nil, err
		}
		args = append(args, c)
	}
	if e.Not {
		return plan.ConjoinAll(args), nil
	}
	return disjoin(args), nil
}

// inRows plans (a, b) IN ((1, 2), ...).
func (b *builder) inRows(e *ast.In, s *scope) (plan.Expr, error) {
	var args []plan.Expr
	for _, x := range e.List {
		c, err := b.binaryOp(&ast.BinaryOp{Loc: e.Loc, Op: ast.Operator{Name: "="}, L: e.X, R: x}, s)
		if err != nil {
			return nil, err
		}
		args = append(args, c)
	}
	x := disjoin(args)
	if e.Not {
		x = &plan.Not{Arg: x}
	}
	return x, nil
}

func disjoin(args []plan.Expr) plan.Expr {
	if len(args) == 1 {
		return args[0]
	}
	return &plan.Or{Args: args}
}

// like plans LIKE, ILIKE and SIMILAR TO as their operators.
func (b *builder) like(e *ast.Like, s *scope) (plan.Expr, error) {
	x, err := b.expr(e.X, s)
	if err != nil {
		return nil, err
	}
	pattern, err := b.expr(e.Pattern, s)
	if err != nil {
		return nil, err
	}
	op := [...]string{ast.LikeLike: "~~", ast.LikeILike: "~~*", ast.LikeSimilar: "~"}[e.Kind]
	escape, args := "like_escape", []plan.Expr{pattern}
	pos := []int{e.Pattern.Position()}
	if e.Kind == ast.LikeSimilar {
		escape = "similar_to_escape"
	}
	if e.Escape != nil {
		esc, err := b.expr(e.Escape, s)
		if err != nil {
			return nil, err
		}
		args, pos = append(args, esc), append(pos, e.Escape.Position())
	}
	if e.Escape != nil || e.Kind == ast.LikeSimilar {
		if pattern, err = b.function(escape, args, pos, e.Pos); err != nil {
			return nil, err
		}
	}
	if e.Not {
		op = "!" + op
	}
	return b.operator(ast.Operator{Name: op}, []plan.Expr{x, pattern}, []int{e.X.Position(), e.Pattern.Position()}, e.Pos)
}

// quantified plans X op ANY|ALL (array or query).
func (b *builder) quantified(e *ast.Quantified, s *scope) (plan.Expr, error) {
	if e.Query != nil {
		return b.quantifiedQuery(e.L, e.Op, e.All, false, e.Query, e.Pos, s)
	}
	l, err := b.expr(e.L, s)
	if err != nil {
		return nil, err
	}
	var arr plan.Expr
	if a, ok := e.Array.(*ast.ArrayExpr); ok {
		arr, err = b.arrayExpr(a, s, nil)
	} else {
		arr, err = b.expr(e.Array, s)
	}
	if err != nil {
		return nil, err
	}
	at := arr.Type()
	elem := types.Unknown
	if !isUnknown(at) {
		if at.Elem == nil {
			return nil, pgerr.New(pgerr.WrongObjectType, "op ANY/ALL (array) requires array on right side").At(e.Pos)
		}
		elem = at.Elem
	}
	fn, err := b.elementOperator(e, l, elem)
	if err != nil {
		return nil, err
	}
	params, ret, err := fn.Signature([]*types.T{l.Type(), elem})
	if err != nil {
		return nil, pgerr.From(err).At(e.Pos)
	}
	if ret.Family != types.BoolFamily {
		return nil, pgerr.New(pgerr.WrongObjectType, "op ANY/ALL (array) requires operator to yield boolean").At(e.Pos)
	}
	if l, err = b.coerceArg(l, params[0], e.L.Position()); err != nil {
		return nil, err
	}
	want, ok := types.ArrayOf(params[1].WithTypmod(-1))
	if !ok {
		return nil, pgerr.New(pgerr.UndefinedObject, "could not find array type for data type %s", params[1].SQLName).At(e.Pos)
	}
	alike := elem.Oid == params[1].Oid || elem.Elem != nil && params[1].Elem != nil && elem.Elem.Is(params[1].Elem)
	if !alike {
		if arr, err = b.coerceArg(arr, want, e.Array.Position()); err != nil {
			return nil, err
		}
	}
	return b.anyAll(&plan.AnyAll{Left: l, Array: arr, Op: fn, All: e.All}, e.Pos)
}

// elementOperator finds the operator, or the function behind one that a user has made, that compares a value with elements of a type.
func (b *builder) elementOperator(e *ast.Quantified, l plan.Expr, elem *types.T) (*call.Overload, error) {
	fn, err := b.ownOperator(e, e.Op, []*types.T{l.Type(), elem})
	switch {
	case err != nil:
		return nil, pgerr.From(err).At(e.Pos)
	case fn == nil:
		fn, _, err = b.resolveOperator(e.Op, []plan.Expr{l, plan.NewNull(elem)}, e.Pos)
	case fn.Routine != nil:
		err = b.mayCall(fn, e.Pos)
	}
	return fn, err
}

// anyAll makes a comparison with the elements of an array follow their collation.
func (b *builder) anyAll(x *plan.AnyAll, at int) (plan.Expr, error) {
	equality, compares := comparisonKinds[x.Op.Name]
	if !compares {
		c := &plan.Call{Fn: x.Op, Args: []plan.Expr{x.Left, x.Array}, T: types.Bool, Pos: at}
		y, err := b.collateCall(c)
		if err == nil && y != plan.Expr(c) {
			err = pgerr.Unsupported("operator %s with ANY or ALL is not supported under this collation", x.Op.Name).At(at)
		}
		return x, err
	}
	by, err := keyedBy(equality, x.Left, x.Array)
	if err != nil {
		return nil, err
	}
	x.Left, x.Array = by.operand(x.Left), by.operand(x.Array)
	x.Op, err = by.operator(x.Op, x.Left, at)
	return x, err
}

func (b *builder) minMax(e *ast.MinMax, s *scope) (plan.Expr, error) {
	what := "GREATEST"
	if e.Least {
		what = "LEAST"
	}
	args, t, err := b.commonList(e.Args, what, s)
	if err != nil {
		return nil, err
	}
	if !types.HasOrder(t) {
		return nil, pgerr.New(pgerr.UndefinedFunction, "could not identify a comparison function for type %s", t.SQLName)
	}
	less, err := comparator("<", t, e.Pos)
	if err != nil {
		return nil, err
	}
	by, err := keyedBy(false, args...)
	if err != nil {
		return nil, err
	}
	return by.minMax(&plan.MinMax{Args: args, Least: e.Least, Less: less, T: t}, e.Pos)
}

func (b *builder) nullIf(e *ast.NullIf, s *scope) (plan.Expr, error) {
	l, err := b.expr(e.L, s)
	if err != nil {
		return nil, err
	}
	r, err := b.expr(e.R, s)
	if err != nil {
		return nil, err
	}
	c := collationOfAll([]plan.Expr{l, r})
	eq, lc, rc, err := b.compare("=", l, r, e.L.Position(), e.R.Position(), e.Pos)
	if err != nil {
		return nil, err
	}
	// The value is the operator's left operand, and of its type.
	params, _, err := eq.Signature([]*types.T{l.Type(), r.Type()})
	if err != nil {
		return nil, pgerr.From(err).At(e.Pos)
	}
	switch {
	case l.Type().Family == types.RecordFamily: // a composite value stays what it is
	case hasSortKey(lc):
		l = lc.(*plan.Call).Args[0]
	default:
		l = lc
	}
	lc = ofOperand(lc, l)
	l = retyped(l, l.Type().WithDomain(nil))
	if t := params[0]; t.Family == types.StringFamily && t.Oid != l.Type().Oid {
		l = retyped(l, t) // which reads values of its kin as they are
	}
	return c.given(&plan.NullIf{Left: l, LeftCmp: lc, RightCmp: rc, Eq: eq}), nil
}

// ofOperand is e with the operand of an expression for its part x, which is evaluated once.
func ofOperand(e, x plan.Expr) plan.Expr {
	return plan.MapExpr(e, func(part plan.Expr) plan.Expr {
		if part == x {
			return &plan.CaseOperand{T: x.Type()}
		}
		return part
	})
}

// caseExpr plans both forms of CASE.
func (b *builder) caseExpr(e *ast.Case, s *scope) (plan.Expr, error) {
	c := &plan.Case{}
	if e.Operand != nil {
		x, err := b.typed(e.Operand, s)
		if err != nil {
			return nil, err
		}
		c.Operand = x
	}
	results := make([]plan.Expr, len(e.Whens)+1) // ELSE comes first in finding the type
	pos := make([]int, len(e.Whens)+1)
	for i := range e.Whens {
		w := &e.Whens[i]
		cond, err := b.caseCond(c.Operand, w, s)
		if err != nil {
			return nil, err
		}
		if results[i+1], err = b.expr(w.Result, s); err != nil {
			return nil, err
		}
		c.Whens = append(c.Whens, plan.When{Cond: cond})
		pos[i+1] = w.Result.Position()
	}
	results[0], pos[0] = plan.NewNull(types.Unknown), e.Pos
	if e.Else != nil {
		var err error
		if results[0], err = b.expr(e.Else, s); err != nil {
			return nil, err
		}
		pos[0] = e.Else.Position()
	}
	t, err := b.common(results, pos, "CASE")
	if err != nil {
		return nil, err
	}
	if e.Else != nil {
		c.Else = results[0]
	}
	for i := range c.Whens {
		c.Whens[i].Result = results[i+1]
	}
	c.T = t
	return c, nil
}

// caseCond plans the condition of one arm.
func (b *builder) caseCond(operand plan.Expr, w *ast.When, s *scope) (plan.Expr, error) {
	if operand == nil {
		return b.boolExpr(w.Cond, "CASE/WHEN", s)
	}
	v, err := b.expr(w.Cond, s)
	if err != nil {
		return nil, err
	}
	op := &plan.CaseOperand{T: operand.Type()}
	at := w.Cond.Position()
	x, err := b.operator(ast.Operator{Name: "="}, []plan.Expr{op, v}, []int{at, at}, at)
	if fields := b.undecidedFields(operand, v); err == nil && len(fields) > 0 {
		return compareUndecided(x.(*plan.Call), fields)
	}
	return x, err
}

// compareOp is compare for an operator as written.
func (b *builder) compareOp(op ast.Operator, l, r plan.Expr, at int) (*call.Overload, plan.Expr, plan.Expr, error) {
	if op.Schema != "" && op.Schema != "pg_catalog" {
		_, _, err := b.resolveOperator(op, []plan.Expr{l, r}, at)
		return nil, nil, nil, err
	}
	return b.compare(op.Name, l, r, at, at, at)
}
