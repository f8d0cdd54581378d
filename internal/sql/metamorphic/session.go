package metamorphic

import (
	"fmt"
	"strings"

	"github.com/lichendb/lichen/internal/sql/generate"
)

// cursor reads a query piece by piece.
func (c *Checker) cursor() (string, error) {
	q, _ := c.query(exact)
	whole, err := c.ask(q)
	if err != nil {
		return "", err
	}
	if err := c.begin(); err != nil {
		return "", err
	}
	if err := c.do("DECLARE cu " + c.Pick("", "SCROLL ") + "CURSOR FOR " + q); err != nil {
		return "", err
	}
	var rows []string
	for _, n := range []string{"NEXT", "2", "FORWARD 1", "0", "ALL"} {
		if n == "0" {
			continue // reads the current row again
		}
		part, err := c.ask("FETCH " + n + " FROM cu")
		if err != nil {
			return "", err
		}
		rows = append(rows, part...)
	}
	return differ(whole, rows), nil
}

// parameters draws a query over the parameter $1 and a value for it.
func (c *Checker) parameters() (q, value string) {
	from, s := c.From(nil, 2)
	s.Cols = append(s.Cols, generate.Column{Name: "$1", Type: "int4"}, generate.Column{Name: "$1", Type: "int4"})
	q = fmt.Sprintf("SELECT %s FROM %s WHERE %s", c.items(s, c.draw(generate.Types), 2), from, c.predicate(s))
	if c.OneIn(2) {
		q += fmt.Sprintf(" AND %s %s $1", s.Cols[0].Name, c.Pick("=", "<", ">=", "<>"))
		if s.Cols[0].Type != "int4" {
			q = strings.TrimSuffix(q, "$1") + s.Cols[0].Name
		}
	}
	return q, c.Pick("0", "1", "3", "NULL::int4", "100")
}

// prepared executes a statement more often than plans are made for its parameters.
func (c *Checker) prepared() (string, error) {
	q, value := c.parameters()
	want, err := c.ask(strings.ReplaceAll(q, "$1", "("+value+")"))
	if err != nil {
		return "", err
	}
	if err := c.do("PREPARE p(int4) AS " + q); err != nil {
		return "", err
	}
	for _, v := range []string{value, "2", "NULL", "1", "0", "-1", value} {
		got, err := c.ask("EXECUTE p(" + v + ")")
		if err != nil {
			return "", err
		}
		if v == value {
			if d := differ(want, got); d != "" {
				return d, nil
			}
		}
	}
	return "", nil
}

// preparedOverDDL changes what a prepared statement reads: its next answer is that of a new one.
func (c *Checker) preparedOverDDL() (string, error) {
	t, s := c.changed()
	q := fmt.Sprintf("SELECT %s FROM %s WHERE %s", c.items(s, c.draw(generate.Types), 1), t.Name, c.predicate(s))
	col := t.Cols[c.IntN(len(t.Cols))]
	if err := c.begin(); err != nil {
		return "", err
	}
	if err := c.do("PREPARE p AS "+q, "EXECUTE p"); err != nil {
		return "", err
	}
	if err := c.do(c.Pick(
		fmt.Sprintf("CREATE INDEX xi ON %s (%s)", t.Name, col.Name),
		fmt.Sprintf("CREATE INDEX xi ON %s (%s) WHERE %s", t.Name, col.Name, c.comparison(&generate.Scope{Cols: t.Cols})),
		fmt.Sprintf("DELETE FROM %s WHERE id < 5", t.Name),
		fmt.Sprintf("CREATE TEMP TABLE %s AS SELECT * FROM %s WHERE id > 3", t.Name, t.Name),
		fmt.Sprintf("ALTER TABLE %s ADD COLUMN extra int DEFAULT 7", t.Name),
		fmt.Sprintf("ALTER TABLE %s ALTER %s TYPE %s USING NULL", t.Name, col.Name, generate.TypeSQL(col.Type)))); err != nil {
		return "", err
	}
	return c.same("EXECUTE p", q)
}

// sequence calls a volatile function: once for each row that is returned, with one value for it.
func (c *Checker) sequence() (string, error) {
	from, s := c.From(nil, 2)
	head := fmt.Sprintf("SELECT nextval('sq') AS n FROM %s", from)
	limit := c.IntN(4)
	q, count := "", fmt.Sprintf("SELECT count(*), true FROM %s", from)
	switch c.IntN(4) {
	case 0:
		q = fmt.Sprintf("SELECT count(*), coalesce(bool_and(n = m), true) FROM (SELECT s.n, s.n AS m FROM (%s) s) r", head)
	case 1:
		q = fmt.Sprintf("WITH w AS (%s) SELECT (SELECT count(*) FROM w), (SELECT coalesce(sum(n), 0) FROM w) = (SELECT coalesce(sum(n), 0) FROM w)", head)
	case 2:
		q = fmt.Sprintf("SELECT count(n), true FROM (%s ORDER BY %s LIMIT %d) s", head, s.Cols[0].Name, limit)
		count = fmt.Sprintf("SELECT count(*), true FROM (SELECT FROM %s LIMIT %d) s", from, limit)
	default:
		p := c.predicate(s)
		q = fmt.Sprintf("SELECT count(n), true FROM (%s WHERE %s) s", head, p)
		count = fmt.Sprintf("SELECT count(*), true FROM %s WHERE %s", from, p)
	}
	if err := c.do("SELECT setval('sq', 100)"); err != nil {
		return "", err
	}
	got, err := c.ask(q)
	if err != nil {
		return "", err
	}
	want, err := c.ask(count)
	if err != nil {
		return "", err
	}
	if d := differ(got, want); d != "" {
		return d, nil
	}
	called, err := c.ask("SELECT nextval('sq') - 101, true")
	if err != nil {
		return "", err
	}
	return differ(want, called), nil
}
