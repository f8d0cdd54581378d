package pgcatalog

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
)

// actionLetters are pg_constraint's letters for referential actions.
var actionLetters = [...]string{
	catalog.NoAction: "a", catalog.Restrict: "r", catalog.Cascade: "c", catalog.SetNull: "n", catalog.SetDefault: "d",
}

var actionWords = [...]string{
	catalog.NoAction: "NO ACTION", catalog.Restrict: "RESTRICT", catalog.Cascade: "CASCADE",
	catalog.SetNull: "SET NULL", catalog.SetDefault: "SET DEFAULT",
}

func attnums(t *catalog.Table, ids []catalog.ColumnID) []int64 {
	var out []int64
	for _, id := range ids {
		out = append(out, int64(attnum(t, id)))
	}
	return out
}

// foreignKeys lists the foreign keys of t in pg_constraint.
func (s *snapshot) foreignKeys(w *writer, t *catalog.Table) {
	for i := range t.ForeignKeys {
		k := &t.ForeignKeys[i]
		ref := s.tableByID(k.Table)
		if ref == nil || !w.wants("oid", k.Oid) {
			continue
		}
		s.constraintCommon(w, t, k.Oid, k.Name, "f")
		w.flag("condeferrable", k.Deferrable)
		w.flag("condeferred", k.Deferred)
		w.flag("convalidated", !k.NotValid)
		w.oid("confrelid", ref.Oid)
		w.oid("conindid", k.RefIndex)
		w.str("confupdtype", actionLetters[k.OnUpdate])
		w.str("confdeltype", actionLetters[k.OnDelete])
		match := "s"
		if k.Full {
			match = "f"
		}
		w.str("confmatchtype", match)
		w.flag("connoinherit", true)
		w.set("conkey", ints(attnums(t, k.Columns)))
		w.set("confkey", ints(attnums(ref, k.RefColumns)))
		if len(k.DeleteCols) > 0 {
			w.set("confdelsetcols", ints(attnums(t, k.DeleteCols)))
		}
		w.done()
	}
}

func (s *snapshot) columnList(t *catalog.Table, ids []catalog.ColumnID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = s.columnName(t, id)
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// foreignKeyText is what pg_get_constraintdef prints of a foreign key; name is how it
// writes the other table's name.
func (s *snapshot) foreignKeyText(t *catalog.Table, k *catalog.ForeignKey, name func(*catalog.Table) string) string {
	var b strings.Builder
	b.WriteString("FOREIGN KEY " + s.columnList(t, k.Columns) + " REFERENCES ")
	if ref := s.tableByID(k.Table); ref != nil {
		b.WriteString(name(ref) + s.columnList(ref, k.RefColumns))
	}
	if k.Full {
		b.WriteString(" MATCH FULL")
	}
	if k.OnUpdate != catalog.NoAction {
		b.WriteString(" ON UPDATE " + actionWords[k.OnUpdate])
	}
	if k.OnDelete != catalog.NoAction {
		b.WriteString(" ON DELETE " + actionWords[k.OnDelete])
		if len(k.DeleteCols) > 0 {
			b.WriteString(" " + s.columnList(t, k.DeleteCols))
		}
	}
	b.WriteString(deferralText(k.Deferrable, k.Deferred))
	if k.NotValid {
		b.WriteString(" NOT VALID")
	}
	return b.String()
}

// shownName is a table's name, with its schema unless the search path finds it.
func (s *snapshot) shownName(t *catalog.Table) string {
	if s.c.visible(t, t.Name) {
		return ast.QuoteIdent(t.Name)
	}
	return s.qualified(t)
}

// isReferentialConstraints is information_schema.referential_constraints.
func isReferentialConstraints(s *snapshot, w *writer) error {
	for _, t := range s.tables() {
		for i := range t.ForeignKeys {
			k := &t.ForeignKeys[i]
			ref := s.tableByID(k.Table)
			if ref == nil {
				continue
			}
			s.placeConstraint(w, t, &constraint{name: k.Name})
			if ix := ref.IndexByOid(k.RefIndex); ix != nil && ix.Constraint {
				w.str("unique_constraint_catalog", s.db.Name)
				w.str("unique_constraint_schema", s.schemaName(ref))
				w.str("unique_constraint_name", ix.ConstraintName)
			}
			match := "NONE"
			if k.Full {
				match = "FULL"
			}
			w.str("match_option", match)
			w.str("update_rule", actionWords[k.OnUpdate])
			w.str("delete_rule", actionWords[k.OnDelete])
			w.done()
		}
	}
	return nil
}
