package vecexpr

import (
	"cmp"
	"slices"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// mostConditions is how many conditions are computed by kernels, each of which has buffers for the rows of a
// batch. A list of a hundred thousand rows would take a gigabyte.
const mostConditions = 256

// Pred compiles a condition; nil for nil.
func (c Compiler) Pred(e plan.Expr) (Pred, error) {
	switch {
	case e == nil:
		return nil, nil
	case !fewConditions(e):
		return c.rowwise(e)
	}
	return c.pred(e)
}

// fewConditions reports whether an expression is made of mostConditions at most.
func fewConditions(e plan.Expr) bool {
	n := 0
	plan.WalkExpr(e, func(x plan.Expr) bool {
		switch x := x.(type) {
		case *plan.And:
			n += len(x.Args)
		case *plan.Or:
			n += len(x.Args)
		case *plan.Case:
			n += len(x.Whens)
		case *plan.InList:
			return false // its values are computed row by row, or once
		}
		return n <= mostConditions
	})
	return n <= mostConditions
}

func (c Compiler) pred(e plan.Expr) (Pred, error) {
	switch e := e.(type) {
	case *plan.And:
		list, err := c.preds(cheapFirst(e.Args))
		return &conjunction{state: c.Rows.State(), list: list}, err
	case *plan.Or:
		list, err := c.preds(e.Args)
		return &disjunction{state: c.Rows.State(), list: list}, err
	case *plan.Is:
		if e.Kind == plan.IsNull || e.Kind == plan.IsNotNull {
			if !e.OfFields() {
				arg, err := c.Expr(e.Arg)
				return &nullTest{arg: arg, null: e.Kind == plan.IsNull}, err
			}
		}
	case *plan.Call:
		if p, err := c.comparison(e); p != nil || err != nil {
			return p, err
		}
		if p, err := c.pattern(e); p != nil || err != nil {
			return p, err
		}
	case *plan.InList:
		if p, err := c.inList(e); p != nil || err != nil {
			return p, err
		}
	}
	return c.rowwise(e)
}

func (c Compiler) preds(args []plan.Expr) ([]Pred, error) {
	list := make([]Pred, len(args))
	for i, a := range args {
		var err error
		if list[i], err = c.pred(a); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// cheapFirst moves conditions on numbers before their neighbors on other values where none of them can
// fail: the conditions behind them get the same rows whatever order they have.
func cheapFirst(args []plan.Expr) []plan.Expr {
	args = slices.Clone(args)
	for start := 0; start < len(args); start++ {
		end := start
		for end < len(args) && neverFails(args[end]) {
			end++
		}
		slices.SortStableFunc(args[start:end], func(a, b plan.Expr) int { return cmp.Compare(weight(a), weight(b)) })
		start = end
	}
	return args
}

// neverFails reports whether a condition compares columns and constants of common types.
func neverFails(e plan.Expr) bool {
	switch e := e.(type) {
	case *plan.Call:
		_, fast := expr.FastComparison(e.Fn)
		return fast && atoms(e.Args)
	case *plan.InList:
		_, fast := expr.FastComparison(e.Eq)
		return fast && atoms(e.List) && atoms([]plan.Expr{e.Left})
	}
	return false
}

// Independent reports whether kernels compute a condition from columns of s and constants alone: several
// goroutines may then do so at once, each with a State of its own.
func Independent(e plan.Expr, s expr.Scope) bool { return fewConditions(e) && independent(e, s) }

func independent(e plan.Expr, s expr.Scope) bool {
	switch e := e.(type) {
	case *plan.And:
		return !slices.ContainsFunc(e.Args, func(x plan.Expr) bool { return !independent(x, s) })
	case *plan.Or:
		return !slices.ContainsFunc(e.Args, func(x plan.Expr) bool { return !independent(x, s) })
	case *plan.Is:
		return (e.Kind == plan.IsNull || e.Kind == plan.IsNotNull) && !e.OfFields() && given(s, e.Arg)
	case *plan.Call:
		return (compares(e.Fn) || testOf(e) != nil) && given(s, e.Args...)
	case *plan.InList:
		return compares(e.Eq) && given(s, e.Left) && given(s, e.List...)
	}
	return false
}

// compares reports whether kernels compute fn as a comparison, which needs nothing of the session.
func compares(fn *call.Overload) bool {
	_, _, ok := comparisonOf(fn)
	return ok
}

// comparisonOf returns which comparison fn is if kernels compute it, and whether the order of its values
// needs no call.
func comparisonOf(fn *call.Overload) (op expr.Comparison, simple, ok bool) {
	if op, ok = expr.FastComparison(fn); ok {
		return op, true, true
	}
	op, ok = expr.ComparisonOf(fn)
	return op, false, ok && fn.Args[0].Family == types.DecimalFamily && fn.Args[1].Family == types.DecimalFamily
}

// given reports whether all of list are columns of s, constants and parameters.
func given(s expr.Scope, list ...plan.Expr) bool {
	for _, e := range list {
		switch e := e.(type) {
		case *plan.ColRef:
			if s.Find(e.Col) < 0 {
				return false // of an enclosing query
			}
		case *plan.Const, *plan.Param:
		default:
			return false
		}
	}
	return true
}

// atoms reports whether all of list are columns and constants.
func atoms(list []plan.Expr) bool {
	for _, e := range list {
		switch e.(type) {
		case *plan.ColRef, *plan.Const:
		default:
			return false
		}
	}
	return true
}

// weight orders conditions that never fail by what they cost for a row.
func weight(e plan.Expr) int {
	var left plan.Expr
	list := false
	switch e := e.(type) {
	case *plan.Call:
		left = e.Args[0]
	case *plan.InList:
		left, list = e.Left, true
	}
	switch kind := vector.KindOf(left.Type().Family); {
	case kind == vector.Strings || kind == vector.Datums:
		return 2
	case list:
		return 1
	}
	return 0
}

// conjunction is AND: each condition is computed for the rows for which those before it are true.
//
// A condition that is NULL for a row does not keep expr from computing those behind it, whose error
// then is the row's; as conditions (expr's Pred) they are skipped there too.
type conjunction struct {
	state *expr.State
	list  []Pred
	bufs  [2][vector.BatchRows]uint16
}

// Select implements Pred.
func (p *conjunction) Select(f *Frame, sel, out vector.Selection) vector.Selection {
	for k, cond := range p.list {
		if !f.goesOn(p.state, sel) {
			break
		}
		if k == len(p.list)-1 {
			return f.Trim(cond.Select(f, f.Trim(sel), out))
		}
		sel = cond.Select(f, f.Trim(sel), p.bufs[k%2][:0])
	}
	return out
}

// split divides rows by conditions, one after the other.
type split struct {
	holds [vector.BatchRows]uint16
	rest  [vector.BatchRows]uint16
}

// by returns the rows of sel for which cond is true, and the others; none from one for which it fails.
// Both are valid until the next call, which may be given the others as sel.
func (s *split) by(cond Pred, f *Frame, sel vector.Selection) (holds, rest vector.Selection) {
	sel = f.Trim(sel)
	holds = f.Trim(cond.Select(f, sel, s.holds[:0]))
	rest = s.rest[:0] // a prefix of sel that has been read, if sel is the rest of the call before
	next := holds
	for _, i := range f.Trim(sel) {
		if len(next) > 0 && next[0] == i {
			next = next[1:]
		} else {
			rest = append(rest, i)
		}
	}
	return holds, rest
}

// disjunction is OR: each condition is computed for the rows for which none before it is true.
type disjunction struct {
	state *expr.State
	list  []Pred
	split split
	is    [vector.BatchRows]bool
}

// Select implements Pred.
func (p *disjunction) Select(f *Frame, sel, out vector.Selection) vector.Selection {
	all := sel
	for _, i := range all {
		p.is[i] = false
	}
	for _, cond := range p.list {
		if !f.goesOn(p.state, sel) {
			break
		}
		var holds vector.Selection
		holds, sel = p.split.by(cond, f, sel)
		for _, i := range holds {
			p.is[i] = true
		}
	}
	for _, i := range f.Trim(all) {
		if p.is[i] {
			out = append(out, i)
		}
	}
	return out
}

// nullTest is IS [NOT] NULL.
type nullTest struct {
	arg  Expr
	null bool
}

// Select implements Pred.
func (p *nullTest) Select(f *Frame, sel, out vector.Selection) vector.Selection {
	part := f.Only(sel)
	v := p.arg.Eval(&part)
	f.Join(&part)
	for _, i := range part.Sel {
		if v.Nulls.Has(i) == p.null {
			out = append(out, i)
		}
	}
	return out
}

// comparison compares two values of a common type.
type comparison struct {
	binary
	op  expr.Comparison
	cmp expr.CompareFunc
	pad bool // blanks at the end do not count
}

var mirrored = map[expr.Comparison]expr.Comparison{
	expr.EQ: expr.EQ, expr.NE: expr.NE, expr.LT: expr.GT, expr.LE: expr.GE, expr.GT: expr.LT, expr.GE: expr.LE,
}

// comparison compiles a comparison, with a value for all rows on its right side if there is one; it
// returns nil for any other call.
func (c Compiler) comparison(e *plan.Call) (Pred, error) {
	op, simple, ok := comparisonOf(e.Fn)
	if !ok {
		return nil, nil
	}
	b, err := c.binary(e)
	if err != nil {
		return nil, err
	}
	p := &comparison{binary: b, op: op, pad: e.Fn.Args[0].Oid == types.Bpchar.Oid}
	if simple {
		p.cmp = c.Rows.CompareOf(e.Fn.Args[0])
	}
	if b.left.fixed != nil && b.right.vec != nil {
		p.left, p.right, p.op = b.right, b.left, mirrored[op]
		row := b.row
		p.row = func(x, y types.Datum) (types.Datum, error) { return row(y, x) }
	}
	return p, nil
}

// Select implements Pred.
func (p *comparison) Select(f *Frame, sel, out vector.Selection) vector.Selection {
	part := f.Only(sel)
	a, ad := p.left.eval(&part)
	b, bd := p.right.eval(&part)
	f.Join(&part)
	sel = present(b, present(a, part.Sel, p.nulls[:]), p.nulls[:])
	if a == nil && ad.IsNull() || b == nil && bd.IsNull() {
		return out
	}
	switch {
	case a == nil || p.pad:
	case a.Kind == vector.Ints && b == nil:
		return compareConst(p.op, a.Ints, bd.Int(), sel, out)
	case a.Kind == vector.Ints:
		return compare(p.op, a.Ints, b.Ints, sel, out)
	case a.Kind == vector.Strings && b == nil:
		if len(bd.Str()) <= types.StepBytes {
			return compareConst(p.op, a.Strings, bd.Str(), sel, out)
		}
	case a.Kind == vector.Strings:
		if !large(a.Strings, sel) {
			return compare(p.op, a.Strings, b.Strings, sel, out)
		}
	case a.Kind == vector.Decimals:
		if res, ok := p.decimals(a, b, bd, sel, out); ok {
			return res
		}
	}
	if p.cmp != nil {
		return p.datums(sel, out, a, b, ad, bd)
	}
	return p.rowByRow(f, sel, out, a, b, ad, bd)
}

// large reports whether strings of a batch are so large that comparing them counts steps.
func large(strs []string, sel vector.Selection) bool {
	size := 0
	for _, i := range sel {
		size += len(strs[i])
	}
	return size > vector.BatchRows*types.StepBytes
}

// datums compares values of types whose order needs no call.
func (p *comparison) datums(sel, out vector.Selection, a, b *vector.Vector, ad, bd types.Datum) vector.Selection {
	for _, i := range sel {
		if p.op.Holds(p.cmp(value(a, ad, i), value(b, bd, i))) {
			out = append(out, i)
		}
	}
	return out
}

// decimals compares numerics that fit 64 bits if they are brought to one scale; ok is false if they don't.
func (p *comparison) decimals(a, b *vector.Vector, bd types.Datum, sel, out vector.Selection) (_ vector.Selection, ok bool) {
	switch {
	case len(sel) == 0:
		return out, true
	case b == nil:
		return p.decimalConst(a, bd, sel, out)
	case b.Kind != vector.Decimals || max(a.Scale, b.Scale)-min(a.Scale, b.Scale) >= int32(len(pow10)):
		return out, false
	case a.Scale == b.Scale:
		return compare(p.op, a.Ints, b.Ints, sel, out), true
	}
	scale, all := max(a.Scale, b.Scale), out
	left, right := pow10[scale-a.Scale], pow10[scale-b.Scale]
	for _, i := range sel {
		x, fits := mul64(a.Ints[i], left)
		y, fits2 := mul64(b.Ints[i], right)
		if !fits || !fits2 {
			return out, false
		}
		if p.op.Holds(cmp.Compare(x, y)) {
			all = append(all, i)
		}
	}
	return all, true
}

// decimalConst compares numerics with one for all rows. One between two values of the column's scale is
// above the lower and below the upper.
func (p *comparison) decimalConst(a *vector.Vector, d types.Datum, sel, out vector.Selection) (_ vector.Selection, ok bool) {
	floor, exact, ok := d.FloorDecimal(a.Scale)
	if !ok {
		return out, false
	}
	op := p.op
	if !exact {
		switch op {
		case expr.EQ:
			return out, true
		case expr.NE:
			return append(out, sel...), true
		case expr.LT:
			op = expr.LE
		case expr.GE:
			op = expr.GT
		}
	}
	return compareConst(op, a.Ints, floor, sel, out), true
}

func (p *comparison) rowByRow(f *Frame, sel, out vector.Selection, a, b *vector.Vector, ad, bd types.Datum) vector.Selection {
	for _, i := range sel {
		d, err := p.row(value(a, ad, i), value(b, bd, i))
		if err != nil {
			f.Fail(i, err)
			break
		}
		if d.IsTrue() {
			out = append(out, i)
		}
	}
	return out
}

// membership is [NOT] IN over constants.
type membership struct {
	state *expr.State
	left  Expr
	kind  vector.Kind
	list  []plan.Expr // constants that are not in the maps yet
	ints  map[int64]bool
	strs  map[string]bool
	most  int  // the length of the longest string
	pad   bool // blanks at the end do not count
	not   bool
	null  bool // a NULL is among the constants
	buf   [vector.BatchRows]uint16
}

// inList compiles an IN over constants of a type that hashes as it compares; it returns nil for any other.
func (c Compiler) inList(e *plan.InList) (Pred, error) {
	op, ok := expr.FastComparison(e.Eq)
	kind := vector.KindOf(e.Eq.Args[0].Family)
	if !ok || op != expr.EQ || kind != vector.Ints && kind != vector.Strings {
		return nil, nil
	}
	for _, x := range e.List {
		if _, ok := x.(*plan.Const); !ok {
			return nil, nil
		}
	}
	p := &membership{
		state: c.Rows.State(), kind: kind, list: e.List, not: e.Not,
		ints: map[int64]bool{}, strs: map[string]bool{}, pad: e.Eq.Args[0].Oid == types.Bpchar.Oid,
	}
	var err error
	p.left, err = c.Expr(e.Left)
	return p, err
}

// fill makes the maps for the first rows, when the statement can be cancelled: there may be millions of
// constants.
func (p *membership) fill() error {
	for ; len(p.list) > 0; p.list = p.list[1:] {
		if err := p.state.Tick(); err != nil {
			return err
		}
		d := p.list[0].(*plan.Const).D
		switch {
		case d.IsNull():
			p.null = true
		case p.kind == vector.Ints:
			p.ints[d.Int()] = true
		default:
			s := p.trim(d.Str(), nil)
			p.strs[s], p.most = true, max(p.most, len(s))
		}
	}
	return nil
}

func (p *membership) trim(s string, fc *types.FormatContext) string {
	if p.pad {
		return types.TrimBlanks(s, fc)
	}
	return s
}

// Select implements Pred.
func (p *membership) Select(f *Frame, sel, out vector.Selection) vector.Selection {
	part := f.Only(sel)
	v := p.left.Eval(&part)
	f.Join(&part)
	if len(part.Sel) == 0 {
		return out
	}
	if err := p.fill(); err != nil {
		f.Fail(part.Sel[0], err)
		return out
	}
	if p.not && p.null {
		return out // neither true nor false of what is not among the others
	}
	for _, i := range present(v, part.Sel, p.buf[:]) {
		var found bool
		switch v.Kind {
		case vector.Ints:
			found = p.ints[v.Ints[i]]
		default:
			s := p.trim(v.Strings[i], p.state.Format())
			found = len(s) <= p.most && p.strs[s]
		}
		if found != p.not {
			out = append(out, i)
		}
	}
	return out
}

// searchedCase is CASE WHEN condition THEN result … ELSE result END.
type searchedCase struct {
	state   *expr.State
	conds   []Pred
	results []Expr // one more than conds: of ELSE, nil for NULL
	family  types.Family
	split   split
	out     vector.Vector
}

func (c Compiler) searchedCase(e *plan.Case) (Expr, error) {
	x := &searchedCase{state: c.Rows.State(), family: e.T.Family}
	for _, w := range e.Whens {
		cond, err := c.pred(w.Cond)
		if err != nil {
			return nil, err
		}
		result, err := c.Expr(w.Result)
		if err != nil {
			return nil, err
		}
		x.conds, x.results = append(x.conds, cond), append(x.results, result)
	}
	if e.Else == nil {
		x.results = append(x.results, nil)
		return x, nil
	}
	result, err := c.Expr(e.Else)
	x.results = append(x.results, result)
	return x, err
}

// Eval implements Expr.
func (x *searchedCase) Eval(f *Frame) *vector.Vector {
	x.out.Reset(x.family, f.N)
	sel := f.Sel
	for k, cond := range x.conds {
		if !f.goesOn(x.state, sel) {
			break
		}
		var holds vector.Selection
		holds, sel = x.split.by(cond, f, sel)
		x.result(f, k, holds)
	}
	x.result(f, len(x.conds), f.Trim(sel))
	return &x.out
}

// result puts result k into the rows of sel.
func (x *searchedCase) result(f *Frame, k int, sel vector.Selection) {
	if len(sel) == 0 {
		return
	}
	if x.results[k] == nil {
		for _, i := range sel {
			x.out.Nulls.Add(i)
		}
		return
	}
	part := f.Only(sel)
	v := x.results[k].Eval(&part)
	f.Join(&part)
	for _, i := range part.Sel {
		x.out.Set(i, v.Datum(i))
	}
}
