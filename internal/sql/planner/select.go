package planner

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// queryOpts say what the consumer of a query needs.
type queryOpts struct {
	// keepUnknown leaves literals in the select list untyped: the consumer
	// coerces the columns.
	keepUnknown bool
}

// queryPlan is a planned query.
type queryPlan struct {
	node    plan.Node
	targets []target // those the consumer sees
}

// outputColumns describes the query's rows; identifiers may repeat.
func (q *queryPlan) outputColumns() []plan.Column {
	out := make([]plan.Column, len(q.targets))
	for i := range q.targets {
		out[i] = q.targets[i].col
	}
	return out
}

// visible returns a plan that produces the targets and nothing else, in order.
func (q *queryPlan) visible() plan.Node {
	cols := q.node.Props().Cols
	exact := len(cols) == len(q.targets)
	for i := 0; exact && i < len(cols); i++ {
		exact = cols[i].ID == q.targets[i].col.ID
	}
	if exact {
		return q.node
	}
	p := &plan.Project{Input: q.node}
	p.Cols = q.outputColumns()
	for i := range q.targets {
		p.Exprs = append(p.Exprs, q.targets[i].ref())
	}
	return p
}

// relation plans a query that stands for a relation: its columns are apart, though they
// may have the same values.
func (b *builder) relation(q *ast.Select, s *scope) (*queryPlan, error) {
	p, err := b.query(q, s, queryOpts{})
	if err == nil {
		b.separate(p)
	}
	return p, err
}

// separate gives every target an identifier of its own.
func (b *builder) separate(q *queryPlan) {
	var p *plan.Project
	for i := range q.targets {
		t := &q.targets[i]
		if !slices.ContainsFunc(q.targets[:i], func(o target) bool { return o.col.ID == t.col.ID }) {
			continue
		}
		if p == nil {
			p = passing(q.node)
		}
		x := t.ref()
		t.col.ID = b.newCol()
		b.noteRecord(t.col.ID, x)
		t.expr = t.ref()
		p.Cols, p.Exprs = append(p.Cols, t.col), append(p.Exprs, x)
	}
	if p != nil {
		q.node = p
	}
}

// passing makes a projection that passes the columns of n on.
func passing(n plan.Node) *plan.Project {
	p := &plan.Project{Input: n}
	p.Cols = slices.Clone(n.Props().Cols)
	for _, c := range p.Cols {
		p.Exprs = append(p.Exprs, plan.Ref(c))
	}
	return p
}

// selectState is what a SELECT collects while its expressions are planned.
type selectState struct {
	aggs []plan.Agg
	// aggOrder holds the ORDER BY expressions of aggregates that need columns.
	aggOrder []plan.Expr
	aggCols  []plan.Column
	// direct are the direct arguments of ordered-set aggregates, where these keep them.
	direct []*plan.Expr
	// groupings are the GROUPING calls.
	groupings []groupingCall
	overs     []overCall     // as they were met
	windows   []*windowGroup // once they are defined
	srfs      []plan.SetFunc
	named     []*ast.WindowSpec
	items     []*item // of FROM
	level     int     // tells it from the statement's other queries
}

// query plans a query of any form in its own scope s. AS OF SYSTEM TIME at the
// top is the session's to apply.
func (b *builder) query(q *ast.Select, s *scope, opts queryOpts) (*queryPlan, error) {
	if err := b.enterQuery(); err != nil {
		return nil, err
	}
	defer b.leaveQuery()
	return b.queryBody(q, s, opts)
}

// queryBody plans a query at the current level of nesting.
func (b *builder) queryBody(q *ast.Select, s *scope, opts queryOpts) (*queryPlan, error) {
	if q.AsOf != nil && b.depth > 1 {
		return nil, pgerr.Unsupported("AS OF SYSTEM TIME is only supported at the top level of a statement").At(q.AsOf.Position())
	}
	if q.Into != nil {
		return nil, pgerr.New(pgerr.SyntaxError, "SELECT ... INTO is not allowed here").At(q.Pos)
	}
	ctes, err := b.with(q.With, s)
	if err != nil {
		return nil, err
	}
	var p *queryPlan
	switch {
	case q.Op != ast.SetNone:
		p, err = b.setOp(q, s, opts)
	case q.Values != nil:
		p, err = b.values(q, s, opts)
	default:
		p, err = b.simpleSelect(q, s, opts)
	}
	if err != nil {
		return nil, err
	}
	p.node = wrapWith(p.node, ctes)
	return p, nil
}

// simpleSelect plans SELECT ... FROM ... with everything that belongs to it.
func (b *builder) simpleSelect(q *ast.Select, s *scope, opts queryOpts) (*queryPlan, error) {
	s.locking = q.Locking
	from, err := b.fromClause(q.From, s)
	if err != nil {
		return nil, err
	}
	b.nextLevel++
	sel := &selectState{named: q.Windows, items: s.items, level: b.nextLevel}
	s.sel = sel
	targets, err := b.targetList(q.Items, s.in(clauseSelect))
	if err != nil {
		return nil, err
	}
	node := from
	if q.Where != nil {
		cond, err := b.boolExpr(q.Where, "WHERE", s.in(clauseWhere))
		if err != nil {
			return nil, err
		}
		node = filter(node, cond)
	}
	list := &targetSet{targets: targets, visible: len(targets), opts: opts}
	var having plan.Expr
	if q.Having != nil {
		if having, err = b.boolExpr(q.Having, "HAVING", s.in(clauseHaving)); err != nil {
			return nil, err
		}
	}
	keys, err := b.orderBy(q.OrderBy, list, s)
	if err != nil {
		return nil, err
	}
	group, err := b.groupBy(q, list, s)
	if err != nil {
		return nil, err
	}
	distinct, err := b.distinctKeys(q, list, keys, s)
	if err != nil {
		return nil, err
	}
	if err := b.defineWindows(s); err != nil {
		return nil, err
	}
	if err := b.finishTargets(list); err != nil {
		return nil, err
	}
	list.postpone(q, sel.srfs, keys, distinct)
	node = sel.expandKeys(node, group.exprs)
	if len(q.GroupBy) > 0 || len(sel.aggs) > 0 || len(sel.groupings) > 0 || having != nil {
		if node, err = b.aggregate(node, sel, group, list, &having); err != nil {
			return nil, err
		}
		if having != nil {
			f := filter(node, having)
			f.Having = true
			node = f
		}
	}
	node = sel.expandKeys(node, sel.windowKeys())
	if node, err = b.planWindows(node, sel); err != nil {
		return nil, err
	}
	if !list.lateSets {
		node = projectSets(node, sel.srfs)
	}
	return b.finishSelect(q, s, node, list, keys, distinct)
}

// expandKeys calls the set-returning functions that keys of groups or windows refer to, and
// those that these need, below these.
func (sel *selectState) expandKeys(node plan.Node, keys []plan.Expr) plan.Node {
	if len(sel.srfs) == 0 {
		return node
	}
	need := map[plan.ColID]bool{}
	note := func(id plan.ColID) { need[id] = true }
	for _, x := range keys {
		plan.Refs(x, note)
	}
	var below, above []plan.SetFunc
	for _, f := range slices.Backward(sel.srfs) { // arguments precede calls
		if !slices.ContainsFunc(f.Out, func(c plan.Column) bool { return need[c.ID] }) {
			above = append(above, f)
			continue
		}
		below = append(below, f)
		for _, x := range f.Call.Args {
			plan.Refs(x, note)
		}
	}
	if len(below) == 0 {
		return node
	}
	slices.Reverse(below)
	slices.Reverse(above)
	sel.srfs = above
	return projectSets(node, below)
}

// finishSelect adds the projection and what follows it: DISTINCT, ORDER BY, row
// locks, LIMIT.
func (b *builder) finishSelect(q *ast.Select, s *scope, node plan.Node, list *targetSet, keys []sortKey, distinct []int) (*queryPlan, error) {
	node = b.project(node, list, s.sel.srfs)
	sort := list.sortKeys(keys)
	if q.Distinct && len(q.DistinctOn) == 0 {
		node = b.distinctNode(node, list, nil)
	}
	if len(sort) > 0 {
		n := &plan.Sort{Input: node, Keys: sort}
		n.Cols, n.Order = node.Props().Cols, sort
		node = n
	}
	if len(q.DistinctOn) > 0 {
		node = b.distinctNode(node, list, distinct)
	}
	limit, err := b.limit(q, s, sort) // its errors come before those of locks
	if err != nil {
		return nil, err
	}
	if node, err = b.lockRows(q, s, node); err != nil {
		return nil, err
	}
	node = limited(limit, b.projectLate(node, list, s.sel.srfs))
	return &queryPlan{node: node, targets: list.targets[:list.visible]}, nil
}

func filter(n plan.Node, cond plan.Expr) *plan.Filter {
	f := &plan.Filter{Input: n, Cond: cond}
	f.Cols = n.Props().Cols
	return f
}

// projectSets calls set-returning functions, and those whose arguments need results of
// others above these.
func projectSets(n plan.Node, funcs []plan.SetFunc) plan.Node {
	var levels [][]plan.SetFunc
	above := map[plan.ColID]int{} // level at which a result may be used
	for _, f := range funcs {
		at := 0
		for _, a := range f.Call.Args {
			plan.Refs(a, func(c plan.ColID) { at = max(at, above[c]) })
		}
		for _, c := range f.Out {
			above[c.ID] = at + 1
		}
		if at == len(levels) {
			levels = append(levels, nil)
		}
		levels[at] = append(levels[at], f)
	}
	for _, l := range levels {
		n = projectSet(n, l)
	}
	return n
}

func projectSet(n plan.Node, funcs []plan.SetFunc) plan.Node {
	p := &plan.ProjectSet{Input: n, Funcs: funcs}
	p.Cols, p.Order = append(p.Cols, n.Props().Cols...), n.Props().Order
	for i := range funcs {
		p.Cols = append(p.Cols, funcs[i].Out...)
	}
	return p
}

// distinctNode removes duplicates of the targets in on, of all if on is nil.
func (b *builder) distinctNode(n plan.Node, list *targetSet, on []int) plan.Node {
	d := &plan.Distinct{Input: n, On: on != nil}
	d.Cols, d.Order = n.Props().Cols, n.Props().Order
	add := func(t *target) {
		id := t.col.ID
		if t.same > 0 {
			id = list.targets[t.same].col.ID
		}
		for _, k := range d.Keys {
			if k == id {
				return
			}
		}
		d.Keys = append(d.Keys, id)
	}
	if on == nil {
		for i := 0; i < list.visible; i++ {
			add(&list.targets[i])
		}
	}
	for _, i := range on {
		add(&list.targets[i])
	}
	return d
}
