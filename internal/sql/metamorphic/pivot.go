package metamorphic

import (
	"fmt"
	"strings"

	"github.com/lichendb/lichen/internal/sql/generate"
)

// pivot takes a row of a table, finds what a condition is for it alone, makes the condition true
// of it, and requires the row among those that meet the condition.
func (c *Checker) pivot() (string, error) {
	t := c.Schema.Tables[c.IntN(len(c.Schema.Tables))]
	ids, err := c.ask(fmt.Sprintf("SELECT id FROM %s", t.Name))
	if err != nil || len(ids) == 0 {
		return "", err
	}
	id := strings.Trim(c.Pick(ids...), `"`)
	s := &generate.Scope{}
	for _, col := range t.Cols {
		s.Cols = append(s.Cols, generate.Column{Name: "t." + col.Name, Type: col.Type})
	}
	p := c.predicate(s)
	// The row stands alone here, behind a MATERIALIZED, and no index leads to it.
	alone := fmt.Sprintf("WITH t AS MATERIALIZED (SELECT * FROM %s WHERE id + 0 = %s) SELECT %s FROM t", t.Name, id, p)
	value, err := c.ask(alone)
	if err != nil || len(value) != 1 {
		return "", err
	}
	switch value[0] {
	case `"f"`, "f":
		p = "NOT " + p
	case "NULL":
		p += " IS NULL"
	}
	order := c.Pick("", " ORDER BY t.id", " ORDER BY "+s.Cols[len(s.Cols)-1].Name)
	found, err := c.ask(fmt.Sprintf("SELECT t.id FROM %s t WHERE %s%s", t.Name, p, order))
	if err != nil {
		return "", err
	}
	for _, row := range found {
		if strings.Trim(row, `"`) == id {
			return "", nil
		}
	}
	return "the row with id " + id + " is missing", nil
}
