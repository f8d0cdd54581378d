package metamorphic

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/lichendb/lichen/internal/sql/generate"
)

// query draws a query and the types of its columns.
func (c *Checker) query(list []string) (string, []string) {
	types := c.draw(list)
	return c.Query(nil, types, depth), types
}

// rulesOff runs a query with rules of the optimizer off.
func (c *Checker) rulesOff() (string, error) {
	q, _ := c.query(generate.Types)
	if c.OneIn(3) {
		from, s := c.From(nil, 3)
		q = fmt.Sprintf("SELECT %s FROM %s WHERE %s", c.items(s, c.draw(generate.Types), 2), from, c.predicate(s))
	}
	return c.withoutRules(q)
}

// withoutRules asks the same with all rules of the optimizer off, and with one or two.
func (c *Checker) withoutRules(q string) (string, error) {
	rows, err := c.ask(q)
	if err != nil {
		return "", err
	}
	for _, off := range []string{strings.Join(c.rules, ","), c.Pick(c.rules...), c.Pick(c.rules...)} {
		if err := c.do("SET optimizer_rules_off = '" + off + "'"); err != nil {
			return "", err
		}
		other, err := c.ask(q)
		if err != nil {
			return "", err
		}
		if d := differ(rows, other); d != "" {
			return d, nil
		}
	}
	return "", nil
}

// throughWith reads a query as it is, and through a name.
func (c *Checker) throughWith() (string, error) {
	q, _ := c.query(generate.Types)
	return c.same(q, c.Pick(
		"WITH w AS MATERIALIZED ("+q+") SELECT * FROM w",
		"WITH w AS NOT MATERIALIZED ("+q+") SELECT * FROM w",
		"WITH w AS MATERIALIZED ("+q+"), v AS (SELECT * FROM w) SELECT * FROM v WHERE EXISTS (SELECT 1 FROM w)",
		"SELECT s.* FROM ("+q+" OFFSET 0) s",
		"SELECT l.* FROM (VALUES (1)) v, LATERAL ("+q+") l"))
}

// equalColumns computes two expressions side by side and each alone: columns that are computed
// alike must not take each other's values.
func (c *Checker) equalColumns() (string, error) {
	from, s := c.From(nil, 2)
	e, f := c.Expr(s, "int4", 2), c.Expr(s, "int4", 2)
	inner := fmt.Sprintf("SELECT %s AS a, %s AS b, %s AS c, %s AS d FROM %s", e, e, f, e, from)
	if c.OneIn(3) {
		inner = fmt.Sprintf("SELECT DISTINCT %s AS a, %s AS b, %s AS c, %s AS d FROM %s", e, e, f, e, from)
		return c.same(fmt.Sprintf("SELECT a, c FROM (%s) s", inner), fmt.Sprintf("SELECT DISTINCT %s, %s FROM %s", e, f, from))
	}
	wrapped := c.Pick("SELECT %[2]s FROM (%[1]s) s", "WITH w AS MATERIALIZED (%[1]s) SELECT %[2]s FROM w", "SELECT %[2]s FROM (%[1]s UNION ALL SELECT 1, 2, 3, 4 WHERE false) s")
	a, b := c.Pick("a, c", "b, c", "d, c", "a, c"), fmt.Sprintf("SELECT %s, %s FROM %s", e, f, from)
	return c.same(fmt.Sprintf(wrapped, inner, a), b)
}

// throughView reads a query through a view.
func (c *Checker) throughView() (string, error) {
	q, types := c.query(generate.Types)
	if err := c.begin(); err != nil {
		return "", err
	}
	if err := c.do(fmt.Sprintf("CREATE VIEW vx(%s) AS %s", columnNames(len(types)), q)); err != nil {
		return "", err
	}
	return c.same(q, "SELECT * FROM vx")
}

func columnNames(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("x%d", i))
	}
	return strings.Join(list, ", ")
}

// stored writes a query's rows into a table and reads them.
func (c *Checker) stored() (string, error) {
	q, types := c.query(generate.Types)
	if err := c.begin(); err != nil {
		return "", err
	}
	if err := c.do(fmt.Sprintf("CREATE TABLE cx(%s) AS %s", columnNames(len(types)), q)); err != nil {
		return "", err
	}
	if c.OneIn(2) {
		if err := c.do("TRUNCATE cx", "INSERT INTO cx "+q); err != nil {
			return "", err
		}
	}
	return c.same(q, "SELECT * FROM cx")
}

// tableName matches the names of generated tables.
var tableName = regexp.MustCompile(`\bt(\d)\b`)

// withoutIndexes reads copies of the tables that have no keys and no indexes.
func (c *Checker) withoutIndexes() (string, error) {
	from, s := c.From(nil, 2)
	q := fmt.Sprintf("SELECT %s FROM %s WHERE %s", c.items(s, c.draw(generate.Types), 1), from, c.predicate(s))
	if strings.Contains(q, "v") && len(c.Schema.Views) > 0 && viewName.MatchString(q) {
		return "", nil // a view reads the tables themselves
	}
	rows, err := c.ask(q)
	if err != nil {
		return "", err
	}
	if err := c.begin(); err != nil {
		return "", err
	}
	for _, t := range c.Schema.Tables {
		if err := c.do(fmt.Sprintf("CREATE TABLE %s AS SELECT * FROM %s", tableName.ReplaceAllString(t.Name, "b$1"), t.Name)); err != nil {
			return "", err
		}
	}
	other, err := c.ask(tableName.ReplaceAllString(q, "b$1"))
	if err != nil {
		return "", err
	}
	return differ(rows, other), nil
}

var viewName = regexp.MustCompile(`\bv\d+\b`)
