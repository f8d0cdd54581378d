package planner

import (
	"slices"

	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// clause names the part of a query that an expression stands in, for errors
// about what is not allowed there.
type clause uint8

// The clauses.
const (
	clauseSelect clause = iota
	clauseWhere
	clauseJoin
	clauseGroupBy
	clauseHaving
	clauseOrderBy
	clauseDistinctOn
	clauseLimit
	clauseFrom
	clauseValues
	clauseInsertTarget
	clauseUpdateSet
	clauseReturning
	clauseCheck
	clauseDefault
	clauseWindow
	clauseFilter
	clauseConflict
	clauseGenerated
	clauseIndexExpr
	clauseIndexWhere
	clauseTransform
	clausePolicy
	clauseTrigger
)

// clauseNames word a clause as in "... are not allowed in %s".
var clauseNames = [...]string{
	clauseSelect: "SELECT", clauseWhere: "WHERE", clauseJoin: "JOIN conditions", clauseGroupBy: "GROUP BY",
	clauseHaving: "HAVING", clauseOrderBy: "ORDER BY", clauseDistinctOn: "DISTINCT ON", clauseLimit: "LIMIT",
	clauseFrom: "functions in FROM", clauseValues: "VALUES", clauseInsertTarget: "INSERT", clauseUpdateSet: "UPDATE",
	clauseReturning: "RETURNING", clauseCheck: "check constraints", clauseDefault: "DEFAULT expressions",
	clauseWindow: "window definitions", clauseFilter: "FILTER", clauseConflict: "ON CONFLICT",
	clauseGenerated: "column generation expressions", clauseIndexWhere: "index predicates", clauseIndexExpr: "index expressions",
	clauseTransform: "transform expressions", clausePolicy: "policy expressions", clauseTrigger: "trigger WHEN conditions",
}

// scope is what names can mean at one place of one query level.
type scope struct {
	// parent is the enclosing query's scope, nil at the top.
	parent *scope
	// bound collects the references that leave this query for parent; nil when
	// parent is at the same query level or absent.
	bound  *boundary
	items  []*item
	ctes   []*cteEntry
	clause clause
	// sel is the SELECT being planned, nil where aggregates, window functions
	// and set-returning functions have no place.
	sel *selectState
	// inAgg is set while the arguments of an aggregate are planned, inWindow
	// while those of a window function are.
	inAgg, inWindow bool
	// takesRowSets is set for the only row of the VALUES of an INSERT.
	takesRowSets bool
	// noSets names the construct whose arguments are planned, where they cannot
	// return sets.
	noSets string
	// beside are the items of the enclosing FROM that a subquery there cannot
	// see without LATERAL, for the error message.
	beside []*item
	// locking are the clauses that lock rows of this query's FROM.
	locking []ast.LockingClause
	// domainValue is what VALUE stands for in the constraint of a domain.
	domainValue plan.Expr
}

// boundary collects the columns of enclosing queries that a subquery, or a query
// of WITH, uses.
type boundary struct {
	refs []plan.ColRef
	// within is the boundary of the query that a WITH query belongs to: what that
	// one uses, this one does.
	within *boundary
	// round is the plan.CTE.Round of the recursive query whose recursive term this
	// is: nobody outside knows it.
	round plan.ColID
}

func (bd *boundary) add(r *plan.ColRef) {
	if bd == nil || bd.round != 0 && bd.round == r.Col {
		return
	}
	bd.within.add(r)
	for i := range bd.refs {
		if bd.refs[i].Col == r.Col {
			return
		}
	}
	bd.refs = append(bd.refs, *r)
}

// item is an entry of FROM that names can refer to.
type item struct {
	alias string
	table *catalog.Table
	view  *catalog.Table // a view that stands here
	// guard and wall restrict the rows, nil where nothing does.
	guard *guard
	wall  *plan.Barrier
	// plain is the table or view, if it has no alias: its name may be qualified.
	plain *catalog.Table
	cols  []scopeCol
	// relVisible: alias.column finds it; colsVisible: column alone finds it.
	relVisible, colsVisible bool
	// closed is set for the relation that a statement changes while its FROM is planned: LATERAL
	// finds it there and is refused.
	closed bool
	// behind are the parts of a join that its alias hides.
	behind []*item
	// nullable says that an outer join may make the whole row NULL.
	nullable bool
	// present, if set, is a column that is NULL only where an outer join found no row.
	present *scopeCol
	// scalarFunc marks a function in FROM that returns one scalar column: its
	// alias means the column, not a row.
	scalarFunc bool
	// rowType is the composite type of which rows are values, if they are of a function
	// that returns them.
	rowType *types.T
	// sub marks a subquery or view, cte a WITH query, working the reference of
	// one to itself, join a join's alias.
	sub, cte, working, join bool
	// scan is the plan that produces the columns, for locking clauses.
	scan plan.Node
	// xmax stands for the system column of that name, where it is known.
	xmax plan.Expr
	rel  *Relation // once noted
	use  *use      // of its relation, if privileges on that are needed
}

// scopeCol is a column of an item.
type scopeCol struct {
	name   string
	col    plan.Column
	expr   plan.Expr // what a reference means if it is not col: a merged USING column
	hidden bool      // not part of *
	later  bool      // hidden as of after the view that is read: part of whole rows only
	// computed columns are not in the rows of their table: expr computes them from others.
	computed bool
	at       int32 // its place in home
	home     *item // through which it is named; nil if a join computes it
	use      *use  // of the relation whose column it is, nil if reading it takes no privilege
	useAt    int32 // its position there
}

func (b *builder) rootScope() *scope { return &scope{} }

// child returns a scope for a query nested in s.
func (s *scope) child() *scope {
	return &scope{parent: s, bound: &boundary{}}
}

// in returns a copy of s for another clause.
func (s *scope) in(c clause) *scope {
	n := *s
	n.clause = c
	return &n
}

// withoutSets returns a copy of s for the arguments of a construct that does not
// take sets.
func (s *scope) withoutSets(what string) *scope {
	n := *s
	n.noSets = what
	return &n
}

// outer returns the columns of enclosing queries that were used in s.
func (s *scope) outer() []plan.ColRef {
	if s.bound == nil {
		return nil
	}
	return s.bound.refs
}

// tableItem makes the item of a table read by node, with all its columns.
func tableItem(t *catalog.Table, alias string, cols []plan.Column, node plan.Node) *item {
	it := &item{alias: alias, table: t, relVisible: true, colsVisible: true, scan: node}
	it.cols = make([]scopeCol, len(cols))
	for i := range cols {
		it.cols[i] = scopeCol{name: cols[i].Name, col: cols[i], hidden: !t.Columns[i].InStar(), at: int32(i), home: it}
		if t.Columns[i].Virtual {
			it.cols[i].name = "" // nothing refers to it by name, unless computeItem has been there
		}
	}
	return it
}

// named notes that it is relation t as ref names it.
func (it *item) named(ref *ast.TableRef, t *catalog.Table) {
	if ref.Alias.Name == "" {
		it.plain = t
	}
}

// colsItem makes an item of plain columns.
func colsItem(alias string, cols []plan.Column) *item {
	it := &item{alias: alias, relVisible: true, colsVisible: true}
	it.cols = make([]scopeCol, len(cols))
	for i := range cols {
		it.cols[i] = scopeCol{name: cols[i].Name, col: cols[i], at: int32(i), home: it}
	}
	return it
}

// ref makes an expression that yields the column.
func (c *scopeCol) ref(pos int) plan.Expr {
	c.use.read(int(c.useAt))
	if c.expr != nil {
		return plan.CopyExpr(c.expr)
	}
	return &plan.ColRef{Col: c.col.ID, T: c.col.Type, Name: c.name, Pos: pos}
}

// cteEntry is a name defined by WITH.
type cteEntry struct {
	name    string
	cte     *plan.CTE
	cols    []plan.Column // of its plan, renamed
	working bool          // inside its own recursive term
	used    bool          // the recursive term referred to it
	// seen is how many columns the recursive term sees, shown how many the
	// query does: those after them serve SEARCH and CYCLE. 0 means all.
	seen, shown int
	// inner are the queries of a WITH clause of its own.
	inner []*plan.CTE
	// outer are the columns that its rows depend on: those of enclosing queries and
	// rounds of enclosing recursions.
	outer []plan.ColRef
}

// useCTE records at the queries between s and the one that defines e that they use
// what e depends on: read again with other values there, it has other rows.
func (s *scope) useCTE(e *cteEntry) {
	for lv := s; lv != nil; lv = lv.parent {
		for i := range e.outer {
			if !e.working || !plant.On(plant.RoundForgotten) {
				lv.bound.add(&e.outer[i])
			}
		}
		if slices.Contains(lv.ctes, e) {
			return
		}
	}
}

// findCTE looks a CTE name up through the enclosing queries.
func (s *scope) findCTE(name ast.Name) *cteEntry {
	for ; s != nil; s = s.parent {
		for i := len(s.ctes) - 1; i >= 0; i-- {
			if s.ctes[i].name == name {
				return s.ctes[i]
			}
		}
	}
	return nil
}
