package planner

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Names that no query can write, for what SEARCH and CYCLE need.
const (
	searchAlias = "*SEARCH*"
	depthColumn = "*DEPTH*"
)

// extraColumn is a column that SEARCH or CYCLE adds to a recursive query.
type extraColumn struct {
	name ast.Name
	// first and next compute it, in the first term and in the recursive one;
	// next refers to the row's columns and to the previous row's extras.
	first, next ast.Expr
}

// searchedCTE plans a recursive query with a SEARCH or CYCLE clause: as one
// whose terms are wrapped in queries that compute the clauses' columns.
func (b *builder) searchedCTE(c *ast.CTE, recursive bool, e *cteEntry, s *scope) error {
	q, ok := c.Stmt.(*ast.Select)
	if !ok || !recursive || q.Op != ast.SetUnion {
		return pgerr.New(pgerr.SyntaxError, "WITH query is not recursive").At(c.Pos)
	}
	for _, side := range []*ast.Select{q.L, q.R} {
		if side.Op != ast.SetNone {
			which := "left"
			if side == q.R {
				which = "right"
			}
			return pgerr.New(pgerr.FeatureNotSupported,
				"with a SEARCH or CYCLE clause, the %s side of the UNION must be a SELECT", which).At(c.Pos)
		}
	}
	first, err := b.setOpSide(q.L, &scope{parent: s.parent, bound: s.bound, ctes: s.ctes})
	if err != nil {
		return err
	}
	var cols []ast.Name
	for i := range first.targets {
		cols = append(cols, first.targets[i].name)
	}
	if err := checkCTECols(c, len(cols)); err != nil {
		return err
	}
	copy(cols, c.Cols)
	if err := checkSearch(c, cols); err != nil {
		return err
	}
	alias := recursiveAlias(q.R.From, c.Name)
	if !refersTo(q.R, c.Name) {
		return pgerr.New(pgerr.SyntaxError, "WITH query is not recursive").At(c.Pos)
	}
	if alias == "" || q.With != nil {
		return pgerr.Unsupported("SEARCH and CYCLE of a query that refers to itself in a subquery are not supported").At(c.Pos)
	}
	extras := searchColumns(c)
	e.seen, e.shown = len(cols), len(cols)+len(extras)
	if c.Search != nil && c.Search.Breadth {
		e.shown--
	}
	whole := *q
	whole.L, whole.R = wrapFirst(q.L, cols, extras), wrapNext(q.R, alias, cols, extras, c.Cycle)
	plain := *c
	plain.Search, plain.Cycle, plain.Cols, plain.Stmt = nil, nil, nil, &whole
	return b.recursiveCTE(&plain, &whole, e, s)
}

// hide hides columns of a reference to the query that it must not see.
func (e *cteEntry) hide(it *item) {
	n := e.shown
	if e.working {
		n = e.seen
	}
	for i := n; n > 0 && i < len(it.cols); i++ {
		it.cols[i].hidden = true
	}
}

// checkSearch checks the names in SEARCH and CYCLE clauses.
func checkSearch(c *ast.CTE, cols []ast.Name) error {
	if s := c.Search; s != nil {
		if err := checkSearchCols("search", s.By, cols, s.Pos); err != nil {
			return err
		}
		if containsName(cols, s.Set) {
			return pgerr.New(pgerr.SyntaxError, "search sequence column name \"%s\" already used in WITH query column list", s.Set).At(s.Pos)
		}
	}
	y := c.Cycle
	if y == nil {
		return nil
	}
	if err := checkSearchCols("cycle", y.Cols, cols, y.Pos); err != nil {
		return err
	}
	msg := ""
	switch {
	case containsName(cols, y.Mark):
		msg = "cycle mark column name \"" + y.Mark + "\" already used in WITH query column list"
	case containsName(cols, y.Path):
		msg = "cycle path column name \"" + y.Path + "\" already used in WITH query column list"
	case y.Mark == y.Path:
		msg = "cycle mark column name and cycle path column name are the same"
	case c.Search != nil && c.Search.Set == y.Mark:
		msg = "search sequence column name and cycle mark column name are the same"
	case c.Search != nil && c.Search.Set == y.Path:
		msg = "search sequence column name and cycle path column name are the same"
	default:
		return nil
	}
	return pgerr.New(pgerr.SyntaxError, "%s", msg).At(y.Pos)
}

func checkSearchCols(what string, names, cols []ast.Name, pos int) error {
	for i, n := range names {
		if !containsName(cols, n) {
			return pgerr.New(pgerr.SyntaxError, "%s column \"%s\" not in WITH query column list", what, n).At(pos)
		}
		if containsName(names[:i], n) {
			return pgerr.New(pgerr.DuplicateColumn, "%s column \"%s\" specified more than once", what, n).At(pos)
		}
	}
	return nil
}

// recursiveAlias finds the name under which a FROM list refers to the query
// being defined, "" if it does not.
func recursiveAlias(list []ast.TableExpr, name ast.Name) ast.Name {
	for _, te := range list {
		switch te := te.(type) {
		case *ast.TableRef:
			if te.Name.Schema == "" && te.Name.Catalog == "" && te.Name.Table == name {
				return aliasOf(te)
			}
		case *ast.Join:
			if a := recursiveAlias([]ast.TableExpr{te.L, te.R}, name); a != "" {
				return a
			}
		}
	}
	return ""
}

// searchColumns returns the columns that the clauses of c add, the depth of a
// breadth-first search last.
func searchColumns(c *ast.CTE) []extraColumn {
	var out []extraColumn
	var depth *extraColumn
	if s := c.Search; s != nil {
		col := extraColumn{name: s.Set}
		if s.Breadth {
			zero := &ast.Cast{X: &ast.IntLit{}, Type: &ast.TypeName{Names: []ast.Name{"pg_catalog", "int8"}}}
			next := &ast.BinaryOp{Op: ast.Operator{Name: "+"}, L: searchRef(depthColumn), R: &ast.IntLit{Val: 1}}
			depth = &extraColumn{name: depthColumn, first: zero, next: next}
			col.first, col.next = searchRow(s.By, zero), searchRow(s.By, next)
		} else {
			col.first, col.next = oneElement(s.By), appended(s.Set, s.By)
		}
		out = append(out, col)
	}
	if y := c.Cycle; y != nil {
		value, otherwise := y.Value, y.Default
		if value == nil {
			value, otherwise = &ast.BoolLit{Val: true}, &ast.BoolLit{}
		}
		choose := func(cond ast.Expr) ast.Expr {
			return &ast.Case{Whens: []ast.When{{Cond: cond, Result: value}}, Else: otherwise}
		}
		seen := &ast.Quantified{L: searchRow(y.Cols, nil), Op: ast.Operator{Name: "="}, Array: searchRef(y.Path)}
		out = append(out,
			extraColumn{y.Mark, choose(&ast.BoolLit{}), choose(seen)},
			extraColumn{y.Path, oneElement(y.Cols), appended(y.Path, y.Cols)})
	}
	if depth != nil {
		out = append(out, *depth)
	}
	return out
}

func searchRef(n ast.Name) ast.Expr { return &ast.ColumnRef{Table: searchAlias, Column: n} }

// searchRow is ROW of the columns, after what stands first if that is set.
func searchRow(cols []ast.Name, first ast.Expr) ast.Expr {
	r := &ast.Row{Explicit: true}
	if first != nil {
		r.Elems = append(r.Elems, first)
	}
	for _, n := range cols {
		r.Elems = append(r.Elems, searchRef(n))
	}
	return r
}

func oneElement(cols []ast.Name) ast.Expr {
	return &ast.ArrayExpr{Elems: []ast.Expr{searchRow(cols, nil)}}
}

func appended(path ast.Name, cols []ast.Name) ast.Expr {
	return &ast.BinaryOp{Op: ast.Operator{Name: "||"}, L: searchRef(path), R: oneElement(cols)}
}

// wrapFirst adds the columns to the first term.
func wrapFirst(q *ast.Select, cols []ast.Name, extras []extraColumn) *ast.Select {
	out := wrapTerm(q, cols)
	for _, x := range extras {
		out.Items = append(out.Items, ast.SelectItem{X: x.first, Alias: x.name})
	}
	return out
}

// wrapNext adds the columns to the recursive term, which passes on the previous
// row's; rows that close a cycle are not followed.
func wrapNext(q *ast.Select, alias ast.Name, cols []ast.Name, extras []extraColumn, cycle *ast.CycleClause) *ast.Select {
	inner := *q
	inner.Items = slices.Clone(q.Items)
	names := slices.Clone(cols)
	for _, x := range extras {
		inner.Items = append(inner.Items, ast.SelectItem{X: &ast.ColumnRef{Table: alias, Column: x.name}})
		names = append(names, x.name)
	}
	if cycle != nil {
		var value ast.Expr = &ast.BoolLit{Val: true}
		if cycle.Value != nil {
			value = cycle.Value
		}
		var cond ast.Expr = &ast.BinaryOp{Op: ast.Operator{Name: "<>"}, L: &ast.ColumnRef{Table: alias, Column: cycle.Mark}, R: value}
		if q.Where != nil {
			cond = &ast.And{Args: []ast.Expr{q.Where, cond}}
		}
		inner.Where = cond
	}
	out := wrapTerm(&inner, cols)
	out.From[0].(*ast.SubqueryRef).Alias.Cols = names
	for _, x := range extras {
		out.Items = append(out.Items, ast.SelectItem{X: x.next, Alias: x.name})
	}
	return out
}

func wrapTerm(q *ast.Select, cols []ast.Name) *ast.Select {
	out := &ast.Select{Loc: q.Loc}
	out.From = []ast.TableExpr{&ast.SubqueryRef{Loc: q.Loc, Query: q, Alias: ast.Alias{Name: searchAlias, Cols: cols}}}
	for _, n := range cols {
		out.Items = append(out.Items, ast.SelectItem{X: searchRef(n), Alias: n})
	}
	return out
}
