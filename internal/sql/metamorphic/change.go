package metamorphic

import (
	"cmp"
	"fmt"

	"github.com/lichendb/lichen/internal/sql/generate"
)

// changed draws a table with the scope of a statement that changes it.
func (c *Checker) changed() (generate.Table, *generate.Scope) {
	t := c.Schema.Tables[c.IntN(len(c.Schema.Tables))]
	s := &generate.Scope{}
	for _, col := range t.Cols {
		s.Cols = append(s.Cols, generate.Column{Name: t.Name + "." + col.Name, Type: col.Type})
	}
	return t, s
}

// unmodified are the types without the modifiers that columns have.
var unmodified = map[string]string{"numeric(6,2)": "numeric", "varchar(4)": "text", "char(3)": "text", "timestamp(0)": "timestamp"}

// update stores an expression's values: they are those that a query computes, cast to the
// column's type.
func (c *Checker) update() (string, error) {
	t, s := c.changed()
	col := t.Cols[1+c.IntN(len(t.Cols)-1)]
	for _, other := range t.Cols { // those whose values a modifier cuts come first
		if unmodified[other.Type] != "" && c.OneIn(2) {
			col = other
		}
	}
	source := cmp.Or(unmodified[col.Type], col.Type)
	e, p := c.computed(s, source), c.predicate(s)
	if source == "numeric" && c.OneIn(2) {
		e = "(" + e + ") / 7"
	}
	want, err := c.ask(fmt.Sprintf("SELECT id, (%s)::%s FROM %s WHERE %s", e, generate.TypeSQL(col.Type), t.Name, p))
	if err != nil {
		return "", err
	}
	if err := c.begin(); err != nil {
		return "", err
	}
	got, err := c.ask(fmt.Sprintf("UPDATE %s SET %s = %s WHERE %s RETURNING id, %s", t.Name, col.Name, e, p, col.Name))
	if err != nil {
		return "", err
	}
	return differ(want, got), nil
}

// deletion returns the rows that a query has, and leaves the others.
func (c *Checker) deletion() (string, error) {
	t, s := c.changed()
	p := c.predicate(s)
	want, err := c.ask(fmt.Sprintf("SELECT * FROM %s WHERE %s", t.Name, p))
	if err != nil {
		return "", err
	}
	rest, err := c.ask(fmt.Sprintf("SELECT * FROM %s WHERE %s IS NOT TRUE", t.Name, p))
	if err != nil {
		return "", err
	}
	if err := c.begin(); err != nil {
		return "", err
	}
	// Actions of foreign keys may change further rows of the table; those fail first here.
	got, err := c.ask(fmt.Sprintf("DELETE FROM %s WHERE %s RETURNING *", t.Name, p))
	if err != nil {
		return "", err
	}
	if d := differ(want, got); d != "" {
		return d, nil
	}
	left, err := c.ask("SELECT * FROM " + t.Name)
	if err != nil {
		return "", err
	}
	return differ(rest, left), nil
}
