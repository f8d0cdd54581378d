package optimizer

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/optimizer/crosstype"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// foldStatement folds a statement, its subqueries included; out are the columns it sends. Then it
// drops what yields no rows, but finds before what its constants fail with.
func (o *optimizer) foldStatement(n plan.Node, out []plan.ColID) plan.Node {
	n = o.fold(n)
	if o.unfit {
		o.failed = o.constantError(plan.Clone(n), out)
	}
	if o.empties {
		n = emptied(n)
	}
	return n
}

// fold simplifies every expression of n, of the operators below and of subqueries: immutable
// calls of constants, logic with constants, conditions that are always true.
func (o *optimizer) fold(n plan.Node) plan.Node {
	o.depth++
	defer func() { o.depth-- }()
	if o.depth > maxFolded {
		return n
	}
	eachChild(n, o.fold)
	through, failed := readsConstants(n), false
	plan.VisitExprs(n, func(e *plan.Expr) {
		if through {
			*e = withConstantsBelow(n, *e)
		}
		var err *pgerr.Error
		*e, err = o.foldExpr(o.fixed(*e))
		failed = failed || err != nil
		if hasSubquery(*e) {
			o.foldSubqueries(*e)
		}
	})
	o.unfit = o.unfit || failed
	if !failed {
		eachCondition(n, func(e *plan.Expr) { *e = nullAsFalse(o.comparedWithRow(*e)) })
	}
	switch n := n.(type) {
	case *plan.Scan: // to be compared with what else is folded
		for i := range n.Computed {
			n.Computed[i].Value, _ = o.foldExpr(n.Computed[i].Value)
		}
		for i := range n.Predicates {
			n.Predicates[i].Cond, _ = o.foldExpr(n.Predicates[i].Cond)
		}
	case *plan.Join:
		if d, isConst := constOf(n.On); isConst && d.IsTrue() {
			n.On = nil
		}
		o.empties = o.empties || n.On != nil && nothingPasses(n.On)
	case *plan.Values:
		o.empties = o.empties || len(n.RowExprs) == 0
	case *plan.GroupBy:
		dropDistinct(n)
		o.empties = o.empties || oneGroup(n)
	case *plan.Filter:
		if d, isConst := constOf(n.Cond); isConst && d.IsTrue() {
			return n.Input
		}
		o.empties = o.empties || nothingPasses(n.Cond)
	}
	return n
}

// foldSubqueries folds the subqueries of an expression, each once: several expressions may share one.
func (o *optimizer) foldSubqueries(e plan.Expr) {
	plan.WalkExpr(e, func(x plan.Expr) bool {
		if s, ok := x.(*plan.Subquery); ok && !o.folded[s.Plan] {
			s.Plan = o.fold(s.Plan)
			dropUnread(s)
			if o.folded == nil {
				o.folded = map[plan.Node]bool{}
			}
			o.folded[s.Plan] = true
		}
		return true
	})
}

// dropUnread forgets the outer columns that a folded subquery does not refer to any more, or never
// did but in the select list of an EXISTS: nobody has to compute them. A CTE from outside may depend
// on any of them.
func dropUnread(s *plan.Subquery) {
	if len(s.Outer) == 0 || readsOuterCTE(s.Plan) {
		return
	}
	read := make(map[plan.ColID]bool, len(s.Outer))
	plan.Walk(s.Plan, func(n plan.Node) bool {
		plan.VisitExprs(n, func(e *plan.Expr) { plan.Refs(*e, func(id plan.ColID) { read[id] = true }) })
		return true
	})
	s.Outer = slices.DeleteFunc(slices.Clone(s.Outer), func(r plan.ColRef) bool { return !read[r.Col] })
}

// readsOuterCTE reports whether a query reads a common table expression that it does not define.
func readsOuterCTE(n plan.Node) bool {
	defined, read := map[int]bool{}, map[int]bool{}
	everyNode(n, func(n plan.Node) {
		switch n := n.(type) {
		case *plan.With:
			for _, c := range n.CTEs {
				defined[c.ID] = true
			}
		case *plan.CTEScan:
			read[n.ID] = true
		}
	})
	for id := range read {
		if !defined[id] {
			return true
		}
	}
	return false
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
		if a := &g.Aggs[i]; a.Fn.DistinctNoop {
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

// foldExpr simplifies e. If a constant in it fails e stays as it is.
func (o *optimizer) foldExpr(e plan.Expr) (plan.Expr, *pgerr.Error) {
	f := &o.folder
	if f.each == nil {
		f.each, f.o = f.fold, o
	}
	f.err = nil
	if out := f.fold(e); f.err == nil {
		return out, nil
	}
	return e, f.err
}

// folder simplifies an expression as PostgreSQL does: from the left, with all operands before what
// is made of them, but for those that AND, OR, CASE and COALESCE do not come to.
type folder struct {
	o    *optimizer
	each func(plan.Expr) plan.Expr // fold
	err  *pgerr.Error              // of the first constant that fails; then nothing more is folded
}

// fold simplifies e. A set-returning call stays a call.
func (f *folder) fold(e plan.Expr) plan.Expr {
	if f.err != nil {
		return e
	}
	f.o.step()
	switch e := e.(type) {
	case *plan.Const, *plan.ColRef, *plan.Param:
		return e
	case *plan.And:
		return foldLogic(f.operands(e.Args, true), true)
	case *plan.Or:
		return orToIn(commonFactors(foldLogic(f.operands(e.Args, false), false)))
	case *plan.Coalesce:
		return foldCoalesce(&plan.Coalesce{Args: f.choices(e.Args), T: e.T})
	case *plan.Case:
		return f.foldCase(e)
	}
	return f.node(plan.MapArgs(e, f.each))
}

// node simplifies an expression whose operands are.
func (f *folder) node(e plan.Expr) plan.Expr {
	if f.err != nil {
		return e
	}
	switch e := e.(type) {
	case *plan.Call:
		return f.foldCall(e)
	case *plan.Cast:
		return f.foldCast(e)
	case *plan.Not:
		return foldNot(e)
	case *plan.Is:
		return foldIs(e)
	case *plan.InList:
		if len(e.List) == 1 && !e.Not { // a comparison
			return f.foldCall(&plan.Call{Fn: e.Eq, Args: []plan.Expr{e.Left, e.List[0]}, T: types.Bool})
		}
		return f.foldOther(e, e.Eq)
	case *plan.FieldSelect:
		return f.foldField(e)
	case *plan.NullIf:
		return f.foldNullIf(e)
	case *plan.IsDistinct:
		return f.foldOther(e, e.Eq)
	case *plan.AnyAll:
		return f.foldOther(e, e.Op)
	case *plan.MinMax:
		return f.foldOther(e, e.Less)
	case *plan.ArrayCtor, *plan.Subscript:
		return f.foldOther(e, nil)
	}
	return e
}

// operands simplifies those of AND or OR, up to the first that decides.
func (f *folder) operands(args []plan.Expr, and bool) []plan.Expr {
	out := make([]plan.Expr, 0, len(args))
	for _, a := range args {
		a = f.fold(a)
		out = append(out, a)
		if d, ok := constOf(a); ok && !d.IsNull() && d.Bool() != and {
			break
		}
	}
	return out
}

// choices simplifies the operands of COALESCE, up to the first constant that is not NULL.
func (f *folder) choices(args []plan.Expr) []plan.Expr {
	out := make([]plan.Expr, 0, len(args))
	for _, a := range args {
		a = f.fold(a)
		out = append(out, a)
		if d, ok := constOf(a); ok && !d.IsNull() {
			break
		}
	}
	return out
}

// failedWith notes what computing a constant failed with, if the statement fails with that too.
func (f *folder) failedWith(err error) {
	e := pgerr.From(err)
	switch e.Code[:2] {
	case "22", "42", "0A": // else it ran out of something, or is a domain's to find
		f.err = e
	}
}

// foldNullIf compares constants. It is the left side where one of the sides is NULL, whatever the other.
func (f *folder) foldNullIf(e *plan.NullIf) plan.Expr {
	if right, ok := constOf(e.RightCmp); ok && right.IsNull() {
		return e.Left
	}
	left, ok := constOf(e.Left)
	switch {
	case !ok:
		return e
	case left.IsNull():
		return plan.NewNull(e.Type())
	}
	cmp := f.fold(operandIs(e.LeftCmp, e.Left))
	equal, ok := constOf(f.node(&plan.Call{Fn: e.Eq, Args: []plan.Expr{cmp, e.RightCmp}, T: types.Bool}))
	switch {
	case !ok:
		return e
	case equal.IsTrue():
		return plan.NewNull(e.Type())
	}
	return e.Left
}

// operandIs is e with a constant in place of CaseOperand, but for what something in e gives another
// operand.
func operandIs(e, operand plan.Expr) plan.Expr {
	if _, ok := e.(*plan.CaseOperand); ok {
		return operand
	}
	return plan.MapArgs(e, func(a plan.Expr) plan.Expr {
		if givesOperand(e, a) {
			return a
		}
		return operandIs(a, operand)
	})
}

// givesOperand reports whether e has a value for CaseOperand in a, one of what it is computed of.
func givesOperand(e, a plan.Expr) bool {
	switch e := e.(type) {
	case *plan.Case:
		return e.Operand != nil && slices.ContainsFunc(e.Whens, func(w plan.When) bool { return w.Cond == a })
	case *plan.NullIf:
		return a == e.LeftCmp
	case *plan.AllElements:
		return a == e.Cond
	}
	return false
}

// foldOther computes an expression of constants by an operator, nil if it has none.
func (f *folder) foldOther(e plan.Expr, op *call.Overload) plan.Expr {
	if f.o.opts.Constant == nil || op != nil && (op.Volatility != call.Immutable || op.Routine != nil) {
		return e
	}
	all := true
	plan.Args(e, func(a *plan.Expr) { all = all && isConstant(*a) })
	if !all {
		return e
	}
	d, err := f.o.opts.Constant(e)
	if err != nil {
		f.failedWith(err)
		return e
	}
	return plan.NewConst(e.Type(), d)
}

// isConstant reports whether e is a constant or a row of them, which stays as it was written.
func isConstant(e plan.Expr) bool {
	switch e := e.(type) {
	case *plan.Const:
		return true
	case *plan.RowCtor:
		return e.NullRow == nil && !slices.ContainsFunc(e.Fields, func(f plan.Expr) bool { return !isConstant(f) })
	}
	return false
}

func constOf(e plan.Expr) (types.Datum, bool) {
	c, ok := e.(*plan.Const)
	if !ok {
		return types.Null, false
	}
	return c.D, true
}

// inType rewrites comparisons across types.
func inType() crosstype.Rewriter {
	return crosstype.Rewriter{Fold: func(c *plan.Call) plan.Expr { return new(folder).foldCall(c) }}
}

// foldCall evaluates an immutable call of constants, and yields NULL for a
// strict one with a NULL argument: as in PostgreSQL the other arguments are not computed then, volatile ones either.
func (f *folder) foldCall(e *plan.Call) plan.Expr {
	if e.Fn.IsSRF() || len(e.Args) == 0 {
		return e
	}
	all, null, rows := true, false, false
	for _, a := range e.Args {
		d, ok := constOf(a)
		all = all && ok
		null = null || ok && d.IsNull()
		_, row := a.(*plan.RowCtor)
		rows = rows || row
	}
	if null && e.Fn.Strict && !e.VariadicArray {
		return plan.NewNull(e.T)
	}
	if rows || e.VariadicArray {
		return f.foldOther(e, e.Fn)
	}
	if !all {
		return inType().Within(e)
	}
	if e.Fn.Volatility != call.Immutable || e.Fn.Routine != nil {
		return e
	}
	args, ts := make([]types.Datum, len(e.Args)), make([]*types.T, len(e.Args))
	for i, a := range e.Args {
		args[i], _ = constOf(a)
		ts[i] = a.Type()
	}
	d, err := e.Fn.Fold(&call.Context{}, ts, args)
	if err != nil {
		f.failedWith(err)
		return e
	}
	return plan.NewConst(e.T, d)
}

func (f *folder) foldCast(e *plan.Cast) plan.Expr {
	if row, ok := e.Arg.(*plan.RowCtor); ok && isConstant(row) && immutableFields(row, e.T) {
		return f.foldOther(e, nil)
	}
	d, ok := constOf(e.Arg)
	if !ok {
		return e
	}
	if d.IsNull() {
		return plan.NewNull(e.T)
	}
	if !casts.Immutable(e.Arg.Type(), e.T) || call.Large(len(d.Str())) { // plans keep no large values that they were not given
		return e
	}
	d, ok, err := castConst(f.o.values.format(), d, e)
	if err != nil {
		f.failedWith(err)
	}
	if err != nil || !ok {
		return e
	}
	return plan.NewConst(e.T, d)
}

// immutableFields reports whether a row becomes a value of the type t whatever the settings, without a
// catalog that knows the types of its fields.
func immutableFields(row *plan.RowCtor, t *types.T) bool {
	fields := t.Fields()
	if t.IsDomain() || len(fields) != len(row.Fields) {
		return false
	}
	for i, f := range row.Fields {
		to := fields[i].Type
		if !sameType(f.Type(), to) || to.Shown().Def != nil || to.Family == types.RecordFamily || to.Elem != nil && to.Elem.Shown().Def != nil {
			return false
		}
	}
	return true
}

// castConst computes an immutable cast of a value that is not NULL; ok is false if there is no such cast.
// Texts of floats and of bytea follow settings all the same: plans are kept by these.
func castConst(fc *types.FormatContext, d types.Datum, e *plan.Cast) (out types.Datum, ok bool, err error) {
	if from := e.Arg.Type(); from.Oid != e.T.Oid {
		cast, ok := casts.Find(from, e.T)
		if !ok {
			return d, false, nil
		}
		if cast.Fn != nil {
			if d, err = cast.Fn(fc, d, e.T); err != nil {
				return d, false, err
			}
		}
	}
	if e.T.Typmod >= 0 {
		d, err = types.ApplyTypmod(d, e.T, e.Mode == plan.CastExplicit, nil)
	}
	return d, true, err
}

// foldLogic simplifies AND (and is true) and OR: the neutral constant drops
// out, the dominating one decides, several NULLs are one, nested lists of the same kind are merged.
func foldLogic(args []plan.Expr, and bool) plan.Expr {
	var out []plan.Expr
	null := false
	var add func(list []plan.Expr) bool
	add = func(list []plan.Expr) bool {
		for _, a := range list {
			if nested := nestedArgs(a, and); nested != nil {
				if add(nested) {
					return true
				}
				continue
			}
			d, ok := constOf(a)
			if ok && !d.IsNull() {
				if d.Bool() != and {
					return true
				}
				continue
			}
			if ok && null {
				continue
			}
			null = null || ok
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
	if row, ok := e.Arg.(*plan.RowCtor); ok && e.OfFields() && !isConstant(row) && row.NullRow == nil {
		return testEach(row, e.Kind)
	}
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

// testEach makes IS NULL or IS NOT NULL of a row the test of each field, as PostgreSQL does; a row within the
// row is tested as a value.
func testEach(row *plan.RowCtor, kind plan.IsKind) plan.Expr {
	tests := make([]plan.Expr, len(row.Fields))
	for i, f := range row.Fields {
		is := &plan.Is{Arg: f, Kind: kind}
		if is.OfFields() {
			is.Kind += plan.IsUnknown - plan.IsNull
		}
		if isConstant(f) && is.Kind != kind {
			tests[i] = plan.NewConst(types.Bool, types.NewBool(isNullConst(f) == (kind == plan.IsNull)))
			continue
		}
		tests[i] = foldIs(is)
	}
	return foldLogic(tests, true)
}

func isNullConst(e plan.Expr) bool {
	d, ok := constOf(e)
	return ok && d.IsNull()
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
func alternatives(e plan.Expr) (plan.Expr, []plan.Expr, *call.Overload) {
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
func (f *folder) foldField(e *plan.FieldSelect) plan.Expr {
	arg := e.Arg
	if _, ok := constOf(arg); ok {
		return f.foldOther(e, nil)
	}
	if c, ok := arg.(*plan.Cast); ok && c.T.Family == types.RecordFamily && c.T.BaseType() == c.T { // whose fields are converted already
		arg = c.Arg
	}
	row, ok := arg.(*plan.RowCtor)
	if !ok || row.NullRow != nil || e.Field >= len(row.Fields) || !sameType(row.Fields[e.Field].Type(), e.T) || plan.Volatile(row) {
		return e
	}
	return row.Fields[e.Field]
}

// withOperand puts a CASE's operand, if it is a constant, into the conditions.
func withOperand(e *plan.Case, operand plan.Expr) (searched *plan.Case, ok bool) {
	if _, ok := constOf(operand); !ok {
		return nil, false
	}
	c := &plan.Case{Whens: append([]plan.When(nil), e.Whens...), Else: e.Else, T: e.T}
	for i := range c.Whens {
		c.Whens[i].Cond = operandIs(c.Whens[i].Cond, operand)
	}
	return c, true
}

// foldCase drops arms that are never taken and what follows one that always is.
func (f *folder) foldCase(e *plan.Case) plan.Expr {
	if e.OperandElse {
		return plan.MapArgs(e, f.each)
	}
	operand := e.Operand
	if operand != nil {
		operand = f.fold(operand)
		if searched, ok := withOperand(e, operand); ok {
			e, operand = searched, nil
		}
	}
	c := f.arms(e)
	switch {
	case f.err != nil || len(c.Whens) > 0:
		c.Operand = operand
		return c
	case c.Else == nil:
		return plan.NewNull(e.T)
	case !sameType(c.Else.Type(), e.T):
		c.Whens = []plan.When{{Cond: plan.NewConst(types.Bool, types.NewBool(true)), Result: c.Else}}
		c.Else = nil
		return c
	}
	return c.Else
}

// arms simplifies those of a CASE that may be taken.
func (f *folder) arms(e *plan.Case) *plan.Case {
	c := &plan.Case{T: e.T}
	for _, w := range e.Whens {
		w.Cond = f.fold(w.Cond)
		d, ok := constOf(w.Cond)
		if ok && !d.IsTrue() {
			continue
		}
		w.Result = f.fold(w.Result)
		if ok {
			c.Else = w.Result
			return c
		}
		c.Whens = append(c.Whens, w)
	}
	if e.Else != nil {
		c.Else = f.fold(e.Else)
	}
	return c
}
