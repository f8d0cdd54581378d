package generate

import (
	"fmt"
	"strings"
)

// Table is a generated table; its first column, id, is its key.
type Table struct {
	Name string
	Cols []Column
	// partial is the column of a partial unique index, "" if there is none.
	partial string
	// computed is the expression of a unique index, "" if there is none.
	computed string
}

// Schema is what statements are generated over.
type Schema struct {
	Tables []Table
	Views  []Table
	// Setup makes it: it begins by dropping what an earlier one left.
	Setup []string
}

// columnTypes are the types of columns besides the key.
var columnTypes = append([]string{"int4", "int4", "text", "text", "varchar", "int2", "varchar(4)", "char(3)", "numeric(6,2)", "pair", "_pair"}, Types...)

// noOrder are types whose values have an order of ours, or none worth an index.
var noOrder = map[string]bool{"jsonb": true, "tsvector": true, "point": true, "lseg": true, "line": true, "box": true, "path": true, "polygon": true, "circle": true}

// newSchema draws tables, constraints, rows and views.
func newSchema(g *Generator) *Schema {
	s := &Schema{Setup: []string{
		"DROP SCHEMA IF EXISTS diff CASCADE", "CREATE SCHEMA diff", "CREATE TYPE pair AS (a int, b text)", "CREATE DOMAIN posint AS int CHECK (VALUE > 0)",
		"CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')", "CREATE SEQUENCE sq",
	}}
	for i := range 3 + g.IntN(2) {
		s.addTable(g, i)
	}
	s.Setup = append(s.Setup, "ANALYZE")
	g.Schema = s
	for range g.IntN(3) {
		v := Table{Name: g.name("v"), Cols: columnsOf(append([]string{"int4"}, g.types()...))}
		s.Setup = append(s.Setup, fmt.Sprintf("CREATE VIEW %s(%s) AS %s", v.Name, names(v.Cols), g.Query(nil, typesOf(v.Cols), 2)))
		s.Views = append(s.Views, v)
	}
	return s
}

// addTable draws the i-th table.
func (s *Schema) addTable(g *Generator, i int) {
	t := Table{Name: fmt.Sprintf("t%d", i+1), Cols: []Column{{"id", "int4"}}}
	defs := []string{"id int PRIMARY KEY"}
	if i > 0 && g.OneIn(2) {
		t.Cols = append(t.Cols, Column{"ref", "int4"})
		action := g.Pick("", " ON DELETE CASCADE", " ON DELETE SET NULL", " ON UPDATE CASCADE", " ON DELETE SET DEFAULT ON UPDATE SET NULL") +
			g.Pick("", "", " DEFERRABLE", " DEFERRABLE INITIALLY DEFERRED")
		defs = append(defs, fmt.Sprintf("ref int REFERENCES t%d%s", 1+g.IntN(i), action))
	}
	for n := range 3 + g.IntN(4) {
		c := Column{fmt.Sprintf("c%d", n), g.Pick(columnTypes...)}
		t.Cols = append(t.Cols, c)
		defs = append(defs, c.Name+" "+TypeSQL(c.Type)+columnConstraint(g.Rand, c))
	}
	if g.OneIn(3) { // one that is computed is not written to: it is no column of t
		form := g.Pick("int GENERATED ALWAYS AS (id * 2) STORED", "text GENERATED ALWAYS AS ('k' || id) STORED", "boolean GENERATED ALWAYS AS (id % 2 = 0) STORED")
		defs = append(defs, "gen "+form+g.Pick("", "", " UNIQUE"))
	}
	s.Setup = append(s.Setup, fmt.Sprintf("CREATE TABLE %s (%s)", t.Name, strings.Join(defs, ", ")))
	s.Setup = append(s.Setup, t.indexes(g)...)
	for id := range 4 + g.IntN(12) {
		s.Setup = append(s.Setup, t.insert(g.Rand, id))
	}
	s.Tables = append(s.Tables, t)
}

// indexes draws indexes of a table: of several columns, partial ones, of expressions.
func (t *Table) indexes(g *Generator) []string {
	var list []string
	for range g.IntN(3) {
		c := t.Cols[1+g.IntN(len(t.Cols)-1)]
		if noOrder[c.Type] {
			continue
		}
		switch g.IntN(7) {
		case 5:
			if t.computed == "" {
				t.computed = g.Pick("id * 2", "id::text", "(id + 1)::numeric")
				list = append(list, fmt.Sprintf("CREATE UNIQUE INDEX ON %s ((%s))", t.Name, t.computed))
			}
		case 6:
			if c.Type == "text" || c.Type == "varchar" {
				list = append(list, fmt.Sprintf("CREATE INDEX ON %s (%s %s)", t.Name, c.Name, g.Pick(`COLLATE "C"`, "text_pattern_ops", `COLLATE "POSIX" DESC`, "varchar_pattern_ops")))
			} else {
				list = append(list, fmt.Sprintf("CREATE UNIQUE INDEX ON %s (%s, id) NULLS NOT DISTINCT", t.Name, c.Name))
			}
		case 0:
			if t.partial == "" {
				t.partial = c.Name
				list = append(list, fmt.Sprintf("CREATE UNIQUE INDEX ON %s (%s) WHERE id > 5", t.Name, c.Name))
			}
		case 1:
			list = append(list, fmt.Sprintf("CREATE INDEX ON %s ((coalesce(%s, %s)), id)", t.Name, c.Name, quote(g.Pick(small[c.Type]...))))
		default:
			list = append(list, fmt.Sprintf("CREATE INDEX ON %s (%s%s%s)%s", t.Name, c.Name, g.Pick("", " DESC", " NULLS FIRST"), g.Pick("", ", id", ", id DESC"), g.Pick("", "", " WHERE id > 3")))
		}
	}
	return list
}

func columnConstraint(r Rand, c Column) string {
	switch {
	case r.OneIn(12) && !noOrder[c.Type]:
		return " UNIQUE"
	case r.OneIn(12) && (c.Type == "int4" || c.Type == "numeric"):
		return fmt.Sprintf(" CHECK (%s < 50)", c.Name)
	case r.OneIn(10):
		return " DEFAULT " + quote(small[c.Type][0])
	case r.OneIn(15) && !noOrder[c.Type]:
		return " NOT NULL"
	}
	return ""
}

// insert is an INSERT of a row, which constraints may refuse.
func (t Table) insert(r Rand, id int) string {
	vals := []string{fmt.Sprint(id)}
	names := []string{"id"}
	for _, c := range t.Cols[1:] {
		vals, names = append(vals, r.SmallLiteral(c.Type)), append(names, c.Name)
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", t.Name, strings.Join(names, ", "), strings.Join(vals, ", "))
}

// table draws a table.
func (s *Schema) table(r Rand) Table { return s.Tables[r.IntN(len(s.Tables))] }

// scope is what an expression over a table's rows may use.
func (t Table) scope(alias string) *Scope {
	return &Scope{Cols: qualified(t.Cols, alias), rows: []string{alias}}
}
