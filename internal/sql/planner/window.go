package planner

import (
	"maps"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/aggfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// windowGroup is the window functions that share a window.
type windowGroup struct {
	partition []plan.Expr
	order     []windowKey
	frame     plan.Frame
	funcs     []plan.WindowCall
	// rng is for RANGE with offsets.
	rng *rangeFrame
}

type windowKey struct {
	expr             plan.Expr
	desc, nullsFirst bool
}

// eachExpr calls f for every expression over the window's input.
func (w *windowGroup) eachExpr(f func(*plan.Expr) error) error {
	var all []*plan.Expr
	for i := range w.partition {
		all = append(all, &w.partition[i])
	}
	for i := range w.order {
		all = append(all, &w.order[i].expr)
	}
	for i := range w.funcs {
		for j := range w.funcs[i].Args {
			all = append(all, &w.funcs[i].Args[j])
		}
		if w.funcs[i].Filter != nil {
			all = append(all, &w.funcs[i].Filter)
		}
	}
	if w.rng != nil {
		all = append(all, &w.rng.key)
	}
	for _, e := range all {
		if err := f(e); err != nil {
			return err
		}
	}
	return nil
}

// windowFuncs are the functions that exist for windows only: the declared
// types of their arguments (nil is any) and result (nil is the first
// argument's), and how many arguments may be left out. Where the first and the third one
// are of any type, they are of one.
var windowFuncs = map[string]struct {
	args     []*types.T
	optional int
	ret      *types.T
}{
	"row_number":   {ret: types.Int8},
	"rank":         {ret: types.Int8},
	"dense_rank":   {ret: types.Int8},
	"percent_rank": {ret: types.Float8},
	"cume_dist":    {ret: types.Float8},
	"ntile":        {args: []*types.T{types.Int4}, ret: types.Int4},
	"lag":          {args: []*types.T{nil, types.Int4, nil}, optional: 2},
	"lead":         {args: []*types.T{nil, types.Int4, nil}, optional: 2},
	"first_value":  {args: []*types.T{nil}},
	"last_value":   {args: []*types.T{nil}},
	"nth_value":    {args: []*types.T{nil, types.Int4}},
}

// WindowFunctions returns the names of the functions that exist for windows only, sorted.
func WindowFunctions() []string { return slices.Sorted(maps.Keys(windowFuncs)) }

func isWindowFunction(name string) bool {
	_, ok := windowFuncs[name]
	return ok
}

// windowCall plans f(...) OVER ... and returns the column of its result.
func (b *builder) windowCall(e *ast.FuncCall, name string, s *scope) (plan.Expr, error) {
	switch {
	case s.sel == nil || s.clause != clauseSelect && s.clause != clauseOrderBy && s.clause != clauseDistinctOn:
		return nil, pgerr.New(pgerr.WindowingError, "window functions are not allowed in %s", clauseNames[s.clause]).At(e.Pos)
	case s.inWindow:
		return nil, pgerr.New(pgerr.WindowingError, "window function calls cannot be nested").At(e.Pos)
	case s.inAgg:
		return nil, pgerr.New(pgerr.GroupingError, "aggregate function calls cannot contain window function calls").At(e.Pos)
	case e.Distinct:
		return nil, pgerr.New(pgerr.FeatureNotSupported, "DISTINCT is not implemented for window functions").At(e.Pos)
	case len(e.OrderBy) > 0 && !e.WithinGroup:
		return nil, pgerr.New(pgerr.FeatureNotSupported, "aggregate ORDER BY is not implemented for window functions").At(e.Pos)
	}
	inner := *s
	inner.inWindow = true
	fn, c, err := b.windowFunc(e, name, &inner)
	if err != nil {
		return nil, err
	}
	if over := e.Over; over.Name != "" && s.sel.window(over.Name, len(s.sel.named)) < 0 {
		return nil, errNoWindow(over.Name, over.Pos)
	}
	fn.Out.ID = b.newCol()
	s.sel.overs = append(s.sel.overs, overCall{*fn, e.Over})
	return c.given(plan.Ref(fn.Out)), nil
}

// overCall is a window function and what stands in its OVER.
type overCall struct {
	fn   plan.WindowCall
	over *ast.WindowSpec
}

// windowIn reports whether x needs the result of a window function of the query.
func windowIn(x plan.Expr, sel *selectState) bool {
	if len(sel.overs) == 0 {
		return false
	}
	found := false
	plan.Refs(x, func(id plan.ColID) {
		found = found || slices.ContainsFunc(sel.overs, func(c overCall) bool { return c.fn.Out.ID == id })
	})
	return found
}

// windowFunc resolves the function and plans its arguments, whose COLLATE clause gives it the collation c.
func (b *builder) windowFunc(e *ast.FuncCall, name string, s *scope) (f *plan.WindowCall, c collation, err error) {
	if e.Star || len(builtin.Aggregates(name)) > 0 || b.isOwnAggregate(e) {
		if err := b.checkWindowAggregate(e, name); err != nil {
			return nil, c, err
		}
		a, err := b.aggregateArgs(e, name, s)
		if err != nil {
			return nil, c, err
		}
		if err := checkOwnWindow(a); err != nil {
			return nil, c, err
		}
		return &plan.WindowCall{Name: name, Agg: a.Fn, Args: a.Args, Filter: a.Filter, Out: a.Out}, b.explicit[a], nil
	}
	sig, ok := windowFuncs[name]
	if !ok {
		return nil, c, b.missingFunction(e, name, s, pgerr.New(pgerr.WrongObjectType,
			"OVER specified, but %s is not a window function nor an aggregate function", name).At(e.Pos))
	}
	if e.Filter != nil {
		return nil, c, pgerr.New(pgerr.FeatureNotSupported, "FILTER is not implemented for non-aggregate window functions").At(e.Pos)
	}
	args, pos, err := b.exprList(e.Args, s)
	if err != nil {
		return nil, c, err
	}
	if len(args) > len(sig.args) || len(args) < len(sig.args)-sig.optional {
		if _, _, ok := aggfuncs.OrderedSet(name); ok { // the aggregate of the name takes any arguments
			return nil, c, withinGroupRequired(name, e.Pos)
		}
		return nil, c, call.NoMatch(name, false, typesOf(args)).At(e.Pos)
	}
	value, err := b.windowValue(name, sig.args, args, pos, e.Pos)
	if err != nil {
		return nil, c, err
	}
	params := make([]*types.T, len(args))
	for i := range args {
		if params[i] = sig.args[i]; params[i] == nil {
			params[i] = value
		}
		if args[i], err = b.coerceArg(args[i], params[i], pos[i]); err != nil {
			return nil, c, err
		}
	}
	b.callsWindow(name, len(args))
	b.env.Notes.noteCall(e, params)
	call := &plan.WindowCall{Name: name, Args: args, Out: plan.Column{Name: name, Type: sig.ret}}
	if sig.ret == nil {
		c = collationOfAll(args)
		if c.err != nil {
			return nil, c, c.err
		}
		call.Out.Type = c.of(value)
	}
	return call, c, nil
}

// windowValue finds the type of what a window function takes from rows: that of its first
// argument, in common with the third one if there is one. It is nil if no declared argument is of any type.
func (b *builder) windowValue(name string, declared []*types.T, args []plan.Expr, pos []int, at int) (*types.T, error) {
	if len(args) == 0 || declared[0] != nil {
		return nil, nil
	}
	if len(args) < 3 {
		if isUnknown(args[0].Type()) {
			return nil, call.UnknownPolymorphic()
		}
		return args[0].Type().WithTypmod(-1), nil
	}
	pair := []plan.Expr{args[0], args[2]}
	t, err := b.common(pair, []int{pos[0], pos[2]}, name)
	if err != nil && pgerr.CodeOf(err) == pgerr.DatatypeMismatch {
		return nil, call.NoMatch(name, false, typesOf(args)).At(at)
	}
	if err != nil {
		return nil, err
	}
	args[0], args[2] = pair[0], pair[1]
	return t.WithTypmod(-1), nil
}

// checkWindowAggregate checks that an aggregate can be a window function.
func (b *builder) checkWindowAggregate(e *ast.FuncCall, name string) error {
	if e.WithinGroup {
		return pgerr.Unsupported("OVER is not supported for ordered-set aggregate %s", name).At(e.Pos)
	}
	return b.checkAggregateArgs(e, name)
}

// defineWindows plans the definitions of the WINDOW clause, used or not, then what stands in OVER, and
// gives each function its window. It comes after the query's other clauses, so that their errors come first.
func (b *builder) defineWindows(s *scope) error {
	sel := s.sel
	ws := s.in(clauseWindow)
	ws.inWindow = true
	for i, spec := range sel.named {
		if sel.window(spec.Name, i) >= 0 {
			return pgerr.New(pgerr.WindowingError, "window \"%s\" is already defined", spec.Name).At(spec.Pos)
		}
		w, err := b.windowSpec(spec, sel.windows, ws)
		if err != nil {
			return err
		}
		sel.windows = append(sel.windows, w)
	}
	named := sel.windows
	for _, c := range sel.overs {
		var w *windowGroup
		var err error
		if c.over.Name != "" {
			w = named[sel.window(c.over.Name, len(named))]
		} else if w, err = b.windowSpec(c.over, named, ws); err != nil {
			return err
		}
		c.fn.Frame = w.frame
		sel.addToWindow(w, c.fn)
	}
	return nil
}

// windowKeys lists what the windows partition and order their rows by.
func (sel *selectState) windowKeys() (keys []plan.Expr) {
	for _, w := range sel.windows {
		keys = append(keys, w.partition...)
		for _, k := range w.order {
			keys = append(keys, k.expr)
		}
	}
	return keys
}

// addToWindow has a function computed with those of the first window like its own.
func (sel *selectState) addToWindow(w *windowGroup, fn plan.WindowCall) {
	i := slices.IndexFunc(sel.windows, func(have *windowGroup) bool { return have == w || sameWindow(have, w) })
	if i < 0 {
		i = len(sel.windows)
		sel.windows = append(sel.windows, w)
	}
	have := sel.windows[i]
	have.funcs = append(have.funcs, fn)
	if have.rng == nil {
		have.rng = w.rng
	}
}

func errNoWindow(name ast.Name, pos int) error {
	return pgerr.New(pgerr.UndefinedObject, "window \"%s\" does not exist", name).At(pos)
}

// windowSpec plans a definition in parentheses, which may start from one of those that are named before it.
func (b *builder) windowSpec(spec *ast.WindowSpec, named []*windowGroup, s *scope) (*windowGroup, error) {
	base := -1
	if spec.Ref != "" {
		if base = s.sel.window(spec.Ref, len(named)); base < 0 {
			return nil, errNoWindow(spec.Ref, spec.Pos)
		}
	}
	order, err := b.windowOrder(spec.OrderBy, s)
	if err != nil {
		return nil, err
	}
	w := &windowGroup{order: order}
	for _, e := range spec.PartitionBy {
		x, err := b.windowExpr(e, s, distinguishable)
		if err == nil {
			x, err = b.identity(x)
		}
		if err != nil {
			return nil, err
		}
		w.partition = append(w.partition, x)
	}
	if base >= 0 {
		from := named[base]
		if err := checkInherited(spec, from, s.sel.named[base].Frame != nil); err != nil {
			return nil, err
		}
		w.partition = slices.Clone(from.partition)
		if len(w.order) == 0 {
			w.order = slices.Clone(from.order)
		}
	}
	return w, b.frame(w, spec, s)
}

func (b *builder) windowOrder(items []ast.OrderItem, s *scope) (keys []windowKey, err error) {
	for i := range items {
		o := &items[i]
		x, err := b.windowExpr(o.X, s, orderable)
		if err == nil {
			x, err = b.ordering(x)
		}
		if err != nil {
			return nil, err
		}
		desc, nulls, err := direction(o)
		if err != nil {
			return nil, err
		}
		keys = append(keys, windowKey{x, desc, nulls})
	}
	return keys, nil
}

// checkInherited checks what a window adds to the one it starts from.
func checkInherited(spec *ast.WindowSpec, base *windowGroup, framed bool) error {
	var err *pgerr.Error
	switch {
	case len(spec.PartitionBy) > 0:
		err = pgerr.New(pgerr.WindowingError, "cannot override PARTITION BY clause of window \"%s\"", spec.Ref)
	case len(spec.OrderBy) > 0 && len(base.order) > 0:
		err = pgerr.New(pgerr.WindowingError, "cannot override ORDER BY clause of window \"%s\"", spec.Ref)
	case framed:
		err = pgerr.New(pgerr.WindowingError, "cannot copy window \"%s\" because it has a frame clause", spec.Ref)
		if len(spec.OrderBy) == 0 && spec.Frame == nil {
			err = err.WithHint("Omit the parentheses in this OVER clause.")
		}
	default:
		return nil
	}
	return err.At(spec.Pos)
}

// windowExpr plans an expression of PARTITION BY or ORDER BY, whose type must pass a check.
func (b *builder) windowExpr(e ast.Expr, s *scope, check func(t *types.T, pos int) error) (plan.Expr, error) {
	x, err := b.typed(e, s)
	if err != nil {
		return nil, err
	}
	return x, check(x.Type(), e.Position())
}

// window finds a definition among the first n of the WINDOW clause, -1 if there
// is none.
func (sel *selectState) window(name ast.Name, n int) int {
	for i, w := range sel.named[:n] {
		if w.Name == name {
			return i
		}
	}
	return -1
}

func sameWindow(a, c *windowGroup) bool {
	if len(a.partition) != len(c.partition) || len(a.order) != len(c.order) {
		return false
	}
	for i := range a.partition {
		if !plan.ExprEqual(a.partition[i], c.partition[i]) {
			return false
		}
	}
	for i := range a.order {
		x, y := &a.order[i], &c.order[i]
		if x.desc != y.desc || x.nullsFirst != y.nullsFirst || !plan.ExprEqual(x.expr, y.expr) {
			return false
		}
	}
	return true
}

// planWindows computes the window functions over node, one Window
// per distinct window that is used.
func (b *builder) planWindows(node plan.Node, sel *selectState) (plan.Node, error) {
	for _, w := range sel.windows {
		if len(w.funcs) == 0 {
			continue
		}
		pre := &plan.Project{Input: node}
		for _, c := range node.Props().Cols {
			pre.Cols, pre.Exprs = append(pre.Cols, c), append(pre.Exprs, plan.Ref(c))
		}
		column := func(x plan.Expr) plan.ColID {
			if r, ok := x.(*plan.ColRef); ok && plan.FindCol(pre.Cols, r.Col) >= 0 {
				return r.Col
			}
			c := plan.Column{ID: b.newCol(), Name: "?column?", Type: outType(x)}
			pre.Cols, pre.Exprs = append(pre.Cols, c), append(pre.Exprs, x)
			return c.ID
		}
		n := &plan.Window{Funcs: w.funcs}
		sort := &plan.Sort{}
		for _, x := range w.partition {
			id := column(x)
			n.PartitionBy = append(n.PartitionBy, id)
			sort.Keys = append(sort.Keys, plan.SortKey{Col: id})
		}
		for _, k := range w.order {
			key := plan.SortKey{Col: column(k.expr), Desc: k.desc, NullsFirst: k.nullsFirst}
			n.OrderBy = append(n.OrderBy, key)
			sort.Keys = append(sort.Keys, key)
		}
		if w.rng != nil {
			n.RangeKey, n.RangeAdd, n.RangeSub = column(w.rng.key), w.rng.add, w.rng.sub
		}
		if len(pre.Cols) > len(node.Props().Cols) {
			node = pre
		}
		if len(sort.Keys) > 0 {
			sort.Input, sort.Cols, sort.Order = node, node.Props().Cols, sort.Keys
			node = sort
		}
		n.Input = node
		n.Cols = append(n.Cols, node.Props().Cols...)
		for i := range n.Funcs {
			n.Cols = append(n.Cols, n.Funcs[i].Out)
		}
		node = n
	}
	return node, nil
}
