package pgcatalog

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
)

// pgConstraint lists keys and CHECK constraints.
func pgConstraint(s *snapshot, w *writer) error {
	for _, t := range s.tables() {
		if !w.wants("conrelid", t.Oid) {
			continue
		}
		for _, ix := range visibleIndexes(t) {
			if !ix.Constraint || !w.wants("oid", ix.ConstraintOid) {
				continue
			}
			kind := "u"
			switch {
			case ix.Primary:
				kind = "p"
			case ix.Exclusion:
				kind = "x"
			}
			s.constraintCommon(w, t, ix.ConstraintOid, ix.ConstraintName, kind)
			w.flag("condeferrable", ix.Deferrable)
			w.flag("condeferred", ix.Deferred)
			w.oid("conindid", ix.Oid)
			w.flag("connoinherit", true)
			var key []int64
			for _, k := range ix.Columns {
				key = append(key, int64(attnum(t, k.Column)))
			}
			w.set("conkey", ints(key))
			w.done()
		}
		for i := range t.Checks {
			k := &t.Checks[i]
			if !w.wants("oid", k.Oid) {
				continue
			}
			s.constraintCommon(w, t, k.Oid, k.Name, "c")
			w.flag("connoinherit", k.NoInherit)
			var key []int64
			for _, id := range k.Columns {
				key = append(key, int64(attnum(t, id)))
			}
			if len(key) > 0 {
				w.set("conkey", ints(key))
			}
			if k.NotValid {
				w.flag("convalidated", false)
			}
			if w.computes("conbin") {
				w.str("conbin", s.expr(k.Expr, t, types.Bool, false))
			}
			w.done()
		}
		s.foreignKeys(w, t)
		s.constraintTriggers(w, t)
	}
	s.domainConstraints(w)
	return nil
}

func (s *snapshot) constraintCommon(w *writer, t *catalog.Table, oid uint32, name, kind string) {
	schema, _ := s.schemaOf(t)
	w.oid("oid", oid)
	w.str("conname", name)
	w.oid("connamespace", schema)
	w.str("contype", kind)
	w.flag("condeferrable", false)
	w.flag("condeferred", false)
	w.flag("convalidated", true)
	w.oid("conrelid", t.Oid)
	for _, c := range [...]string{"contypid", "conindid", "conparentid", "confrelid"} {
		w.oid(c, 0)
	}
	for _, c := range [...]string{"confupdtype", "confdeltype", "confmatchtype"} {
		w.str(c, " ")
	}
	w.flag("conislocal", true)
	w.num("coninhcount", 0)
}

// constraintText is what pg_get_constraintdef prints.
func (s *snapshot) constraintText(t *catalog.Table, oid uint32, pretty bool) (string, bool) {
	for _, ix := range visibleIndexes(t) {
		if ix.Constraint && ix.ConstraintOid == oid {
			return s.keyConstraintText(t, ix, pretty), true
		}
	}
	for i := range t.Checks {
		if t.Checks[i].Oid == oid {
			return "CHECK " + s.checkText(t, &t.Checks[i], pretty), true
		}
	}
	for i := range t.Triggers {
		if g := &t.Triggers[i]; g.ConstraintOid == oid && g.Deferrable {
			return "TRIGGER" + deferralText(true, g.Deferred), true
		} else if g.ConstraintOid == oid {
			return "TRIGGER", true
		}
	}
	if k := t.ForeignKey(oid); k != nil {
		return s.foreignKeyText(t, k, s.shownName), true
	}
	return "", false
}

// checkText is what stands behind CHECK.
func (s *snapshot) checkText(t *catalog.Table, k *catalog.Check, pretty bool) string {
	text := parenthesised(s.expr(k.Expr, t, types.Bool, pretty))
	if k.NoInherit {
		text += " NO INHERIT"
	}
	if k.NotValid {
		text += " NOT VALID"
	}
	return text
}

func (s *snapshot) keyConstraintText(t *catalog.Table, ix *catalog.Index, pretty bool) string {
	names := make([]string, len(ix.Columns))
	for i, k := range ix.Columns {
		names[i] = s.columnName(t, k.Column)
	}
	word := "UNIQUE"
	if ix.Primary {
		word = "PRIMARY KEY"
	}
	if ix.NullsNotDistinct {
		word += " NULLS NOT DISTINCT"
	}
	if ix.Exclusion {
		text := "EXCLUDE USING btree (" + strings.Join(names, " WITH =, ") + " WITH =)" + s.includeText(t, ix) + optionsText(ix.Options)
		if !ix.Total() {
			text += " WHERE (" + s.expr(ix.Where, t, types.Bool, pretty) + ")"
		}
		return text + deferralText(ix.Deferrable, ix.Deferred)
	}
	return word + " (" + strings.Join(names, ", ") + ")" + s.includeText(t, ix) + deferralText(ix.Deferrable, ix.Deferred)
}

// deferralText is when a constraint is checked, unless that is at once.
func deferralText(deferrable, deferred bool) string {
	switch {
	case deferred:
		return " DEFERRABLE INITIALLY DEFERRED"
	case deferrable:
		return " DEFERRABLE"
	}
	return ""
}
