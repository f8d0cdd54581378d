package planner

import (
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// lockRows plans FOR UPDATE and its kin.
func (b *builder) lockRows(q *ast.Select, s *scope, node plan.Node) (plan.Node, error) {
	if len(q.Locking) == 0 {
		return node, nil
	}
	first := &q.Locking[0]
	what := ""
	switch {
	case q.Distinct:
		what = "DISTINCT clause"
	case len(q.GroupBy) > 0:
		what = "GROUP BY clause"
	case q.Having != nil:
		what = "HAVING clause"
	case len(s.sel.aggs) > 0:
		what = "aggregate functions"
	case len(s.sel.overs) > 0:
		what = "window functions"
	case len(s.sel.srfs) > 0:
		what = "set-returning functions in the target list"
	}
	if what != "" {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "%s is not allowed with %s", first, what)
	}
	targets, err := b.lockTargets(q, s)
	if err != nil || len(targets) == 0 {
		return node, err
	}
	b.modifies = true
	rows := &plan.LockRows{}
	for _, t := range targets {
		lt, err := lockTarget(t, first)
		if err != nil {
			return nil, err
		}
		b.mayBeAbsent(t.it, t.strength)
		if err := b.lockGuarded(t.it); err != nil {
			return nil, err
		}
		rows.Targets = append(rows.Targets, lt)
	}
	rows.Input, rows.Recheck = widen(node, rows.Targets)
	rows.Cols, rows.Order = rows.Input.Props().Cols, node.Props().Order
	return rows, nil
}

// mayBeAbsent refuses to lock the rows of an item that an outer join extends with NULLs.
func (b *builder) mayBeAbsent(it *item, strength lock.Strength) {
	if it.nullable {
		b.fails(pgerr.New(pgerr.FeatureNotSupported, "%s cannot be applied to the nullable side of an outer join", strength))
	}
}

// lockItem is a table to lock with the strongest clause that names it.
type lockItem struct {
	it       *item
	strength lock.Strength
	wait     lock.WaitPolicy
}

// lockTargets finds the tables that the clauses lock.
func (b *builder) lockTargets(q *ast.Select, s *scope) ([]lockItem, error) {
	var out []lockItem
	add := func(it *item, c *ast.LockingClause) {
		it.locks()
		for i := range out {
			if out[i].it == it {
				out[i].strength = max(out[i].strength, c.Strength)
				out[i].wait = stricter(out[i].wait, c.Wait)
				return
			}
		}
		out = append(out, lockItem{it, c.Strength, c.Wait})
	}
	for i := range q.Locking {
		c := &q.Locking[i]
		if len(c.Of) == 0 {
			for _, it := range s.items {
				switch {
				case it.table != nil:
					add(it, c)
				case it.sub:
					it.locks()
					b.mayBeAbsent(it, c.Strength)
				}
			}
			continue
		}
		for _, name := range c.Of {
			if name.Schema != "" {
				return nil, pgerr.New(pgerr.SyntaxError, "%s must specify unqualified relation names", c).At(name.Pos)
			}
			it := lockable(s, name.Table)
			if it == nil {
				return nil, pgerr.New(pgerr.UndefinedTable, "relation \"%s\" in %s clause not found in FROM clause",
					name.Table, c).At(name.Pos)
			}
			switch {
			case it.sub: // locked inside, see scope.locked
				it.locks()
				b.mayBeAbsent(it, c.Strength)
			case it.table == nil:
				return nil, pgerr.New(pgerr.FeatureNotSupported, "%s cannot be applied to a %s", c, it.kind()).At(name.Pos)
			default:
				add(it, c)
			}
		}
	}
	return out, nil
}

// kind words what an item that is no table is.
func (it *item) kind() string {
	switch {
	case it.cte:
		return "WITH query"
	case it.join:
		return "join"
	}
	return "function"
}

// locked returns the query of a subquery or view in FROM with the locking
// clauses that apply to it under its alias.
func (s *scope) locked(q *ast.Select, alias string) *ast.Select {
	if q.Values != nil {
		return q
	}
	var out *ast.Select
	for i := range s.locking {
		c := s.locking[i]
		named := len(c.Of) == 0
		for _, n := range c.Of {
			named = named || n.Table == alias && alias != ""
		}
		if !named {
			continue
		}
		if out == nil {
			cp := *q
			out, cp.Locking = &cp, append([]ast.LockingClause(nil), q.Locking...)
		}
		c.Of = nil
		out.Locking = append(out.Locking, c)
	}
	if out == nil {
		return q
	}
	return out
}

func lockable(s *scope, alias string) *item {
	for _, it := range s.items {
		if it.relVisible && it.alias == alias {
			return it
		}
	}
	return nil
}

// stricter returns the policy for a table that two clauses name: NOWAIT before SKIP LOCKED, as in
// PostgreSQL.
func stricter(a, b lock.WaitPolicy) lock.WaitPolicy {
	if a == lock.WaitError || b == lock.WaitError {
		return lock.WaitError
	}
	return max(a, b)
}

func lockTarget(l lockItem, c *ast.LockingClause) (plan.LockTarget, error) {
	sc, ok := l.it.scan.(*plan.Scan)
	if !ok || sc.Virtual() {
		return plan.LockTarget{}, pgerr.New(pgerr.WrongObjectType, "cannot lock rows in relation \"%s\"", l.it.table.Name).At(c.Pos)
	}
	if l.it.table.Materialized() {
		return plan.LockTarget{}, pgerr.New(pgerr.WrongObjectType, "cannot lock rows in materialized view \"%s\"", l.it.table.Name).At(c.Pos)
	}
	t := plan.LockTarget{Scan: sc}
	t.Strength, t.Wait = l.strength, l.wait
	for _, k := range sc.Table.Primary().Columns {
		t.Key = append(t.Key, sc.Cols[sc.Table.ColumnByID(k.Column)].ID)
	}
	return t, nil
}

// widen makes a plan pass on the columns that locking needs: the keys of the
// locked tables and what the query's own condition refers to. It returns the
// condition to check again when a row changed.
func widen(n plan.Node, targets []plan.LockTarget) (plan.Node, plan.Expr) {
	var need []plan.Column
	for i := range targets {
		need = append(need, targets[i].Scan.Cols...)
	}
	var cond plan.Expr
	w := extend(n, need, &cond)
	cols := w.Props().Cols
	for i := range targets {
		t := &targets[i]
		for j, c := range t.Scan.Cols {
			if plan.FindCol(cols, c.ID) >= 0 {
				t.Row, t.Ords = append(t.Row, c.ID), append(t.Ords, t.Scan.Ords[j])
			}
		}
	}
	return w, cond
}

// extend adds columns to the projections and sorts on top of a query and
// collects the conditions below them.
func extend(n plan.Node, need []plan.Column, cond *plan.Expr) plan.Node {
	switch n := n.(type) {
	case *plan.Sort:
		n.Input = extend(n.Input, need, cond)
		n.Cols = n.Input.Props().Cols
	case *plan.Project:
		collectConds(n.Input, cond)
		in := n.Input.Props().Cols
		for _, c := range need {
			if plan.FindCol(n.Cols, c.ID) < 0 && plan.FindCol(in, c.ID) >= 0 {
				n.Cols, n.Exprs = append(n.Cols, c), append(n.Exprs, plan.Ref(c))
			}
		}
		// The condition is evaluated above: pass on what it refers to.
		plan.Refs(*cond, func(id plan.ColID) {
			if i := plan.FindCol(in, id); i >= 0 && plan.FindCol(n.Cols, id) < 0 {
				n.Cols, n.Exprs = append(n.Cols, in[i]), append(n.Exprs, plan.Ref(in[i]))
			}
		})
	}
	return n
}

// collectConds gathers the conditions of filters and inner joins.
func collectConds(n plan.Node, cond *plan.Expr) {
	switch n := n.(type) {
	case *plan.Filter:
		*cond = plan.Conjoin(*cond, plan.CopyExpr(n.Cond))
		collectConds(n.Input, cond)
	case *plan.Barrier: // what is below comes first
		var below plan.Expr
		collectConds(n.Input, &below)
		*cond = plan.Conjoin(below, *cond)
	case *plan.Join:
		if n.Kind == plan.InnerJoin {
			if n.On != nil {
				*cond = plan.Conjoin(*cond, plan.CopyExpr(n.On))
			}
			collectConds(n.Left, cond)
			collectConds(n.Right, cond)
		}
	}
}
