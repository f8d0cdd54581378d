package pgcatalog

import (
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
)

// composites are the composite types as relations, as pg_class and pg_attribute
// have them.
func (s *snapshot) composites() []*catalog.Table {
	var out []*catalog.Table
	for _, d := range s.types() {
		if t := compositeRelation(d); t != nil {
			out = append(out, t)
		}
	}
	return out
}

// compositeRelation is a composite type as a relation, nil for another type.
func compositeRelation(d *catalog.Table) *catalog.Table {
	if !d.IsComposite() {
		return nil
	}
	return &catalog.Table{ID: d.ID, Oid: d.Oid, Database: d.Database, Schema: d.Schema, Name: d.Name, Owner: d.Owner, ACL: d.ACL, Kind: catalog.KindType,
		Columns: d.FieldColumns()}
}

// domainConstraints lists the constraints of domains.
func (s *snapshot) domainConstraints(w *writer) {
	for _, d := range s.types() {
		if !w.wants("contypid", d.Oid) {
			continue
		}
		for _, k := range d.UserType.Def.Checks {
			if !w.wants("oid", k.Oid) || !w.wants("conrelid", 0) {
				continue
			}
			s.constraintCommon(w, d, k.Oid, k.Name, "c")
			w.flag("convalidated", !k.NotValid)
			w.oid("conrelid", 0)
			w.oid("contypid", d.Oid)
			w.flag("connoinherit", false)
			if w.computes("conbin") {
				w.str("conbin", s.valueExpr(k.Expr, valueType(d.UserType), false))
			}
			w.done()
		}
	}
}

// domainConstraintText is what pg_get_constraintdef prints for one of a domain.
func (s *snapshot) domainConstraintText(d *catalog.Table, oid uint32, pretty bool) (string, bool) {
	for i := range d.UserType.Def.Checks {
		if k := &d.UserType.Def.Checks[i]; k.Oid == oid {
			return "CHECK " + s.domainCheckText(d, k, pretty), true
		}
	}
	return "", false
}

// domainCheckText is what stands behind CHECK.
func (s *snapshot) domainCheckText(d *catalog.Table, k *types.DomainCheck, pretty bool) string {
	text := parenthesised(s.valueExpr(k.Expr, valueType(d.UserType), pretty))
	if k.NotValid {
		text += " NOT VALID"
	}
	return text
}
