package optimizer

import (
	"github.com/lichendb/lichen/internal/sql/plan"
)

// inline replaces the only reference to a CTE by its plan, where that cannot be
// observed: the CTE is a plain query without volatile calls or locks that was
// not declared MATERIALIZED. It returns the statement's root.
func (o *optimizer) inline(p *plan.Prepared) plan.Node {
	p.Root = o.inlineCTEs(p.Root)
	if len(o.aliases) == 0 {
		return p.Root
	}
	m := func(id plan.ColID) plan.ColID {
		for {
			to, ok := o.aliases[id]
			if !ok {
				return id
			}
			id = to
		}
	}
	plan.Rename(p.Root, m)
	for i := range p.Columns {
		p.Columns[i].ID = m(p.Columns[i].ID)
	}
	return p.Root
}

func (o *optimizer) inlineCTEs(n plan.Node) plan.Node {
	eachSubquery(n, func(s *plan.Subquery) { s.Plan = o.inlineCTEs(s.Plan) })
	w, ok := n.(*plan.With)
	if !ok {
		eachChild(n, o.inlineCTEs)
		return n
	}
	var kept []*plan.CTE
	for i, c := range w.CTEs {
		c.Plan = o.inlineCTEs(c.Plan)
		uses := countUses(w.Body, c.ID)
		for _, later := range w.CTEs[i+1:] {
			uses += countUses(later.Plan, c.ID)
			if later.Recursive != nil {
				uses += 2 * countUses(later.Recursive, c.ID)
			}
		}
		switch {
		case c.Modifies:
			kept = append(kept, c)
		case uses == 0:
		case c.Recursive != nil || uses > 1 || c.Materialized || !plan.Pure(c.Plan):
			kept = append(kept, c)
		default:
			o.substitute(w, w.CTEs[i+1:], c)
		}
	}
	w.Body = o.inlineCTEs(w.Body)
	w.CTEs = kept
	o.emptyWiths = o.emptyWiths || len(kept) == 0
	return w
}

// dropWiths drops the WITH clauses of which inlineCTEs has left nothing. They stay until constants are
// folded: PostgreSQL does not make a query with such a clause part of the one around it before that.
func (o *optimizer) dropWiths(n plan.Node) plan.Node {
	if !o.emptyWiths {
		return n
	}
	eachChild(n, o.dropWiths)
	eachSubquery(n, func(s *plan.Subquery) { s.Plan = o.dropWiths(s.Plan) })
	if w, ok := n.(*plan.With); ok && len(w.CTEs) == 0 {
		return w.Body
	}
	return n
}

// substitute puts c's plan where it is referred to.
func (o *optimizer) substitute(w *plan.With, later []*plan.CTE, c *plan.CTE) {
	w.Body = o.replaceCTE(w.Body, c)
	for _, l := range later {
		l.Plan = o.replaceCTE(l.Plan, c)
	}
}

func (o *optimizer) replaceCTE(n plan.Node, c *plan.CTE) plan.Node {
	if s, ok := n.(*plan.CTEScan); ok && s.ID == c.ID {
		if o.aliases == nil {
			o.aliases = map[plan.ColID]plan.ColID{}
		}
		for i := range s.Cols {
			o.aliases[s.Cols[i].ID] = s.SourceCols[i]
		}
		return c.Plan
	}
	eachChild(n, func(m plan.Node) plan.Node { return o.replaceCTE(m, c) })
	eachSubquery(n, func(s *plan.Subquery) { s.Plan = o.replaceCTE(s.Plan, c) })
	return n
}

// eachSubquery calls f for the subqueries in n's own expressions.
func eachSubquery(n plan.Node, f func(*plan.Subquery)) {
	plan.VisitExprs(n, func(e *plan.Expr) {
		plan.WalkExpr(*e, func(x plan.Expr) bool {
			if s, ok := x.(*plan.Subquery); ok {
				f(s)
			}
			return true
		})
	})
}

// everyNode visits all operators, those of subqueries included.
func everyNode(n plan.Node, f func(plan.Node)) {
	plan.Walk(n, func(n plan.Node) bool {
		f(n)
		eachSubquery(n, func(s *plan.Subquery) { everyNode(s.Plan, f) })
		return true
	})
}

func countUses(n plan.Node, id int) (uses int) {
	everyNode(n, func(n plan.Node) {
		if s, ok := n.(*plan.CTEScan); ok && s.ID == id {
			uses++
		}
	})
	return uses
}
