package planner

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// recursionContext is where a recursive term refers to its query, if that is
// not allowed there.
type recursionContext uint8

const (
	recursionOK recursionContext = iota
	recursionFirst
	recursionSubquery
	recursionOuterJoin
	recursionIntersect
	recursionExcept
)

var recursionNames = [...]string{
	recursionFirst: "its non-recursive term", recursionSubquery: "a subquery", recursionOuterJoin: "an outer join",
	recursionIntersect: "INTERSECT", recursionExcept: "EXCEPT",
}

// refersTo reports whether a statement names a WITH query.
func refersTo(st ast.Node, name ast.Name) bool {
	r := selfRefs{name: name, any: true}
	r.visit(st, recursionOK)
	return r.count > 0
}

// withOrder returns the queries of WITH RECURSIVE with those first that others
// refer to.
func withOrder(w *ast.With) ([]*ast.CTE, error) {
	if !w.Recursive || len(w.CTEs) < 2 {
		return w.CTEs, nil
	}
	rest := append([]*ast.CTE(nil), w.CTEs...)
	out := make([]*ast.CTE, 0, len(rest))
	for len(rest) > 0 {
		next := -1
		for i := 0; i < len(rest) && next < 0; i++ {
			if !refersToOthers(rest[i], rest) {
				next = i
			}
		}
		if next < 0 {
			return nil, pgerr.Unsupported("mutual recursion between WITH items is not implemented").At(rest[0].Pos)
		}
		out = append(out, rest[next])
		rest = append(rest[:next], rest[next+1:]...)
	}
	return out, nil
}

func refersToOthers(c *ast.CTE, list []*ast.CTE) bool {
	for _, o := range list {
		if o != c && o.Name != c.Name && refersTo(c.Stmt, o.Name) {
			return true
		}
	}
	return false
}

// checkRecursion checks the form of a query in WITH RECURSIVE that refers to
// itself.
func checkRecursion(c *ast.CTE) error {
	if !refersTo(c.Stmt, c.Name) {
		return nil
	}
	q, ok := c.Stmt.(*ast.Select)
	switch {
	case !ok:
		return pgerr.New(pgerr.InvalidRecursion, "recursive query \"%s\" must not contain data-modifying statements", c.Name).At(c.Pos)
	case q.Op != ast.SetUnion:
		return pgerr.New(pgerr.InvalidRecursion,
			"recursive query \"%s\" does not have the form non-recursive-term UNION [ALL] recursive-term", c.Name).At(c.Pos)
	}
	r := selfRefs{name: c.Name}
	if q.With != nil {
		for _, w := range q.With.CTEs {
			r.visit(w.Stmt, recursionSubquery)
		}
	}
	r.visit(q.L, recursionFirst)
	if r.visit(q.R, recursionOK); r.err != nil {
		return r.err
	}
	what, pos := "", 0
	switch {
	case len(q.OrderBy) > 0:
		what, pos = "ORDER BY", q.OrderBy[0].X.Position()
	case q.Offset != nil:
		what, pos = "OFFSET", q.Offset.Position()
	case q.Limit != nil:
		what, pos = "LIMIT", q.Limit.Position()
	case len(q.Locking) > 0:
		what, pos = "FOR UPDATE/SHARE", q.Locking[0].Pos
	default:
		return nil
	}
	return pgerr.Unsupported("%s in a recursive query is not implemented", what).At(pos)
}

// selfRefs finds the references to a WITH query.
type selfRefs struct {
	name  ast.Name
	any   bool // count only
	count int
	err   error
}

// visit walks n, which stands in context c.
func (r *selfRefs) visit(n ast.Node, c recursionContext) {
	if r.err != nil || n == nil {
		return
	}
	if r.special(n, c) {
		return
	}
	ast.Walk(n, func(m ast.Node) bool {
		if m == n {
			return true
		}
		return r.err == nil && !r.special(m, c)
	})
}

// special handles the nodes that matter; false means that what is below counts
// like n itself.
func (r *selfRefs) special(n ast.Node, c recursionContext) bool {
	switch n := n.(type) {
	case *ast.TableRef:
		if n.Name.Schema == "" && n.Name.Catalog == "" && n.Name.Table == r.name {
			r.found(n, c)
		}
		return true
	case *ast.Subquery:
		r.visit(n.Query, inside(c, recursionSubquery))
		return true
	case *ast.In:
		r.visit(n.X, c)
		if n.Query == nil {
			return false
		}
		r.visit(n.Query, inside(c, recursionSubquery))
		return true
	case *ast.Quantified:
		if n.Query == nil {
			return false
		}
		r.visit(n.L, c)
		r.visit(n.Query, inside(c, recursionSubquery))
		return true
	case *ast.Join:
		return r.join(n, c)
	case *ast.Select:
		return r.query(n, c)
	}
	return false
}

// inside is the context within another: the outer one is named.
func inside(c, inner recursionContext) recursionContext {
	if c != recursionOK {
		return c
	}
	return inner
}

func (r *selfRefs) join(n *ast.Join, c recursionContext) bool {
	left, right := c, c
	if n.Kind == ast.JoinLeft || n.Kind == ast.JoinFull {
		right = inside(c, recursionOuterJoin)
	}
	if n.Kind == ast.JoinRight || n.Kind == ast.JoinFull {
		left = inside(c, recursionOuterJoin)
	}
	r.visit(n.L, left)
	r.visit(n.R, right)
	if n.On != nil {
		r.visit(n.On, c)
	}
	return true
}

func (r *selfRefs) query(n *ast.Select, c recursionContext) bool {
	if n.With != nil {
		for _, x := range n.With.CTEs {
			if x.Name == r.name {
				return true // another query of that name
			}
		}
	}
	left, right := c, c
	switch {
	case n.Op == ast.SetExcept:
		right = inside(c, recursionExcept)
		if n.All {
			left = right
		}
	case n.Op == ast.SetIntersect && n.All:
		right = inside(c, recursionIntersect)
		left = right
	default:
		return false
	}
	r.visit(n.L, left)
	r.visit(n.R, right)
	return true
}

func (r *selfRefs) found(n *ast.TableRef, c recursionContext) {
	r.count++
	switch {
	case r.any || r.err != nil:
	case c != recursionOK:
		r.err = pgerr.New(pgerr.InvalidRecursion, "recursive reference to query \"%s\" must not appear within %s", r.name, recursionNames[c]).At(n.Pos)
	case r.count > 1:
		r.err = pgerr.New(pgerr.InvalidRecursion, "recursive reference to query \"%s\" must not appear more than once", r.name).At(n.Pos)
	}
}
