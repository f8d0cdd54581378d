package deparse

import (
	"strconv"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/planner"
)

// namespace holds the names of the relations of a query, each of which differs from
// those of the queries around it.
type namespace struct {
	outer *namespace
	names map[*planner.Relation]string
	taken map[string]bool
	with  map[string]bool // names of the queries of its WITH
}

// add gives a relation a name: the one it has, or that with a number.
func (n *namespace) add(r *planner.Relation, name string) {
	if n.names == nil {
		n.names = map[*planner.Relation]string{}
	}
	if n.taken == nil {
		n.taken = map[string]bool{}
	}
	unique := name
	for i := 1; n.used(unique); i++ {
		unique = name + "_" + strconv.Itoa(i)
	}
	n.names[r], n.taken[unique] = unique, true
}

func (n *namespace) used(name string) bool {
	for ; n != nil; n = n.outer {
		if n.taken[name] {
			return true
		}
	}
	return false
}

// of returns the name of a relation of this query or one around it.
func (n *namespace) of(r *planner.Relation) (string, bool) {
	for ; n != nil; n = n.outer {
		if name, ok := n.names[r]; ok {
			return name, true
		}
	}
	return "", false
}

// enter names the relations of a query's FROM in the order in which they stand there.
func (d *deparser) enter(q *ast.Select) {
	d.names = &namespace{outer: d.names}
	if q.With != nil {
		d.names.with = map[string]bool{}
		for _, c := range q.With.CTEs {
			d.names.with[c.Name] = true
		}
	}
	for _, te := range q.From {
		d.nameItems(te)
	}
	d.nameColumns(q.From)
}

func (d *deparser) leave() { d.names = d.names.outer }

func (d *deparser) nameItems(te ast.TableExpr) {
	if j, ok := te.(*ast.Join); ok {
		d.nameItems(j.L)
		d.nameItems(j.R)
	}
	r := d.notes.Relations[te]
	if r == nil {
		return
	}
	name := r.Alias
	if name == "" {
		name = "unnamed_subquery"
	}
	d.names.add(r, name)
}

// columnText is how a column is called.
func (d *deparser) columnText(c planner.NotedColumn) string {
	if c.Relation == nil {
		if c.Name == "" {
			d.unsupported(c)
		}
		return ast.QuoteIdent(d.columnName(c))
	}
	name, ok := d.names.of(c.Relation)
	if !ok {
		d.unsupported(c)
	}
	switch {
	case c.Name == "":
		return ast.QuoteIdent(name) + ".*"
	case d.bare || d.names == d.top:
		return ast.QuoteIdent(c.Name)
	}
	return ast.QuoteIdent(name) + "." + ast.QuoteIdent(d.columnName(c))
}

// columnName is the name of a column in its relation, where each has its own, or in its join.
func (d *deparser) columnName(c planner.NotedColumn) ast.Name {
	switch {
	case c.Join != nil:
		return d.using[c.Join][c.At]
	case c.Relation == nil || c.Name == "":
		return c.Name
	}
	return d.columnsOf(c.Relation)[c.At]
}

// ofQuery reports whether a reference means a column of the query that is printed, rather than
// of one around it.
func (d *deparser) ofQuery(ref *ast.ColumnRef) bool {
	c, ok := d.notes.Columns[ref]
	if c.Relation == nil {
		return ok
	}
	_, here := d.names.names[c.Relation]
	return here
}
