package planner

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/aggfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// aggregateCall plans an aggregate and returns the column of its result.
func (b *builder) aggregateCall(e *ast.FuncCall, name string, s *scope) (plan.Expr, error) {
	if level := b.outerAggregate(e, s); level != nil {
		return b.aggregateOf(level, e, name, s)
	}
	ref, c, err := b.aggregateHere(e, name, s)
	if err != nil {
		return nil, err
	}
	return c.given(ref), nil
}

func withinGroupRequired(name string, pos int) error {
	return pgerr.New(pgerr.WrongObjectType, "WITHIN GROUP is required for ordered-set aggregate %s", name).At(pos)
}

// aggregateHere plans an aggregate of the query of s; c is the collation that a COLLATE clause among its arguments
// gives it.
func (b *builder) aggregateHere(e *ast.FuncCall, name string, s *scope) (ref *plan.ColRef, c collation, err error) {
	if err := b.checkAggregate(e, name, s); err != nil {
		return nil, c, err
	}
	mustFit := checkClause(e, s) // told behind what is wrong with the arguments
	inner := *s
	inner.inAgg = true
	if mustFit != nil {
		inner.sel = &selectState{} // UPDATE and DELETE have none
	}
	args := b.aggregateArgs
	if e.WithinGroup {
		args = b.orderedSetArgs
	}
	a, err := args(e, name, &inner)
	if err != nil {
		return nil, c, err
	}
	if _, hypothetical, ok := aggfuncs.OrderedSet(name); ok && !hypothetical && !e.WithinGroup {
		return nil, c, withinGroupRequired(name, e.Pos)
	}
	if mustFit != nil {
		return nil, c, mustFit
	}
	c, sel := b.explicit[a], s.sel
	for i := range sel.aggs {
		if sameAgg(&sel.aggs[i], a) {
			out := sel.aggs[i].Out
			return &plan.ColRef{Col: out.ID, T: out.Type, Name: out.Name, Pos: e.Pos}, c, nil
		}
	}
	a.Out.ID = b.newCol()
	sel.aggs = append(sel.aggs, *a)
	return &plan.ColRef{Col: a.Out.ID, T: a.Out.Type, Name: a.Out.Name, Pos: e.Pos}, c, nil
}

// checkAggregate checks that an aggregate may stand here.
func (b *builder) checkAggregate(e *ast.FuncCall, name string, s *scope) error {
	switch {
	case s.recursiveTerm():
		return pgerr.New(pgerr.InvalidRecursion, "aggregate functions are not allowed in a recursive query's recursive term").At(e.Pos)
	case s.inAgg && s.clause == clauseFilter:
		return pgerr.New(pgerr.GroupingError, "aggregate functions are not allowed in FILTER").At(e.Pos)
	case s.inAgg && checkClause(e, s) == nil:
		return pgerr.New(pgerr.GroupingError, "aggregate function calls cannot be nested").At(e.Pos)
	}
	return b.checkAggregateArgs(e, name)
}

// checkClause fails where there are no aggregates.
func checkClause(e *ast.FuncCall, s *scope) error {
	switch s.clause {
	case clauseSelect, clauseHaving, clauseOrderBy, clauseDistinctOn, clauseWindow:
		if s.sel != nil {
			return nil
		}
	}
	return pgerr.New(pgerr.GroupingError, "aggregate functions are not allowed in %s", clauseNames[s.clause]).At(e.Pos)
}

// checkAggregateArgs checks how the arguments of an aggregate are written.
func (b *builder) checkAggregateArgs(e *ast.FuncCall, name string) error {
	parameterless := name == "count"
	if b.isOwnAggregate(e) {
		own, err := b.ownAggregates(e.Name.Schema, name)
		if err != nil {
			return err
		}
		parameterless = slices.ContainsFunc(own, func(o *call.Overload) bool { return len(o.Args) == 0 })
	}
	switch {
	case e.Variadic:
		return pgerr.Unsupported("VARIADIC arguments of aggregates are not supported").At(e.Pos)
	case e.Star && len(e.Args) == 0 && !parameterless:
		return pgerr.New(pgerr.UndefinedFunction, "function %s() does not exist", name).
			WithHint("No function matches the given name and argument types. You might need to add explicit type casts.").At(e.Pos)
	case !e.Star && len(e.Args) == 0 && parameterless:
		return pgerr.New(pgerr.WrongObjectType, "%s(*) must be used to call a parameterless aggregate function", name).At(e.Pos)
	}
	return nil
}

// recursiveTerm reports whether FROM refers to the recursive query that s is
// part of.
func (s *scope) recursiveTerm() bool {
	for _, it := range s.items {
		if it.working {
			return true
		}
	}
	return false
}

// boundAggregate makes the call of the aggregate that the arguments choose, with its
// FILTER; it is called name in the query and as among the functions.
func (b *builder) boundAggregate(e *ast.FuncCall, name, as string, args []plan.Expr, pos []int, s *scope) (*plan.Agg, error) {
	ts := make([]*types.T, len(args))
	for i := range args {
		ts[i] = args[i].Type()
	}
	fn, err := b.findAggregate(e, as, ts)
	if err != nil {
		return nil, pgerr.From(err).At(e.Pos)
	}
	params, ret, err := fn.Signature(ts)
	if err != nil {
		return nil, ofSignature(err, e.Pos)
	}
	if fn.Routine == nil {
		b.callsAggregate(fn, e.Over != nil)
	}
	for i := range args {
		if args[i], err = b.coerceArg(args[i], params[i], pos[i]); err != nil {
			return nil, err
		}
	}
	b.env.Notes.noteCall(e, params)
	a := &plan.Agg{Fn: fn, Args: args, Out: plan.Column{Name: name, Type: ret}}
	if err := b.collateAggregate(a, as, e.Pos); err != nil {
		return nil, err
	}
	if e.Filter != nil {
		fs := *s
		fs.clause = clauseFilter
		if a.Filter, err = b.boolExpr(e.Filter, "FILTER", &fs); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// aggregateArgs plans the arguments, FILTER and ORDER BY of an aggregate.
func (b *builder) aggregateArgs(e *ast.FuncCall, name string, s *scope) (*plan.Agg, error) {
	args, pos, err := b.exprList(e.Args, s)
	if err != nil {
		return nil, err
	}
	a, err := b.boundAggregate(e, name, name, args, pos, s)
	if err != nil {
		return nil, err
	}
	a.Distinct = e.Distinct
	if e.Distinct {
		for i := range args {
			if err := distinguishable(args[i].Type(), pos[i]); err != nil {
				return nil, err
			}
			if t := args[i].Type(); !types.HasOrder(t) {
				return nil, pgerr.New(pgerr.UndefinedFunction, "could not identify an ordering operator for type %s", t.SQLName).
					WithDetail("Aggregates with DISTINCT must be able to sort their inputs.").At(pos[i])
			}
			if err := b.distinctArg(a, i); err != nil {
				return nil, err
			}
		}
	}
	if err := b.aggregateOrder(a, e, s); err != nil {
		return nil, err
	}
	if e.Distinct && len(e.OrderBy) == 0 && !a.Fn.OrderIndependent && !a.Fn.DistinctNoop {
		// PostgreSQL finds duplicates by sorting, and the result shows it.
		for _, x := range args {
			if _, isConst := x.(*plan.Const); !isConst {
				key, err := b.ordering(x)
				if err != nil {
					return nil, err
				}
				a.OrderBy = append(a.OrderBy, b.aggregateKey(key, s))
			}
		}
	}
	return a, nil
}

// distinctArg checks an argument of an aggregate with DISTINCT; count takes the sort keys of a
// nondeterministic collation.
func (b *builder) distinctArg(a *plan.Agg, i int) error {
	if i >= len(a.Args) || a.Fn.DistinctNoop {
		return nil
	}
	x, err := b.identity(a.Args[i])
	switch {
	case err != nil:
		return err
	case !hasSortKey(x):
		return nil
	case a.Fn.Name != "count":
		return pgerr.Unsupported("%s(DISTINCT ...) over a nondeterministic collation is not supported", a.Fn.Name)
	}
	a.Args[i] = x
	return nil
}

// aggregateKey returns the column of a sort key of an aggregate; expressions
// other than columns are computed below the aggregation.
func (b *builder) aggregateKey(x plan.Expr, s *scope) plan.SortKey {
	if r, ok := x.(*plan.ColRef); ok {
		return plan.SortKey{Col: r.Col}
	}
	key := plan.SortKey{Col: b.newCol()}
	s.sel.aggOrder = append(s.sel.aggOrder, x)
	s.sel.aggCols = append(s.sel.aggCols, plan.Column{ID: key.Col, Name: "?column?", Type: outType(x)})
	return key
}

// aggregateOrder plans the ORDER BY of an aggregate; expressions other than
// columns are computed below the aggregation.
func (b *builder) aggregateOrder(a *plan.Agg, e *ast.FuncCall, s *scope) error {
	for i := range e.OrderBy {
		o := &e.OrderBy[i]
		x, err := b.typed(o.X, s)
		if err != nil {
			return err
		}
		if err := orderable(x.Type(), o.X.Position()); err != nil {
			return err
		}
		if e.Distinct && !anyEqual(a.Args, x) {
			return pgerr.New(pgerr.InvalidColumnReference, "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list").At(o.X.Position())
		}
		desc, nulls, err := direction(o)
		if err != nil {
			return err
		}
		if x, err = b.ordering(x); err != nil {
			return err
		}
		key := b.aggregateKey(x, s)
		key.Desc, key.NullsFirst = desc, nulls
		a.OrderBy = append(a.OrderBy, key)
	}
	return nil
}

func anyEqual(list []plan.Expr, x plan.Expr) bool {
	for _, y := range list {
		if plan.ExprEqual(x, y) {
			return true
		}
	}
	return false
}

func sameAgg(a, c *plan.Agg) bool {
	if !sameFunction(a.Fn, c.Fn) || a.Distinct != c.Distinct || len(a.Args) != len(c.Args) || len(a.OrderBy) != len(c.OrderBy) {
		return false
	}
	for i := range a.Args {
		if !plan.ExprEqual(a.Args[i], c.Args[i]) {
			return false
		}
	}
	for i := range a.OrderBy {
		if a.OrderBy[i] != c.OrderBy[i] {
			return false
		}
	}
	return a.Filter == nil && c.Filter == nil || plan.ExprEqual(a.Filter, c.Filter)
}

// aggregateIn returns a reference to an aggregate's result in x, nil if none.
func aggregateIn(x plan.Expr, sel *selectState) (ref *plan.ColRef) {
	plan.WalkExpr(x, func(x plan.Expr) bool {
		if r, ok := x.(*plan.ColRef); ok {
			for i := range sel.aggs {
				if sel.aggs[i].Out.ID == r.Col {
					ref = r
				}
			}
			for i := range sel.groupings {
				if sel.groupings[i].out.ID == r.Col {
					ref = r
				}
			}
		}
		return ref == nil
	})
	return ref
}

// grouping rewrites expressions over a query's input to expressions over its
// groups.
type grouping struct {
	sel     *selectState
	input   []plan.Column
	keys    []plan.Column // of the groups
	exprs   []plan.Expr   // what each key was computed from
	entries []int         // of the select list that are keys
	// from are the columns below that hold the keys. A key that some grouping
	// sets leave out is another column below, as it may be NULL above only.
	from []plan.ColID
	sets [][]int // nil for a single grouping set
	// values are the columns above that keys of a nondeterministic collation stand for: any
	// value of the group.
	values map[int]plan.Column
	notes  *Notes
}

// aggregate puts a GroupBy over node and rewrites what is computed above it.
func (b *builder) aggregate(node plan.Node, sel *selectState, group groupClause, l *targetSet, having *plan.Expr) (plan.Node, error) {
	g := &grouping{sel: sel, input: node.Props().Cols, exprs: group.exprs, entries: group.entries, notes: b.env.Notes}
	if !group.plain() {
		g.sets = group.sets
	}
	pre := &plan.Project{Input: node}
	pre.Cols = append(pre.Cols, g.input...)
	for _, c := range g.input {
		pre.Exprs = append(pre.Exprs, plan.Ref(c))
	}
	compute := func(c plan.Column, x plan.Expr) {
		pre.Cols, pre.Exprs = append(pre.Cols, c), append(pre.Exprs, x)
	}
	if err := b.groupKeys(g, compute); err != nil {
		return nil, err
	}
	for i, x := range sel.aggOrder {
		compute(sel.aggCols[i], x)
	}
	if len(pre.Cols) > len(g.input) {
		node = pre
	}
	if err := g.rewriteAll(l, having); err != nil {
		return nil, err
	}
	n := &plan.GroupBy{Input: node, Aggs: sel.aggs, Scalar: len(group.exprs) == 0 && g.sets == nil, Keys: g.from, Sets: g.sets}
	var err error
	if n.Groupings, err = g.groupings(); err != nil {
		return nil, err
	}
	n.Cols = n.Outputs(g.keys)
	return n, nil
}

// keyBelow is the column below the groups that holds the key which a column above is:
// NULL while a row is added to a group of a set without it.
func (g *grouping) keyBelow(x plan.Expr) plan.Expr {
	r, ok := x.(*plan.ColRef)
	if !ok {
		return x
	}
	for k := range g.keys {
		if g.keys[k].ID == r.Col {
			below := *r
			below.Col = g.from[k]
			return &below
		}
	}
	return x
}

// groupKeys names the columns of the keys above and below the groups.
func (b *builder) groupKeys(g *grouping, compute func(plan.Column, plan.Expr)) error {
	for k, x := range g.exprs {
		optional := !g.inAllSets(k)
		if collated := collationOf(x); x.Type().Collatable() && collated.is.Nondeterministic {
			if optional {
				return pgerr.Unsupported("grouping sets over a nondeterministic collation are not supported")
			}
			if err := b.groupByKey(g, k, compute); err != nil {
				return err
			}
			continue
		}
		if r, ok := x.(*plan.ColRef); ok {
			if i := plan.FindCol(g.input, r.Col); i >= 0 {
				c := g.input[i]
				g.from = append(g.from, c.ID)
				if optional {
					below := c
					below.ID = b.newCol()
					g.from[k], c.NotNull = below.ID, false
					compute(below, x)
				}
				if plan.FindCol(g.keys, c.ID) >= 0 { // it is another key, too
					c.ID = b.newCol()
				}
				g.keys = append(g.keys, c)
				continue
			}
		}
		c := plan.Column{ID: b.newCol(), Name: "?column?", Type: outType(x)}
		g.keys, g.from = append(g.keys, c), append(g.from, c.ID)
		compute(c, x)
	}
	return nil
}

// groupByKey groups by the sort keys of expression k, for which any of its values in a group
// stands above.
func (b *builder) groupByKey(g *grouping, k int, compute func(plan.Column, plan.Expr)) error {
	x := g.exprs[k]
	key, err := b.identity(x)
	if err != nil {
		return err
	}
	fn, err := builtin.ResolveAggregate("collation_any", []*types.T{x.Type()})
	if err != nil {
		return err
	}
	c := plan.Column{ID: b.newCol(), Name: "?column?", Type: key.Type()}
	g.keys, g.from = append(g.keys, c), append(g.from, c.ID)
	compute(c, key)
	value := plan.Column{ID: b.newCol(), Name: "?column?", Type: outType(x)}
	if r, ok := x.(*plan.ColRef); ok {
		value.Name = r.Name
	}
	g.sel.aggs = append(g.sel.aggs, plan.Agg{Fn: fn, Args: []plan.Expr{uncollated(x)}, Out: value})
	if g.values == nil {
		g.values = map[int]plan.Column{}
	}
	g.values[k] = value
	return nil
}

// rewriteAll rewrites everything that is evaluated above the groups.
func (g *grouping) rewriteAll(l *targetSet, having *plan.Expr) error {
	for i := range l.targets {
		if k := slices.Index(g.entries, i); k >= 0 {
			l.targets[i].expr = g.above(k)
			continue
		}
		if err := g.rewrite(&l.targets[i].expr); err != nil {
			return err
		}
	}
	if *having != nil {
		if err := g.rewrite(having); err != nil {
			return err
		}
	}
	for _, w := range g.sel.windows {
		if err := w.eachExpr(g.rewrite); err != nil {
			return err
		}
	}
	for i := range g.sel.srfs {
		for j := range g.sel.srfs[i].Call.Args {
			if err := g.rewrite(&g.sel.srfs[i].Call.Args[j]); err != nil {
				return err
			}
		}
	}
	for _, arg := range g.sel.direct {
		x := plan.CopyExpr(*arg)
		if err := g.rewrite(&x); err != nil {
			return pgerr.From(err).WithDetail("Direct arguments of an ordered-set aggregate must use only grouped columns.")
		}
		if g.sets != nil {
			*arg = plan.MapExpr(x, g.keyBelow)
		}
	}
	return nil
}

// above is what stands for key k above the groups.
func (g *grouping) above(k int) plan.Expr {
	if c, stands := g.values[k]; stands {
		return plan.Ref(c)
	}
	return plan.Ref(g.keys[k])
}

// rewrite replaces grouped expressions in *x by their keys.
func (g *grouping) rewrite(x *plan.Expr) error {
	for i, e := range g.exprs {
		if plan.ExprEqual(*x, e) {
			t := (*x).Type()
			*x = g.above(i)
			if _, column := e.(*plan.ColRef); column { // which may be read as another type
				*x = retyped(*x, t)
			}
			return nil
		}
	}
	if r, ok := (*x).(*plan.ColRef); ok {
		if !g.available(r.Col) {
			return pgerr.New(pgerr.GroupingError, "column \"%s\" must appear in the GROUP BY clause or be used in an aggregate function", g.name(r)).At(r.Pos)
		}
		return nil
	}
	if sub, ok := (*x).(*plan.Subquery); ok {
		for i := range sub.Outer {
			if r := &sub.Outer[i]; !g.available(r.Col) {
				return pgerr.New(pgerr.GroupingError, "subquery uses ungrouped column \"%s\" from outer query", g.name(r)).At(r.Pos)
			}
		}
	}
	var err error
	plan.Args(*x, func(a *plan.Expr) {
		if err == nil {
			err = g.rewrite(a)
		}
	})
	return err
}

// available reports whether a column can be used above the groups: it is not
// one of the input, is a key, or depends on keys functionally.
func (g *grouping) available(id plan.ColID) bool {
	i := plan.FindCol(g.input, id)
	if i < 0 || plan.FindCol(g.keys, id) >= 0 {
		return true
	}
	if !g.determined(id) {
		return false
	}
	g.keys, g.from = append(g.keys, g.input[i]), append(g.from, id)
	for j := range g.sets {
		g.sets[j] = append(slices.Clone(g.sets[j]), len(g.keys)-1)
	}
	return true
}

// determined reports whether the keys include the primary key of the table
// that column id belongs to.
func (g *grouping) determined(id plan.ColID) bool {
	for _, it := range g.sel.items {
		key := primaryKey(it.table)
		if len(key) == 0 {
			continue
		}
		own := false
		for i := range it.cols {
			own = own || it.cols[i].expr == nil && it.cols[i].col.ID == id
		}
		if !own {
			continue
		}
		for _, k := range key {
			c := &it.cols[it.table.ColumnByID(k)]
			if i := plan.FindCol(g.keys, c.col.ID); i < 0 || !g.inAllSets(i) {
				return false
			}
		}
		g.notes.noteKey(it.table)
		return true
	}
	return false
}

// primaryKey lists the columns of a table's primary key; that of a catalog is its oid.
func primaryKey(t *catalog.Table) (cols []catalog.ColumnID) {
	switch {
	case t == nil:
	case t.Kind == catalog.KindVirtual && t.Columns[0].Name == "oid":
		cols = append(cols, t.Columns[0].ID)
	case len(t.Indexes) > 0 && t.Primary().Constraint:
		for _, k := range t.Primary().Columns {
			cols = append(cols, k.Column)
		}
	}
	return cols
}

// name returns what a column is called in messages: "t.a".
func (g *grouping) name(r *plan.ColRef) string {
	for _, it := range g.sel.items {
		if !it.relVisible {
			continue
		}
		for i := range it.cols {
			if it.cols[i].col.ID == r.Col && it.cols[i].expr == nil {
				return it.alias + "." + it.cols[i].name
			}
		}
	}
	return r.Name
}
