package pgcatalog

import (
	"strconv"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
)

// constraint is a constraint of a table as information_schema shows it.
type constraint struct {
	name string
	kind string // "PRIMARY KEY", "UNIQUE", "FOREIGN KEY" or "CHECK"
	cols []catalog.ColumnID
	// check or notNull is what a CHECK is of.
	check   *catalog.Check
	notNull *catalog.Column
	key     *catalog.ForeignKey
	// deferrable constraints may be checked late, deferred ones are by default.
	deferrable, deferred bool
}

// constraints returns the constraints of t; NOT NULL counts as CHECK.
func (s *snapshot) constraints(t *catalog.Table) []constraint {
	if t.Kind != catalog.KindTable {
		return nil
	}
	var out []constraint
	for _, ix := range visibleIndexes(t) {
		if !ix.Constraint || ix.Exclusion {
			continue
		}
		c := constraint{name: ix.ConstraintName, kind: "UNIQUE", deferrable: ix.Deferrable, deferred: ix.Deferred}
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
		out = append(out, constraint{name: k.Name, kind: "CHECK", cols: k.Columns, check: k})
	}
	for i := range t.ForeignKeys {
		k := &t.ForeignKeys[i]
		out = append(out, constraint{name: k.Name, kind: "FOREIGN KEY", cols: k.Columns, key: k, deferrable: k.Deferrable, deferred: k.Deferred})
	}
	schema, _ := s.schemaOf(t)
	for _, c := range visibleColumns(t) {
		if c.NotNull {
			name := strconv.Itoa(int(schema)) + "_" + strconv.Itoa(int(t.Oid)) + "_" + strconv.Itoa(int(c.Attnum)) + "_not_null"
			out = append(out, constraint{name: name, kind: "CHECK", notNull: c})
		}
	}
	return out
}

// eachConstraint calls f for every constraint.
func (s *snapshot) eachConstraint(f func(t *catalog.Table, c *constraint)) error {
	for _, t := range s.tables() {
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
		w.str("is_deferrable", yesNo(c.deferrable))
		w.str("initially_deferred", yesNo(c.deferred))
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
			if c.key != nil {
				if ref := s.tableByID(c.key.Table); ref != nil {
					w.num("position_in_unique_constraint", uniquePosition(ref, c.key, i))
				}
			}
			w.done()
		}
	})
}

// isConstraintColumnUsage is information_schema.constraint_column_usage.
func isConstraintColumnUsage(s *snapshot, w *writer) error {
	return s.eachConstraint(func(t *catalog.Table, c *constraint) {
		cols, of := c.cols, t
		if c.key != nil { // the columns that it refers to
			if of = s.tableByID(c.key.Table); of == nil {
				return
			}
			cols = c.key.RefColumns
		}
		for _, id := range cols {
			s.place(w, "table", of)
			w.str("column_name", of.Columns[of.ColumnByID(id)].Name)
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
		of := t
		if c.key != nil {
			if of = s.tableByID(c.key.Table); of == nil {
				return
			}
		}
		s.place(w, "table", of)
		s.placeConstraint(w, t, c)
		w.done()
	})
}

// isCheckConstraints is information_schema.check_constraints, those of domains included.
func isCheckConstraints(s *snapshot, w *writer) error {
	err := s.eachType(types.DefDomain, func(d *catalog.Table, def *types.Def) {
		for i := range def.Checks {
			s.named(w, "constraint", s.schemaName(d), def.Checks[i].Name)
			w.str("check_clause", s.domainCheckText(d, &def.Checks[i], false))
			w.done()
		}
	})
	if err != nil {
		return err
	}
	return s.eachConstraint(func(t *catalog.Table, c *constraint) {
		if c.kind != "CHECK" {
			return
		}
		s.placeConstraint(w, t, c)
		switch {
		case c.notNull != nil:
			w.str("check_clause", c.notNull.Name+" IS NOT NULL")
		case w.needs("check_clause"):
			w.str("check_clause", s.checkText(t, c.check, false))
		}
		w.done()
	})
}

// uniquePosition is the position that column i of a foreign key has in the unique
// constraint that it refers to.
func uniquePosition(ref *catalog.Table, k *catalog.ForeignKey, i int) int64 {
	if ix := ref.IndexByOid(k.RefIndex); ix != nil {
		for p, c := range ix.Columns {
			if c.Column == k.RefColumns[i] {
				return int64(p + 1)
			}
		}
	}
	return int64(i + 1)
}
