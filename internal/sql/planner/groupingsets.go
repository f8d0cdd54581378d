package planner

import (
	"slices"

	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Limits of GROUP BY and GROUPING, PostgreSQL's.
const (
	maxGroupingSets = 4096
	maxCubeItems    = 12
	maxGroupingArgs = 31
)

// groupClause is a resolved GROUP BY: the expressions, the entries of the select list
// that hold them, and the sets of their positions that rows are grouped by. Different entries
// are different keys, though they may be equal: a set may have one of them only.
type groupClause struct {
	exprs   []plan.Expr
	entries []int
	sets    [][]int
}

// plain reports whether there is one grouping set: every expression.
func (g *groupClause) plain() bool { return len(g.sets) == 1 }

// groupingCall is GROUPING(...) in a query.
type groupingCall struct {
	args []plan.Expr
	pos  []int // of args
	out  plan.Column
	// columnsOnly is of a call in a subquery of the query: there PostgreSQL finds columns only among the keys.
	columnsOnly bool
}

// groupResolver resolves the items of a GROUP BY clause.
type groupResolver struct {
	b    *builder
	list *targetSet
	s    *scope
	out  groupClause
}

// groupBy resolves GROUP BY to expressions over the input and grouping sets:
// those of the items, combined.
func (b *builder) groupBy(q *ast.Select, l *targetSet, s *scope) (groupClause, error) {
	r := &groupResolver{b: b, list: l, s: s}
	sets := [][]int{{}}
	for _, e := range q.GroupBy {
		more, err := r.sets(e)
		if err != nil {
			return groupClause{}, err
		}
		if len(sets)*len(more) > maxGroupingSets {
			return groupClause{}, errGroupingSets(q.GroupBy[0].Position())
		}
		sets = combineSets(sets, more)
	}
	if q.GroupDistinct {
		sets = distinctSets(sets)
	}
	if r.out.sets = sets; r.out.plain() {
		r.out.merge()
	}
	return r.out, nil
}

func errGroupingSets(pos int) error {
	return pgerr.New(pgerr.StatementTooComplex, "too many grouping sets present (maximum %d)", maxGroupingSets).At(pos)
}

// combineSets returns every set of a united with every set of c.
func combineSets(a, c [][]int) [][]int {
	out := make([][]int, 0, len(a)*len(c))
	for _, x := range a {
		for _, y := range c {
			out = append(out, uniteSets(x, y))
		}
	}
	return out
}

func uniteSets(a, c []int) []int {
	out := slices.Clone(a)
	for _, k := range c {
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// distinctSets drops the sets that others repeat.
func distinctSets(sets [][]int) [][]int {
	var out [][]int
	var seen [][]int
next:
	for _, s := range sets {
		sorted := slices.Clone(s)
		slices.Sort(sorted)
		for _, have := range seen {
			if slices.Equal(have, sorted) {
				continue next
			}
		}
		seen, out = append(seen, sorted), append(out, s)
	}
	return out
}

// sets returns the grouping sets that one item stands for.
func (r *groupResolver) sets(e ast.Expr) ([][]int, error) {
	g, ok := e.(*ast.GroupingSet)
	if !ok {
		set, err := r.set(e)
		return [][]int{set}, err
	}
	switch g.Kind {
	case ast.GroupingEmpty:
		return [][]int{{}}, nil
	case ast.GroupingSets:
		var out [][]int
		for _, x := range g.Items {
			more, err := r.sets(x)
			if err != nil {
				return nil, err
			}
			if out = append(out, more...); len(out) > maxGroupingSets {
				return nil, errGroupingSets(g.Pos)
			}
		}
		return out, nil
	}
	if g.Kind == ast.GroupingCube && len(g.Items) > maxCubeItems {
		return nil, pgerr.New(pgerr.TooManyColumns, "CUBE is limited to %d elements", maxCubeItems).At(g.Pos)
	}
	parts := make([][]int, len(g.Items))
	for i, x := range g.Items {
		var err error
		if parts[i], err = r.set(x); err != nil {
			return nil, err
		}
	}
	if g.Kind == ast.GroupingRollup {
		return rollupSets(parts), nil
	}
	return cubeSets(parts), nil
}

// rollupSets returns the prefixes of parts, the longest first.
func rollupSets(parts [][]int) [][]int {
	out := make([][]int, len(parts)+1)
	out[len(parts)] = []int{}
	set := []int{}
	for i, p := range parts {
		set = uniteSets(set, p)
		out[len(parts)-1-i] = set
	}
	return out
}

// cubeSets returns the subsets of parts.
func cubeSets(parts [][]int) [][]int {
	var out [][]int
	for mask := 1<<len(parts) - 1; mask >= 0; mask-- {
		set := []int{}
		for i, p := range parts {
			if mask&(1<<i) != 0 {
				set = uniteSets(set, p)
			}
		}
		out = append(out, set)
	}
	return out
}

// set resolves an expression, or several in parentheses.
func (r *groupResolver) set(e ast.Expr) ([]int, error) {
	row, ok := e.(*ast.Row)
	if !ok || row.Explicit {
		k, err := r.key(e)
		return []int{k}, err
	}
	out := []int{}
	for _, x := range row.Elems {
		k, err := r.key(x)
		if err != nil {
			return nil, err
		}
		out = uniteSets(out, []int{k})
	}
	return out, nil
}

// key returns the position of an expression among those grouped by.
func (r *groupResolver) key(e ast.Expr) (int, error) {
	t, err := r.b.listEntry(e, r.list, r.s.in(clauseGroupBy))
	if err != nil {
		return 0, err
	}
	if err := r.b.groupable(r.list, t); err != nil {
		return 0, err
	}
	x := r.list.targets[t].expr
	if ref := aggregateIn(x, r.s.sel); ref != nil {
		return 0, pgerr.New(pgerr.GroupingError, "aggregate functions are not allowed in GROUP BY").At(e.Position())
	}
	if windowIn(x, r.s.sel) {
		return 0, pgerr.New(pgerr.WindowingError, "window functions are not allowed in GROUP BY").At(e.Position())
	}
	if _, err := r.b.identity(x); err != nil {
		return 0, err
	}
	if i := slices.Index(r.out.entries, t); i >= 0 {
		return i, nil
	}
	if i := slices.IndexFunc(r.out.exprs, func(e plan.Expr) bool { return plan.ExprEqual(e, x) }); i >= 0 && plant.On(plant.KeysMerged) {
		return i, nil
	}
	r.out.exprs, r.out.entries = append(r.out.exprs, x), append(r.out.entries, t)
	return len(r.out.exprs) - 1, nil
}

// merge drops the keys that equal others, where there is one set: rows are grouped by
// all of them.
func (g *groupClause) merge() {
	exprs, entries := g.exprs, g.entries
	g.exprs, g.entries, g.sets[0] = nil, nil, []int{}
	for i, x := range exprs {
		if !anyEqual(g.exprs, x) {
			g.sets[0] = append(g.sets[0], len(g.exprs))
			g.exprs, g.entries = append(g.exprs, x), append(g.entries, entries[i])
		}
	}
}

// groupingFunc plans GROUPING(...) and returns the column of its result.
func (b *builder) groupingFunc(e *ast.Grouping, s *scope) (plan.Expr, error) {
	if level := b.outerLevel(e, e.Args, s); level != nil {
		ref, err := b.groupingHere(e, level, true)
		if err != nil {
			return nil, err
		}
		s.useOuter(ref, level)
		return ref, nil
	}
	return b.groupingHere(e, s, false)
}

// groupingHere plans GROUPING(...) of the query of s.
func (b *builder) groupingHere(e *ast.Grouping, s *scope, columnsOnly bool) (*plan.ColRef, error) {
	switch {
	case s.inAgg:
		return nil, pgerr.New(pgerr.GroupingError, "aggregate function calls cannot contain grouping operations").At(e.Pos)
	case s.sel == nil || !s.aboveGroups():
		return nil, pgerr.New(pgerr.GroupingError, "grouping operations are not allowed in %s", clauseNames[s.clause]).At(e.Pos)
	case len(e.Args) > maxGroupingArgs:
		return nil, pgerr.New(pgerr.TooManyArguments, "GROUPING must have fewer than %d arguments", maxGroupingArgs+1).At(e.Pos)
	}
	c := groupingCall{columnsOnly: columnsOnly, out: plan.Column{ID: b.newCol(), Name: "grouping", Type: types.Int4, NotNull: true}}
	for _, a := range e.Args {
		x, err := b.typed(a, s)
		if err != nil {
			return nil, err
		}
		c.args, c.pos = append(c.args, x), append(c.pos, a.Position())
	}
	s.sel.groupings = append(s.sel.groupings, c)
	return plan.Ref(c.out), nil
}

// groupings resolves the query's GROUPING calls to positions of keys.
func (g *grouping) groupings() ([]plan.GroupingCall, error) {
	var out []plan.GroupingCall
	for _, c := range g.sel.groupings {
		call := plan.GroupingCall{Out: c.out}
		for i, a := range c.args {
			k := slices.IndexFunc(g.exprs, func(e plan.Expr) bool { return plan.ExprEqual(e, a) })
			if _, column := a.(*plan.ColRef); k < 0 || c.columnsOnly && !column {
				return nil, pgerr.New(pgerr.GroupingError,
					"arguments to GROUPING must be grouping expressions of the associated query level").At(c.pos[i])
			}
			call.Keys = append(call.Keys, k)
		}
		out = append(out, call)
	}
	return out, nil
}

// inAllSets reports whether key k is in every grouping set.
func (g *grouping) inAllSets(k int) bool {
	for _, s := range g.sets {
		if !slices.Contains(s, k) {
			return false
		}
	}
	return true
}
