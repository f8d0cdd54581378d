package metamorphic

import (
	"fmt"
	"strings"

	"github.com/lichendb/lichen/internal/sql/generate"
)

// depth is how deep the expressions of checks nest.
const depth = 3

// exact are types of which equal values look alike, so that it does not matter which of them a
// query keeps.
var exact = []string{"int4", "text", "bool", "date", "varchar(4)", "mood", "pair", "int8"}

// predicate draws a condition: one that an index may serve, or any.
func (c *Checker) predicate(s *generate.Scope) string {
	if c.OneIn(2) {
		return "(" + c.Expr(s, "bool", depth) + ")"
	}
	p := c.comparison(s)
	for range c.IntN(3) {
		p = fmt.Sprintf("(%s %s %s)", p, c.Pick("AND", "AND", "OR"), c.comparison(s))
	}
	return p
}

// comparison compares a column with constants, or with another expression.
func (c *Checker) comparison(s *generate.Scope) string {
	col := s.Cols[c.IntN(len(s.Cols))]
	v := func() string { return c.Expr(&generate.Scope{}, col.Type, 0) }
	switch c.IntN(7) {
	case 0:
		return fmt.Sprintf("(%s BETWEEN %s AND %s)", col.Name, v(), v())
	case 1:
		return fmt.Sprintf("(%s IN (%s, %s, %s))", col.Name, v(), v(), v())
	case 2:
		return fmt.Sprintf("(%s IS %sNULL)", col.Name, c.Pick("", "NOT "))
	case 3:
		return fmt.Sprintf("(%s %s %s)", col.Name, c.Pick("=", "<"), c.Expr(s, col.Type, 1))
	case 4:
		id := s.Cols[0]
		return fmt.Sprintf("((%s, %s) %s (%s, %s))", col.Name, id.Name, c.Pick("<", ">=", "="), v(), c.Expr(&generate.Scope{}, id.Type, 0))
	}
	return fmt.Sprintf("(%s %s %s)", col.Name, c.Pick("=", "<", "<=", ">", ">=", "<>"), v())
}

// items are expressions of types over a scope.
func (c *Checker) items(s *generate.Scope, types []string, depth int) string {
	var list []string
	for i, t := range types {
		list = append(list, fmt.Sprintf("%s AS o%d", c.Expr(s, t, depth), i))
	}
	return strings.Join(list, ", ")
}

// draw draws some of the types of a list.
func (c *Checker) draw(list []string) []string {
	var types []string
	for range 1 + c.IntN(3) {
		types = append(types, c.Pick(list...))
	}
	return types
}

// parts are the three conditions, of which each row meets one.
func parts(p string) []string { return []string{p, "NOT " + p, p + " IS NULL"} }

// where are the queries of the three parts.
func where(head, p, tail string) []string {
	var list []string
	for _, part := range parts(p) {
		list = append(list, head+" WHERE "+part+tail)
	}
	return list
}

func (c *Checker) partitionWhere() (string, error) {
	from, s := c.From(nil, 2)
	head := fmt.Sprintf("SELECT %s FROM %s", c.items(s, c.draw(generate.Types), 2), from)
	list := where(head, c.predicate(s), "")
	if c.OneIn(2) {
		return c.same(head, strings.Join(list, " UNION ALL "))
	}
	whole, err := c.ask(head)
	if err != nil {
		return "", err
	}
	var rows []string
	for _, q := range list {
		part, err := c.ask(q)
		if err != nil {
			return "", err
		}
		rows = append(rows, part...)
	}
	return differ(whole, rows), nil
}

func (c *Checker) partitionDistinct() (string, error) {
	from, s := c.From(nil, 2)
	items := c.items(s, c.draw(exact), 2)
	return c.same(fmt.Sprintf("SELECT DISTINCT %s FROM %s", items, from), strings.Join(where(fmt.Sprintf("SELECT %s%s FROM %s", c.Pick("", "DISTINCT "), items, from), c.predicate(s), ""), " UNION "))
}

func (c *Checker) partitionGroups() (string, error) {
	from, s := c.From(nil, 2)
	keys := c.columns(s, exact)
	if keys == "" {
		return "", nil
	}
	head := fmt.Sprintf("SELECT %s FROM %s", keys, from)
	return c.same(head+" GROUP BY "+keys, strings.Join(where(head, c.predicate(s), " GROUP BY "+keys), " UNION "))
}

// columns are one to three columns of some types.
func (c *Checker) columns(s *generate.Scope, types []string) string {
	var list []string
	for _, i := range c.Perm(len(s.Cols)) {
		for _, t := range types {
			if s.Cols[i].Type == t && len(list) < 2 {
				list = append(list, s.Cols[i].Name)
			}
		}
	}
	return strings.Join(list, ", ")
}

func (c *Checker) partitionHaving() (string, error) {
	from, s := c.From(nil, 2)
	keys := c.columns(s, exact)
	if keys == "" {
		return "", nil
	}
	x := c.Expr(s, "int4", 2)
	p := c.Pick(fmt.Sprintf("(max(%s) > %s)", x, c.Expr(&generate.Scope{}, "int4", 1)), fmt.Sprintf("(count(%s) > %d)", x, c.IntN(4)), fmt.Sprintf("(min(%s) = max(%s))", x, x), fmt.Sprintf("bool_or(%s)", c.predicate(s)))
	head := fmt.Sprintf("SELECT %s, count(*), max(%s) FROM %s GROUP BY %s", keys, x, from, keys)
	var list []string
	for _, part := range parts(p) {
		list = append(list, head+" HAVING "+part)
	}
	return c.same(head, strings.Join(list, " UNION ALL "))
}

// partitionAggregates computes aggregates over the parts and puts them together; the parts are
// often empty, and a part may be a query of no row at all.
func (c *Checker) partitionAggregates() (string, error) {
	from, s := c.From(nil, 2)
	x, y, b := c.Expr(s, "int4", 2), c.Expr(s, "text", 2), c.Expr(s, "bool", 2)
	head := fmt.Sprintf("SELECT count(*) n, count(%s) m, sum(%s) s, max(%s) h, min(%s) l, bool_or(%s) b, max(%s) t FROM %s", x, x, x, x, b, y, from)
	return c.same(head, fmt.Sprintf("SELECT sum(n)::int8, sum(m)::int8, sum(s)::int8, max(h), min(l), bool_or(b), max(t) FROM (%s) p", strings.Join(where(head, c.predicate(s), ""), " UNION ALL ")))
}

// reference counts in two ways the rows that a condition is true of: by WHERE, which may be
// optimized, and as a value of every row, which leaves nothing to optimize.
func (c *Checker) reference() (string, error) {
	from, s := c.From(nil, 2)
	p := c.predicate(s)
	fast := fmt.Sprintf("SELECT count(*) FROM %s WHERE %s", from, p)
	slow := fmt.Sprintf("SELECT count(*) FILTER (WHERE b) FROM (SELECT %s AS b FROM %s OFFSET 0) r", p, from)
	return c.same(fast, slow)
}
