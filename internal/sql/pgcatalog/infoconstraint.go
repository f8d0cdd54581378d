package pgcatalog

import (
	"strconv"

	"github.com/lichendb/lichen/internal/sql/catalog"
)

// constraint is a constraint of a table as information_schema shows it.
type constraint struct {
	name string
	kind string // "PRIMARY KEY", "UNIQUE" or "CHECK"
	cols []catalog.ColumnID
	expr string
}

// constraints returns the constraints of t; NOT NULL counts as CHECK.
func (s *snapshot) constraints(t *catalog.Table) []constraint {
	if t.Kind != catalog.KindTable {
		return nil
	}
	var out []constraint
	for _, ix := range visibleIndexes(t) {
		if !ix.Constraint {
			continue
		}
		c := constraint{name: ix.ConstraintName, kind: "UNIQUE"}
		if ix.Primary {
			c.kind = "PRIMARY KEY"
		}
		for _, k := range ix.Columns {
			c.cols = append(c.cols, k.Column)
		}
		out = append(out, c)
	}
	for i := range t.Checks {
		k := &t.Checks[i]
		out = append(out, constraint{name: k.Name, kind: "CHECK", cols: k.Columns, expr: "(" + s.exprText(k.Expr) + ")"})
	}
	schema, _ := s.schemaOf(t)
	for _, c := range visibleColumns(t) {
		if c.NotNull {
			name := strconv.Itoa(int(schema)) + "_" + strconv.Itoa(int(t.Oid)) + "_" + strconv.Itoa(int(c.Attnum)) + "_not_null"
			out = append(out, constraint{name: name, kind: "CHECK", expr: c.Name + " IS NOT NULL"})
		}
	}
	return out
}

// eachConstraint calls f for every constraint.
func (s *snapshot) eachConstraint(f func(t *catalog.Table, c *constraint)) error {
	for _, t := range s.tables {
		for _, c := range s.constraints(t) {
			f(t, &c)
		}
	}
	return nil
}

func (s *snapshot) placeConstraint(w *writer, t *catalog.Table, c *constraint) {
	w.str("constraint_catalog", s.db.Name)
	w.str("constraint_schema", s.schemaName(t))
	w.str("constraint_name", c.name)
}

// isTableConstraints is information_schema.table_constraints.
func isTableConstraints(s *snapshot, w *writer) error {
	return s.eachConstraint(func(t *catalog.Table, c *constraint) {
		s.placeConstraint(w, t, c)
		s.place(w, "table", t)
		w.str("constraint_type", c.kind)
		w.str("is_deferrable", "NO")
		w.str("initially_deferred", "NO")
		w.str("enforced", "YES")
		if c.kind == "UNIQUE" {
			w.str("nulls_distinct", "YES")
		}
		w.done()
	})
}

// isKeyColumnUsage is information_schema.key_column_usage.
func isKeyColumnUsage(s *snapshot, w *writer) error {
	return s.eachConstraint(func(t *catalog.Table, c *constraint) {
		if c.kind == "CHECK" {
			return
		}
		for i, id := range c.cols {
			s.placeConstraint(w, t, c)
			s.place(w, "table", t)
			w.str("column_name", t.Columns[t.ColumnByID(id)].Name)
			w.num("ordinal_position", int64(i+1))
			w.done()
		}
	})
}

// isConstraintColumnUsage is information_schema.constraint_column_usage.
func isConstraintColumnUsage(s *snapshot, w *writer) error {
	return s.eachConstraint(func(t *catalog.Table, c *constraint) {
		for _, id := range c.cols {
			s.place(w, "table", t)
			w.str("column_name", t.Columns[t.ColumnByID(id)].Name)
			s.placeConstraint(w, t, c)
			w.done()
		}
	})
}

// isConstraintTableUsage is information_schema.constraint_table_usage: the
// tables that keys belong to.
func isConstraintTableUsage(s *snapshot, w *writer) error {
	return s.eachConstraint(func(t *catalog.Table, c *constraint) {
		if c.kind == "CHECK" {
			return
		}
		s.place(w, "table", t)
		s.placeConstraint(w, t, c)
		w.done()
	})
}

// isCheckConstraints is information_schema.check_constraints.
func isCheckConstraints(s *snapshot, w *writer) error {
	return s.eachConstraint(func(t *catalog.Table, c *constraint) {
		if c.kind != "CHECK" {
			return
		}
		s.placeConstraint(w, t, c)
		w.str("check_clause", c.expr)
		w.done()
	})
}
