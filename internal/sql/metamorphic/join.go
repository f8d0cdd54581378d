package metamorphic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/generate"
)

// membership draws the parts of "x IN (query)" over a FROM clause.
func (c *Checker) membership() (from, items, x, q string) {
	from, s := c.From(nil, 2)
	typ := c.Pick(exact...)
	items, x = c.items(s, c.draw(exact), 1), c.Expr(s, typ, 1)
	if c.OneIn(2) {
		q = c.Query(nil, []string{typ}, 2)
	} else {
		inner, si := c.From(nil, 1)
		q = fmt.Sprintf("SELECT %s FROM %s WHERE %s", c.Expr(si, typ, 1), inner, c.predicate(si))
	}
	return from, items, x, q
}

// semiJoin asks for members in four ways.
func (c *Checker) semiJoin() (string, error) {
	from, items, x, q := c.membership()
	head := fmt.Sprintf("SELECT %s FROM %s", items, from)
	return c.same(fmt.Sprintf("%s WHERE %s IN (%s)", head, x, q), c.Pick(
		fmt.Sprintf("%s WHERE EXISTS (SELECT 1 FROM (%s) m(y) WHERE m.y = %s)", head, q, x),
		fmt.Sprintf("%s WHERE %s = ANY (%s)", head, x, q),
		fmt.Sprintf("%s WHERE (SELECT bool_or(m.y = %s) FROM (%s) m(y))", head, x, q),
		fmt.Sprintf("%s WHERE (%s IN (%s)) IS TRUE", head, x, q)))
}

// antiJoin asks for rows that are no members. NOT IN is not true where a member is NULL.
func (c *Checker) antiJoin() (string, error) {
	from, items, x, q := c.membership()
	head := fmt.Sprintf("SELECT %s FROM %s", items, from)
	if c.OneIn(2) {
		return c.same(fmt.Sprintf("%s WHERE %s NOT IN (%s)", head, x, q), c.Pick(
			fmt.Sprintf("%s WHERE NOT EXISTS (SELECT 1 FROM (%s) m(y) WHERE (m.y = %s) IS NOT FALSE)", head, q, x),
			fmt.Sprintf("%s WHERE %s <> ALL (%s)", head, x, q),
			fmt.Sprintf("%s WHERE coalesce((SELECT bool_and(coalesce(m.y <> %s, false)) FROM (%s) m(y)), true)", head, x, q)))
	}
	return c.same(fmt.Sprintf("%s WHERE NOT EXISTS (SELECT 1 FROM (%s) m(y) WHERE m.y = %s)", head, q, x), c.Pick(
		fmt.Sprintf("%s WHERE (%s IN (%s)) IS NOT TRUE", head, x, q),
		fmt.Sprintf("%s WHERE (SELECT count(*) FROM (%s) m(y) WHERE m.y = %s) = 0", head, q, x)))
}

// outerJoin makes an outer join of an inner one and the rows that found no partner, and filters
// both.
func (c *Checker) outerJoin() (string, error) {
	t, u := c.Schema.Tables[c.IntN(len(c.Schema.Tables))], c.Schema.Tables[c.IntN(len(c.Schema.Tables))]
	both := &generate.Scope{}
	var left, right, nulls []string
	for _, col := range t.Cols {
		both.Cols = append(both.Cols, generate.Column{Name: "l." + col.Name, Type: col.Type})
		left = append(left, fmt.Sprintf("l.%s AS l_%s", col.Name, col.Name))
	}
	for _, col := range u.Cols {
		both.Cols = append(both.Cols, generate.Column{Name: "r." + col.Name, Type: col.Type})
		right = append(right, fmt.Sprintf("r.%s AS r_%s", col.Name, col.Name))
		nulls = append(nulls, "NULL::"+generate.TypeSQL(col.Type))
	}
	filtered := &generate.Scope{}
	for _, col := range both.Cols {
		filtered.Cols = append(filtered.Cols, generate.Column{Name: strings.Replace(col.Name, ".", "_", 1), Type: col.Type})
	}
	on, filter := c.predicate(both), c.predicate(filtered)
	if c.OneIn(2) {
		on = fmt.Sprintf("l.id = r.%s AND %s", c.Pick("id", firstInt(u)), on)
	}
	columns := strings.Join(append(left, right...), ", ")
	join := fmt.Sprintf("SELECT %s FROM %s l LEFT JOIN %s r ON %s", columns, t.Name, u.Name, on)
	apart := fmt.Sprintf("SELECT %s FROM %s l JOIN %s r ON %s UNION ALL SELECT %s, %s FROM %s l WHERE NOT EXISTS (SELECT 1 FROM %s r WHERE %s)",
		columns, t.Name, u.Name, on, strings.Join(left, ", "), strings.Join(nulls, ", "), t.Name, u.Name, on)
	head := "SELECT l_id, r_id FROM ("
	return c.same(head+join+") j WHERE "+filter, head+apart+") j WHERE "+filter)
}

// firstInt is a column of integers besides the key, if there is one.
func firstInt(t generate.Table) string {
	for _, col := range t.Cols[1:] {
		if col.Type == "int4" {
			return col.Name
		}
	}
	return "id"
}

// rowByRow computes expressions for all rows of a table at once, and for each alone.
func (c *Checker) rowByRow() (string, error) {
	t := c.Schema.Tables[c.IntN(len(c.Schema.Tables))]
	s := &generate.Scope{}
	for _, col := range t.Cols {
		s.Cols = append(s.Cols, generate.Column{Name: "t." + col.Name, Type: col.Type})
	}
	e := c.computed(s, c.Pick(generate.Types...))
	head := fmt.Sprintf("SELECT t.id, %s FROM %s t", e, t.Name)
	ids, err := c.ask("SELECT id FROM " + t.Name)
	if err != nil {
		return "", err
	}
	whole, err := c.ask(head)
	if err != nil {
		return "", err
	}
	var rows []string
	for _, id := range ids {
		row, err := c.ask(fmt.Sprintf("%s WHERE t.id = %s", head, strings.Trim(id, `"`)))
		if err != nil {
			return "", err
		}
		rows = append(rows, row...)
	}
	return differ(whole, rows), nil
}

// computed draws an expression that depends on the row through a subquery or a WITH, or any.
func (c *Checker) computed(s *generate.Scope, typ string) string {
	e := c.Expr(s, typ, 2)
	switch c.IntN(4) {
	case 0:
		return fmt.Sprintf("(WITH w AS %s(SELECT %s AS z) SELECT (SELECT z FROM w))", c.Pick("", "MATERIALIZED "), e)
	case 1:
		return fmt.Sprintf("(SELECT z FROM (SELECT %s AS z OFFSET 0) w)", e)
	case 2:
		return fmt.Sprintf("(SELECT (SELECT max(n) FROM (VALUES (1), (2)) v(n) WHERE n > 1) * 0 + w.one = 1 AND %s IS NULL FROM (SELECT 1 AS one) w)", e)
	}
	return c.Expr(s, typ, depth)
}

// outerBelowJoin joins the rows of an outer join with those of a table by its key, under a condition that
// reads the outer join's right side and does not refuse its NULLs.
func (c *Checker) outerBelowJoin() (string, error) {
	l, r, t := c.aliased("l"), c.aliased("r"), c.aliased("t")
	beside := &generate.Scope{Cols: append(append([]generate.Column{}, r.cols...), t.cols...)}
	x, y := r.number(c), t.number(c)
	condition := fmt.Sprintf(c.Pick("coalesce(%[1]s, %[2]s) = %[2]s", "(%[1]s IS NULL) = (%[2]s > 2)", "%[1]s IS DISTINCT FROM %[2]s", "coalesce(%[1]s < %[2]s, true)"), x, y)
	if c.OneIn(3) {
		condition = c.predicate(beside)
	}
	all := &generate.Scope{Cols: append(append([]generate.Column{}, l.cols...), beside.Cols...)}
	return c.withoutRules(fmt.Sprintf("SELECT %s FROM %s LEFT JOIN %s ON %s = %s JOIN %s ON %s = t.id AND %s",
		c.items(all, c.draw(exact), 1), l.from, r.from, l.number(c), r.number(c), t.from, l.number(c), condition))
}

// aliased is a table under an alias.
type aliased struct {
	from string
	cols []generate.Column
}

func (c *Checker) aliased(alias string) aliased {
	t := c.Schema.Tables[c.IntN(len(c.Schema.Tables))]
	a := aliased{from: t.Name + " " + alias}
	for _, col := range t.Cols {
		a.cols = append(a.cols, generate.Column{Name: alias + "." + col.Name, Type: col.Type})
	}
	return a
}

// number draws a column of integers; the key is one.
func (a *aliased) number(c *Checker) string {
	var list []string
	for _, col := range a.cols {
		if col.Type == "int4" {
			list = append(list, col.Name)
		}
	}
	return c.Pick(list...)
}

// distinctRows asks for DISTINCT, and for all rows, of which each is taken once.
func (c *Checker) distinctRows() (string, error) {
	t := c.aliased("l")
	from, cols := t.from, t.cols
	if c.OneIn(2) {
		r := c.aliased("r")
		from = fmt.Sprintf("%s %s %s ON %s = %s", from, c.Pick("JOIN", "LEFT JOIN"), r.from, t.number(c), r.number(c))
		if c.OneIn(2) {
			cols = append(cols, r.cols...)
		}
	}
	var list []string
	for _, col := range cols {
		if slices.Contains(exact, col.Type) && (len(list) == 0 || c.OneIn(3)) {
			list = append(list, col.Name)
		}
	}
	c.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	items := strings.Join(list[:1+c.IntN(min(len(list), 2))], ", ")
	rows, err := c.ask(fmt.Sprintf("SELECT %s FROM %s", items, from))
	if err != nil {
		return "", err
	}
	got, err := c.ask(fmt.Sprintf(c.Pick("SELECT DISTINCT %[1]s FROM %[2]s", "SELECT %[1]s FROM %[2]s GROUP BY %[1]s"), items, from))
	if err != nil {
		return "", err
	}
	return differ(slices.Compact(slices.Sorted(slices.Values(rows))), got), nil
}

// firstRows asks for the first rows of an order that leaves no choice, at times of rows that were put
// in another order before, and for all of them.
func (c *Checker) firstRows() (string, error) {
	t := c.aliased("l")
	from := t.from
	if c.OneIn(2) {
		from = fmt.Sprintf("(SELECT * FROM %s ORDER BY %s%s) l", from, t.number(c), c.Pick("", " DESC", " NULLS FIRST"))
	}
	x, limit := t.number(c), 1+c.IntN(4)
	q := fmt.Sprintf("SELECT l.id, %s FROM %s ORDER BY %s%s, l.id%s", x, from, x, c.Pick("", " DESC", " NULLS FIRST"), c.Pick("", " DESC"))
	all, err := c.ask(q)
	if err != nil {
		return "", err
	}
	got, err := c.ask(fmt.Sprintf("%s LIMIT %d", q, limit))
	if err != nil {
		return "", err
	}
	return differ(all[:min(limit, len(all))], got), nil
}
